// The rows of w4a8_requant.inc for the host: what each one needs, accepts and launches. Pure functions of a
// problem's sizes; knows no driver and no device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "w4a8_requant_args.h"

namespace ckitchen {

enum class W4a8RequantKind : std::uint8_t { Codebook, Whole, Any, Count };

struct W4a8RequantRow {
    const char* name;
    const char* kernel;   // symbol in the code object
    const char* feature;  // name from arch.json
    W4a8RequantKind kind;
    std::uint32_t threads;      // work-items of a workgroup, all in x; with kind Codebook at most
    std::uint32_t elements;     // that a workgroup holds
    std::uint32_t local_bytes;  // static local memory
    std::uint32_t alignment;    // 1, or 16: see the list
};

// Elements that a wave holds.
constexpr std::uint32_t w4a8_requant_wave_elements(W4a8RequantKind kind) {
    return kind == W4a8RequantKind::Codebook ? 512 : 1024;
}

inline constexpr W4a8RequantRow kW4a8RequantRows[] = {
#define CK_W4A8_REQUANT_ROW(name, feature, kind, waves, lds, alignment)     \
    {#name,      "ckitchen_w4a8_requant_" #name,                            \
     #feature,   W4a8RequantKind::kind,                                     \
     (waves)*32, (waves)*w4a8_requant_wave_elements(W4a8RequantKind::kind), \
     lds,        alignment},
#include "w4a8_requant.inc"
#undef CK_W4A8_REQUANT_ROW
};
inline constexpr std::size_t kW4a8RequantRowCount = std::size(kW4a8RequantRows);

// What decides whether a row takes a problem. Sizes in bytes.
struct W4a8RequantShape {
    std::uint64_t weight = 0;  // addresses, for their alignment
    std::uint64_t packed = 0;
    std::int64_t k = 0;
    std::int64_t weight_stride_bytes = 0;
    std::int64_t packed_stride_bytes = 0;
    std::int64_t group = 0;
    std::int64_t rotate_group = 0;
    bool codebook = false;  // is it the layout with a codebook?
};

enum class W4a8RequantRefusal : std::uint8_t {
    None,
    Layout,     // only a codebook with groups of whole pieces, not rotated by 1024
    Narrow,     // k leaves most of a wave without work
    Width,      // k is larger than what a workgroup holds
    Alignment,  // rows of weight must start at multiples of `alignment` bytes, rows of packed at half of it
};

struct W4a8RequantGrid {
    std::uint32_t groups = 0;   // workgroups in x; y and z are 1
    std::uint32_t threads = 0;  // work-items of a workgroup in x; y and z are 1
    // For W4a8RequantArgs. Codebook: waves that a row takes. Whole: log2 of the elements that a row takes.
    std::uint32_t row_share = 0;
};

// Enough workgroups to fill every GPU several times over; each goes on to further rows. Those that go over
// their rows several times keep scratch memory, and are larger.
inline constexpr std::int64_t kW4a8RequantMaxGroups = 4096;
inline constexpr std::int64_t kW4a8RequantMaxGroupsAny = 512;
// With a codebook each begins by making its tables, so that there are as many as run at the same time: as fit
// the waves that the registers of a multiprocessor hold, where the kernels are PTX, but no more than its
// local memory has room for.
inline constexpr std::int64_t kW4a8RequantResidentWaves = 36;
inline constexpr std::int64_t kW4a8RequantResidentGroups = 4;
inline constexpr std::int64_t kW4a8RequantUnitGroups = 8;  // elsewhere, of a compute unit

constexpr W4a8RequantRefusal w4a8_requant_refusal(const W4a8RequantRow& row, const W4a8RequantShape& shape) {
    if (row.kind == W4a8RequantKind::Codebook) {
        if (!shape.codebook || shape.group % 16 != 0 || shape.rotate_group > 256)
            return W4a8RequantRefusal::Layout;
        if (shape.k < 256) return W4a8RequantRefusal::Narrow;
    }
    if (row.kind != W4a8RequantKind::Any && shape.k > row.elements) return W4a8RequantRefusal::Width;
    if (row.alignment > 1) {
        const std::uint64_t mixed =
            shape.weight | static_cast<std::uint64_t>(shape.weight_stride_bytes) |
            2 * (shape.packed | static_cast<std::uint64_t>(shape.packed_stride_bytes));
        if (mixed % row.alignment != 0) return W4a8RequantRefusal::Alignment;
    }
    return W4a8RequantRefusal::None;
}

// Launch geometry of a problem that the row takes, on a device of so many compute units; rows is at least 1.
constexpr W4a8RequantGrid w4a8_requant_grid(const W4a8RequantRow& row, std::int64_t rows, std::int64_t k,
                                            std::int32_t compute_units) {
    std::uint32_t row_share = 4;  // a lane's piece is 16 elements of one row
    std::uint32_t threads = row.threads;
    std::int64_t rows_per_group = 1;
    std::int64_t most = kW4a8RequantMaxGroupsAny;
    if (row.kind == W4a8RequantKind::Codebook) {
        row_share = static_cast<std::uint32_t>((k + 511) / 512);
        const std::uint32_t held = row.threads / 32 / row_share;
        rows_per_group = held;
        threads = held * row_share * 32;
        std::int64_t of_unit = kW4a8RequantUnitGroups;
        if (std::string_view(row.feature).substr(0, 4) == "ptx_")
            of_unit = std::clamp<std::int64_t>(kW4a8RequantResidentWaves / (held * row_share), 1,
                                               kW4a8RequantResidentGroups);
        most = of_unit * (compute_units > 1 ? compute_units : 1);
    } else if (row.kind == W4a8RequantKind::Whole) {
        while ((std::int64_t{1} << row_share) < k) ++row_share;
        rows_per_group = row.elements >> row_share;
        most = kW4a8RequantMaxGroups;
    }
    const std::int64_t wanted = rows / rows_per_group + (rows % rows_per_group != 0 ? 1 : 0);
    // All have about as many rows.
    const std::int64_t turns = (wanted - 1) / most + 1;
    return {static_cast<std::uint32_t>((wanted - 1) / turns + 1), threads, row_share};
}

// Scratch memory of a workgroup that goes over its row several times: for every group its scale and minimum,
// and, where groups are several pieces, two partial results for every piece.
constexpr std::int64_t w4a8_requant_scratch_floats(const W4a8RequantRow& row, std::int64_t k,
                                                   std::uint32_t group) {
    if (row.kind != W4a8RequantKind::Any) return 0;
    return 2 * (k / group) + (group > 16 ? 2 * (k / 16) : 0);
}

}  // namespace ckitchen

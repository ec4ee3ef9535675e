// The rows of w4a8_gemv.inc for the host: what each one needs, accepts and launches. Pure functions of a
// problem's sizes; knows no driver and no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "../int8_gemm/int8_gemm_rows.hpp"
#include "w4a8_gemv_args.h"

namespace ckitchen {

// Dot: dot products of lanes. Mma: matrix products; one workgroup fills a multiprocessor, and may start
// before the activations are there.
enum class W4a8GemvKind : std::uint8_t { Dot, Mma };

struct W4a8GemvRow {
    const char* name;
    const char* kernel;   // symbol in the code object
    const char* feature;  // name from arch.json
    W4a8GemvKind kind;
    std::uint32_t rows;         // of activations at most
    std::uint32_t columns;      // of a workgroup at a time
    std::uint32_t threads;      // work-items of a workgroup, all in x
    std::uint32_t launched;     // workgroups for each multiprocessor at most
    std::uint32_t local_bytes;  // dynamic local memory
    std::uint32_t alignment;
};

inline constexpr W4a8GemvRow kW4a8GemvRows[] = {
#define CK_W4A8_GEMV_ROW(name, feature, kind, rows, columns, waves, resident, launched, stages, lds, \
                         alignment)                                                                  \
    {#name,      "ckitchen_w4a8_gemv_" #name,                                                        \
     #feature,   W4a8GemvKind::kind,                                                                 \
     rows,       (columns) * (W4a8GemvKind::kind == W4a8GemvKind::Mma ? 1 : (waves)),                \
     (waves)*32, launched,                                                                           \
     lds,        alignment},
#include "w4a8_gemv.inc"
#undef CK_W4A8_GEMV_ROW
};
inline constexpr std::size_t kW4a8GemvRowCount = std::size(kW4a8GemvRows);

// What decides whether a row takes a problem. m and n are at least 1.
struct W4a8GemvShape {
    std::uint64_t packed = 0;  // addresses, for their alignment
    std::uint64_t s_rel = 0;
    std::int64_t ld_packed = 0;
    std::int64_t ld_s_rel = 0;
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t group = 0;
    bool e4m3 = true;     // are the groups' scales?
    bool natural = true;  // the elements of C, the scales and the bias lie at multiples of their size
};

enum class W4a8GemvRefusal : std::uint8_t {
    None,
    Rows,       // more rows of activations than it takes
    Scales,     // other than e4m3
    Groups,     // groups must be whole pieces of 16 columns, and k at least one
    Width,      // a group must be 16, 32 or 64 columns
    Alignment,  // rows of packed must start at multiples of alignment / 2 bytes
    Scale,      // rows of s_rel must start at multiples of 16 bytes
    Element,    // C, a scale or the bias lies at no multiple of its element's size
    Map,        // n or a leading dimension is beyond what a tensor map takes
};

constexpr W4a8GemvRefusal w4a8_gemv_refusal(const W4a8GemvRow& row, const W4a8GemvShape& shape) {
    if (shape.m > row.rows) return W4a8GemvRefusal::Rows;
    if (!shape.e4m3) return W4a8GemvRefusal::Scales;
    if (shape.group % 16 != 0 || shape.k < 16) return W4a8GemvRefusal::Groups;
    if (row.kind == W4a8GemvKind::Mma) {
        if (shape.group != 16 && shape.group != 32 && shape.group != 64) return W4a8GemvRefusal::Width;
    }
    if (row.alignment > 1) {
        const std::uint64_t mixed = shape.packed | static_cast<std::uint64_t>(shape.ld_packed);
        if (mixed * 2 % row.alignment != 0) return W4a8GemvRefusal::Alignment;
        if (row.kind == W4a8GemvKind::Mma &&
            (shape.s_rel | static_cast<std::uint64_t>(shape.ld_s_rel)) % 16 != 0)
            return W4a8GemvRefusal::Scale;
        if (!shape.natural) return W4a8GemvRefusal::Element;
        if (row.kind == W4a8GemvKind::Mma &&
            (shape.n > kInt8GemmMapRows || shape.ld_packed > kInt8GemmMapStride ||
             shape.ld_s_rel > kInt8GemmMapStride))
            return W4a8GemvRefusal::Map;
    }
    return W4a8GemvRefusal::None;
}

// Workgroups to launch on a device with so many multiprocessors: they take their columns in turns of about
// equal number. With Mma they draw on the memory together, and all multiprocessors take part.
constexpr std::uint32_t w4a8_gemv_workgroups(const W4a8GemvRow& row, std::int64_t n,
                                             std::int64_t processors) {
    const std::int64_t wanted = (n - 1) / row.columns + 1;
    const std::int64_t most = (processors < 1 ? 1 : processors) * row.launched;
    if (row.kind == W4a8GemvKind::Mma) return static_cast<std::uint32_t>(wanted < most ? wanted : most);
    const std::int64_t turns = (wanted - 1) / most + 1;
    return static_cast<std::uint32_t>((wanted - 1) / turns + 1);
}

}  // namespace ckitchen

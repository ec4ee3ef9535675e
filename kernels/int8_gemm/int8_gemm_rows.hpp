// The rows of int8_gemm.inc for the host: what each one needs, accepts and launches. Pure functions of a
// problem's sizes; knows no driver and no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "int8_gemm_args.h"

namespace ckitchen {

struct Int8GemmRow {
    const char* name;
    const char* kernel;   // symbol in the code object
    const char* feature;  // name from arch.json
    Int8GemmKind kind;
    std::uint32_t tile_m;
    std::uint32_t tile_n;
    std::uint32_t tile_k;
    std::uint32_t threads;      // work-items of a workgroup, all in x
    std::uint32_t local_bytes;  // local memory: dynamic where the kind is mapped, else static
    std::uint32_t alignment;    // 1, or 16: see the list
    bool wide;                  // no limit on leading dimensions
};

inline constexpr Int8GemmRow kInt8GemmRows[] = {
#define CK_INT8_GEMM_ROW(name, feature, kind, m, n, k, waves_m, waves_n, lds, alignment, wide) \
    {#name,    "ckitchen_int8_gemm_" #name,                                                    \
     #feature, Int8GemmKind::kind,                                                             \
     m,        n,                                                                              \
     k,        int8_gemm_threads(Int8GemmKind::kind, waves_m, waves_n),                        \
     lds,      alignment,                                                                      \
     wide != 0},
#include "int8_gemm.inc"
#undef CK_INT8_GEMM_ROW
};
inline constexpr std::size_t kInt8GemmRowCount = std::size(kInt8GemmRows);

// What decides whether a row takes a problem. m and n are at least 1: an empty C launches nothing.
struct Int8GemmShape {
    std::uint64_t a = 0;  // addresses, for their alignment
    std::uint64_t b = 0;
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t lda = 0;
    std::int64_t ldb = 0;
    bool natural = true;  // the elements of C, the scales and the bias lie at multiples of their size
};

enum class Int8GemmRefusal : std::uint8_t {
    None,
    Rows,       // a row for few rows takes at most tile_m of A
    Alignment,  // k must be positive, rows of A and B start at multiples of `alignment` bytes and, where the
                // kind is not mapped, k be a multiple of it
    Element,    // C, a scale or the bias lies at no multiple of its element's size
    LeadingDimension,  // lda * tile_m or ldb * tile_n reaches 2^32
    Map,               // m, n, lda or ldb is beyond what a tensor map takes
    Grid,              // more workgroups or work-items than a launch takes
};

struct Int8GemmGrid {
    std::uint32_t groups = 0;   // workgroups in x of each part of K; y and z are 1
    std::uint32_t threads = 0;  // work-items of a workgroup in x; y and z are 1
    std::uint32_t tiles_m = 0;  // for Int8GemmArgs
    std::uint32_t tiles_n = 0;
    std::uint32_t group_m = 0;
};

namespace detail {

constexpr std::int64_t int8_gemm_tiles(std::int64_t size, std::uint32_t tile) {
    return size / tile + (size % tile != 0 ? 1 : 0);
}

// Does a workgroup go on to further tiles?
constexpr bool int8_gemm_loops(const Int8GemmRow& row) {
    return row.wide && row.kind != Int8GemmKind::MmaAsync && row.kind != Int8GemmKind::Gemv &&
           !int8_gemm_mapped(row.kind);
}

}  // namespace detail

// The most tiles of C: a launch has fewer than 2^32 work-items in x, and tiles are numbered in 32 bits.
constexpr std::int64_t int8_gemm_most_tiles(const Int8GemmRow& row) {
    return (std::int64_t{1} << 32) /
               (detail::int8_gemm_loops(row) ? 1 : static_cast<std::int64_t>(row.threads)) -
           1;
}

// The largest leading dimension whose offsets inside a tile of so many rows have 32 bits.
constexpr std::int64_t int8_gemm_most_ld(std::uint32_t tile_rows) {
    return ((std::int64_t{1} << 32) - 1) / tile_rows;
}

// All rows of A in one tile.
constexpr bool int8_gemm_few(Int8GemmKind kind) {
    return kind == Int8GemmKind::Gemv || kind == Int8GemmKind::WgmmaFew;
}

// The most rows whose tiles have coordinates of 31 bits, and the largest distance between rows of a tensor
// map.
inline constexpr std::int64_t kInt8GemmMapRows = (std::int64_t{1} << 31) - 256;
inline constexpr std::int64_t kInt8GemmMapStride = (std::int64_t{1} << 40) - 16;

// Operands that a mapped row reads from a copy in the workspace.
struct Int8GemmCopies {
    bool a = false;
    bool b = false;
};

// Copying reads the weights twice: with fewer rows of A others are as fast.
inline constexpr std::int64_t kInt8GemmFewestCopied = 3;

constexpr Int8GemmCopies int8_gemm_copies(const Int8GemmRow& row, const Int8GemmShape& shape) {
    if (!int8_gemm_mapped(row.kind)) return {};
    return {(shape.a | static_cast<std::uint64_t>(shape.lda)) % row.alignment != 0,
            (shape.b | static_cast<std::uint64_t>(shape.ldb)) % row.alignment != 0};
}

// Why a row does not take a problem, apart from the device's features; None when it does.
constexpr Int8GemmRefusal int8_gemm_refusal(const Int8GemmRow& row, const Int8GemmShape& shape) {
    const bool few = int8_gemm_few(row.kind);
    if (few && shape.m > row.tile_m) return Int8GemmRefusal::Rows;
    if (row.alignment > 1) {
        const bool mapped = int8_gemm_mapped(row.kind);
        const std::uint64_t mixed = shape.a | shape.b | static_cast<std::uint64_t>(shape.lda) |
                                    static_cast<std::uint64_t>(shape.ldb) |
                                    (mapped ? 0 : static_cast<std::uint64_t>(shape.k));
        const bool copied = mapped && shape.m >= kInt8GemmFewestCopied;
        if (shape.k == 0 || (mixed % row.alignment != 0 && !copied)) return Int8GemmRefusal::Alignment;
        if (!shape.natural) return Int8GemmRefusal::Element;
    }
    if (!row.wide &&
        (shape.lda > int8_gemm_most_ld(row.tile_m) || shape.ldb > int8_gemm_most_ld(row.tile_n))) {
        return Int8GemmRefusal::LeadingDimension;
    }
    if (int8_gemm_mapped(row.kind) && (shape.m > kInt8GemmMapRows || shape.n > kInt8GemmMapRows ||
                                       shape.lda > kInt8GemmMapStride || shape.ldb > kInt8GemmMapStride)) {
        return Int8GemmRefusal::Map;
    }
    const std::int64_t tiles_m = few ? 1 : detail::int8_gemm_tiles(shape.m, row.tile_m);
    const std::int64_t tiles_n = detail::int8_gemm_tiles(shape.n, row.tile_n);
    if (tiles_m > int8_gemm_most_tiles(row) / tiles_n) return Int8GemmRefusal::Grid;
    return Int8GemmRefusal::None;
}

// Launch geometry of a problem that the row takes, on a device of `compute_units` (0: not known).
// Workgroups that run together cover group_m rows of tiles, so that they share what they read. Wgmma
// workgroups fill a multiprocessor each and go from tile to tile.
constexpr Int8GemmGrid int8_gemm_grid(const Int8GemmRow& row, std::int64_t m, std::int64_t n,
                                      std::int32_t compute_units) {
    const auto tiles_m =
        static_cast<std::uint32_t>(int8_gemm_few(row.kind) ? 1 : detail::int8_gemm_tiles(m, row.tile_m));
    const auto tiles_n = static_cast<std::uint32_t>(detail::int8_gemm_tiles(n, row.tile_n));
    const std::uint32_t tiles = tiles_m * tiles_n;
    if (row.kind == Int8GemmKind::Wgmma) {
        const std::uint32_t units = compute_units > 0 ? static_cast<std::uint32_t>(compute_units) : tiles;
        return {tiles < units ? tiles : units, row.threads, tiles_m, tiles_n, 32};
    }
    const std::uint32_t groups =
        detail::int8_gemm_loops(row) && tiles > kInt8GemmWideGroups ? kInt8GemmWideGroups : tiles;
    return {groups, row.threads, tiles_m, tiles_n, 8};
}

// How K is cut where a problem has too few tiles for a GPU.
struct Int8GemmSplit {
    std::uint32_t splits = 1;
    std::uint32_t split_k = 0;  // of a part, a multiple of the row's step
};

// For a problem that the row takes, on a device of so many compute units (WGPs; 0: not known). A unit
// computes well with 16 waves; a part is worth its sums, written and read once more, if it is at least four
// steps deep. PTX rows are not split, nor are those whose A is in blocks.
constexpr Int8GemmSplit int8_gemm_split(const Int8GemmRow& row, std::int64_t m, std::int64_t n,
                                        std::int64_t k, std::int32_t compute_units) {
    constexpr std::uint32_t kWavesWanted = 16;
    constexpr std::uint32_t kFewestSteps = 4;
    const auto depth = static_cast<std::uint32_t>(k);
    const Int8GemmSplit whole{1, depth};
    if (std::string_view(row.feature).substr(0, 4) == "ptx_" || row.kind == Int8GemmKind::Tiled) return whole;
    if (compute_units <= 0) return whole;
    const Int8GemmGrid grid = int8_gemm_grid(row, m, n, compute_units);
    const std::uint32_t wanted = static_cast<std::uint32_t>(compute_units) * kWavesWanted * 32 / row.threads;
    const std::uint32_t steps = depth / row.tile_k + (depth % row.tile_k != 0 ? 1 : 0);
    const std::uint32_t by_groups = wanted / grid.groups;
    const std::uint32_t by_depth = steps / kFewestSteps;
    const std::uint32_t most = by_groups < by_depth ? by_groups : by_depth;
    if (most < 2) return whole;
    const std::uint32_t part = (steps + most - 1) / most;  // steps
    const std::uint32_t splits = (steps + part - 1) / part;
    return {splits, part * row.tile_k};
}

}  // namespace ckitchen

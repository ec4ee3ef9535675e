// The rows of w4a8_linear.inc for the host. Pure functions of a problem's sizes; knows no driver and no
// device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "w4a8_linear_args.h"

namespace ckitchen {

enum class W4a8LinearKind : std::uint8_t { Sums, Correct };

struct W4a8LinearRow {
    const char* name;
    const char* kernel;   // symbol in the code object
    const char* feature;  // name from arch.json
    W4a8LinearKind kind;
    std::uint32_t threads;  // work-items of a workgroup, all in x
    std::uint32_t local_bytes;
};

inline constexpr W4a8LinearRow kW4a8LinearRows[] = {
#define CK_W4A8_LINEAR_ROW(name, feature, kind, waves, lds) \
    {#name, "ckitchen_w4a8_linear_" #name, #feature, W4a8LinearKind::kind, (waves)*32, lds},
#include "w4a8_linear.inc"
#undef CK_W4A8_LINEAR_ROW
};
inline constexpr std::size_t kW4a8LinearRowCount = std::size(kW4a8LinearRows);

// Enough workgroups to fill every GPU several times over; each goes on to further parts.
inline constexpr std::int64_t kW4a8LinearMaxGroups = 16384;

// Workgroups to launch for a matrix of which one takes tile_rows x tile_columns at a time. Sizes are at
// least 1.
constexpr std::uint32_t w4a8_linear_workgroups(std::int64_t rows, std::int64_t tile_rows,
                                               std::int64_t columns, std::int64_t tile_columns) {
    const std::int64_t down = rows / tile_rows + (rows % tile_rows != 0 ? 1 : 0);
    const std::int64_t across = columns / tile_columns + (columns % tile_columns != 0 ? 1 : 0);
    const bool many =
        down > kW4a8LinearMaxGroups || across > kW4a8LinearMaxGroups || down * across > kW4a8LinearMaxGroups;
    return static_cast<std::uint32_t>(many ? kW4a8LinearMaxGroups : down * across);
}

// Intermediate results that are kept at a time.
inline constexpr std::int64_t kW4a8LinearValueBytes = std::int64_t{256} << 20;

// Columns of the product that are computed at a time where nothing is decoded into memory and intermediate
// results have `value_bytes` bytes a column (0 for none).
constexpr std::int64_t w4a8_linear_packed_chunk(std::int64_t n, std::int64_t value_bytes) {
    const std::int64_t columns = value_bytes > 0 ? kW4a8LinearValueBytes / value_bytes : n;
    return columns < 1 ? 1 : columns < n ? columns : n;
}

// A decoded part. Where it stays in the last cache before memory until it is multiplied, parts are as large
// as that allows; where the next part is decoded beside a product, as large as memory is lent for.
inline constexpr std::int64_t kW4a8LinearCachedBytes = std::int64_t{32} << 20;
inline constexpr std::int64_t kW4a8LinearAheadBytes = std::int64_t{128} << 20;

// Columns of the product that are computed at a time, where the weight has `row_bytes` bytes a column, a
// decoded part at most `part_bytes` and intermediate results `value_bytes` a column (0 for none). Every
// further product costs its first and last tiles, so parts are as large as can be, and about equal.
constexpr std::int64_t w4a8_linear_chunk(std::int64_t n, std::int64_t row_bytes, std::int64_t value_bytes,
                                         std::int64_t part_bytes) {
    constexpr std::int64_t kStep = 256;  // of the widest tiles
    if (row_bytes < 1) row_bytes = 1;
    std::int64_t most = part_bytes / row_bytes;
    if (value_bytes > 0 && most > kW4a8LinearValueBytes / value_bytes)
        most = kW4a8LinearValueBytes / value_bytes;
    most = most < kStep ? kStep : most / kStep * kStep;
    if (n <= most) return n;
    const std::int64_t parts = (n - 1) / most + 1;
    const std::int64_t steps = ((n - 1) / parts + kStep) / kStep;
    return steps * kStep;
}

}  // namespace ckitchen

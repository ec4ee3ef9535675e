// The rows of rotate.inc for the host: what each one needs, accepts and launches. Pure functions of a
// problem's sizes; knows no driver and no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "rotate_args.h"

namespace ckitchen {

struct RotateRow {
    const char* name;
    const char* kernel;         // symbol in the code object
    const char* feature;        // name from arch.json
    std::uint32_t threads;      // work-items of a workgroup, all in x
    std::uint32_t local_bytes;  // static local memory
    std::uint32_t alignment;    // 1, or 16: see the list
};

inline constexpr RotateRow kRotateRows[] = {
#define CK_ROTATE_ROW(name, feature, waves, lds, alignment) \
    {#name, "ckitchen_rotate_" #name, #feature, (waves)*32, lds, alignment},
#include "rotate.inc"
#undef CK_ROTATE_ROW
};
inline constexpr std::size_t kRotateRowCount = std::size(kRotateRows);

// Is a row that wants `alignment` kept from a problem by its addresses and strides (in bytes)?
constexpr bool rotate_misaligned(const RotateRow& row, std::uint64_t x, std::uint64_t y,
                                 std::int64_t x_stride_bytes, std::int64_t y_stride_bytes) {
    const std::uint64_t mixed =
        x | y | static_cast<std::uint64_t>(x_stride_bytes) | static_cast<std::uint64_t>(y_stride_bytes);
    return mixed % row.alignment != 0;
}

struct RotateGrid {
    std::uint32_t groups = 0;      // workgroups in x; y and z are 1
    std::uint32_t threads = 0;     // work-items of a workgroup in x; y and z are 1
    std::uint32_t width_log2 = 0;  // for RotateArgs
    std::int64_t steps = 0;        // for RotateArgs
};

// Enough workgroups to fill every GPU several times over; each goes on to further rows.
inline constexpr std::int64_t kRotateMaxGroups = 4096;

// Launch geometry; rows and k are at least 1.
constexpr RotateGrid rotate_grid(const RotateRow& row, std::int64_t rows, std::int64_t k) {
    constexpr std::int64_t kWaveElements = 1024;
    RotateGrid grid;
    grid.threads = row.threads;
    grid.width_log2 = 4;  // a lane's piece is 16 elements of one row
    while (grid.width_log2 < 10 && (std::int64_t{1} << grid.width_log2) < k) ++grid.width_log2;
    const std::int64_t rows_per_wave = kWaveElements >> grid.width_log2;
    const std::int64_t row_steps = rows / rows_per_wave + (rows % rows_per_wave != 0 ? 1 : 0);
    grid.steps = k / kWaveElements + (k % kWaveElements != 0 ? 1 : 0);
    const std::int64_t waves = row.threads / 32;
    const std::int64_t most = kRotateMaxGroups * waves;
    const bool many = row_steps > most || grid.steps > most || row_steps * grid.steps > most;
    const std::int64_t wanted = many ? most : row_steps * grid.steps;
    grid.groups = static_cast<std::uint32_t>((wanted + waves - 1) / waves);
    return grid;
}

}  // namespace ckitchen

// The rows of int8_error.inc for the host: what each one needs, accepts and launches. Pure functions of a
// problem's sizes; knows no driver and no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "../device/wave_grid.hpp"
#include "int8_error_args.h"

namespace ckitchen {

struct Int8ErrorRow {
    const char* name;
    const char* kernel;         // symbol in the code object
    const char* feature;        // name from arch.json
    std::uint32_t threads;      // work-items of a workgroup, all in x
    std::uint32_t local_bytes;  // static local memory
    std::uint32_t alignment;    // 1, or 16: see the list
};

inline constexpr Int8ErrorRow kInt8ErrorRows[] = {
#define CK_INT8_ERROR_ROW(name, feature, lds, alignment) \
    {#name, "ckitchen_int8_error_" #name, #feature, kInt8ErrorWaves * 32, lds, alignment},
#include "int8_error.inc"
#undef CK_INT8_ERROR_ROW
};
inline constexpr std::size_t kInt8ErrorRowCount = std::size(kInt8ErrorRows);

// Is a row that wants `alignment` kept from a problem by its addresses and strides (in bytes)?
constexpr bool int8_error_misaligned(const Int8ErrorRow& row, std::uint64_t x, std::uint64_t q,
                                     std::int64_t x_stride_bytes, std::int64_t q_stride_bytes) {
    const std::uint64_t mixed =
        x | q | static_cast<std::uint64_t>(x_stride_bytes) | static_cast<std::uint64_t>(q_stride_bytes);
    return mixed % row.alignment != 0;
}

struct Int8ErrorGrid {
    std::uint32_t groups = 0;          // workgroups in x; y and z are 1
    std::uint32_t width_log2 = 0;      // a row takes 2^width_log2 elements of its wave's 1024
    std::uint32_t row_waves_log2 = 0;  // waves of a row, at most a workgroup's
};

// Launch geometry; rows is at least 1.
constexpr Int8ErrorGrid int8_error_grid(std::int64_t rows, std::int64_t k) {
    const WaveGrid steps = wave_grid(kInt8ErrorWaves * 32, rows, k < 1 ? 1 : k);
    Int8ErrorGrid grid;
    grid.width_log2 = steps.width_log2;
    while ((1 << grid.row_waves_log2) < kInt8ErrorWaves &&
           (std::int64_t{1} << grid.row_waves_log2) < steps.steps)
        ++grid.row_waves_log2;
    const std::int64_t held = (std::int64_t{kInt8ErrorWaves} >> grid.row_waves_log2)
                              << (10 - grid.width_log2);
    const std::int64_t wanted = rows / held + (rows % held != 0 ? 1 : 0);
    grid.groups = static_cast<std::uint32_t>(wanted < kWaveMaxGroups ? wanted : kWaveMaxGroups);
    return grid;
}

}  // namespace ckitchen

// The rows of rotate.inc for the host: what each one needs, accepts and launches. Pure functions of a
// problem's sizes; knows no driver and no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "../device/wave_grid.hpp"
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

// Launch geometry; rows and k are at least 1.
constexpr WaveGrid rotate_grid(const RotateRow& row, std::int64_t rows, std::int64_t k) {
    return wave_grid(row.threads, rows, k);
}

}  // namespace ckitchen

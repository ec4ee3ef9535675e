// Arguments of every INT8 error kernel, passed by value as the one explicit kernel argument. Host and device
// share this file; it holds fixed-width fields only and no padding.
#pragma once

#include "../device/element_type.h"

namespace ckitchen {

// Waves of a workgroup. It is part of the result: a row's steps of 1024 columns are added up by so many waves
// in turn.
constexpr int kInt8ErrorWaves = 8;

// difference[row] and original[row]: sums of squares of q * scale, rotated, minus x, and of x. Leading
// dimensions count elements. rows is at least 1, k may be 0.
struct Int8ErrorArgs {
    uint64_t x;           // type [rows, ldx]
    uint64_t q;           // int8 [rows, ldq]
    uint64_t scale;       // float32 [rows] or one
    uint64_t difference;  // float64 [rows]
    uint64_t original;    // float64 [rows]
    int64_t rows;
    int64_t k;
    int64_t ldx;
    int64_t ldq;
    uint32_t type;            // ElementType of x
    uint32_t scale_stride;    // 1, or 0 for one scale
    uint32_t rotate_group;    // 0, or 4, 16, 64, 256, 1024
    float rotate_factor;      // 1 / sqrt(rotate_group)
    uint32_t width_log2;      // from int8_error_grid: a row takes 2^width_log2 elements of its wave's 1024
    uint32_t row_waves_log2;  // from int8_error_grid: waves of a row
    uint32_t groups;          // from int8_error_grid: the workgroups that were launched
    uint32_t reserved;
};

static_assert(sizeof(Int8ErrorArgs) == 104, "the kernels read this layout");

}  // namespace ckitchen

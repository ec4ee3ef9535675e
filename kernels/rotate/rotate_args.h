// Arguments of every rotation kernel, passed by value as the one explicit kernel argument. Host and device
// share this file; it holds fixed-width fields only and no padding.
#pragma once

#include "../device/element_type.h"

namespace ckitchen {

// y = x with every group of columns rotated. Leading dimensions count elements. y may be x itself.
struct RotateArgs {
    uint64_t x;  // type [rows, ldx]
    uint64_t y;  // type [rows, ldy]
    int64_t rows;
    int64_t k;  // a multiple of group, at least 1
    int64_t ldx;
    int64_t ldy;
    int64_t steps;        // from rotate_grid: waves' steps to cover a row
    uint32_t type;        // ElementType of x and y
    uint32_t group;       // 4, 16, 64, 256, 1024
    float factor;         // 1 / sqrt(group)
    uint32_t width_log2;  // from rotate_grid: a row takes 2^width_log2 elements of its wave's 1024
    uint32_t groups;      // from rotate_grid: the workgroups that were launched
    uint32_t reserved;
};

static_assert(sizeof(RotateArgs) == 80, "the kernels read this layout");

}  // namespace ckitchen

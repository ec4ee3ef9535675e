// Arguments of the kernels of a W4A8 linear beside those of its parts, passed by value as the one explicit
// kernel argument. Host and device share this file; it holds fixed-width fields only and no padding.
#pragma once

#include "../device/w4a8_weight.h"

namespace ckitchen {

// sums[i, group] = float(sum of the group's q) * scale_a[i]; then, for groups in ascending order,
// v += sums[i, group] * correction[group, j], v += bias[j], y = cast(v). Leading dimensions count elements.
// All sizes are at least 1.
struct W4a8LinearArgs {
    uint64_t q;           // int8 [rows, ldq], rows at multiples of 4 bytes
    uint64_t scale_a;     // float32 [rows], at a multiple of 4
    uint64_t sums;        // float32 [rows, row_groups], at a multiple of 4
    uint64_t values;      // float32 [rows, ld_values], v before the corrections; may be y itself
    uint64_t correction;  // correction_type [row_groups, ld_correction]
    uint64_t bias;        // bias_type [columns], or 0 for none
    uint64_t y;           // y_type [rows, ldy]
    int64_t rows;
    int64_t columns;
    int64_t ldq;
    int64_t ld_values;
    int64_t ld_correction;
    int64_t ldy;
    uint32_t row_groups;  // k / group
    uint32_t group;
    uint32_t correction_type;  // ElementType
    uint32_t bias_type;        // ElementType
    uint32_t y_type;           // ElementType
    uint32_t workgroups;       // that were launched
};

static_assert(sizeof(W4a8LinearArgs) == 128, "the kernels read this layout");

}  // namespace ckitchen

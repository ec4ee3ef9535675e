// Arguments of the kernels that gather what a codebook is chosen from, passed by value as the one explicit
// kernel argument. Host and device share this file; it holds fixed-width fields only and no padding.
#pragma once

#include "../device/w4a8_weight.h"

namespace ckitchen {

// values = sampled rows of weight, every group divided by its largest finite magnitude (at least 1e-8); NaN
// for what is not finite. Sample i is row i * whole + i * rest / rows of the weight. All sizes are at
// least 1.
struct W4a8ChooseCodebookArgs {
    uint64_t weight;  // type [whole * rows + rest, ldw]
    uint64_t values;  // float32 [rows, row_groups * group], at a multiple of 4
    int64_t rows;     // sampled
    int64_t whole;    // rows of the weight div sampled rows
    int64_t rest;     // rows of the weight mod sampled rows
    int64_t ldw;
    int64_t row_groups;  // groups in a row
    uint32_t group;
    uint32_t type;        // ElementType of weight
    uint32_t workgroups;  // that were launched
    uint32_t reserved;
};

static_assert(sizeof(W4a8ChooseCodebookArgs) == 72, "the kernels read this layout");

}  // namespace ckitchen

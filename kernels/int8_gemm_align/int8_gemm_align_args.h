// Arguments of the kernel that copies operands of an INT8 GEMM to aligned rows, passed by value as the one
// explicit kernel argument. Host and device share this file; it holds fixed-width fields only and no padding.
#pragma once

#include "../int8_gemm/int8_gemm_args.h"

namespace ckitchen {

struct Int8GemmAlignMatrix {
    uint64_t source;  // int8 [rows, ld_source], at any address
    uint64_t target;  // int8 [rows, ld_target], a multiple of 16; what lies behind the columns of a row is
                      // not defined
    int64_t rows;
    int64_t ld_source;
};

struct Int8GemmAlignArgs {
    Int8GemmAlignMatrix matrix[2];  // the second one may have no rows
    uint32_t columns;
    uint32_t ld_target;     // a multiple of 16
    uint32_t first_groups;  // workgroups of the first matrix
    uint32_t groups;        // of both
};

static_assert(sizeof(Int8GemmAlignArgs) == 80, "the kernels read this layout");

}  // namespace ckitchen

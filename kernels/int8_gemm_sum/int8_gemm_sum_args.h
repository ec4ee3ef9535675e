// Arguments of the kernel that adds the sums of a split INT8 GEMM, passed by value as the one explicit kernel
// argument. Host and device share this file; it holds fixed-width fields only and no padding.
#pragma once

#include "../int8_gemm/int8_gemm_args.h"

namespace ckitchen {

struct Int8GemmSumArgs {
    Int8GemmArgs gemm;  // what the whole product is; its a, b, k and tiles are not read
    uint64_t partials;  // int32 [splits, m, n]
    uint32_t splits;    // at least 1
    uint32_t quads;     // pieces of four results that a row of C has, the last one perhaps of fewer
};

static_assert(sizeof(Int8GemmSumArgs) == sizeof(Int8GemmArgs) + 16, "the kernels read this layout");

}  // namespace ckitchen

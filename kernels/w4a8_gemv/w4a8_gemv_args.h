// Arguments of every kernel that multiplies few rows by a 4-bit weight, passed by value as the one explicit
// kernel argument. Host and device share this file; it holds fixed-width fields only and no padding.
#pragma once

#include "../device/w4a8_weight.h"
#include "../int8_gemm/int8_gemm_args.h"

namespace ckitchen {

// The product of Int8GemmArgs with a B that is decoded from codes on the fly. Leading dimensions count
// elements, of packed bytes. Groups have whole pieces of 16 columns; k is at least 16.
struct W4a8GemvArgs {
    Int8GemmArgs gemm;  // b and ldb are not used
    uint64_t packed;    // [n, ld_packed], two codes a byte, the even column in the low nibble
    uint64_t s_rel;     // e4m3 [n, ld_s_rel]
    uint64_t codebook;  // float32 [16], or 0 for `levels`
    int64_t ld_packed;
    int64_t ld_s_rel;
    W4a8Groups groups;
    uint32_t workgroups;  // that were launched
    float levels[16];
};

// What the kernels that copy whole tiles take instead. Tiles are 16 rows of the weight.
struct W4a8MmaArgs {
    TensorMap codes;   // [n, k / 2] bytes, 128 of a row with the 128-byte swizzle
    TensorMap scales;  // [n, k / group] bytes, 16 of a row, not permuted
    W4a8GemvArgs weight;
};

static_assert(sizeof(W4a8MmaArgs) == 512, "the kernels read this layout");
static_assert(sizeof(W4a8GemvArgs) == sizeof(Int8GemmArgs) + 120, "the kernels read this layout");

}  // namespace ckitchen

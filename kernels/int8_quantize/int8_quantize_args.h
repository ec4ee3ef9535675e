// Arguments of every row quantization kernel, passed by value as the one explicit kernel argument. Host and
// device share this file; it holds fixed-width fields only and no padding.
#pragma once

#include "../device/element_type.h"

namespace ckitchen {

// Each row of x: activation, rotation, then scale = max(amax / 127, 1e-30) and q = clamp(rne(x / scale)).
// Leading dimensions count elements. A kernel requires rows >= 1 and the limits of its row; k = 0 is valid.
struct Int8QuantizeArgs {
    uint64_t x;      // type [rows, ldx]; a row is k wide, with swiglu [gate | up] and 2k wide
    uint64_t q;      // int8 [rows, ldq]
    uint64_t scale;  // float32 [rows]
    int64_t rows;
    int64_t k;
    int64_t ldx;
    int64_t ldq;
    uint64_t q_block;       // 0, or bytes of a block of 16 rows of q, which then lies as wmma_tiled.h says
    uint32_t type;          // ElementType of x
    uint32_t activation;    // as ckitchen.h numbers them
    uint32_t rotate_group;  // 0, or 4, 16, 64, 256, 1024
    float rotate_factor;    // 1 / sqrt(rotate_group)
    uint32_t row_share;     // from int8_quantize_grid: what a row takes of its workgroup
    uint32_t groups;        // from int8_quantize_grid: the workgroups that were launched
};

// Vectors of 16 bytes of x that a lane holds in rows of width Vectors.
constexpr int kInt8QuantizeVectors = 12;

static_assert(sizeof(Int8QuantizeArgs) == 88, "the kernels read this layout");

}  // namespace ckitchen

// The two parts of a linear, of either kind of weight, as arguments of their operators.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen {

// Row quantization of the activation into q [m, ldq] and scale [m].
template <typename Linear>
ck_int8_quantize_args linear_quantize_args(const Linear& linear, std::int8_t* q, std::int64_t ldq,
                                           float* scale) {
    ck_int8_quantize_args args = CK_INIT(ck_int8_quantize_args);
    args.dtype = linear.x_dtype;
    args.rows = linear.m;
    args.k = linear.k;
    args.x = linear.x;
    args.ldx = linear.ldx;
    args.q = q;
    args.ldq = ldq;
    args.scale = scale;
    args.activation = linear.activation;
    args.rotate_group = linear.rotate_group;
    return args;
}

// The product, but for the weight and its scales.
template <typename Linear>
ck_int8_gemm_args linear_gemm_args(const Linear& linear, const std::int8_t* q, std::int64_t ldq,
                                   const float* scale) {
    ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
    args.out_dtype = linear.out_dtype;
    args.m = linear.m;
    args.n = linear.n;
    args.k = linear.k;
    args.a = q;
    args.lda = ldq;
    args.c = linear.y;
    args.ldc = linear.ldy;
    args.scale_a = scale;
    args.scale_a_mode = CK_SCALE_VECTOR;
    args.bias = linear.bias;
    args.bias_dtype = linear.bias_dtype;
    return args;
}

}  // namespace ckitchen

#include "cpu/reference/int8_linear.hpp"

#include "cpu/reference/int8_gemm.hpp"
#include "cpu/reference/int8_quantize.hpp"

namespace ckitchen::reference {

ck_int8_quantize_args int8_linear_quantize_args(const ck_int8_linear_args& p, std::int8_t* q, float* scale) {
    ck_int8_quantize_args args = CK_INIT(ck_int8_quantize_args);
    args.dtype = p.x_dtype;
    args.rows = p.m;
    args.k = p.k;
    args.x = p.x;
    args.ldx = p.ldx;
    args.q = q;
    args.ldq = p.k;
    args.scale = scale;
    args.activation = p.activation;
    args.rotate_group = p.rotate_group;
    return args;
}

ck_int8_gemm_args int8_linear_gemm_args(const ck_int8_linear_args& p, const std::int8_t* q,
                                        const float* scale) {
    ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
    args.out_dtype = p.out_dtype;
    args.m = p.m;
    args.n = p.n;
    args.k = p.k;
    args.a = q;
    args.lda = p.k;
    args.b = p.w;
    args.ldb = p.ldw;
    args.c = p.y;
    args.ldc = p.ldy;
    args.scale_a = scale;
    args.scale_b = p.w_scale;
    args.scale_a_mode = CK_SCALE_VECTOR;
    args.scale_b_mode = p.w_scale_mode;
    args.bias = p.bias;
    args.bias_dtype = p.bias_dtype;
    return args;
}

void int8_linear(const ck_int8_linear_args& p, std::int8_t* q, float* scale) {
    int8_quantize(int8_linear_quantize_args(p, q, scale), 0, p.m);
    int8_gemm(int8_linear_gemm_args(p, q, scale), 0, p.m, 0, p.n);
}

}  // namespace ckitchen::reference

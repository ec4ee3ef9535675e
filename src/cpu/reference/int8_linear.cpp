#include "cpu/reference/int8_linear.hpp"

#include "core/linear_args.hpp"
#include "cpu/reference/int8_gemm.hpp"
#include "cpu/reference/int8_quantize.hpp"

namespace ckitchen::reference {

ck_int8_gemm_args int8_linear_gemm_args(const ck_int8_linear_args& p, const std::int8_t* q,
                                        const float* scale) {
    ck_int8_gemm_args args = linear_gemm_args(p, q, p.k, scale);
    args.b = p.w;
    args.ldb = p.ldw;
    args.scale_b = p.w_scale;
    args.scale_b_mode = p.w_scale_mode;
    return args;
}

void int8_linear(const ck_int8_linear_args& p, std::int8_t* q, float* scale) {
    int8_quantize(linear_quantize_args(p, q, p.k, scale), 0, p.m);
    int8_gemm(int8_linear_gemm_args(p, q, scale), 0, p.m, 0, p.n);
}

}  // namespace ckitchen::reference

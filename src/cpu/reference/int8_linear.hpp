// int8_quantize, then int8_gemm with the row scales as scale_a.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen::reference {

// The second step's arguments, with q [m, k] and scale [m] as the intermediate result.
ck_int8_gemm_args int8_linear_gemm_args(const ck_int8_linear_args& p, const std::int8_t* q,
                                        const float* scale);

// The whole problem, with caller-given intermediates q [m, k] and scale [m].
void int8_linear(const ck_int8_linear_args& p, std::int8_t* q, float* scale);

}  // namespace ckitchen::reference

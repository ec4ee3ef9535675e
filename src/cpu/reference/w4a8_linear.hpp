// int8_quantize, then a GEMM with the decoded W4A8 grid as B.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen::reference {

// The first step's arguments, with q [m, k] and scale [m] as the intermediate result.
ck_int8_quantize_args w4a8_linear_quantize_args(const ck_w4a8_linear_args& p, std::int8_t* q, float* scale);

// The second step for rows [row_begin, row_end) and columns [col_begin, col_end) of y.
void w4a8_linear_gemm(const ck_w4a8_linear_args& p, const std::int8_t* q, const float* scale,
                      std::int64_t row_begin, std::int64_t row_end, std::int64_t col_begin,
                      std::int64_t col_end);

// The whole problem, with caller-given intermediates q [m, k] and scale [m].
void w4a8_linear(const ck_w4a8_linear_args& p, std::int8_t* q, float* scale);

}  // namespace ckitchen::reference

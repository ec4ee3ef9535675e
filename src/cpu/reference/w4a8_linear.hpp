// int8_quantize, then a GEMM with the decoded W4A8 grid as B.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen::reference {

// The second step, from q [m, k] and scale [m], for rows [row_begin, row_end) and columns [col_begin,
// col_end) of y.
void w4a8_linear_gemm(const ck_w4a8_linear_args& p, const std::int8_t* q, const float* scale,
                      std::int64_t row_begin, std::int64_t row_end, std::int64_t col_begin,
                      std::int64_t col_end);

// The whole problem, with caller-given intermediates q [m, k] and scale [m].
void w4a8_linear(const ck_w4a8_linear_args& p, std::int8_t* q, float* scale);

}  // namespace ckitchen::reference

// C = epilogue(A * B^T) with int8 operands and exact int32 accumulation.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen::reference {

// Computes C[row_begin:row_end, col_begin:col_end].
void int8_gemm(const ck_int8_gemm_args& p, std::int64_t row_begin, std::int64_t row_end,
               std::int64_t col_begin, std::int64_t col_end);

}  // namespace ckitchen::reference

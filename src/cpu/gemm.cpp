#include "cpu/gemm.hpp"

namespace ckitchen::cpu {
namespace {

constexpr std::int64_t kStepRows = 2;
constexpr std::int64_t kStepCols = 4;

// A 2 x 4 block of dot products: eight sums and two rows fill the sixteen vector registers of the baseline.
// The compiler turns each sum into multiply-add of 16-bit pairs.
void dot_2x4(const std::int16_t* a, const std::int16_t* b, std::int64_t depth, std::int32_t* acc) {
    const std::int16_t* const a0 = a;
    const std::int16_t* const a1 = a0 + kGemmDepth;
    const std::int16_t* const b0 = b;
    const std::int16_t* const b1 = b0 + kGemmDepth;
    const std::int16_t* const b2 = b1 + kGemmDepth;
    const std::int16_t* const b3 = b2 + kGemmDepth;
    std::int32_t s00 = 0, s01 = 0, s02 = 0, s03 = 0;
    std::int32_t s10 = 0, s11 = 0, s12 = 0, s13 = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
        s00 += a0[k] * b0[k];
        s01 += a0[k] * b1[k];
        s02 += a0[k] * b2[k];
        s03 += a0[k] * b3[k];
        s10 += a1[k] * b0[k];
        s11 += a1[k] * b1[k];
        s12 += a1[k] * b2[k];
        s13 += a1[k] * b3[k];
    }
    std::int32_t* const c0 = acc;
    std::int32_t* const c1 = acc + kGemmCols;
    c0[0] += s00;
    c0[1] += s01;
    c0[2] += s02;
    c0[3] += s03;
    c1[0] += s10;
    c1[1] += s11;
    c1[2] += s12;
    c1[3] += s13;
}

}  // namespace

void gemm_panel(const std::int16_t* a, const std::int16_t* b, std::int64_t rows, std::int64_t cols,
                std::int64_t depth, std::int32_t* acc) {
    for (std::int64_t i = 0; i < rows; i += kStepRows)
        for (std::int64_t j = 0; j < cols; j += kStepCols)
            dot_2x4(a + i * kGemmDepth, b + j * kGemmDepth, depth, acc + i * kGemmCols + j);
}

}  // namespace ckitchen::cpu

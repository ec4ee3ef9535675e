#include "cpu/reference/int8_gemm.hpp"

#include "cpu/reference/elements.hpp"

namespace ckitchen::reference {

void int8_gemm(const ck_int8_gemm_args& p, std::int64_t row_begin, std::int64_t row_end,
               std::int64_t col_begin, std::int64_t col_end) {
    for (std::int64_t i = row_begin; i < row_end; ++i) {
        for (std::int64_t j = col_begin; j < col_end; ++j) {
            std::int32_t acc = 0;  // |acc| <= 131071 * 2^14 < 2^31
            for (std::int64_t kk = 0; kk < p.k; ++kk) {
                const std::int32_t a = load<std::int8_t>(p.a, i * p.lda + kk);
                const std::int32_t b = load<std::int8_t>(p.b, j * p.ldb + kk);
                acc += a * b;
            }
            const std::int64_t place = i * p.ldc + j;
            if (p.out_dtype == CK_I32) {
                store(p.c, place, acc);
                continue;
            }
            float v = static_cast<float>(acc);
            // Two rounded products: scale_a * scale_b first would round differently.
            v = v * load<float>(p.scale_a, p.scale_a_mode == CK_SCALE_SCALAR ? 0 : i);
            v = v * load<float>(p.scale_b, p.scale_b_mode == CK_SCALE_SCALAR ? 0 : j);
            // Without a bias nothing is added: adding 0 would turn -0 into +0.
            if (p.bias != nullptr) v = v + load_float(p.bias_dtype, p.bias, j);
            store_float(p.out_dtype, p.c, place, v);
        }
    }
}

}  // namespace ckitchen::reference

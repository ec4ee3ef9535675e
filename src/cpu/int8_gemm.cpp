#include "cpu/int8_gemm.hpp"

#include "cpu/gemm.hpp"
#include "cpu/reference/elements.hpp"

namespace ckitchen::cpu {
namespace {

using reference::load;
using reference::load_float;
using reference::store;
using reference::store_float;

void widen(const void* base, std::int64_t first, std::int64_t count, std::int16_t* out) {
    const char* const bytes = static_cast<const char*>(base) + first;
    for (std::int64_t i = 0; i < count; ++i) out[i] = load<std::int8_t>(bytes, i);
}

}  // namespace

std::uint64_t int8_gemm_workspace(const ck_int8_gemm_args&) {
    return 0;
}

void int8_gemm(ThreadPool& pool, const ck_int8_gemm_args& p) {
    const auto load_a = [&p](std::int64_t row, std::int64_t begin, std::int64_t count, std::int16_t* out) {
        widen(p.a, row * p.lda + begin, count, out);
    };
    const auto load_b = [&p](std::int64_t col, std::int64_t begin, std::int64_t count, std::int16_t* out) {
        widen(p.b, col * p.ldb + begin, count, out);
    };
    const auto finish = [&p](std::int64_t row_begin, std::int64_t rows, std::int64_t col_begin,
                             std::int64_t cols, const std::int32_t* acc) {
        for (std::int64_t i = 0; i < rows; ++i) {
            const std::int32_t* const sums = acc + i * kGemmCols;
            const std::int64_t place = (row_begin + i) * p.ldc + col_begin;
            if (p.out_dtype == CK_I32) {
                for (std::int64_t j = 0; j < cols; ++j) store(p.c, place + j, sums[j]);
                continue;
            }
            const float scale_a =
                load<float>(p.scale_a, p.scale_a_mode == CK_SCALE_SCALAR ? 0 : row_begin + i);
            for (std::int64_t j = 0; j < cols; ++j) {
                const std::int64_t col = col_begin + j;
                const float scale_b = load<float>(p.scale_b, p.scale_b_mode == CK_SCALE_SCALAR ? 0 : col);
                float v = (static_cast<float>(sums[j]) * scale_a) * scale_b;
                if (p.bias != nullptr) v = v + load_float(p.bias_dtype, p.bias, col);
                store_float(p.out_dtype, p.c, place + j, v);
            }
        }
    };
    blocked_gemm(pool, p.m, p.n, p.k, load_a, load_b, finish);
}

}  // namespace ckitchen::cpu

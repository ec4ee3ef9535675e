#include "cpu/reference/w4a8_linear.hpp"

#include "core/linear_args.hpp"
#include "cpu/reference/int8_quantize.hpp"
#include "cpu/reference/w4a8.hpp"

namespace ckitchen::reference {

void w4a8_linear_gemm(const ck_w4a8_linear_args& p, const std::int8_t* q, const float* scale,
                      std::int64_t row_begin, std::int64_t row_end, std::int64_t col_begin,
                      std::int64_t col_end) {
    float levels[kLevels];
    load_levels(p.layout, p.codebook, levels);
    for (std::int64_t i = row_begin; i < row_end; ++i) {
        const std::int8_t* const x = q + i * p.k;
        const float scale_a = load<float>(scale, i);
        for (std::int64_t j = col_begin; j < col_end; ++j) {
            std::int32_t acc = 0;
            for (std::int64_t kk = 0; kk < p.k; ++kk) {
                const float s_rel = load_s_rel(p.s_rel_dtype, p.s_rel, j * p.ld_s_rel + kk / p.group);
                const int code = load_code(p.packed, j * p.ld_packed, kk);
                const std::int32_t w = grid_value(levels[code], s_rel);
                acc += x[kk] * w;
            }
            float v = static_cast<float>(acc);
            v = v * scale_a;
            v = v * load<float>(p.s_channel, j);
            if (p.layout == CK_W4A8_ASYMMETRIC) {
                for (std::int64_t grp = 0; grp < p.k / p.group; ++grp) {
                    std::int32_t sum = 0;
                    for (std::int64_t kk = grp * p.group; kk < (grp + 1) * p.group; ++kk) sum += x[kk];
                    const float correction =
                        load_float(p.correction_dtype, p.correction, grp * p.ld_correction + j);
                    v = v + (static_cast<float>(sum) * scale_a) * correction;
                }
            }
            if (p.bias != nullptr) v = v + load_float(p.bias_dtype, p.bias, j);
            store_float(p.out_dtype, p.y, i * p.ldy + j, v);
        }
    }
}

void w4a8_linear(const ck_w4a8_linear_args& p, std::int8_t* q, float* scale) {
    int8_quantize(linear_quantize_args(p, q, p.k, scale), 0, p.m);
    w4a8_linear_gemm(p, q, scale, 0, p.m, 0, p.n);
}

}  // namespace ckitchen::reference

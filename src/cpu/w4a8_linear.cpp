#include "cpu/w4a8_linear.hpp"

#include <algorithm>

#include "core/linear_args.hpp"
#include "cpu/gemm.hpp"
#include "cpu/int8_quantize.hpp"
#include "cpu/reference/w4a8.hpp"
#include "cpu/reference/w4a8_linear.hpp"
#include "cpu/workspace.hpp"

namespace ckitchen::cpu {
namespace {

using reference::kLevels;
using reference::load;
using reference::load_float;

// The int8 grid of columns [begin, begin + count) of a weight row.
void decode_row(const ck_w4a8_linear_args& p, const float* levels, std::int64_t row, std::int64_t begin,
                std::int64_t count, std::int16_t* out) {
    for (std::int64_t i = 0; i < count;) {
        const std::int64_t grp = (begin + i) / p.group;
        const std::int64_t end = std::min(count, (grp + 1) * p.group - begin);
        const float s_rel = reference::load_s_rel(p.s_rel_dtype, p.s_rel, row * p.ld_s_rel + grp);
        std::int16_t values[kLevels];
        for (int code = 0; code < kLevels; ++code) values[code] = reference::grid_value(levels[code], s_rel);
        // Groups and panels start at even columns: a byte's two codes are always wanted together.
        for (; i < end; i += 2) {
            const int pair = load<std::uint8_t>(p.packed, row * p.ld_packed + (begin + i) / 2);
            out[i] = values[pair & 15];
            out[i + 1] = values[pair >> 4];
        }
    }
}

// float32(sum of a group's q) * scale_a for every row and group, [m, k / group].
void scaled_group_sums(ThreadPool& pool, const ck_w4a8_linear_args& p, const QuantizedRows& rows,
                       float* sums) {
    const std::int64_t groups = p.k / p.group;
    pool.parallel_for(p.m, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row) {
            for (std::int64_t grp = 0; grp < groups; ++grp) {
                const std::int8_t* const q = rows.q + row * p.k + grp * p.group;
                std::int32_t sum = 0;
                for (std::int64_t i = 0; i < p.group; ++i) sum += q[i];
                sums[row * groups + grp] = static_cast<float>(sum) * rows.scale[row];
            }
        }
    });
}

std::int64_t group_sums(const ck_w4a8_linear_args& p) {
    return p.layout == CK_W4A8_ASYMMETRIC ? p.m * (p.k / p.group) : 0;
}

}  // namespace

std::uint64_t w4a8_linear_workspace(const ck_w4a8_linear_args& p) {
    return QuantizedRows::workspace(p.m, p.k) + static_cast<std::uint64_t>(group_sums(p)) * sizeof(float);
}

void w4a8_linear(ThreadPool& pool, const ck_w4a8_linear_args& p) {
    if (p.m == 0 || p.n == 0) return;
    // The group sums lie first, where the floats are aligned.
    QuantizedRows rows(p.workspace, p.m);
    float* const sums = rows.scale;
    rows.scale += group_sums(p);
    rows.q += group_sums(p) * static_cast<std::int64_t>(sizeof(float));

    int8_quantize(pool, linear_quantize_args(p, rows.q, p.k, rows.scale));
    const bool corrected = p.layout == CK_W4A8_ASYMMETRIC;
    if (corrected) scaled_group_sums(pool, p, rows, sums);

    float levels[kLevels];
    reference::load_levels(p.layout, p.codebook, levels);
    const std::int64_t groups = p.k / p.group;
    const auto load_a = [&](std::int64_t row, std::int64_t begin, std::int64_t count, std::int16_t* out) {
        const std::int8_t* const q = rows.q + row * p.k + begin;
        for (std::int64_t i = 0; i < count; ++i) out[i] = q[i];
    };
    const auto load_b = [&](std::int64_t col, std::int64_t begin, std::int64_t count, std::int16_t* out) {
        decode_row(p, levels, col, begin, count, out);
    };
    const auto finish = [&](std::int64_t row_begin, std::int64_t row_count, std::int64_t col_begin,
                            std::int64_t cols, const std::int32_t* acc) {
        for (std::int64_t i = 0; i < row_count; ++i) {
            const std::int64_t row = row_begin + i;
            float v[kGemmCols];
            for (std::int64_t j = 0; j < cols; ++j)
                v[j] = (static_cast<float>(acc[i * kGemmCols + j]) * rows.scale[row]) *
                       load<float>(p.s_channel, col_begin + j);
            if (corrected) {
                for (std::int64_t grp = 0; grp < groups; ++grp) {
                    float correction[kGemmCols];
                    reference::load_floats(p.correction_dtype, p.correction,
                                           grp * p.ld_correction + col_begin, cols, correction);
                    const float sum = sums[row * groups + grp];
                    for (std::int64_t j = 0; j < cols; ++j) v[j] = v[j] + sum * correction[j];
                }
            }
            if (p.bias != nullptr)
                for (std::int64_t j = 0; j < cols; ++j)
                    v[j] = v[j] + load_float(p.bias_dtype, p.bias, col_begin + j);
            reference::store_floats(p.out_dtype, p.y, row * p.ldy + col_begin, cols, v);
        }
    };
    blocked_gemm(pool, p.m, p.n, p.k, load_a, load_b, finish);
}

}  // namespace ckitchen::cpu

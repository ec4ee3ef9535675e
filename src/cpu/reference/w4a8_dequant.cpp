#include "cpu/reference/w4a8_dequant.hpp"

#include <algorithm>

#include "cpu/reference/rotate.hpp"
#include "cpu/reference/w4a8.hpp"

namespace ckitchen::reference {
namespace {

// The int8 grid of columns [begin, begin + count) of a row.
void decode_columns(const ck_w4a8_dequant_args& p, const float* levels, std::int64_t row, std::int64_t begin,
                    std::int64_t count, std::int8_t* grid) {
    for (std::int64_t i = 0; i < count;) {
        const std::int64_t grp = (begin + i) / p.group;
        const std::int64_t end = std::min(count, (grp + 1) * p.group - begin);
        const float s_rel = load_s_rel(p.s_rel_dtype, p.s_rel, row * p.ld_s_rel + grp);
        std::int8_t values[kLevels];
        for (int code = 0; code < kLevels; ++code) values[code] = grid_value(levels[code], s_rel);
        for (; i < end; ++i) grid[i] = values[load_code(p.packed, row * p.ld_packed, begin + i)];
    }
}

}  // namespace

void w4a8_dequant(const ck_w4a8_dequant_args& p, std::int64_t row_begin, std::int64_t row_end) {
    std::int8_t grid[kMaxRotateGroup];
    float values[kMaxRotateGroup];
    float levels[kLevels];
    load_levels(p.layout, p.codebook, levels);
    for (std::int64_t row = row_begin; row < row_end; ++row) {
        for (std::int64_t begin = 0; begin < p.k; begin += kMaxRotateGroup) {
            const std::int64_t count = std::min(kMaxRotateGroup, p.k - begin);
            decode_columns(p, levels, row, begin, count, grid);
            if (p.out_dtype == CK_I8) {
                for (std::int64_t i = 0; i < count; ++i) store(p.out, row * p.ldo + begin + i, grid[i]);
                continue;
            }
            const float s_channel = load<float>(p.s_channel, row);
            for (std::int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(grid[i]) * s_channel;
            if (p.layout == CK_W4A8_ASYMMETRIC) {
                for (std::int64_t i = 0; i < count; ++i) {
                    const std::int64_t grp = (begin + i) / p.group;
                    values[i] += load_float(p.correction_dtype, p.correction, grp * p.ld_correction + row);
                }
            }
            if (p.rotate_group != 0)
                for (std::int64_t i = 0; i < count; i += p.rotate_group)
                    rotate_block(values + i, p.rotate_group);
            store_floats(p.out_dtype, p.out, row * p.ldo + begin, count, values);
        }
    }
}

}  // namespace ckitchen::reference

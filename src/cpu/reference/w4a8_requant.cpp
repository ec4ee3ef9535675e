#include "cpu/reference/w4a8_requant.hpp"

#include <algorithm>

#include "cpu/reference/rotate.hpp"
#include "cpu/reference/w4a8.hpp"

namespace ckitchen::reference {
namespace {

float largest_magnitude(const float* w, std::int64_t count) {
    float amax = 0.0f;
    for (std::int64_t i = 0; i < count; ++i) amax = larger(absolute(w[i]), amax);
    return amax;
}

// Reads a row as the quantizer sees it: non-finite elements are 0 and counted, then the rotation, rounded to
// the dtype, whose overflows are 0 as well.
std::uint64_t read_row(const ck_w4a8_requant_args& p, std::int64_t row, float* w) {
    load_floats(p.dtype, p.weight, row * p.ldw, p.k, w);
    std::int64_t finite = 0;
    for (std::int64_t i = 0; i < p.k; ++i) {
        finite += is_finite(w[i]) ? 1 : 0;
        w[i] = is_finite(w[i]) ? w[i] : 0.0f;
    }
    if (p.rotate_group != 0) {
        for (std::int64_t i = 0; i < p.k; i += p.rotate_group) rotate_block(w + i, p.rotate_group);
        round_floats(p.dtype, p.k, w);
        for (std::int64_t i = 0; i < p.k; ++i) w[i] = is_finite(w[i]) ? w[i] : 0.0f;
    }
    return static_cast<std::uint64_t>(p.k - finite);
}

float draw(const ck_w4a8_requant_args& p, std::int64_t row, std::int64_t col) {
    // Unsigned arithmetic: only the low 32 bits matter, and they survive any overflow.
    const std::uint64_t whole_row = p.row_offset + static_cast<std::uint64_t>(row);
    const std::uint64_t place = whole_row * static_cast<std::uint64_t>(p.k) + static_cast<std::uint64_t>(col);
    return stochastic_draw(place, p.seed);
}

void store_code_pair(const ck_w4a8_requant_args& p, std::int64_t row, std::int64_t col, int even, int odd) {
    store(p.packed, row * p.ld_packed + col / 2, static_cast<std::uint8_t>(even | (odd << 4)));
}

template <int Size>
void divide(const float* w, float scale, float* x) {
    for (int i = 0; i < Size; ++i) x[i] = w[i] / scale;
}

// The scale of a codebook group: from the largest magnitude, refined twice by least squares.
template <int Size>
float refine_group_scale(const float* w, int group, const float* codebook) {
    float gs = larger(largest_magnitude(w, group), 1e-8f);
    for (int pass = 0; pass < 2; ++pass) {
        float num = 0.0f;
        float den = 0.0f;
        for (int begin = 0; begin < group; begin += Size) {
            float x[Size];
            std::int32_t codes[Size];
            divide<Size>(w + begin, gs, x);
            nearest<Size>(x, codebook, codes);
            float products[Size];
            float squares[Size];
            for (int i = 0; i < Size; ++i) {
                const float level = codebook[codes[i]];
                products[i] = w[begin + i] * level;
                squares[i] = level * level;
            }
            // Chunk sums are added left to right; the first one starts the sum.
            num = begin == 0 ? tree_sum<Size>(products) : num + tree_sum<Size>(products);
            den = begin == 0 ? tree_sum<Size>(squares) : den + tree_sum<Size>(squares);
        }
        gs = larger(num / larger(den, 1e-8f), 1e-8f);
    }
    return gs;
}

// The final codes of the chunk at `col`, for the levels of its group on the grid of s_channel.
template <int Size>
void choose_codes(const ck_w4a8_requant_args& p, std::int64_t row, std::int64_t col, const float* w,
                  float s_channel, const float* levels, std::int32_t* codes) {
    float x[Size];
    divide<Size>(w, s_channel, x);
    if (p.seed == 0) {
        nearest<Size>(x, levels, codes);
        return;
    }
    std::int32_t below[Size];
    count_below<Size>(x, levels, below);
    for (int i = 0; i < Size; ++i) {
        const int low = std::clamp(below[i] - 1, 0, kLevels - 2);
        const float threshold = draw(p, row, col + i) * (levels[low + 1] - levels[low]) + levels[low];
        codes[i] = low + (x[i] > threshold ? 1 : 0);
    }
}

template <int Size>
void requant_row_codebook(const ck_w4a8_requant_args& p, std::int64_t row, const float* w,
                          float* group_scale) {
    float codebook[kLevels];
    load_levels(p.layout, p.codebook, codebook);
    std::int32_t codes[Size];

    float row_max = 0.0f;
    for (std::int64_t begin = 0, grp = 0; begin < p.k; begin += p.group, ++grp) {
        const float gs = refine_group_scale<Size>(w + begin, p.group, codebook);
        group_scale[grp] = gs;
        for (std::int64_t col = begin; col < begin + p.group; col += Size) {
            float x[Size];
            divide<Size>(w + col, gs, x);
            nearest<Size>(x, codebook, codes);
            for (int i = 0; i < Size; ++i) row_max = larger(absolute(codebook[codes[i]] * gs), row_max);
        }
    }
    const float s_channel = larger(row_max / 127.0f, 1e-8f);
    store(p.s_channel, row, s_channel);

    for (std::int64_t begin = 0, grp = 0; begin < p.k; begin += p.group, ++grp) {
        const std::int64_t place = row * p.ld_s_rel + grp;
        store_float(p.s_rel_dtype, p.s_rel, place, group_scale[grp] / s_channel);
        const float s_rel = load_s_rel(p.s_rel_dtype, p.s_rel, place);
        float levels[kLevels];
        for (int j = 0; j < kLevels; ++j) levels[j] = static_cast<float>(grid_value(codebook[j], s_rel));
        for (std::int64_t col = begin; col < begin + p.group; col += Size) {
            choose_codes<Size>(p, row, col, w + col, s_channel, levels, codes);
            for (int i = 0; i < Size; i += 2) store_code_pair(p, row, col + i, codes[i], codes[i + 1]);
        }
    }
}

// Layouts without a codebook: equally spaced levels, the codes chosen once.
void requant_row_linear(const ck_w4a8_requant_args& p, std::int64_t row, const float* w, float* group_scale) {
    float row_max = 0.0f;
    for (std::int64_t begin = 0, grp = 0; begin < p.k; begin += p.group, ++grp) {
        const bool asymmetric = p.layout == CK_W4A8_ASYMMETRIC;
        float gs = 0.0f;
        float minimum = 0.0f;
        if (asymmetric) {
            const auto [low, high] = std::minmax_element(w + begin, w + begin + p.group);
            minimum = *low;
            gs = larger((*high - minimum) / 15.0f, 1e-8f);
            store_float(p.dtype, p.correction, grp * p.ld_correction + row, 8.0f * gs + minimum);
        } else {
            gs = larger(largest_magnitude(w + begin, p.group) / 7.0f, 1e-8f);
        }
        group_scale[grp] = gs;

        const auto choose = [&](std::int64_t col) {
            const float t = (asymmetric ? w[col] - minimum : w[col]) / gs;
            const float rounded = p.seed == 0 ? rne(t) : round_down(t + draw(p, row, col));
            const int code = asymmetric ? to_int8(rounded, 0.0f, 15.0f) : to_int8(rounded, -8.0f, 7.0f) + 8;
            row_max = larger(absolute(static_cast<float>(code - 8) * gs), row_max);
            return code;
        };
        for (std::int64_t col = begin; col < begin + p.group; col += 2) {
            const int even = choose(col);
            store_code_pair(p, row, col, even, choose(col + 1));
        }
    }
    const float s_channel = larger(row_max / 127.0f, 1e-8f);
    store(p.s_channel, row, s_channel);
    for (std::int64_t grp = 0; grp < p.k / p.group; ++grp)
        store_float(p.s_rel_dtype, p.s_rel, row * p.ld_s_rel + grp, group_scale[grp] / s_channel);
}

}  // namespace

std::int64_t w4a8_requant_scratch(const ck_w4a8_requant_args& p) {
    return p.k + p.k / p.group;
}

std::uint64_t w4a8_requant(const ck_w4a8_requant_args& p, std::int64_t row_begin, std::int64_t row_end,
                           float* scratch) {
    float* const w = scratch;
    float* const group_scale = scratch + p.k;
    std::uint64_t nonfinite = 0;
    for (std::int64_t row = row_begin; row < row_end; ++row) {
        nonfinite += read_row(p, row, w);
        if (p.layout != CK_W4A8_CODEBOOK) {
            requant_row_linear(p, row, w, group_scale);
        } else if (p.group == 4) {
            requant_row_codebook<4>(p, row, w, group_scale);
        } else if (p.group == 8) {
            requant_row_codebook<8>(p, row, w, group_scale);
        } else {
            requant_row_codebook<16>(p, row, w, group_scale);
        }
    }
    return nonfinite;
}

}  // namespace ckitchen::reference

// What the W4A8 operators share: nearest level, tree sum, the random draw, the decoding of one code.
#pragma once

#include <ckitchen.h>

#include <algorithm>
#include <cstdint>

#include "cpu/reference/elements.hpp"

namespace ckitchen::reference {

inline constexpr int kLevels = 16;

// The quantizer handles a group in chunks of `Size` columns, which a tree sum adds in one tree: 16, or the
// whole group when it has 4 or 8.
//
// below[i] = number of levels below x[i]; the levels are in non-descending order.
template <int Size>
inline void count_below(const float* x, const float* levels, std::int32_t* below) {
    std::int32_t counts[Size] = {};
    for (int j = 0; j < kLevels; ++j)
        for (int i = 0; i < Size; ++i) counts[i] += levels[j] < x[i] ? 1 : 0;
    std::copy_n(counts, Size, below);
}

// codes[i] = index of the nearest of 16 non-descending levels. The two levels around x are compared by their
// rounded distances; a tie takes the lower index. No branch depends on the data: half of them would be
// mispredicted.
template <int Size>
inline void nearest(const float* x, const float* levels, std::int32_t* codes) {
    std::int32_t below[Size];
    count_below<Size>(x, levels, below);
    float low_level[Size];
    float high_level[Size];
    for (int i = 0; i < Size; ++i) {
        low_level[i] = levels[std::max(below[i] - 1, 0)];
        high_level[i] = levels[std::min(below[i], kLevels - 1)];
    }
    for (int i = 0; i < Size; ++i) {
        const std::int32_t low = std::max(below[i] - 1, 0);
        const std::int32_t high = std::min(below[i], kLevels - 1);
        const bool high_is_nearer = absolute(x[i] - high_level[i]) < absolute(x[i] - low_level[i]);
        codes[i] = low + (high_is_nearer ? high - low : 0);
    }
}

// Balanced pairwise sum.
template <int Size>
inline float tree_sum(const float* p) {
    if constexpr (Size == 1) {
        return p[0];
    } else {
        return tree_sum<Size / 2>(p) + tree_sum<Size / 2>(p + Size / 2);
    }
}

// The uniform draw in [0, 1) that belongs to one element: a hash of its place in the whole tensor and the
// seed. Only the low 32 bits of the place are used.
inline float stochastic_draw(std::uint64_t place, std::uint64_t seed) {
    std::uint32_t x = static_cast<std::uint32_t>(place) ^ static_cast<std::uint32_t>(seed) ^
                      static_cast<std::uint32_t>(seed >> 32);
    x = x * 747796405u + 2891336453u;
    const std::uint32_t w = ((x >> ((x >> 28) + 4u)) ^ x) * 277803737u;
    const std::uint32_t h = (w >> 22) ^ w;
    return static_cast<float>(static_cast<std::int32_t>(h >> 8)) * 0x1p-24f;
}

// A weight scale s_rel as float32.
inline float load_s_rel(ck_dtype dtype, const void* s_rel, std::int64_t index) {
    return dtype == CK_F8_E4M3 ? e4m3_to_f32(load<std::uint8_t>(s_rel, index)) : load<float>(s_rel, index);
}

// The float levels of the codes before scaling.
inline void load_levels(ck_w4a8_layout layout, const float* codebook, float* levels) {
    for (int code = 0; code < kLevels; ++code)
        levels[code] =
            layout == CK_W4A8_CODEBOOK ? load<float>(codebook, code) : static_cast<float>(code - 8);
}

// A level times its group's scale on the int8 grid. A NaN product (a NaN scale, or 0 times infinity) gives 0.
inline std::int8_t grid_value(float level, float s_rel) {
    return to_int8(rne(level * s_rel), -127.0f, 127.0f);
}

// The code at a column of a packed row: the even column in the low nibble.
inline int load_code(const void* packed, std::int64_t row_start, std::int64_t col) {
    const int pair = load<std::uint8_t>(packed, row_start + col / 2);
    return col % 2 == 0 ? pair & 15 : pair >> 4;
}

}  // namespace ckitchen::reference

// What the W4A8 operators share: nearest level, tree sum, the random draw, the decoding of one code.
#pragma once

#include <ckitchen.h>

#include <algorithm>
#include <cstdint>

#include "cpu/reference/elements.hpp"

namespace ckitchen::reference {

inline constexpr int kLevels = 16;

// Number of levels below x; the levels are in non-descending order.
inline int count_below(float x, const float* levels) {
    int below = 0;
    for (int j = 0; j < kLevels; ++j) below += levels[j] < x ? 1 : 0;
    return below;
}

// Index of the nearest of 16 non-descending levels. The two levels around x are compared by their rounded
// distances; a tie takes the lower index.
inline int nearest(float x, const float* levels) {
    const int below = count_below(x, levels);
    const int low = std::clamp(below - 1, 0, kLevels - 1);
    const int high = std::clamp(below, 0, kLevels - 1);
    return absolute(x - levels[high]) < absolute(x - levels[low]) ? high : low;
}

// Sums 4, 8 or 16 values in a balanced pairwise tree.
inline float tree_sum_chunk(const float* p, int count) {
    float sums[kLevels];
    std::copy_n(p, count, sums);
    for (int width = count / 2; width >= 1; width /= 2)
        for (int i = 0; i < width; ++i) sums[i] = sums[2 * i] + sums[2 * i + 1];
    return sums[0];
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

// The float level of a code before scaling.
inline float code_level(ck_w4a8_layout layout, const float* codebook, int code) {
    return layout == CK_W4A8_CODEBOOK ? load<float>(codebook, code) : static_cast<float>(code - 8);
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

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ckitchen::gfxsim {

inline bool is_nan(float v) {
    return v != v;
}

inline float quiet(float v) {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(v) | 0x400000u);
}

/// IEEE 754-2008 minNum with -0 below +0: a NaN loses against a number, two NaNs give a quiet one.
inline float min_num(float a, float b) {
    const float equal = std::bit_cast<float>(std::bit_cast<uint32_t>(a) | std::bit_cast<uint32_t>(b));
    const float ordered = a < b ? a : (b < a ? b : equal);
    return is_nan(a) ? (is_nan(b) ? quiet(a) : b) : (is_nan(b) ? a : ordered);
}

inline float max_num(float a, float b) {
    const float equal = std::bit_cast<float>(std::bit_cast<uint32_t>(a) & std::bit_cast<uint32_t>(b));
    const float ordered = a > b ? a : (b > a ? b : equal);
    return is_nan(a) ? (is_nan(b) ? quiet(a) : b) : (is_nan(b) ? a : ordered);
}

/// Truncates, saturates, gives 0 for NaN.
inline int32_t float_to_i32(float v) {
    if (is_nan(v)) return 0;
    if (v >= 2147483648.0f) return INT32_MAX;
    if (v <= -2147483648.0f) return INT32_MIN;
    return static_cast<int32_t>(v);
}

inline uint32_t float_to_u32(float v) {
    if (!(v > 0.0f)) return 0;
    if (v >= 4294967296.0f) return UINT32_MAX;
    return static_cast<uint32_t>(v);
}

inline float flush_denormal(float v) {
    return std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v;
}

}  // namespace ckitchen::gfxsim

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace ckitchen::gfxsim {

template <class T>
inline bool is_nan(T v) {
    return v != v;
}

inline float quiet(float v) {
    return std::bit_cast<float>(std::bit_cast<uint32_t>(v) | 0x400000u);
}
inline double quiet(double v) {
    return std::bit_cast<double>(std::bit_cast<uint64_t>(v) | 0x8000000000000ull);
}

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

/// The lesser of two ordered values with -0 below +0.
template <class T>
inline T lesser(T a, T b) {
    const T equal = std::bit_cast<T>(std::bit_cast<BitsOf<T>>(a) | std::bit_cast<BitsOf<T>>(b));
    return a < b ? a : (b < a ? b : equal);
}
template <class T>
inline T greater(T a, T b) {
    const T equal = std::bit_cast<T>(std::bit_cast<BitsOf<T>>(a) & std::bit_cast<BitsOf<T>>(b));
    return a > b ? a : (b > a ? b : equal);
}

/// IEEE 754-2008 minNum with -0 below +0: a NaN loses against a number, two NaNs give a quiet one.
template <class T>
inline T min_num(T a, T b) {
    return is_nan(a) ? (is_nan(b) ? quiet(a) : b) : (is_nan(b) ? a : lesser(a, b));
}
template <class T>
inline T max_num(T a, T b) {
    return is_nan(a) ? (is_nan(b) ? quiet(a) : b) : (is_nan(b) ? a : greater(a, b));
}

/// IEEE 754-2019 minimum: a NaN wins.
template <class T>
inline T minimum(T a, T b) {
    return is_nan(a) ? quiet(a) : (is_nan(b) ? quiet(b) : lesser(a, b));
}
template <class T>
inline T maximum(T a, T b) {
    return is_nan(a) ? quiet(a) : (is_nan(b) ? quiet(b) : greater(a, b));
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

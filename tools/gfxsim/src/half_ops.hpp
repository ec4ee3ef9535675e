#pragma once

#include <cmath>

#include "float_ops.hpp"
#include "half.hpp"

namespace ckitchen::gfxsim {

inline Half half_neg(Half a) {
    return Half{static_cast<uint16_t>(a.bits ^ 0x8000u)};
}

// A sum or product of two binary16 rounds correctly through binary32 (24 >= 2 * 11 + 2 bits).
inline Half half_add(Half a, Half b) {
    return to_half(to_float(a) + to_float(b));
}
inline Half half_mul(Half a, Half b) {
    return to_half(to_float(a) * to_float(b));
}
inline Half half_fma(Half a, Half b, Half c) {
    return to_half_from_double(std::fma(static_cast<double>(to_float(a)), static_cast<double>(to_float(b)),
                                        static_cast<double>(to_float(c))));
}
inline Half half_min(Half a, Half b) {
    return to_half(min_num(to_float(a), to_float(b)));
}
inline Half half_max(Half a, Half b) {
    return to_half(max_num(to_float(a), to_float(b)));
}

inline Half half_minimum(Half a, Half b) {
    return to_half(minimum(to_float(a), to_float(b)));
}
inline Half half_maximum(Half a, Half b) {
    return to_half(maximum(to_float(a), to_float(b)));
}

/// float32 to float16 towards zero.
inline uint16_t half_toward_zero(float v) {
    const uint16_t nearest = to_half(v).bits;
    if (is_nan(v)) return nearest;
    const float back = to_float(Half{nearest});
    if (std::isinf(back) && !std::isinf(v)) return static_cast<uint16_t>((nearest & 0x8000u) | 0x7bffu);
    return std::fabs(back) > std::fabs(v) ? static_cast<uint16_t>(nearest - 1) : nearest;
}

}  // namespace ckitchen::gfxsim

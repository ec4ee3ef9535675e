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

}  // namespace ckitchen::gfxsim

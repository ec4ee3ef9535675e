#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ckitchen::gfxsim {

// OCP 8-bit floats as gfx12 has them: fp8 is E4M3 without infinities (0x7f is NaN), bf8 is E5M2 as IEEE.

inline float decode_fp8(uint8_t v) {
    const int exponent = v >> 3 & 15, fraction = v & 7;
    float m;
    if ((v & 0x7f) == 0x7f)
        m = std::numeric_limits<float>::quiet_NaN();
    else if (exponent == 0)
        m = std::ldexp(static_cast<float>(fraction), -9);
    else
        m = std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
    return v & 0x80 ? -m : m;
}

inline float decode_bf8(uint8_t v) {
    const int exponent = v >> 2 & 31, fraction = v & 3;
    float m;
    if (exponent == 31)
        m = fraction ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
    else if (exponent == 0)
        m = std::ldexp(static_cast<float>(fraction), -16);
    else
        m = std::ldexp(static_cast<float>(4 + fraction), exponent - 17);
    return v & 0x80 ? -m : m;
}

/// Round to nearest even with `fraction_bits` and `bias`; codes above `largest` are the overflow code.
inline uint8_t encode_small(float v, int fraction_bits, int bias, uint8_t largest, uint8_t overflow,
                            uint8_t nan) {
    const uint8_t sign = std::signbit(v) ? 0x80 : 0;
    if (std::isnan(v)) return sign | nan;
    const float a = std::fabs(v);
    if (std::isinf(a)) return sign | overflow;
    int e = 0;
    std::frexp(a, &e);
    e = std::max(e - 1, 1 - bias);
    const float units = std::nearbyint(std::ldexp(a, fraction_bits - e));
    // Units count from the denormal scale of this exponent; the hidden bit adds one exponent step.
    const float code = units + static_cast<float>((e - (1 - bias)) << fraction_bits);
    if (a == 0) return sign;
    return code > largest ? sign | overflow : sign | static_cast<uint8_t>(code);
}

inline uint8_t encode_fp8(float v) {
    return encode_small(v, 3, 7, 0x7e, 0x7f, 0x7f);
}
inline uint8_t encode_bf8(float v) {
    return encode_small(v, 2, 15, 0x7b, 0x7c, 0x7f);
}

}  // namespace ckitchen::gfxsim

#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace ckitchen::gfxsim {

/// IEEE binary16 by its bits; a type of its own so that operand types follow from a function's parameters.
struct Half {
    uint16_t bits;
};

/// bfloat16 by its bits.
struct Bf16 {
    uint16_t bits;
};

inline float to_float(Half h) {
#if defined(__F16C__)
    return _cvtsh_ss(h.bits);
#else
    const uint32_t sign = (h.bits & 0x8000u) << 16, exponent = h.bits >> 10 & 31, fraction = h.bits & 0x3ffu;
    if (exponent == 31)
        return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13 | (fraction ? 0x400000u : 0u));
    if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float v = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -v : v;
#endif
}

/// Rounds in the host's current direction; NaNs keep their sign and upper payload and become quiet.
inline uint16_t half_from_double(double v) {
    const uint64_t bits = std::bit_cast<uint64_t>(v);
    const uint16_t sign = static_cast<uint16_t>(bits >> 48 & 0x8000u);
    if (std::isnan(v)) return static_cast<uint16_t>(sign | 0x7e00u | (bits >> 42 & 0x1ffu));
    if (std::isinf(v)) return sign | 0x7c00u;
    // Beyond the midpoint after the largest half all values round as the midpoint does.
    const double inside = std::copysign(std::fmin(std::fabs(v), 65520.0), v), magnitude = std::fabs(inside);
    if (magnitude < 0x1p-14)
        return static_cast<uint16_t>(sign |
                                     static_cast<uint16_t>(std::fabs(std::nearbyint(inside * 0x1p24))));
    const int exponent = static_cast<int>(std::bit_cast<uint64_t>(inside) >> 52 & 0x7ff) - 1023;
    const double scaled = std::fabs(
        std::nearbyint(inside * std::bit_cast<double>(static_cast<uint64_t>(1023 + 10 - exponent) << 52)));
    // A fraction that rounds up to 2048 carries into the exponent by plain addition.
    return static_cast<uint16_t>(sign + ((exponent + 14) << 10) + static_cast<uint32_t>(scaled));
}

inline Half to_half(float v) {
#if defined(__F16C__)
    return Half{_cvtss_sh(v, _MM_FROUND_CUR_DIRECTION)};
#else
    return Half{half_from_double(v)};
#endif
}

/// Bits of a half with a denormal replaced by zero.
inline uint32_t flush_half(uint32_t v) {
    return v & 0x7c00u ? v : v & ~0x3ffu;
}

inline Half to_half_from_double(double v) {
    return Half{half_from_double(v)};
}

inline float to_float(Bf16 b) {
    return std::bit_cast<float>(uint32_t{b.bits} << 16);
}

inline Bf16 to_bf16(float v) {
    const uint32_t u = std::bit_cast<uint32_t>(v);
    if ((u & 0x7fffffffu) > 0x7f800000u) return Bf16{static_cast<uint16_t>(u >> 16 | 0x40u)};
    return Bf16{static_cast<uint16_t>((u + 0x7fffu + (u >> 16 & 1)) >> 16)};
}

}  // namespace ckitchen::gfxsim

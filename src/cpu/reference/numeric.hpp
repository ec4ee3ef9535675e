// Scalar arithmetic of the library's definition: conversions, rounding, the exponential, the activations.
//
// Everything here is plain C++ over single IEEE float32 operations and integers, so that the same bits come
// out of every compiler and processor. It assumes the default floating-point environment (round to nearest
// even, subnormals kept; see cpu/fp_env.hpp) and a build without contraction or fast-math. No function
// depends on libm or on the rounding mode that some other library left behind.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace ckitchen::reference {

// ---------------------------------------------------------------------------------------------------------
// 16-bit and 8-bit floats

inline float bf16_to_f32(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// Round half to even; overflow gives infinity; a NaN stays a (quiet) NaN.
inline std::uint16_t f32_to_bf16(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    // Adding the kept part's lowest bit to 0x7FFF makes a tie carry only into an odd result.
    const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
    const std::uint32_t quiet_nan = (bits >> 16) | 0x40u;
    const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
    return static_cast<std::uint16_t>(is_nan ? quiet_nan : rounded);
}

inline float f16_to_f32(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
    const std::uint32_t magnitude = half & 0x7FFFu;
    // A normal number only changes its exponent's bias (15 to 127); infinity and NaN get the largest
    // exponent.
    const std::uint32_t rebias = magnitude >= 0x7C00u ? 224u << 23 : 112u << 23;
    const std::uint32_t normal = (magnitude << 13) + rebias;
    // A subnormal is a count of 2^-24, and both factors and the product are normal float32 numbers.
    const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
    const std::uint32_t bits = magnitude < 0x0400u ? std::bit_cast<std::uint32_t>(subnormal) : normal;
    return std::bit_cast<float>(sign | bits);
}

// Shifts right by 1 to 31 bits, rounding half to even.
inline std::uint32_t shift_right_rne(std::uint32_t value, std::uint32_t shift) {
    const std::uint32_t kept = value >> shift;
    const std::uint32_t rest = value & ((1u << shift) - 1u);
    const std::uint32_t half = 1u << (shift - 1u);
    const bool up = rest > half || (rest == half && (kept & 1u) != 0);
    return kept + (up ? 1u : 0u);
}

// Round half to even; overflow gives infinity; a NaN stays a (quiet) NaN.
inline std::uint16_t f32_to_f16(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
    std::uint32_t result = 0;
    if (magnitude > 0x7F800000u) {
        result = 0x7E00u | ((magnitude >> 13) & 0x3FFu);
    } else if (magnitude >= 0x477FF000u) {  // 65520, the tie between the largest number and the next one
        result = 0x7C00u;
    } else if (magnitude >= 0x38800000u) {  // 2^-14, the smallest normal number
        result = shift_right_rne(magnitude - (112u << 23), 13);
    } else if (magnitude >= 0x33000000u) {  // 2^-25, the tie between 0 and the smallest subnormal
        const std::uint32_t significand = (magnitude & 0x7FFFFFu) | 0x800000u;
        result = shift_right_rne(significand, 126u - (magnitude >> 23));
    }
    return static_cast<std::uint16_t>(sign | result);
}

// OCP e4m3fn: bias 7, no infinities, NaN where all bits but the sign are set.
inline float e4m3_to_f32(std::uint8_t code) {
    const std::uint32_t sign = static_cast<std::uint32_t>(code & 0x80u) << 24;
    const std::uint32_t magnitude = code & 0x7Fu;
    if (magnitude == 0x7Fu) return std::numeric_limits<float>::quiet_NaN();
    const float subnormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-9f;
    const std::uint32_t normal = (magnitude << 20) + (120u << 23);
    const std::uint32_t bits = magnitude < 8u ? std::bit_cast<std::uint32_t>(subnormal) : normal;
    return std::bit_cast<float>(sign | bits);
}

// Round half to even, saturating at 448 (infinities too), subnormals kept; any NaN becomes 0x7F.
inline std::uint8_t f32_to_e4m3(float value) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 24) & 0x80u;
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return 0x7Fu;
    std::uint32_t result = 0;
    if (magnitude >= 0x43E00000u) {  // 448
        result = 0x7Eu;
    } else if (magnitude >= 0x3C800000u) {  // 2^-6, the smallest normal number
        result = shift_right_rne(magnitude - (120u << 23), 20);
    } else if (magnitude >= 0x3A800000u) {  // 2^-10, the tie between 0 and the smallest subnormal
        const std::uint32_t significand = (magnitude & 0x7FFFFFu) | 0x800000u;
        result = shift_right_rne(significand, 141u - (magnitude >> 23));
    }
    return static_cast<std::uint8_t>(sign | result);
}

// ---------------------------------------------------------------------------------------------------------
// Rounding and comparing

inline float absolute(float x) {
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFu);
}

inline bool is_finite(float x) {
    return (std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFu) < 0x7F800000u;
}

// The larger one; `b` when `a` is a NaN.
inline float larger(float a, float b) {
    return a > b ? a : b;
}

// Round half to even, to an integral float. From 2^23 on every float32 is an integer. Below, |x| + 2^23 lies
// where neighbouring floats are exactly 1 apart, so the addition itself rounds to the nearest integer and a
// tie to the even one, and the subtraction is exact.
inline float rne(float x) {
    const float magnitude = absolute(x);
    const float rounded = (magnitude + 0x1p23f) - 0x1p23f;
    const std::uint32_t sign = std::bit_cast<std::uint32_t>(x) & 0x80000000u;
    const float signed_result = std::bit_cast<float>(std::bit_cast<std::uint32_t>(rounded) | sign);
    return magnitude < 0x1p23f ? signed_result : x;
}

inline float round_down(float x) {
    const float nearest_integer = rne(x);
    return nearest_integer > x ? nearest_integer - 1.0f : nearest_integer;
}

// Clamps an integral float before it becomes an integer; a NaN becomes 0.
inline std::int8_t to_int8(float x, float low, float high) {
    const float at_least = x < low ? low : x;
    const float clamped = at_least > high ? high : at_least;
    return static_cast<std::int8_t>(static_cast<std::int32_t>(clamped == clamped ? clamped : 0.0f));
}

// ---------------------------------------------------------------------------------------------------------
// Exponential and activations

// exp(x): Cody-Waite reduction by ln 2 in two parts, then a polynomial, every step a rounded float32
// operation.
inline float exp32(float x) {
    const float n = rne(x * 1.44269504f);
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * (r * r) + r) + 1.0f;
    // For -87 <= x <= 88 n lies in [-126, 127], the exponents of normal numbers; the clamp only keeps the
    // conversion defined for the arguments that the selections below answer.
    const float at_least = n >= -126.0f ? n : -126.0f;
    const float exponent = at_least > 127.0f ? 127.0f : at_least;
    const std::int32_t biased = static_cast<std::int32_t>(exponent) + 127;
    const float power = std::bit_cast<float>(static_cast<std::uint32_t>(biased) << 23);
    float result = p * power;
    result = x > 88.0f ? std::numeric_limits<float>::infinity() : result;
    result = x < -87.0f ? 0.0f : result;
    return x == x ? result : x;
}

inline float gelu_tanh(float x) {
    const float y = 0.7978845608f * (x + 0.044715f * ((x * x) * x));
    return (0.5f * x) * (1.0f + (1.0f - 2.0f / (exp32(2.0f * y) + 1.0f)));
}

inline float swiglu(float gate, float up) {
    return (gate / (1.0f + exp32(-gate))) * up;
}

}  // namespace ckitchen::reference

// Number formats. bfloat16 and float16 travel as 16-bit patterns.
#pragma once

#include "memory.h"

namespace ckitchen {

// Round to nearest, ties to even; overflow is infinity, a NaN stays a quiet NaN.
CK_DEVICE uint16_t float_to_bfloat16(float value) {
#if defined(__NVPTX__)
    uint16_t converted;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(converted) : "f"(value));
    return converted;
#else
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    const uint32_t result = value != value ? bits | 0x400000u : rounded;
    return static_cast<uint16_t>(result >> 16);
#endif
}

// Two numbers as float_to_bfloat16 has them, the first one in the low half.
CK_DEVICE uint32_t floats_to_bfloat16(float first, float second) {
#if defined(__NVPTX__)
    uint32_t both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
#else
    return float_to_bfloat16(first) | static_cast<uint32_t>(float_to_bfloat16(second)) << 16;
#endif
}

// Two numbers after rounding to bfloat16, to nearest, ties to even; overflow is infinity. What is a NaN may
// become 0.
CK_DEVICE void round_to_bfloat16(float& first, float& second) {
#if defined(__NVPTX__)
    const uint32_t both = floats_to_bfloat16(first, second);
    first = __builtin_bit_cast(float, both << 16);
    second = __builtin_bit_cast(float, both & 0xffff0000u);
#else
    // A NaN whose highest 16 mantissa bits are set overflows into the sign and leaves 0.
    const auto rounded = [](float value) CK_INLINE_LAMBDA {
        const uint32_t bits = __builtin_bit_cast(uint32_t, value);
        return __builtin_bit_cast(float, bits + 0x7fffu + (bits >> 16 & 1u) & 0xffff0000u);
    };
    first = rounded(first);
    second = rounded(second);
#endif
}

CK_DEVICE float bfloat16_to_float(uint16_t bits) {
    return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16);
}

// The hardware conversion rounds to nearest even and keeps subnormals and NaN.
CK_DEVICE uint16_t float_to_float16(float value) {
    return __builtin_bit_cast(uint16_t, static_cast<_Float16>(value));
}

CK_DEVICE float float16_to_float(uint16_t bits) {
    return static_cast<float>(__builtin_bit_cast(_Float16, bits));
}

#if defined(__NVPTX__) && __CUDA_ARCH__ >= 890
#define CK_HARDWARE_E4M3 1
#else
#define CK_HARDWARE_E4M3 0
#endif

// OCP e4m3fn: bias 7, no infinities, NaN where all bits but the sign are set.
CK_DEVICE float e4m3_to_float(uint32_t code) {
#if CK_HARDWARE_E4M3
    uint32_t halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<uint16_t>(code)));
    return float16_to_float(static_cast<uint16_t>(halves));
#else
    const uint32_t magnitude = code & 0x7fu;
    const float subnormal = static_cast<float>(magnitude) * 0x1p-9f;
    const uint32_t normal = (magnitude << 20) + (120u << 23);
    uint32_t bits = magnitude < 8u ? __builtin_bit_cast(uint32_t, subnormal) : normal;
    bits = magnitude == 0x7fu ? 0x7fc00000u : bits;
    return __builtin_bit_cast(float, bits | (code & 0x80u) << 24);
#endif
}

// Round to nearest, ties to even, saturating at 448, subnormals kept; any NaN becomes 0x7f.
CK_DEVICE uint32_t float_to_e4m3(float value) {
#if CK_HARDWARE_E4M3
    uint16_t codes;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(0.0f), "f"(value));
    return codes;
#else
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude + 0x7ffffu + (magnitude >> 20 & 1u) - (120u << 23)) >> 20;
    // Subnormals count 2^-9. Adding 2^23 rounds to an integer and leaves it in the low bits.
    const float counted = __builtin_bit_cast(float, magnitude) * 512.0f + 8388608.0f;
    uint32_t code = magnitude < 0x3c800000u ? __builtin_bit_cast(uint32_t, counted) & 0xffu : normal;
    code = magnitude >= 0x43e00000u ? 0x7eu : code;  // 448
    return magnitude > 0x7f800000u ? 0x7fu : code | (bits >> 24 & 0x80u);
#endif
}

}  // namespace ckitchen

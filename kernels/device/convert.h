// Number formats. bfloat16 and float16 travel as 16-bit patterns.
#pragma once

#include "memory.h"

namespace ckitchen {

// Round to nearest, ties to even; overflow is infinity, a NaN stays a quiet NaN.
CK_DEVICE uint16_t float_to_bfloat16(float value) {
    const uint32_t bits = __builtin_bit_cast(uint32_t, value);
    const uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1u);
    const uint32_t result = value != value ? bits | 0x400000u : rounded;
    return static_cast<uint16_t>(result >> 16);
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

}  // namespace ckitchen

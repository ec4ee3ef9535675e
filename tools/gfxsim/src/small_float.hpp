#pragma once

#include <bit>
#include <cstdint>

namespace ckitchen::gfxsim {

/// Bits of the float32 that equals a narrow float `v` of 1 + kExponent + kFraction bits with the usual bias.
/// With kIeee the top exponent is infinity and NaN, without only all ones is NaN (OCP E4M3). Denormals come
/// out right whatever the host's mode for its own. Written so that a loop over it is a vector loop.
template <int kExponent, int kFraction, bool kIeee>
inline uint32_t widen_float(uint32_t v) {
    constexpr uint32_t kTop = (1u << kExponent) - 1, kOne = 1u << kFraction;
    constexpr int kBias = (1 << (kExponent - 1)) - 1, kShift = 23 - kFraction;
    constexpr float kUnit = std::bit_cast<float>(static_cast<uint32_t>(127 + 1 - kBias - kFraction) << 23);
    const uint32_t sign = v >> (kExponent + kFraction) << 31,
                   magnitude = v & (kTop << kFraction | (kOne - 1));
    const float denormal = static_cast<float>(static_cast<int32_t>(magnitude)) * kUnit;
    const uint32_t normal = (magnitude << kShift) + (static_cast<uint32_t>(127 - kBias) << 23);
    const uint32_t finite = magnitude < kOne ? std::bit_cast<uint32_t>(denormal) : normal;
    const bool special =
        kIeee ? magnitude >= kTop << kFraction : magnitude == (kTop << kFraction | (kOne - 1));
    const uint32_t top = kIeee ? 0x7f800000u | (magnitude & (kOne - 1)) << kShift : 0x7fc00000u;
    return sign | (special ? top : finite);
}

/// A bfloat16 in the upper half of a dword as the matrix units are expected to read it, the dot instructions
/// are documented to: denormals flushed.
inline uint32_t flush_bfloat(uint32_t bits) {
    return bits & 0x7f800000u ? bits : bits & 0x80000000u;
}

}  // namespace ckitchen::gfxsim

#pragma once

#include <cstdint>

namespace ckitchen::gfxsim {

constexpr uint32_t kSwizzleRotate = 0xc000, kSwizzleFft = 0xe000;

/// Lane that lane `lane` reads by a pattern of ds_swizzle_b32 below kSwizzleFft. Bit 15 selects a permutation
/// inside quads (two bits each), otherwise it is ((lane & and) | or) ^ xor with and [4:0], or [9:5], xor
/// [14:10]. A rotation is by [9:5] lanes, to the right with bit 10, and leaves the lane bits [4:0] alone.
inline int swizzle_source(uint32_t pattern, int lane) {
    if (pattern >= kSwizzleRotate) {
        const int amount = static_cast<int>(pattern >> 5 & 31), keep = static_cast<int>(pattern & 31);
        const int rotated = pattern & 0x400 ? lane - amount : lane + amount;
        return (lane & keep) | (rotated & ~keep & 31);
    }
    if (pattern & 0x8000) return (lane & ~3) | static_cast<int>(pattern >> (2 * (lane & 3)) & 3);
    const int and_mask = static_cast<int>(pattern & 31), or_mask = static_cast<int>(pattern >> 5 & 31),
              xor_mask = static_cast<int>(pattern >> 10 & 31);
    return ((lane & and_mask) | or_mask) ^ xor_mask;
}

}  // namespace ckitchen::gfxsim

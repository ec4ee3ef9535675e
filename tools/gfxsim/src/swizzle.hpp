#pragma once

#include <cstdint>
#include <string_view>

namespace ckitchen::gfxsim {

/// Text "swizzle(MODE,...)" to the 16-bit pattern of ds_swizzle_b32, with bit 16 set so that 0 means absent.
bool parse_swizzle(std::string_view text, uint64_t& out);

/// Lane that lane `lane` reads: bit 15 selects a permutation inside quads (two bits each), otherwise
/// ((lane & and) | or) ^ xor with and [4:0], or [9:5], xor [14:10] in groups of 32; 0xc000 and up rotates.
inline int swizzle_source(uint32_t pattern, int lane) {
    if (pattern >= 0xe000) return lane;  // FFT and rotation come as numbers only
    if (pattern >= 0xc000) {
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

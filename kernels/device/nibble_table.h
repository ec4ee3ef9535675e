// Looking up codes of 4 bits in a table of 16 bytes that a lane has in its registers.
#pragma once

#include "matrix.h"

namespace ckitchen {

struct NibbleTable {
    Uint32x4 bytes;

    // The bytes of 8 codes. On AMD those of the even codes, then those of the odd ones; on PTX in order.
    CK_DEVICE Uint32x2 look_up(uint32_t codes) const {
#if defined(__NVPTX__)
        // A byte permutation chooses one of 8 bytes by 3 bits, or repeats a byte's sign in all its bits: so
        // do the fourth bits of the codes, which are the signs of the bytes of `codes` and of `codes` << 4.
        const uint32_t index = codes & 0x77777777u;
        const uint32_t shifted = codes << 4;
        const uint32_t first = choose(permute(codes, shifted, 0x9d8cu), permute(bytes.z, bytes.w, index),
                                      permute(bytes.x, bytes.y, index));
        const uint32_t second =
            choose(permute(codes, shifted, 0xbfaeu), permute(bytes.z, bytes.w, index >> 16),
                   permute(bytes.x, bytes.y, index >> 16));
        return Uint32x2{first, second};
#else
        return Uint32x2{look_up_bytes(codes & 0x0f0f0f0fu), look_up_bytes(codes >> 4 & 0x0f0f0f0fu)};
#endif
    }

    // The bytes of 8 codes in order.
    CK_DEVICE Uint32x2 look_up_in_order(uint32_t codes) const {
        const Uint32x2 found = look_up(codes);
#if defined(__NVPTX__)
        return found;
#else
        return Uint32x2{__builtin_amdgcn_perm(found.y, found.x, 0x05010400u),
                        __builtin_amdgcn_perm(found.y, found.x, 0x07030602u)};
#endif
    }

    // 8 other bytes in the order of look_up.
    static CK_DEVICE Uint32x2 in_order(uint32_t first, uint32_t second) {
#if defined(__NVPTX__)
        return Uint32x2{first, second};
#else
        return Uint32x2{__builtin_amdgcn_perm(second, first, 0x06040200u),
                        __builtin_amdgcn_perm(second, first, 0x07050301u)};
#endif
    }

  private:
#if defined(__NVPTX__)
    static CK_DEVICE uint32_t permute(uint32_t low, uint32_t high, uint32_t selector) {
        return static_cast<uint32_t>(__nvvm_prmt(low, high, selector));
    }
    static CK_DEVICE uint32_t choose(uint32_t mask, uint32_t set, uint32_t clear) {
        return (set & mask) | (clear & ~mask);
    }
#else
    // A selector above 12 gives all ones. 0 to 7 stays as it is and 8 to 15 becomes 16 to 23 for the lower
    // half of the table, the other way round for the upper one.
    CK_DEVICE uint32_t look_up_bytes(uint32_t codes) const {
        const uint32_t lower = codes + (codes & 0x08080808u);
        const uint32_t upper = lower ^ 0x10101010u;
        return __builtin_amdgcn_perm(bytes.y, bytes.x, lower) &
               __builtin_amdgcn_perm(bytes.w, bytes.z, upper);
    }
#endif
};

}  // namespace ckitchen

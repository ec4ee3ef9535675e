// What the kernels of the W4A8 quantizer have in common beside the choice of codes: scales, counts, the
// joining of groups.
#pragma once

#include "../device/magnitude.h"
#include "../device/w4a8.h"
#include "requant_piece.h"
#include "w4a8_requant_args.h"

namespace ckitchen {

CK_DEVICE uint32_t w4a8_encode_s_rel(const W4a8RequantArgs& args, float scale, float s_channel) {
    const float value = scale / s_channel;
    return args.scale_type == kW4a8ScaleE4m3 ? float_to_e4m3(value) : __builtin_bit_cast(uint32_t, value);
}

CK_DEVICE float w4a8_decode_s_rel(const W4a8RequantArgs& args, uint32_t bits) {
    return args.scale_type == kW4a8ScaleE4m3 ? e4m3_to_float(bits) : __builtin_bit_cast(float, bits);
}

CK_DEVICE void w4a8_store_s_rel(const W4a8RequantArgs& args, int64_t row, int64_t group, uint32_t bits) {
    const int64_t index = row * args.ld_s_rel + group;
    if (args.scale_type == kW4a8ScaleE4m3) {
        global_pointer<uint8_t>(args.s_rel)[index] = static_cast<uint8_t>(bits);
    } else {
        reinterpret_cast<GlobalPointer<UnalignedUint32>>(args.s_rel)[index] = bits;
    }
}

// s_channel of a row from the bits of its largest value.
CK_DEVICE float w4a8_s_channel(uint32_t largest) {
    return larger(__builtin_bit_cast(float, largest) / 127.0f, kSmallestScale);
}

CK_DEVICE void w4a8_store_s_channel(const W4a8RequantArgs& args, int64_t row, float s_channel) {
    reinterpret_cast<GlobalPointer<UnalignedUint32>>(args.s_channel)[row] =
        __builtin_bit_cast(uint32_t, s_channel);
}

// Stores the number of non-finite elements that this wave, one of `waves` of its workgroup, met.
CK_DEVICE void w4a8_store_count(const W4a8RequantArgs& args, uint32_t waves, uint32_t nonfinite) {
    if (args.counts == 0) return;
    // Halves, so that no sum of 32 lanes overflows.
    int32_t half[2] = {static_cast<int32_t>(nonfinite & 0xffff), static_cast<int32_t>(nonfinite >> 16)};
    CK_UNROLL
    for (int index = 0; index < 2; ++index) {
        half[index] += exchange_xor<1>(half[index]);
        half[index] += exchange_xor<2>(half[index]);
        half[index] += exchange_xor<4>(half[index]);
        half[index] += exchange_xor<8>(half[index]);
        half[index] += exchange_xor<16>(half[index]);
    }
    const uint64_t sum = (static_cast<uint64_t>(half[1]) << 16) + static_cast<uint32_t>(half[0]);
    if (lane_id() == 0) global_pointer<uint64_t>(args.counts)[workgroup_id() * waves + wave_id()] = sum;
}

// Joins two partial results of pieces of one group, from left to right.
template <bool kSums>
CK_DEVICE void w4a8_join(float& a, float& b, float next_a, float next_b) {
    a = kSums ? a + next_a : larger(a, next_a);
    b = kSums ? b + next_b : smaller(b, next_b);
}

}  // namespace ckitchen

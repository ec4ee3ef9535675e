// ConvRot: every group of 4, 16, 64, 256 or 1024 consecutive values times the regular Hadamard matrix, by
// radix-4 stages of stride 1, 4, 16, 64, 256 in this order, then one product with 1/sqrt(group). A wave holds
// whole groups, so no other wave takes part.
#pragma once

#include "piece.h"

namespace ckitchen {

// Bytes of local memory that a wave exchanges its values through, one piece of every lane at a time.
constexpr int kRotationLocalBytes = kWaveSize * kPieceElements * 4;

CK_DEVICE void butterfly(float& a, float& b, float& c, float& e) {
    const float sum = a + b;
    const float forth = a - b;
    const float back = b - a;
    const float y0 = (sum + c) - e;
    const float y1 = (sum - c) + e;
    const float y2 = (forth + c) + e;
    const float y3 = (back + c) + e;
    a = y0;
    b = y1;
    c = y2;
    e = y3;
}

// Stage of stride 1 over 16 values, then the one of stride 4 when `both`.
CK_DEVICE void butterflies_of_piece(float (&value)[kPieceElements], bool both) {
    CK_UNROLL
    for (int index = 0; index < kPieceElements; index += 4)
        butterfly(value[index], value[index + 1], value[index + 2], value[index + 3]);
    if (!both) return;
    CK_UNROLL
    for (int index = 0; index < 4; ++index)
        butterfly(value[index], value[index + 4], value[index + 8], value[index + 12]);
}

// Between the 512 values of one piece of all lanes and the values that are 16 apart. Value i lies in local
// memory at chunk i / 16, whose place and whose four quarters are permuted so that neither the 16-byte
// accesses of a lane's own chunk nor the 4-byte accesses across chunks meet bank conflicts.
struct RotationExchange {
    LocalPointer<uint8_t> local;  // kRotationLocalBytes, this wave's own
    uint32_t own;                 // byte of quarter 0 of this lane's chunk
    uint32_t across;              // byte of value lane % 16 of chunk 16 * (lane / 16)

    CK_DEVICE RotationExchange(LocalPointer<uint8_t> memory, uint32_t lane) : local(memory) {
        const uint32_t half = lane / 16;
        own = (lane ^ half) * 64 + (lane / 2 % 4) * 16;
        across = half * 1024 + half * 64 + lane % 16 * 4;
    }

    CK_DEVICE void store_own(const float (&value)[kPieceElements]) const {
        CK_UNROLL
        for (int quarter = 0; quarter < 4; ++quarter) {
            const Float32x4 four = {value[4 * quarter], value[4 * quarter + 1], value[4 * quarter + 2],
                                    value[4 * quarter + 3]};
            *reinterpret_cast<LocalPointer<Float32x4>>(local + (own ^ (quarter * 16))) = four;
        }
    }

    CK_DEVICE void load_own(float (&value)[kPieceElements]) const {
        CK_UNROLL
        for (int quarter = 0; quarter < 4; ++quarter) {
            const Float32x4 four =
                *reinterpret_cast<LocalPointer<const Float32x4>>(local + (own ^ (quarter * 16)));
            CK_UNROLL
            for (int index = 0; index < 4; ++index) value[4 * quarter + index] = four[index];
        }
    }

    // Chunk `chunk` of this half's 16.
    CK_DEVICE LocalPointer<float> place_across(uint32_t chunk) const {
        const uint32_t permuted = (chunk % 2) * 64 + (chunk / 2 % 4) * 16;
        return reinterpret_cast<LocalPointer<float>>(local + (across ^ permuted) + chunk / 2 * 128);
    }

    CK_DEVICE void load_across(float (&value)[kPieceElements]) const {
        CK_UNROLL
        for (int chunk = 0; chunk < kPieceElements; ++chunk) value[chunk] = *place_across(chunk);
    }

    CK_DEVICE void store_across(const float (&value)[kPieceElements]) const {
        CK_UNROLL
        for (int chunk = 0; chunk < kPieceElements; ++chunk) *place_across(chunk) = value[chunk];
    }
};

// Stage of stride 256: of a butterfly's four values a lane holds two, in its pieces, and the lane 16 away the
// other two. Lanes 0 to 15 hold a and c and compute the first and third result, the others b and e and
// compute the second and fourth.
CK_DEVICE void butterflies_of_lanes(WavePieces& pieces, uint32_t lane) {
    const bool upper = lane >= 16;
    const uint32_t sign_c = upper ? 0x80000000u : 0;
    const uint32_t sign_e = upper ? 0 : 0x80000000u;
    CK_UNROLL
    for (int index = 0; index < kPieceElements; ++index) {
        const float own0 = pieces.value[0][index];
        const float own1 = pieces.value[1][index];
        const float other0 = __builtin_bit_cast(float, exchange_xor<16>(__builtin_bit_cast(int32_t, own0)));
        const float other1 = __builtin_bit_cast(float, exchange_xor<16>(__builtin_bit_cast(int32_t, own1)));
        const float c = upper ? other1 : own1;
        const float e = upper ? own1 : other1;
        const float signed_c = __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, c) ^ sign_c);
        const float signed_e = __builtin_bit_cast(float, __builtin_bit_cast(uint32_t, e) ^ sign_e);
        pieces.value[0][index] = ((own0 + other0) + signed_c) + signed_e;
        pieces.value[1][index] = ((own0 - other0) + c) + e;
    }
}

// The stages of strides below 256 of a group, or all of a smaller group, over one piece of every lane; the
// product is left to the caller. All lanes of the wave take part, with their lane_id() or lane_id_again().
CK_DEVICE void rotate_piece(float (&value)[kPieceElements], uint32_t group, LocalPointer<uint8_t> local,
                            uint32_t lane) {
    butterflies_of_piece(value, group >= 16);
    if (group < 64) return;
    const RotationExchange exchange(local, lane);
    float across[kPieceElements];
    wave_local_fence();
    exchange.store_own(value);
    wave_local_fence();
    exchange.load_across(across);
    butterflies_of_piece(across, group >= 256);
    exchange.store_across(across);
    wave_local_fence();
    exchange.load_own(value);
}

// `group` is the same in all lanes; `factor` is 1/sqrt(group). All lanes of the wave take part, with their
// lane_id() or lane_id_again().
CK_DEVICE void rotate_wave(WavePieces& pieces, uint32_t group, float factor, LocalPointer<uint8_t> local,
                           uint32_t lane = lane_id()) {
    CK_UNROLL
    for (int piece = 0; piece < kWavePieces; ++piece) rotate_piece(pieces.value[piece], group, local, lane);
    if (group == 1024) butterflies_of_lanes(pieces, lane);
    CK_UNROLL
    for (int piece = 0; piece < kWavePieces; ++piece) {
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index)
            pieces.value[piece][index] = pieces.value[piece][index] * factor;
    }
}

}  // namespace ckitchen

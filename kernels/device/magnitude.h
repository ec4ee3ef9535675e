// Largest values over lanes and waves. Magnitudes travel as the bits of |x|, which as unsigned integers are
// in the order of the floats.
#pragma once

#include "rotation.h"

namespace ckitchen {

CK_DEVICE uint32_t magnitude(float x) {
    return __builtin_bit_cast(uint32_t, x) & 0x7fffffffu;
}

// Magnitude of an infinity; those of NaNs are larger.
constexpr uint32_t kInfinity = 0x7f800000u;

// 0 for what is not finite.
CK_DEVICE uint32_t finite_magnitude(float x) {
    const uint32_t bits = magnitude(x);
    return bits < kInfinity ? bits : 0;
}

CK_DEVICE uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

template <int kMask>
CK_DEVICE uint32_t larger_of_lanes(uint32_t value) {
    return larger(value, static_cast<uint32_t>(exchange_xor<kMask>(static_cast<int32_t>(value))));
}

// The largest value of all lanes.
CK_DEVICE uint32_t larger_of_wave(uint32_t value) {
#if defined(__NVPTX__)
    return static_cast<uint32_t>(__nvvm_redux_sync_umax(static_cast<int32_t>(value), -1));
#else
    value = larger_of_lanes<1>(value);
    value = larger_of_lanes<2>(value);
    value = larger_of_lanes<4>(value);
    value = larger_of_lanes<8>(value);
    return larger_of_lanes<16>(value);
#endif
}

// The largest value of the aligned 2^(width_log2 - 4) lanes that hold the pieces of a row of at most 512
// elements.
CK_DEVICE uint32_t larger_of_narrow_row(uint32_t value, uint32_t width_log2) {
    if (width_log2 > 4) value = larger_of_lanes<1>(value);
    if (width_log2 > 5) value = larger_of_lanes<2>(value);
    if (width_log2 > 6) value = larger_of_lanes<4>(value);
    if (width_log2 > 7) value = larger_of_lanes<8>(value);
    if (width_log2 > 8) value = larger_of_lanes<16>(value);
    return value;
}

// The largest value of all lanes of the `waves` (a power of two) waves that this one belongs to. All waves
// of the workgroup take part, with the same `waves`. `local` is the workgroup's, kRotationLocalBytes a wave,
// and nothing that was in it is kept.
CK_DEVICE uint32_t larger_of_waves(uint32_t value, uint32_t waves, LocalPointer<uint8_t> local) {
    value = larger_of_wave(value);
    if (waves == 1) return value;
    const auto slot = [&](uint32_t wave) {
        return reinterpret_cast<LocalPointer<uint32_t>>(local + wave * kRotationLocalBytes);
    };
    // The wave's own exchange memory holds its value: what other waves still exchange is not touched.
    wave_local_fence();
    if (lane_id() == 0) *slot(wave_id()) = value;
    local_barrier();
    const uint32_t first = wave_id() & ~(waves - 1);
    value = *slot(first + (lane_id() & (waves - 1)));
    local_barrier();
    return larger_of_wave(value);
}

// The largest values of the rows that a lane's two pieces belong to, where a row takes 2^width_log2 elements
// of the workgroup.
CK_DEVICE void larger_of_rows(uint32_t (&value)[kWavePieces], uint32_t width_log2,
                              LocalPointer<uint8_t> local) {
    if ((1u << width_log2) >= kWaveElements) {
        const uint32_t waves = (1u << width_log2) / kWaveElements;
        value[0] = larger_of_waves(larger(value[0], value[1]), waves, local);
        value[1] = value[0];
    } else {
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece)
            value[piece] = larger_of_narrow_row(value[piece], width_log2);
    }
}

}  // namespace ckitchen

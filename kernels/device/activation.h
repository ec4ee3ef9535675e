// The library's exponential and the activations in front of a quantizer: fixed sequences of rounded float32
// operations.
#pragma once

#include "piece.h"

namespace ckitchen {

// Activations as the kernels number them: those of ckitchen.h.
enum ActivationKind : uint32_t { kActivationNone = 0, kActivationGeluTanh = 1, kActivationSwiglu = 2 };

// exp(x): reduction by ln 2 in two parts, then a polynomial. 0 below -87, infinity above 88.
CK_DEVICE float exp32(float x) {
    const float n = __builtin_rintf(x * 1.44269504f);
    const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * (r * r) + r) + 1.0f;
    // From -87 to 88 n lies in [-126, 127], the exponents of normal numbers. The limits keep the conversion
    // defined for the arguments that are answered below.
    const float exponent = __builtin_fminf(__builtin_fmaxf(n, -126.0f), 127.0f);
    const uint32_t biased = static_cast<uint32_t>(static_cast<int32_t>(exponent) + 127);
    float result = p * __builtin_bit_cast(float, biased << 23);
    result = x > 88.0f ? __builtin_inff() : result;
    result = x < -87.0f ? 0.0f : result;
    return x == x ? result : x;
}

CK_DEVICE float gelu_tanh(float x) {
    const float y = 0.7978845608f * (x + 0.044715f * ((x * x) * x));
    return (0.5f * x) * (1.0f + (1.0f - 2.0f / (exp32(2.0f * y) + 1.0f)));
}

CK_DEVICE float swiglu(float gate, float up) {
    return (gate / (1.0f + exp32(-gate))) * up;
}

// Values that are computed side by side, enough to hide the latency of an operation.
constexpr int kActivationStep = 4;

// The loops below hold one copy of the arithmetic for both pieces of a lane: the pieces change places after
// each turn, and two turns bring them back.
static_assert(kWavePieces == 2, "two turns");

CK_DEVICE void apply_gelu_tanh(WavePieces& x) {
    CK_NO_UNROLL
    for (int turn = 0; turn < kWavePieces; ++turn) {
        CK_UNROLL
        for (int first = 0; first < kPieceElements; first += kActivationStep) {
            float value[kActivationStep];
            CK_UNROLL
            for (int index = 0; index < kActivationStep; ++index) value[index] = x.value[0][first + index];
            in_order(value);
            CK_UNROLL
            for (int index = 0; index < kActivationStep; ++index) value[index] = gelu_tanh(value[index]);
            in_order(value);
            CK_UNROLL
            for (int index = 0; index < kActivationStep; ++index) {
                x.value[0][first + index] = x.value[1][first + index];
                x.value[1][first + index] = value[index];
            }
        }
    }
}

// `load_up(address, count, value)` loads the piece of "up" beside a piece of "gate", one at a time to save
// registers.
template <typename LoadUp>
CK_DEVICE void apply_swiglu(WavePieces& gate, const uint64_t (&address)[kWavePieces],
                            const uint32_t (&count)[kWavePieces], LoadUp load_up) {
    uint64_t up_address = address[0];
    uint32_t up_count = count[0];
    CK_NO_UNROLL
    for (int turn = 0; turn < kWavePieces; ++turn) {
        float up[kPieceElements];
        load_up(up_address, up_count, up);
        CK_UNROLL
        for (int first = 0; first < kPieceElements; first += kActivationStep) {
            float value[kActivationStep];
            CK_UNROLL
            for (int index = 0; index < kActivationStep; ++index) value[index] = gate.value[0][first + index];
            in_order(value);
            CK_UNROLL
            for (int index = 0; index < kActivationStep; ++index)
                value[index] = swiglu(value[index], up[first + index]);
            in_order(value);
            CK_UNROLL
            for (int index = 0; index < kActivationStep; ++index) {
                gate.value[0][first + index] = gate.value[1][first + index];
                gate.value[1][first + index] = value[index];
            }
        }
        up_address = address[1];
        up_count = count[1];
    }
}

}  // namespace ckitchen

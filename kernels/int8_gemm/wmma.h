// Tile core on WMMA, gfx11 and gfx12. The operands are swapped: the rows of B (the weights) are the first
// operand, so that a lane holds eight consecutive columns of one row of C and moves them in 16-byte accesses.
#pragma once

#include "tile.h"

namespace ckitchen {

#if defined(__GFX11__) || defined(__GFX12__)

template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN>
struct Int8GemmWmmaCore {
    static constexpr int kTileM = kRows;
    static constexpr int kTileN = kColumns;
    static constexpr int kTileK = kDepth;
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    static constexpr int kStride = kDepth + 16;  // an odd multiple of 16 bytes: no bank conflicts
    static constexpr int kLocalBytes = 2 * (kRows + kColumns) * kStride;
    static constexpr int kBlocksM = kRows / kWavesM / 16;
    static constexpr int kBlocksN = kColumns / kWavesN / 16;
    static constexpr int kPasses = kBlocksM;
    static constexpr int kPassRows = kWavesM * 16;
    static_assert(kDepth % 32 == 0, "the row stride is an odd multiple of 16 bytes");

    Int32x8 accumulator[kBlocksM][kBlocksN];
    uint32_t lane_a;  // where this lane's operands start in the staged A and B
    uint32_t lane_b;

    static CK_DEVICE uint32_t weight_slot(uint32_t row) { return WmmaInt8::operand_slot(row); }

    CK_DEVICE void begin() {
        const uint32_t lane_offset =
            WmmaInt8::operand_row(lane_id()) * kStride + WmmaInt8::operand_byte(lane_id());
        lane_a = wave_id() / kWavesN * (kBlocksM * 16 * kStride) + lane_offset;
        lane_b = wave_id() % kWavesN * (kBlocksN * 16 * kStride) + lane_offset;
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m) {
            CK_UNROLL
            for (int n = 0; n < kBlocksN; ++n) accumulator[m][n] = Int32x8{0, 0, 0, 0, 0, 0, 0, 0};
        }
    }

    CK_DEVICE void step(LocalPointer<const uint8_t> a, LocalPointer<const uint8_t> b) {
        const LocalPointer<const uint8_t> first_a = a + lane_a;
        const LocalPointer<const uint8_t> first_b = b + lane_b;
        CK_UNROLL
        for (int k = 0; k < kDepth; k += WmmaInt8::kBytesPerRow) {
            Uint32x4 activations[kBlocksM];
            Uint32x4 weights[kBlocksN];
            CK_UNROLL
            for (int m = 0; m < kBlocksM; ++m)
                activations[m] = load_local_16_bytes(first_a + m * 16 * kStride + k);
            CK_UNROLL
            for (int n = 0; n < kBlocksN; ++n)
                weights[n] = load_local_16_bytes(first_b + n * 16 * kStride + k);
            CK_UNROLL
            for (int m = 0; m < kBlocksM; ++m) {
                CK_UNROLL
                for (int n = 0; n < kBlocksN; ++n) {
                    accumulator[m][n] = WmmaInt8::multiply(weights[n], activations[m], accumulator[m][n]);
                }
            }
        }
    }

    // A pass is one block of every wave: lane l holds row l % 16 and columns 8 * (l / 16) + 0..7 of it.
    CK_DEVICE void write_pass(int pass, LocalPointer<int32_t> target, int stride) const {
        const uint32_t row = wave_id() / kWavesN * 16 + lane_id() % 16;
        const uint32_t column = wave_id() % kWavesN * (kBlocksN * 16) + lane_id() / 16 * 8;
        const LocalPointer<Int32x4> first =
            reinterpret_cast<LocalPointer<Int32x4>>(target + row * stride + column);
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m) {
            if (m != pass) continue;
            CK_UNROLL
            for (int n = 0; n < kBlocksN; ++n) {
                first[n * 4] = accumulator[m][n].lo;
                first[n * 4 + 1] = accumulator[m][n].hi;
            }
        }
    }

    static CK_DEVICE uint32_t pass_row(int pass, uint32_t row) {
        return row / 16 * (kBlocksM * 16) + pass * 16 + row % 16;
    }
};

template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, int kAlignment, typename Offset>
struct Int8GemmWmma {
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    using Core = Int8GemmWmmaCore<kRows, kColumns, kDepth, kWavesM, kWavesN>;
    static constexpr int kLocalBytes = Core::kLocalBytes;

    static CK_DEVICE void run(const Int8GemmArgs& args, LocalPointer<uint8_t> local) {
        int8_gemm_tile<Core, Offset>(args, local);
    }
};

#endif

}  // namespace ckitchen

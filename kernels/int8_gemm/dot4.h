// Tile core on the four-way dot product, for GPUs without a matrix unit.
#pragma once

#include "tile.h"

namespace ckitchen {

template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN>
struct Int8GemmDot4Core {
    static constexpr int kTileM = kRows;
    static constexpr int kTileN = kColumns;
    static constexpr int kTileK = kDepth;
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    static constexpr int kStride = kDepth + 16;  // an odd multiple of 16 bytes: no bank conflicts
    static constexpr int kLocalBytes = 2 * (kRows + kColumns) * kStride;
    // Lanes form a grid of kLanesM x 16; a lane's rows and columns are that far apart, so that neighbouring
    // lanes read neighbouring rows of local memory.
    static constexpr int kLanesN = 16;
    static constexpr int kLanesM = kThreads / kLanesN;
    static constexpr int kLaneRows = kRows / kLanesM;
    static constexpr int kLaneColumns = kColumns / kLanesN;
    static constexpr int kPasses = kLaneRows;
    static constexpr int kPassRows = kLanesM;

    int32_t accumulator[kLaneRows][kLaneColumns];

    static CK_DEVICE uint32_t weight_slot(uint32_t row) { return row; }

    CK_DEVICE void begin() {
        CK_UNROLL
        for (int m = 0; m < kLaneRows; ++m) {
            CK_UNROLL
            for (int n = 0; n < kLaneColumns; ++n) accumulator[m][n] = 0;
        }
    }

    CK_DEVICE void step(LocalPointer<const uint8_t> a, LocalPointer<const uint8_t> b) {
        const LocalPointer<const uint8_t> first_a = a + workitem_id() / kLanesN * kStride;
        const LocalPointer<const uint8_t> first_b = b + workitem_id() % kLanesN * kStride;
        CK_NO_UNROLL
        for (int k = 0; k < kDepth; k += 16) {
            Uint32x4 rows[kLaneRows];
            CK_UNROLL
            for (int m = 0; m < kLaneRows; ++m)
                rows[m] = load_local_16_bytes(first_a + m * kLanesM * kStride + k);
            CK_UNROLL
            for (int n = 0; n < kLaneColumns; ++n) {
                const Uint32x4 column = load_local_16_bytes(first_b + n * kLanesN * kStride + k);
                CK_UNROLL
                for (int m = 0; m < kLaneRows; ++m)
                    accumulator[m][n] = dot16(rows[m], column, accumulator[m][n]);
            }
        }
    }

    CK_DEVICE void write_pass(int pass, LocalPointer<int32_t> target, int stride) const {
        const LocalPointer<int32_t> first =
            target + workitem_id() / kLanesN * stride + workitem_id() % kLanesN;
        CK_UNROLL
        for (int n = 0; n < kLaneColumns; ++n) {
            int32_t sum = accumulator[0][n];
            CK_UNROLL
            for (int m = 1; m < kLaneRows; ++m) {
                const int32_t other = accumulator[m][n];
                sum = m == pass ? other : sum;
            }
            first[n * kLanesN] = sum;
        }
    }

    static CK_DEVICE uint32_t pass_row(int pass, uint32_t row) { return pass * kLanesM + row; }
};

template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, int kAlignment, typename Offset>
struct Int8GemmDot4 {
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    using Core = Int8GemmDot4Core<kRows, kColumns, kDepth, kWavesM, kWavesN>;
    static constexpr int kLocalBytes = Core::kLocalBytes;

    static CK_DEVICE void run(const Int8GemmArgs& args, LocalPointer<uint8_t> local) {
        int8_gemm_tile<Core, Offset>(args, local);
    }
};

}  // namespace ckitchen

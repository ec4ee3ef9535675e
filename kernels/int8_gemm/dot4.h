// Tile core on the four-way dot product, for GPUs without a matrix unit.
#pragma once

#include "whole_tile.h"

namespace ckitchen {

template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN>
struct Int8GemmDot4Core {
    static constexpr int kTileM = kRows;
    static constexpr int kTileN = kColumns;
    static constexpr int kTileK = kDepth;
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    static constexpr int kStride = kDepth + 16;  // an odd multiple of 16 bytes: no bank conflicts
    static constexpr int kLocalBytes = 2 * (kRows + kColumns) * kStride;
    // Lanes form a grid of kLanesM x 16. A lane's rows are kLanesM apart; its columns are quads, 64 apart.
    // In local memory the rows of A and B are so placed that neighbouring lanes read neighbouring ones.
    static constexpr int kLanesN = 16;
    static constexpr int kLanesM = kThreads / kLanesN;
    static constexpr int kLaneRows = kRows / kLanesM;
    static constexpr int kLaneColumns = kColumns / kLanesN;
    static constexpr int kPasses = kLaneRows;
    static constexpr int kPassRows = kLanesM;
    static constexpr bool kWritesWholeTiles = true;
    static_assert(kLaneColumns % 4 == 0, "a lane's columns are whole quads");

    int32_t accumulator[kLaneRows][kLaneColumns];

    // Column 64 * h + 4 * lane + i is the lane's column 4 * h + i, which it reads from slot 64 * h + 16 * i +
    // lane.
    static CK_DEVICE uint32_t weight_slot(uint32_t row) {
        return (row & ~63u) | (row & 3u) << 4 | (row >> 2 & 15u);
    }

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
        const LocalPointer<Int32x4> first = reinterpret_cast<LocalPointer<Int32x4>>(
            target + workitem_id() / kLanesN * stride + workitem_id() % kLanesN * 4);
        CK_UNROLL
        for (int n = 0; n < kLaneColumns; n += 4) {
            int32_t quad[4];
            CK_UNROLL
            for (int index = 0; index < 4; ++index) {
                quad[index] = accumulator[0][n + index];
                CK_UNROLL
                for (int m = 1; m < kLaneRows; ++m) {
                    const int32_t other = accumulator[m][n + index];
                    quad[index] = m == pass ? other : quad[index];
                }
            }
            first[n * kLanesN / 4] = Int32x4{quad[0], quad[1], quad[2], quad[3]};
        }
    }

    CK_DEVICE void write_whole_tile(const Int8GemmOutput<ElementPlace::Anywhere>& output) const {
        const Int8GemmWholeTile<kLaneRows, kLanesM, kLaneColumns / 4, 4 * kLanesN, 4> tile = {
            workitem_id() / kLanesN, workitem_id() % kLanesN * 4};
        tile.write(output,
                   [&](int m, int n, int index) CK_INLINE_LAMBDA { return accumulator[m][4 * n + index]; });
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

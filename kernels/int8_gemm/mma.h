// Tile core on mma.sync, and a main loop that stages with cp.async where the operands are aligned.
#pragma once

#include "tile.h"

namespace ckitchen {

// Where 16-byte piece `piece` of row `row` lies in a staged operand. Reading eight consecutive rows of one
// piece, which is what ldmatrix does, touches every bank once in both.
template <int kDepth>
struct Int8GemmPaddedRows {
    static constexpr int kStride = kDepth + 16;
    static CK_DEVICE uint32_t flip(uint32_t) { return 0; }
};

// Without padding the pieces of a row of 64 bytes are permuted instead.
template <int kDepth>
struct Int8GemmSwizzledRows {
    static_assert(kDepth == 64, "the permutation is that of four pieces a row");
    static constexpr int kStride = kDepth;
    static CK_DEVICE uint32_t flip(uint32_t row) { return (row >> 1 & 3) * 16; }
};

template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, template <int> class Layout>
struct Int8GemmMmaCore {
    static constexpr int kTileM = kRows;
    static constexpr int kTileN = kColumns;
    static constexpr int kTileK = kDepth;
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    static constexpr int kStride = Layout<kDepth>::kStride;
    static constexpr int kStepBytes = (kRows + kColumns) * kStride;
    static constexpr int kStages = kStride == kDepth ? 3 : 2;
    static constexpr int kLocalBytes = kStages * kStepBytes;
    static constexpr int kBlocksM = kRows / kWavesM / 16;
    static constexpr int kPairsN = kColumns / kWavesN / 16;  // pairs of 8-column blocks
    static constexpr int kPasses = kBlocksM;
    static constexpr int kPassRows = kWavesM * 16;
    static constexpr bool kWritesWholeTiles = false;

    Int32x4 accumulator[kBlocksM][2 * kPairsN];
    uint32_t lane_a;  // where this lane's first ldmatrix row starts in the staged A and B
    uint32_t lane_b;

    static CK_DEVICE uint32_t weight_slot(uint32_t row) { return row; }

    CK_DEVICE void begin() {
        // Matrices of A: rows 0-7 and 8-15 of the first 16 bytes, then of the second. Of B: both halves of 8
        // columns, then of the next 8.
        const uint32_t row_a = lane_id() % 16;
        const uint32_t row_b = lane_id() / 16 * 8 + lane_id() % 8;
        lane_a = wave_id() / kWavesN * (kBlocksM * 16 * kStride) + row_a * kStride +
                 (lane_id() / 16 * 16 ^ Layout<kDepth>::flip(row_a));
        lane_b = wave_id() % kWavesN * (kPairsN * 16 * kStride) + row_b * kStride +
                 (lane_id() / 8 % 2 * 16 ^ Layout<kDepth>::flip(row_b));
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m) {
            CK_UNROLL
            for (int n = 0; n < 2 * kPairsN; ++n) accumulator[m][n] = Int32x4{0, 0, 0, 0};
        }
    }

    CK_DEVICE void step(LocalPointer<const uint8_t> a, LocalPointer<const uint8_t> b) {
        CK_UNROLL
        for (int k = 0; k < kDepth; k += 32) {
            // Rows start at multiples of the depth where pieces are permuted, so that the bit of k flips in
            // place.
            const uint32_t first_a = kStride == kDepth ? lane_a ^ k : lane_a + k;
            const uint32_t first_b = kStride == kDepth ? lane_b ^ k : lane_b + k;
            Uint32x4 rows[kBlocksM];
            Uint32x4 columns[kPairsN];
            CK_UNROLL
            for (int m = 0; m < kBlocksM; ++m) rows[m] = load_matrix_x4(a + first_a + m * 16 * kStride);
            CK_UNROLL
            for (int n = 0; n < kPairsN; ++n) columns[n] = load_matrix_x4(b + first_b + n * 16 * kStride);
            CK_UNROLL
            for (int m = 0; m < kBlocksM; ++m) {
                CK_UNROLL
                for (int n = 0; n < kPairsN; ++n) {
                    accumulator[m][2 * n] = mma_m16n8k32(rows[m], columns[n].lo, accumulator[m][2 * n]);
                    accumulator[m][2 * n + 1] =
                        mma_m16n8k32(rows[m], columns[n].hi, accumulator[m][2 * n + 1]);
                }
            }
        }
    }

    // A pass is one block of 16 rows of every wave: a lane holds columns 2 * (lane % 4) + 0..1 of rows lane /
    // 4 and lane / 4 + 8.
    CK_DEVICE void write_pass(int pass, LocalPointer<int32_t> target, int stride) const {
        const uint32_t row = wave_id() / kWavesN * 16 + lane_id() / 4;
        const uint32_t column = wave_id() % kWavesN * (kPairsN * 16) + lane_id() % 4 * 2;
        const LocalPointer<Int32x2> upper =
            reinterpret_cast<LocalPointer<Int32x2>>(target + row * stride + column);
        const LocalPointer<Int32x2> lower = upper + 4 * stride;
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m) {
            if (m != pass) continue;
            CK_UNROLL
            for (int n = 0; n < 2 * kPairsN; ++n) {
                upper[n * 4] = accumulator[m][n].lo;
                lower[n * 4] = accumulator[m][n].hi;
            }
        }
    }

    static CK_DEVICE uint32_t pass_row(int pass, uint32_t row) {
        return row / 16 * (kBlocksM * 16) + pass * 16 + row % 16;
    }
};

template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, int kAlignment, typename Offset>
struct Int8GemmMma {
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    using Core = Int8GemmMmaCore<kRows, kColumns, kDepth, kWavesM, kWavesN, Int8GemmPaddedRows>;
    static constexpr int kLocalBytes = Core::kLocalBytes;

    static CK_DEVICE void run(const Int8GemmArgs& args, LocalPointer<uint8_t> local) {
        int8_gemm_tile<Core, Offset>(args, local);
    }
};

// One operand's share of the asynchronous copies of a workgroup. Rows and pieces of K that do not exist are
// zero.
template <int kRows, typename Core>
struct Int8GemmAsyncStage {
    static constexpr int kLanesPerRow = Core::kTileK / 16;
    static constexpr int kRowStep = Core::kThreads / kLanesPerRow;
    static constexpr int kChunks = kRows / kRowStep;
    static_assert(Core::kThreads % kLanesPerRow == 0 && kRows % kRowStep == 0 && kRowStep % 8 == 0,
                  "a chunk covers whole rows, in blocks that the permutation of pieces keeps apart");

    GlobalPointer<const uint8_t> source[kChunks];
    bool row_exists[kChunks];
    uint32_t target;

    CK_DEVICE void open(uint64_t address, int64_t first_row, int64_t rows, int64_t stride) {
        const uint32_t lane_row = workitem_id() / kLanesPerRow;
        const uint32_t column = workitem_id() % kLanesPerRow * 16;
        target = lane_row * Core::kStride + (column ^ Int8GemmSwizzledRows<Core::kTileK>::flip(lane_row));
        CK_UNROLL
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            const int64_t wanted = first_row + lane_row + chunk * kRowStep;
            const int64_t row = wanted < rows ? wanted : rows - 1;
            row_exists[chunk] = wanted < rows;
            source[chunk] = global_pointer<const uint8_t>(address) + row * stride + column;
        }
    }

    CK_DEVICE void copy(LocalPointer<uint8_t> stage, uint32_t k, uint32_t length) const {
        const bool piece_exists = k + workitem_id() % kLanesPerRow * 16 < length;
        CK_UNROLL
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            // A copy of no bytes reads nothing: many workgroups reading one row again and again would queue
            // up for it.
            copy_async_16_bytes(stage + target + chunk * kRowStep * Core::kStride,
                                piece_exists ? source[chunk] + k : source[chunk],
                                piece_exists && row_exists[chunk] ? 16 : 0);
        }
    }
};

template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, int kAlignment, typename Offset>
struct Int8GemmMmaAsync {
    static_assert(kAlignment == 16, "cp.async copies aligned pieces");
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    using Core = Int8GemmMmaCore<kRows, kColumns, kDepth, kWavesM, kWavesN, Int8GemmSwizzledRows>;
    static constexpr int kLocalBytes = Core::kLocalBytes;

    static CK_DEVICE void run(const Int8GemmArgs& args, LocalPointer<uint8_t> local) {
        const Int8GemmTileOrigin origin = int8_gemm_tile_origin(args, workgroup_id(), kRows, kColumns);
        Int8GemmAsyncStage<kRows, Core> a;
        Int8GemmAsyncStage<kColumns, Core> b;
        a.open(args.a, origin.row, args.m, args.lda);
        b.open(args.b, origin.column, args.n, args.ldb);
        Core core;
        core.begin();

        // The copies of the next two steps are under way while one is computed. Every step commits a group,
        // empty at the end, so that the number of groups to wait for is constant.
        uint32_t k_copy = 0;
        uint32_t stage_copy = 0;
        const auto copy_next = [&] {
            if (k_copy < args.k) {
                a.copy(local + stage_copy, k_copy, args.k);
                b.copy(local + stage_copy + kRows * Core::kStride, k_copy, args.k);
            }
            commit_async_copies();
            k_copy += kDepth;
            stage_copy = stage_copy + Core::kStepBytes == kLocalBytes ? 0 : stage_copy + Core::kStepBytes;
        };
        CK_UNROLL
        for (int stage = 0; stage < Core::kStages - 1; ++stage) copy_next();
        uint32_t stage = 0;
        CK_NO_UNROLL
        for (uint32_t k = 0; k < args.k; k += kDepth) {
            wait_async_copies<Core::kStages - 2>();
            local_barrier();
            copy_next();
            core.step(local + stage, local + stage + kRows * Core::kStride);
            stage = stage + Core::kStepBytes == kLocalBytes ? 0 : stage + Core::kStepBytes;
        }
        wait_async_copies<0>();
        int8_gemm_write_tile<ElementPlace::Natural>(args, core, origin, local);
    }
};

}  // namespace ckitchen

// Tiles on WMMA, gfx11 and gfx12. The operands are swapped: the rows of B (the weights) are the first
// operand, so that a lane holds eight consecutive columns of one row of C and moves them in 16-byte accesses.
#pragma once

#include "whole_tile.h"

namespace ckitchen {

#if defined(__GFX11__) || defined(__GFX12__)

// kStagedRows: how many of the rows of A go through local memory, all of them or none.
template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, int kStagedRows>
struct Int8GemmWmmaCore {
    static constexpr int kTileM = kRows;
    static constexpr int kTileN = kColumns;
    static constexpr int kTileK = kDepth;
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    static constexpr int kStride = kDepth + 16;  // an odd multiple of 16 bytes: no bank conflicts
    static constexpr int kStepBytes = (kStagedRows + kColumns) * kStride;
    static constexpr int kBuffers = 2 * kStepBytes <= 65536 ? 2 : 1;
    static constexpr int kLocalBytes = kBuffers * kStepBytes;
    static constexpr int kBlocksM = kRows / kWavesM / 16;
    static constexpr int kBlocksN = kColumns / kWavesN / 16;
    static constexpr int kPasses = kBlocksM;
    static constexpr int kPassRows = kWavesM * 16;
    static constexpr bool kWritesWholeTiles = true;
    static_assert(kDepth % 32 == 0, "the row stride is an odd multiple of 16 bytes");

    Int32x8 accumulator[kBlocksM][kBlocksN];
    uint32_t lane_a;  // where this lane's operands start in the staged A and B
    uint32_t lane_b;

    // First row of the tile that this wave computes.
    static CK_DEVICE uint32_t wave_row() { return wave_id() / kWavesN * (kBlocksM * 16); }

    static CK_DEVICE uint32_t weight_slot(uint32_t row) { return WmmaInt8::operand_slot(row); }

    CK_DEVICE void begin() {
        const uint32_t lane_offset =
            WmmaInt8::operand_row(lane_id()) * kStride + WmmaInt8::operand_byte(lane_id());
        lane_a = wave_row() * kStride + lane_offset;
        lane_b = wave_id() % kWavesN * (kBlocksN * 16 * kStride) + lane_offset;
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m) {
            CK_UNROLL
            for (int n = 0; n < kBlocksN; ++n) accumulator[m][n] = Int32x8{0, 0, 0, 0, 0, 0, 0, 0};
        }
    }

    // The arithmetic goes in groups: one block of weights times all blocks of activations. During each group
    // the weights of the next one and a share of the next group of K's activations are on their way from
    // local memory, which keeps few operands in registers. `all_read` is called once this wave has read all
    // of the step, before the last group.
    template <typename AllRead>
    CK_DEVICE void step(LocalPointer<const uint8_t> a, LocalPointer<const uint8_t> b, AllRead all_read) {
        constexpr int kParts = kDepth / WmmaInt8::kBytesPerRow;
        const LocalPointer<const uint8_t> first_a = a + lane_a;
        const LocalPointer<const uint8_t> first_b = b + lane_b;
        Uint32x4 activations[2][kBlocksM];
        Uint32x4 weights[2];
        weights[0] = load_local_16_bytes(first_b);
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m)
            activations[0][m] = load_local_16_bytes(first_a + m * 16 * kStride);
        CK_UNROLL
        for (int part = 0; part < kParts; ++part) {
            CK_UNROLL
            for (int n = 0; n < kBlocksN; ++n) {
                const int group = part * kBlocksN + n;
                if (group + 1 < kParts * kBlocksN) {
                    weights[(group + 1) % 2] =
                        load_local_16_bytes(first_b + (group + 1) % kBlocksN * 16 * kStride +
                                            (group + 1) / kBlocksN * WmmaInt8::kBytesPerRow);
                } else {
                    all_read();
                }
                if (part + 1 < kParts) {
                    CK_UNROLL
                    for (int m = n * kBlocksM / kBlocksN; m < (n + 1) * kBlocksM / kBlocksN; ++m)
                        activations[(part + 1) % 2][m] = load_local_16_bytes(
                            first_a + m * 16 * kStride + (part + 1) * WmmaInt8::kBytesPerRow);
                }
                CK_UNROLL
                for (int m = 0; m < kBlocksM; ++m) {
                    accumulator[m][n] =
                        WmmaInt8::multiply(weights[group % 2], activations[part % 2][m], accumulator[m][n]);
                }
                scheduling_boundary();
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

    CK_DEVICE void write_whole_tile(const Int8GemmOutput<ElementPlace::Anywhere>& output) const {
        const Int8GemmWholeTile<kBlocksM, 16, kBlocksN, 16, 8> tile = {
            wave_row() + lane_id() % 16, wave_id() % kWavesN * (kBlocksN * 16) + lane_id() / 16 * 8};
        tile.write(output, [&](int m, int n, int index) CK_INLINE_LAMBDA {
            const int32_t sum = accumulator[m][n][index];
            return sum;
        });
    }
};

// The main loop. One barrier a step where local memory holds two of them: what a step computes from, and what
// its beginning stores for the next one. Where it holds one step, the next one waits in registers, and waves
// arrive at the barrier before it as soon as they have read the last operands.
template <typename Core, typename Offset>
CK_DEVICE void int8_gemm_wmma_tile(const Int8GemmArgs& args, uint32_t id, LocalPointer<uint8_t> local) {
    constexpr uint32_t kTileK = Core::kTileK;
    constexpr uint32_t kBytesA = Core::kTileM * Core::kStride;

    const Int8GemmTileOrigin origin = int8_gemm_tile_origin(args, id, Core::kTileM, Core::kTileN);
    Int8GemmStage<Core::kTileM, Core::kTileK, Core::kThreads, Offset> a;
    Int8GemmStage<Core::kTileN, Core::kTileK, Core::kThreads, Offset> b;
    a.open(args.a, origin.row, args.m, args.lda);
    b.open(args.b, origin.column, args.n, args.ldb);
    Core core;
    core.begin();

    const auto load = [&](uint32_t k) CK_INLINE_LAMBDA {
        a.load(k);
        b.load(k);
        scheduling_boundary();
    };
    const auto store = [&](uint32_t buffer) CK_INLINE_LAMBDA {
        a.store(local + buffer, Core::kStride, [](uint32_t row) { return row; });
        b.store(local + buffer + kBytesA, Core::kStride, [](uint32_t row) { return Core::weight_slot(row); });
    };
    const auto step = [&](uint32_t buffer) CK_INLINE_LAMBDA {
        core.step(local + buffer, local + buffer + kBytesA, [] { local_barrier_arrive(); });
    };

    // The order of the K steps is free in integer arithmetic: the partial one comes first, so that the loop
    // below loads whole steps only and needs no bounds test.
    const uint32_t whole = args.k / kTileK * kTileK;
    uint32_t next = 0;
    if (args.k % kTileK != 0 || whole == 0) {
        a.load_end_of_rows(whole, args.k);
        b.load_end_of_rows(whole, args.k);
    } else {
        load(0);
        next = kTileK;
    }
    store(0);
    uint32_t buffer = 0;
    if constexpr (Core::kBuffers == 2) {
        if (next < whole) load(next);
        local_barrier();
        CK_NO_UNROLL
        while (next < whole) {
            next += kTileK;
            store(Core::kStepBytes - buffer);
            if (next < whole) load(next);
            step(buffer);
            local_barrier_wait();
            buffer = Core::kStepBytes - buffer;
        }
    } else {
        local_barrier();
        CK_NO_UNROLL
        for (; next < whole; next += kTileK) {
            load(next);
            step(0);
            local_barrier_wait();
            store(0);
            local_barrier();
        }
    }
    core.step(local + buffer, local + buffer + kBytesA, [] {});

    int8_gemm_write<Offset>(args, core, origin, local);
}

template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, int kAlignment, typename Offset>
struct Int8GemmWmma {
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    using Core = Int8GemmWmmaCore<kRows, kColumns, kDepth, kWavesM, kWavesN, kRows>;
    static constexpr int kLocalBytes = Core::kLocalBytes;

    static CK_DEVICE void run(const Int8GemmArgs& args, LocalPointer<uint8_t> local) {
        int8_gemm_for_tiles<Offset>(args, [&](const Int8GemmArgs& part, uint32_t id) CK_INLINE_LAMBDA {
            int8_gemm_wmma_tile<Core, Offset>(part, id, local);
        });
    }
};

#endif

}  // namespace ckitchen

// WMMA tiles whose A lies in the order in which the matrix unit takes it: blocks of 16 rows, in each of them
// piece after piece of 16 bytes of K, in each piece row after row. A wave reads its operands of A straight
// from there into registers; only B goes through local memory.
#pragma once

#include "../int8_gemm/wmma.h"

namespace ckitchen {

#if defined(__GFX11__) || defined(__GFX12__)

// The blocks of A that this wave multiplies. Rows past the end of A are read as its last row: their results
// are never written.
template <typename Core>
struct Int8GemmTiledRows {
    uint64_t tile;
    uint32_t offset[Core::kBlocksM];  // of this lane's piece of its row, among those that one load covers
    uint32_t last_piece;

    // Piece of those that one load of every lane covers.
    static CK_DEVICE uint32_t lane_piece() { return WmmaInt8::operand_byte(lane_id()) / 16; }

    CK_DEVICE void open(const Int8GemmArgs& args, int64_t first_row) {
        tile = args.a + first_row * args.lda;
        last_piece = (args.k - 1) / 16;
        const int64_t left = args.m - first_row;
        const uint32_t last_row = (left < Core::kTileM ? static_cast<uint32_t>(left) : Core::kTileM) - 1;
        CK_UNROLL
        for (int m = 0; m < Core::kBlocksM; ++m) {
            const uint32_t wanted = Core::wave_row() + m * 16 + WmmaInt8::operand_row(lane_id());
            const uint32_t row = wanted < last_row ? wanted : last_row;
            offset[m] =
                row / 16 * (static_cast<uint32_t>(args.lda) * 16) + row % 16 * 16 + lane_piece() * 256;
        }
    }

    // For K that exists: k is a multiple of 16, as far as the loop goes; `part` of a step.
    CK_DEVICE Uint32x4 load(uint32_t k, int part, int m) {
        const uint64_t base = tile + (static_cast<uint64_t>(k) + part * WmmaInt8::kBytesPerRow) * 16;
        return load_16_bytes<LoadPlace::Aligned>(
            global_pointer<const uint8_t>(kept_lane_address(base, offset[m])));
    }

    // The same where K may end. Beyond its end B is zero and any piece will do.
    CK_DEVICE Uint32x4 load_end(uint32_t k, int part, int m) const {
        const uint32_t wanted = (k + part * WmmaInt8::kBytesPerRow) / 16 + lane_piece();
        const uint32_t piece = wanted < last_piece ? wanted : last_piece;
        return load_16_bytes<LoadPlace::Aligned>(global_pointer<const uint8_t>(
            tile + (offset[m] + (static_cast<uint64_t>(piece) - lane_piece()) * 256)));
    }
};

template <typename Core, typename Offset>
CK_DEVICE void int8_gemm_tiled_tile(const Int8GemmArgs& args, uint32_t id, LocalPointer<uint8_t> local) {
    constexpr uint32_t kTileK = Core::kTileK;
    constexpr int kParts = kTileK / WmmaInt8::kBytesPerRow;
    constexpr int kBlocksM = Core::kBlocksM;
    constexpr int kBlocksN = Core::kBlocksN;
    static_assert(kParts % 2 == 0, "two sets of operands take turns");

    const Int8GemmTileOrigin origin = int8_gemm_tile_origin(args, id, Core::kTileM, Core::kTileN);
    Int8GemmTiledRows<Core> a;
    Int8GemmStage<Core::kTileN, Core::kTileK, Core::kThreads, Offset> b;
    a.open(args, origin.row);
    b.open(args.b, origin.column, args.n, args.ldb);
    Core core;
    core.begin();
    Uint32x4 activations[2][kBlocksM];

    const auto store = [&](uint32_t buffer) CK_INLINE_LAMBDA {
        b.store(local + buffer, Core::kStride, [](uint32_t row) { return Core::weight_slot(row); });
    };
    const auto load_weights = [&](uint32_t buffer, int group) CK_INLINE_LAMBDA {
        return load_local_16_bytes(local + buffer + core.lane_b + group % kBlocksN * 16 * Core::kStride +
                                   group / kBlocksN * WmmaInt8::kBytesPerRow);
    };
    // One step, whose first operands of A are there; fetches those of the step at next_k.
    const auto step = [&](uint32_t buffer, uint32_t k, uint32_t next_k) CK_INLINE_LAMBDA {
        Uint32x4 weights[2];
        weights[0] = load_weights(buffer, 0);
        CK_UNROLL
        for (int part = 0; part < kParts; ++part) {
            CK_UNROLL
            for (int n = 0; n < kBlocksN; ++n) {
                const int group = part * kBlocksN + n;
                if (group + 1 < kParts * kBlocksN) {
                    weights[(group + 1) % 2] = load_weights(buffer, group + 1);
                } else {
                    local_barrier_arrive();
                }
                CK_UNROLL
                for (int m = n * kBlocksM / kBlocksN; m < (n + 1) * kBlocksM / kBlocksN; ++m)
                    activations[(part + 1) % 2][m] =
                        part + 1 < kParts ? a.load(k, part + 1, m) : a.load(next_k, 0, m);
                CK_UNROLL
                for (int m = 0; m < kBlocksM; ++m)
                    core.accumulator[m][n] = WmmaInt8::multiply(weights[group % 2], activations[part % 2][m],
                                                                core.accumulator[m][n]);
                scheduling_boundary();
            }
        }
        local_barrier_wait();
    };

    const uint32_t whole = args.k / kTileK * kTileK;
    if (args.k != whole) {
        b.load_end_of_rows(whole, args.k);
        store(0);
        local_barrier();
        CK_UNROLL
        for (int part = 0; part < kParts; ++part) {
            CK_UNROLL
            for (int m = 0; m < kBlocksM; ++m) activations[0][m] = a.load_end(whole, part, m);
            CK_UNROLL
            for (int n = 0; n < kBlocksN; ++n) {
                const Uint32x4 weights = load_weights(0, part * kBlocksN + n);
                CK_UNROLL
                for (int m = 0; m < kBlocksM; ++m)
                    core.accumulator[m][n] =
                        WmmaInt8::multiply(weights, activations[0][m], core.accumulator[m][n]);
                scheduling_boundary();
            }
        }
        local_barrier();
    }
    if (whole != 0) {
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m) activations[0][m] = a.load(0, 0, m);
        b.load(0);
        store(0);
        uint32_t buffer = 0;
        uint32_t k = 0;
        if constexpr (Core::kBuffers == 2) {
            if (kTileK < whole) b.load(kTileK);
            local_barrier();
            CK_NO_UNROLL
            for (; k + kTileK < whole; k += kTileK) {
                store(Core::kStepBytes - buffer);
                if (k + 2 * kTileK < whole) b.load(k + 2 * kTileK);
                scheduling_boundary();
                step(buffer, k, k + kTileK);
                buffer = Core::kStepBytes - buffer;
            }
        } else {
            local_barrier();
            CK_NO_UNROLL
            for (; k + kTileK < whole; k += kTileK) {
                b.load(k + kTileK);
                scheduling_boundary();
                step(0, k, k + kTileK);
                store(0);
                local_barrier();
            }
        }
        // Nothing follows: what is fetched ahead is this step's own beginning.
        step(buffer, k, k);
    }
    int8_gemm_write<Offset>(args, core, origin, local);
}

template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, int kAlignment, typename Offset>
struct Int8GemmTiled {
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    using Core = Int8GemmWmmaCore<kRows, kColumns, kDepth, kWavesM, kWavesN, 0>;
    static constexpr int kLocalBytes = Core::kLocalBytes;

    static CK_DEVICE void run(const Int8GemmArgs& args, LocalPointer<uint8_t> local) {
        int8_gemm_tiled_tile<Core, Offset>(args, workgroup_id(), local);
    }
};

#endif

}  // namespace ckitchen

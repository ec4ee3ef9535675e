// Main loops on the warpgroup matrix products of sm_90a. One wave of the workgroup copies tiles of A and B by
// tensor maps into a ring of stages in local memory, the others multiply what has arrived.
#pragma once

#include "../device/hopper.h"
#include "tile.h"

namespace ckitchen {

// The ring: kStages stages, each a tile of kFirst rows and behind it one of kSecond rows, 128 bytes of K of
// each. A stage's `full` barrier ends a phase when its tiles have arrived, its `empty` barrier when all
// kConsumers waves have multiplied them.
template <int kFirst, int kSecond, int kStages, int kConsumers>
struct Int8GemmRing {
    static constexpr uint32_t kDepth = 128;
    static constexpr uint32_t kFirstBytes = kFirst * kDepth;
    static constexpr uint32_t kStageBytes = (kFirst + kSecond) * kDepth;
    static constexpr uint32_t kTileBytes = kStages * kStageBytes;
    static constexpr uint32_t kBarrierBytes = kStages * 16;
    static_assert(kFirst % 8 == 0 && kSecond % 8 == 0, "tiles lie at multiples of 1024 bytes");

    LocalPointer<uint8_t> tiles;
    LocalBarrier full;
    LocalBarrier empty;
    uint32_t stage = 0;
    uint32_t parity = 0;

    CK_DEVICE Int8GemmRing(LocalPointer<uint8_t> memory, LocalPointer<uint8_t> barriers)
        : tiles(memory),
          full(reinterpret_cast<LocalBarrier>(barriers)),
          empty(reinterpret_cast<LocalBarrier>(barriers) + kStages) {}

    // By the whole workgroup, before it reads what a kernel before this one may have written.
    CK_DEVICE void open() const {
        if (workitem_id() == 0) {
            CK_UNROLL
            for (int index = 0; index < kStages; ++index) {
                begin_barrier(full + index, 1);
                begin_barrier(empty + index, kConsumers);
            }
            publish_barriers();
        }
        local_barrier();
        wait_for_kernel_before();
        allow_next_kernel();
    }

    CK_DEVICE LocalPointer<uint8_t> first() const { return tiles + stage * kStageBytes; }
    CK_DEVICE LocalPointer<uint8_t> second() const { return tiles + stage * kStageBytes + kFirstBytes; }

    CK_DEVICE void advance() {
        const bool last = stage == kStages - 1;
        stage = last ? 0 : stage + 1;
        parity ^= last ? 1 : 0;
    }

    // All of K of a tile, by one lane.
    CK_DEVICE void copy(const TensorMap& first_map, uint32_t first_row, const TensorMap& second_map,
                        uint32_t second_row, uint32_t k) {
        CK_NO_UNROLL
        for (uint32_t column = 0; column < k; column += kDepth) {
            wait_for_phase(empty + stage, parity ^ 1);  // the stages are empty at the start
            arrive_and_expect(full + stage, kStageBytes);
            copy_tile(first(), first_map, first_row, column, full + stage);
            copy_tile(second(), second_map, second_row, column, full + stage);
            advance();
        }
    }

    // All of K, which is not 0, by one warpgroup: 64 rows of the first tile from `row` on times all rows of
    // the second.
    template <int kCount>
    CK_DEVICE void multiply(int32_t (&accumulator)[kCount], uint32_t row, uint32_t k) {
        uint32_t column = 0;
        uint32_t keep = 0;
        LocalBarrier done = empty;  // of the stage whose products are under way
        CK_NO_UNROLL
        do {
            wait_for_phase(full + stage, parity);
            const uint64_t rows = operand_descriptor(first()) + row * kOperandRow;
            const uint64_t columns = operand_descriptor(second());
            fence_accumulators();
            CK_UNROLL
            for (uint32_t part = 0; part < kDepth / 32; ++part) {
                WarpgroupInt8<kSecond>::multiply(accumulator, rows + part * 2, columns + part * 2, keep);
                keep = 1;
            }
            commit_products();
            // The products of the stage before have ended: its tiles may be overwritten.
            wait_for_products<1>();
            if (column != 0 && lane_id() == 0) arrive(done);
            done = empty + stage;
            advance();
            column += kDepth;
        } while (column < k);
        wait_for_products<0>();
        if (lane_id() == 0) arrive(done);
    }
};

// Tiles of kRows x kColumns, 64 rows for each warpgroup. Workgroups go from tile to tile, so that the copies
// of the next tile are under way while one is written.
template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, int kAlignment, typename Offset>
struct Int8GemmWgmma {
    static constexpr int kConsumers = kWavesM * kWavesN;
    static constexpr int kThreads = (kConsumers + 4) * kWaveSize;
    static constexpr int kStages = 192 * 1024 / ((kRows + kColumns) * kDepth);
    using Ring = Int8GemmRing<kRows, kColumns, kStages, kConsumers>;
    // A wave's results leave in chunks of 16 rows and 64 columns.
    static constexpr int kChunkColumns = 64;
    static constexpr int kChunks = kColumns / kChunkColumns;
    static constexpr int kWaveBytes = 16 * kChunkColumns * 4;
    static constexpr int kLocalBytes = Ring::kTileBytes + kConsumers * kWaveBytes + Ring::kBarrierBytes;
    static_assert(kDepth == Ring::kDepth && kAlignment == 16 && kWavesN == 1 && kRows == 16 * kWavesM &&
                      kRows % 64 == 0 && kColumns % kChunkColumns == 0,
                  "a wave has 16 rows, a warpgroup 64");

    // Of a wave's 16 rows; a lane writes four columns, the same ones of a chunk in all its rows.
    using Output = Int8GemmOutput<ElementPlace::Natural>;
    using WholeOutput = Int8GemmOutput<ElementPlace::Vector>;
    using Sums = int32_t[kColumns / 2];
    using Staged = LocalPointer<int32_t>;
    static constexpr int kSteps = 8;  // of two rows

    struct Scales {
        float row[kSteps];
        Int8GemmColumns<4> columns[kChunks];
    };

    static CK_DEVICE void run(const Int8GemmMappedArgs& args, LocalPointer<uint8_t> local) {
        const LocalPointer<uint8_t> staging = local + Ring::kTileBytes;
        Ring ring(local, staging + kConsumers * kWaveBytes);
        ring.open();
        const uint32_t tiles = args.gemm.tiles_m * args.gemm.tiles_n;
        if (wave_id() >= kConsumers) {
            give_registers<40>();
            if (workitem_id() != kConsumers * kWaveSize) return;
            prefetch_map(args.a);
            prefetch_map(args.b);
            CK_NO_UNROLL
            for (uint32_t tile = workgroup_id(); tile < tiles; tile += workgroup_count()) {
                const Int8GemmTileOrigin origin = int8_gemm_tile_origin(args.gemm, tile, kRows, kColumns);
                ring.copy(args.a, static_cast<uint32_t>(origin.row), args.b,
                          static_cast<uint32_t>(origin.column), args.gemm.k);
            }
            return;
        }
        take_registers<232>();
        const Staged staged = reinterpret_cast<Staged>(staging + wave_id() * kWaveBytes);
        Sums sums;
        CK_UNROLL
        for (int index = 0; index < kColumns / 2; ++index) sums[index] = 0;
        CK_NO_UNROLL
        for (uint32_t tile = workgroup_id(); tile < tiles; tile += workgroup_count()) {
            const Int8GemmTileOrigin origin = int8_gemm_tile_origin(args.gemm, tile, kRows, kColumns);
            const int64_t first_row = origin.row + wave_id() * 16;
            const bool exists = first_row < args.gemm.m;
            Output output;
            output.open(args.gemm, exists ? first_row : 0, origin.column, 16, kColumns);
            // Loaded ahead: they arrive while the products run.
            Scales scales;
            load_scales(output, scales);
            ring.multiply(sums, wave_id() / 4 * 64, args.gemm.k);
            if (!exists) continue;
            if (whole(output)) {
                write_whole(args.gemm, first_row, origin.column, sums, scales, staged);
            } else {
                write_part(output, sums, staged);
            }
        }
    }

    static CK_DEVICE void load_scales(const Output& output, Scales& scales) {
        CK_UNROLL
        for (int step = 0; step < kSteps; ++step) {
            const uint32_t row = lane_row() + step * 2;
            scales.row[step] = output.type == kInt8GemmInt32
                                   ? 0.0f
                                   : int8_gemm_row_scale(output, row < output.rows ? row : output.rows - 1);
        }
        CK_UNROLL
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            scales.columns[chunk].load(output, chunk * kChunkColumns + lane_column());
            // Adding -0 changes nothing, not even a -0: no test for a bias where they are used.
            CK_UNROLL
            for (int index = 0; index < 4; ++index) {
                const float bias = scales.columns[chunk].bias[index];
                scales.columns[chunk].bias[index] = output.bias_type == kInt8GemmNone ? -0.0f : bias;
            }
        }
    }

    static CK_DEVICE bool whole(const Output& output) {
        const uint32_t vector = output.type == kInt8GemmFloat16 || output.type == kInt8GemmBfloat16 ? 8 : 16;
        return output.rows == 16 && output.columns == kColumns && output.ldc % 4 == 0 &&
               output.c % vector == 0;
    }

    // All 16 rows and kColumns columns exist, and vectors of four lie where one store takes them.
    static CK_DEVICE void write_whole(const Int8GemmArgs& args, int64_t row, int64_t column, const Sums& sums,
                                      const Scales& scales, Staged staged) {
        WholeOutput output;
        output.open(args, row, column, 16, kColumns);
        output.bias_type = kInt8GemmFloat32;  // as load_scales leaves it
        // Known in each branch, so that nothing asks for it inside.
        if (output.type == kInt8GemmBfloat16) {
            output.type = kInt8GemmBfloat16;
            write_whole_type(output, sums, scales, staged);
        } else if (output.type == kInt8GemmFloat16) {
            output.type = kInt8GemmFloat16;
            write_whole_type(output, sums, scales, staged);
        } else if (output.type == kInt8GemmFloat32) {
            output.type = kInt8GemmFloat32;
            write_whole_type(output, sums, scales, staged);
        } else {
            output.type = kInt8GemmInt32;
            write_whole_type(output, sums, scales, staged);
        }
    }

    static CK_DEVICE void write_whole_type(const WholeOutput& output, const Sums& sums, const Scales& scales,
                                           Staged staged) {
        CK_UNROLL
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            wave_local_fence();
            stage_chunk(sums, chunk, staged);
            wave_local_fence();
            CK_UNROLL
            for (int step = 0; step < kSteps; ++step) {
                int32_t quad[4];
                const uint32_t row = lane_row() + step * 2;
                load_quad(staged, row, quad);
                const float row_scale = scales.row[step];
                const auto scale_of_row = [&]() CK_INLINE_LAMBDA { return row_scale; };
                int8_gemm_finish_scaled(output, row, chunk * kChunkColumns + lane_column(), 4, quad,
                                        scale_of_row, scales.columns[chunk]);
            }
        }
    }

    static CK_DEVICE void write_part(const Output& output, const Sums& sums, Staged staged) {
        CK_NO_UNROLL
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            wave_local_fence();
            CK_UNROLL
            for (int index = 0; index < kChunks; ++index) {
                if (index == chunk) stage_chunk(sums, index, staged);
            }
            wave_local_fence();
            const uint32_t column = chunk * kChunkColumns + lane_column();
            if (column >= output.columns) continue;
            const uint32_t left = output.columns - column;
            Int8GemmColumns<4> columns;
            columns.load(output, column);
            CK_NO_UNROLL
            for (uint32_t row = lane_row(); row < output.rows; row += 2) {
                int32_t quad[4];
                load_quad(staged, row, quad);
                int8_gemm_finish(output, row, column, left < 4 ? left : 4, quad, columns);
            }
        }
    }

    static CK_DEVICE uint32_t lane_row() { return lane_id() / 16; }
    static CK_DEVICE uint32_t lane_column() { return lane_id() % 16 * 4; }

    // Groups of eight columns are permuted among four rows, so that neither access meets a bank twice.
    static CK_DEVICE uint32_t flip(uint32_t row) { return (row & 3) * 8; }

    static CK_DEVICE void stage_chunk(const Sums& sums, int chunk, Staged staged) {
        const uint32_t row = lane_id() / 4;
        const Staged first = staged + row * kChunkColumns + lane_id() % 4 * 2;
        CK_UNROLL
        for (int block = 0; block < kChunkColumns / 8; ++block) {
            const int from = (chunk * (kChunkColumns / 8) + block) * 4;
            const LocalPointer<Int32x2> target =
                reinterpret_cast<LocalPointer<Int32x2>>(first + (block * 8 ^ flip(row)));
            target[0] = Int32x2{sums[from], sums[from + 1]};
            target[4 * kChunkColumns] = Int32x2{sums[from + 2], sums[from + 3]};
        }
    }

    static CK_DEVICE void load_quad(Staged staged, uint32_t row, int32_t (&quad)[4]) {
        const Int32x4 value = *reinterpret_cast<LocalPointer<const Int32x4>>(staged + row * kChunkColumns +
                                                                             (lane_column() ^ flip(row)));
        quad[0] = value.x;
        quad[1] = value.y;
        quad[2] = value.z;
        quad[3] = value.w;
    }
};

// Few rows of A, all in one tile: the weights are the first operand, 64 of their rows for each warpgroup, and
// the results come out transposed. Several workgroups share a multiprocessor, so that the weights stream at
// memory speed.
template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, int kAlignment, typename Offset>
struct Int8GemmWgmmaFew {
    static constexpr int kConsumers = kWavesM * kWavesN;
    static constexpr int kThreads = (kConsumers + 1) * kWaveSize;
    // As many as fit while a multiprocessor holds the weights of 256 columns.
    static constexpr int kStages = 222 * 1024 / (256 / kColumns) / ((kColumns + kRows) * kDepth);
    using Ring = Int8GemmRing<kColumns, kRows, kStages, kConsumers>;
    static constexpr int kLocalBytes = Ring::kTileBytes + Ring::kBarrierBytes;
    static constexpr int kStride = 16 + 4;  // of a wave's 16 columns of C: no bank conflicts
    static constexpr int kWaveBytes = kRows * kStride * 4;
    static_assert(kDepth == Ring::kDepth && kAlignment == 16 && kWavesM == 1 && kColumns == 16 * kWavesN &&
                      kColumns % 64 == 0,
                  "a wave has 16 columns, a warpgroup 64");
    static_assert(kConsumers * kWaveBytes <= Ring::kTileBytes, "the results fit into the ring");

    static CK_DEVICE void run(const Int8GemmMappedArgs& args, LocalPointer<uint8_t> local) {
        Ring ring(local, local + Ring::kTileBytes);
        ring.open();
        const uint32_t tile_column = workgroup_id() * kColumns;
        if (wave_id() == kConsumers) {
            if (lane_id() == 0) ring.copy(args.b, tile_column, args.a, 0, args.gemm.k);
            return;
        }
        int32_t accumulator[kRows / 2];
        CK_UNROLL
        for (int index = 0; index < kRows / 2; ++index) accumulator[index] = 0;
        ring.multiply(accumulator, wave_id() / 4 * 64, args.gemm.k);

        // The ring is free once all waves have multiplied.
        part_barrier(1, kConsumers * kWaveSize);
        const LocalPointer<int32_t> staged =
            reinterpret_cast<LocalPointer<int32_t>>(local + wave_id() * kWaveBytes);
        CK_UNROLL
        for (int index = 0; index < kRows / 2; ++index) {
            const uint32_t row = index / 4 * 8 + lane_id() % 4 * 2 + index % 2;
            const uint32_t column = lane_id() / 4 + index / 2 % 2 * 8;
            staged[row * kStride + column] = accumulator[index];
        }
        wave_local_fence();

        const int64_t first_column = static_cast<int64_t>(tile_column) + wave_id() * 16;
        if (first_column >= args.gemm.n) return;
        Int8GemmOutput<ElementPlace::Natural> output;
        output.open(args.gemm, 0, first_column, kRows, 16);
        const uint32_t column = lane_id() % 4 * 4;
        if (column >= output.columns) return;
        const uint32_t left = output.columns - column;
        const uint32_t count = left < 4 ? left : 4;
        Int8GemmColumns<4> columns;
        columns.load(output, column);
        CK_NO_UNROLL
        for (uint32_t row = lane_id() / 4; row < output.rows; row += 8) {
            const Int32x4 quad =
                *reinterpret_cast<LocalPointer<const Int32x4>>(staged + row * kStride + column);
            const int32_t sums[4] = {quad.x, quad.y, quad.z, quad.w};
            int8_gemm_finish(output, row, column, count, sums, columns);
        }
    }
};

}  // namespace ckitchen

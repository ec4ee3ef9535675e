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

    // All of a tile's K, by one lane.
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

    // All of a tile's K, which is not 0, by one warpgroup: 64 rows of the first tile from `row` on times all
    // rows of the second.
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
    // A wave's results leave in chunks of 16 rows and 64 columns, the last one perhaps of fewer.
    static constexpr int kChunkColumns = 64;
    static constexpr int kChunks = (kColumns + kChunkColumns - 1) / kChunkColumns;
    static constexpr int kWaveBytes = 16 * kChunkColumns * 4;
    static constexpr int kLocalBytes = Ring::kTileBytes + kConsumers * kWaveBytes + Ring::kBarrierBytes;
    static_assert(kDepth == Ring::kDepth && kAlignment == 16 && kWavesN == 1 && kRows == 16 * kWavesM &&
                      kRows % 64 == 0 && kColumns % 16 == 0,
                  "a wave has 16 rows, a warpgroup 64");

    // Of a wave's 16 rows.
    using Output = Int8GemmOutput<ElementPlace::Natural>;
    using WholeOutput = Int8GemmOutput<ElementPlace::Vector>;
    using Sums = int32_t[kColumns / 2];
    using Staged = LocalPointer<int32_t>;
    static constexpr int kSteps = 8;  // of two rows

    // Where vectors of four are stored a lane has the same four columns of a chunk in every second row,
    // elsewhere one column of each half of a chunk, in all rows, so that a wave's stores are whole lines. A
    // missing bias is -0: adding it changes nothing, not even a -0, and no test is needed where it is used.
    struct Scales {
        float row;  // of row lane % 16
        float column[kChunks * 4];
        float bias[kChunks * 4];
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
            const bool vectors = whole(output);
            // Loaded ahead: they arrive while the products run.
            Scales scales;
            load_scales(output, vectors, scales);
            ring.multiply(sums, wave_id() / 4 * 64, args.gemm.k);
            if (!exists) continue;
            if (vectors) {
                WholeOutput whole_output;
                whole_output.open(args.gemm, first_row, origin.column, 16, kColumns);
                with_type(whole_output, [&](const WholeOutput& typed)
                                            CK_INLINE_LAMBDA { write_whole(typed, sums, scales, staged); });
            } else {
                with_type(output, [&](const Output& typed)
                                      CK_INLINE_LAMBDA { write_part(typed, sums, scales, staged); });
            }
        }
    }

    static CK_DEVICE void load_scales(const Output& output, bool vectors, Scales& scales) {
        const uint32_t row = lane_id() % 16;
        scales.row = output.type == kInt8GemmInt32
                         ? 0.0f
                         : int8_gemm_row_scale(output, row < output.rows ? row : output.rows - 1);
        if (vectors) {
            CK_UNROLL
            for (int chunk = 0; chunk < kChunks; ++chunk)
                load_columns<4>(output, chunk * kChunkColumns + lane_column(), chunk * 4, scales);
        } else {
            CK_UNROLL
            for (int half = 0; half < 2 * kChunks; ++half)
                load_columns<1>(output, half * kWaveSize + lane_id(), half, scales);
        }
    }

    template <int kCount>
    static CK_DEVICE void load_columns(const Output& output, uint32_t column, int target, Scales& scales) {
        Int8GemmColumns<kCount> columns;
        columns.load(output, column);
        CK_UNROLL
        for (int index = 0; index < kCount; ++index) {
            const float bias = columns.bias[index];
            scales.column[target + index] = columns.scale[index];
            scales.bias[target + index] = output.bias_type == kInt8GemmNone ? -0.0f : bias;
        }
    }

    template <int kCount>
    static CK_DEVICE Int8GemmColumns<kCount> columns_of(const Scales& scales, int first) {
        Int8GemmColumns<kCount> columns;
        CK_UNROLL
        for (int index = 0; index < kCount; ++index) {
            columns.scale[index] = scales.column[first + index];
            columns.bias[index] = scales.bias[first + index];
        }
        return columns;
    }

    // All 16 rows and kColumns columns exist, and vectors of four lie where one store takes them.
    static CK_DEVICE bool whole(const Output& output) {
        const uint32_t vector = output.type == kInt8GemmFloat16 || output.type == kInt8GemmBfloat16 ? 8 : 16;
        return output.rows == 16 && output.columns == kColumns && output.ldc % 4 == 0 &&
               output.c % vector == 0;
    }

    // Calls write(output) with the types known in each branch, so that nothing asks for them inside.
    template <typename Typed, typename Write>
    static CK_DEVICE void with_type(Typed output, Write write) {
        output.bias_type = kInt8GemmFloat32;  // as load_scales leaves it
        if (output.type == kInt8GemmBfloat16) {
            output.type = kInt8GemmBfloat16;
            write(output);
        } else if (output.type == kInt8GemmFloat16) {
            output.type = kInt8GemmFloat16;
            write(output);
        } else if (output.type == kInt8GemmFloat32) {
            output.type = kInt8GemmFloat32;
            write(output);
        } else {
            output.type = kInt8GemmInt32;
            write(output);
        }
    }

    static CK_DEVICE void write_whole(const WholeOutput& output, const Sums& sums, const Scales& scales,
                                      Staged staged) {
        float row_scale[kSteps];
        CK_UNROLL
        for (int step = 0; step < kSteps; ++step)
            row_scale[step] = value_of_lane(scales.row, lane_row() + step * 2);
        CK_UNROLL
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            wave_local_fence();
            stage_chunk(sums, chunk, staged);
            wave_local_fence();
            if (chunk * kChunkColumns + lane_column() >= kColumns) continue;
            const Int8GemmColumns<4> columns = columns_of<4>(scales, chunk * 4);
            CK_UNROLL
            for (int step = 0; step < kSteps; ++step) {
                const uint32_t row = lane_row() + step * 2;
                const Int32x4 value = *quad_of(staged, row);
                const int32_t quad[4] = {value.x, value.y, value.z, value.w};
                const float scale = row_scale[step];
                const auto scale_of_row = [&]() CK_INLINE_LAMBDA { return scale; };
                int8_gemm_finish_scaled(output, row, chunk * kChunkColumns + lane_column(), 4, quad,
                                        scale_of_row, columns);
            }
        }
    }

    static CK_DEVICE void write_part(const Output& output, const Sums& sums, const Scales& scales,
                                     Staged staged) {
        constexpr uint32_t kTogether = 4;
        const uint64_t element = output.type == kInt8GemmFloat16 || output.type == kInt8GemmBfloat16 ? 2 : 4;
        const uint64_t pitch = output.ldc * element;
        CK_NO_UNROLL
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            if (static_cast<uint32_t>(chunk) * kChunkColumns >= output.columns) break;
            wave_local_fence();
            float scale[2] = {0.0f, 0.0f};
            float bias[2] = {0.0f, 0.0f};
            CK_UNROLL
            for (int index = 0; index < kChunks; ++index) {
                if (index != chunk) continue;
                stage_chunk(sums, index, staged);
                CK_UNROLL
                for (int half = 0; half < 2; ++half) {
                    scale[half] = scales.column[index * 2 + half];
                    bias[half] = scales.bias[index * 2 + half];
                }
            }
            wave_local_fence();
            const uint32_t first_column = chunk * kChunkColumns + lane_id();
            uint64_t target = output.c + first_column * element;
            CK_NO_UNROLL
            for (uint32_t first = 0; first < output.rows; first += kTogether) {
                float row_scale[kTogether];
                int32_t sum[kTogether][2];
                uint32_t bits[kTogether][2];
                CK_UNROLL
                for (uint32_t next = 0; next < kTogether; ++next) {
                    const uint32_t row = first + next;
                    row_scale[next] = value_of_lane(scales.row, row);
                    CK_UNROLL
                    for (int half = 0; half < 2; ++half)
                        sum[next][half] =
                            staged[row * kChunkColumns + ((half * kWaveSize + lane_id()) ^ flip(row))];
                }
                // Here and not under the tests for the stores, where one result would wait for the other.
                CK_UNROLL
                for (uint32_t next = 0; next < kTogether; ++next) {
                    CK_UNROLL
                    for (int half = 0; half < 2; ++half)
                        bits[next][half] = value_again(int8_gemm_result(
                            output, sum[next][half], row_scale[next], scale[half], bias[half]));
                }
                CK_UNROLL
                for (uint32_t next = 0; next < kTogether; ++next) {
                    CK_UNROLL
                    for (int half = 0; half < 2; ++half) {
                        if (first + next < output.rows && first_column + half * kWaveSize < output.columns)
                            int8_gemm_store_result(output, target + half * kWaveSize * element,
                                                   bits[next][half]);
                    }
                    target += pitch;
                }
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
            if (from >= kColumns / 2) continue;
            const LocalPointer<Int32x2> target =
                reinterpret_cast<LocalPointer<Int32x2>>(first + (block * 8 ^ flip(row)));
            target[0] = Int32x2{sums[from], sums[from + 1]};
            target[4 * kChunkColumns] = Int32x2{sums[from + 2], sums[from + 3]};
        }
    }

    // This lane's four columns of a row of a chunk.
    static CK_DEVICE LocalPointer<const Int32x4> quad_of(Staged staged, uint32_t row) {
        return reinterpret_cast<LocalPointer<const Int32x4>>(staged + row * kChunkColumns +
                                                             (lane_column() ^ flip(row)));
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

// Few rows of activations times a 4-bit weight on mma.sync. The decoded weight is the first operand, 16 of
// its rows at a time, and the activations are the second. The order of K inside a product is free as long as
// both operands agree: 16 bytes of codes, 32 columns of a row, are a lane's part of four products, and the
// same 32 bytes of the activations are theirs.
#pragma once

#include "../device/hopper.h"
#include "../device/w4a8_grid.h"
#include "../int8_gemm/epilogue.h"
#include "w4a8_gemv_args.h"

namespace ckitchen {

// One workgroup fills a multiprocessor. It has a range of tiles of 16 columns of C, and each of its waves an
// equal share of their steps along K, of which it keeps kStages under way. What a wave has summed up of a
// tile it adds to the tile's sums in local memory.
template <int kRows, int kWaves, int kStages, int kTiles, int kLocalBytes>
struct W4a8MmaGemv {
    static constexpr int kThreads = kWaves * kWaveSize;
    static constexpr int kBlocks = kRows / 8;  // of 8 rows of activations
    static constexpr int kTileColumns = 16;
    static constexpr int kDepth = 256;  // of a step: 128 bytes of codes a row
    static constexpr int kCodeBytes = kTileColumns * kDepth / 2;
    static constexpr int kScaleBytes = kTileColumns * 16;
    static constexpr int kStageBytes = kCodeBytes + kScaleBytes;
    // Of each scale's table, so that lanes that look up different tables meet fewer banks twice.
    static constexpr int kCopies = 4;
    static constexpr int kTableStride = kCopies * 16;
    static constexpr int kSumStride = kTileColumns + 4;  // no bank conflicts
    static constexpr int kTileSums = kRows * kSumStride;
    static_assert(kTiles * kTileColumns <= kThreads && kThreads % (kTiles * kTileColumns) == 0,
                  "a work-item has one column of C");
    static_assert(kThreads % kE4m3Scales == 0, "a work-item makes one scale's table");

    // Local memory.
    static constexpr int kRing = 0;
    static constexpr int kScales = kRing + kWaves * kStages * kCodeBytes;
    static constexpr int kTables = kScales + kWaves * kStages * kScaleBytes;
    static constexpr int kSums = kTables + kE4m3Scales * kTableStride;
    static constexpr int kBarriers = kSums + kTiles * kTileSums * 4;
    static constexpr int kActivations = kBarriers + kWaves * kStages * 8;
    static constexpr int kActivationBytes = kLocalBytes - kActivations;
    static_assert(kActivations % 16 == 0 && kActivationBytes >= kRows * (kDepth + 16), "at least one step");

    static CK_DEVICE void make_tables(const W4a8GemvArgs& args, LocalPointer<uint8_t> local) {
        const uint32_t code = workitem_id() % kE4m3Scales;
        const Uint32x4 bytes = grid_table_bytes(args.codebook, args.levels, code);
        CK_UNROLL
        for (uint32_t turn = 0; turn < kCopies * kE4m3Scales / kThreads; ++turn) {
            const uint32_t copy = turn * (kThreads / kE4m3Scales) + workitem_id() / kE4m3Scales + code;
            store_local_16_bytes(local + kTables + code * kTableStride + copy % kCopies * 16, bytes);
        }
    }

    // Index in a row of the scale with which a step begins. A copy begins at a multiple of 16: with groups of
    // 32 and 64 columns it brings more scales than the step needs.
    static CK_DEVICE uint32_t first_scale(uint32_t step, uint32_t scale_shift) {
        return (step * (kDepth / 16)) >> scale_shift;
    }

    // Where a wave stands: a tile of the workgroup's pass, and a step of the part of K that is being
    // computed.
    struct Place {
        uint32_t tile;
        uint32_t step;

        CK_DEVICE void advance(uint32_t steps) {
            if (++step == steps) {
                step = 0;
                ++tile;
            }
        }
    };

    // A wave's stages, in turn.
    struct Turn {
        uint32_t stage = 0;
        uint32_t parity = 0;

        CK_DEVICE void advance() {
            if (++stage == kStages) {
                stage = 0;
                parity ^= 1;
            }
        }
    };

    static CK_DEVICE void run(const W4a8MmaArgs& mapped, LocalPointer<uint8_t> local) {
        const W4a8GemvArgs& args = mapped.weight;
        const LocalPointer<int32_t> sums = reinterpret_cast<LocalPointer<int32_t>>(local + kSums);
        const LocalBarrier filled = reinterpret_cast<LocalBarrier>(local + kBarriers) + wave_id() * kStages;
        const LocalPointer<uint8_t> activations = local + kActivations;
        const LocalPointer<uint8_t> ring = local + kRing + wave_id() * (kStages * kCodeBytes);
        const LocalPointer<uint8_t> scales = local + kScales + wave_id() * (kStages * kScaleBytes);

        // Rows of activations as wide as local memory takes: parts of K of about equal length.
        const uint32_t m = static_cast<uint32_t>(args.gemm.m);
        const uint32_t steps = (args.gemm.k + kDepth - 1) / kDepth;
        const uint32_t parts = (steps - 1) / ((kActivationBytes / m - 16) / kDepth) + 1;
        const uint32_t part_steps = (steps - 1) / parts + 1;
        const uint32_t stride = part_steps * kDepth + 16;     // no bank conflicts
        const uint32_t scale_shift = args.groups.pieces / 2;  // groups of 16, 32 and 64

        const uint32_t tiles = static_cast<uint32_t>((args.gemm.n + kTileColumns - 1) / kTileColumns);
        const uint32_t share = tiles / args.workgroups;
        const uint32_t rest = tiles % args.workgroups;
        const uint32_t id = workgroup_id();
        uint32_t first_tile = id * share + (id < rest ? id : rest);
        const uint32_t end_tile = first_tile + share + (id < rest ? 1 : 0);

        if (lane_id() == 0) {
            CK_UNROLL
            for (int stage = 0; stage < kStages; ++stage) begin_barrier(filled + stage, 1);
            publish_barriers();
        }
        wave_local_fence();

        // Not by the copy engine, which would bring them behind all the codes that are under way.
        const auto copy_activations = [&](uint32_t first_step, uint32_t part) CK_INLINE_LAMBDA {
            constexpr uint32_t kAtOnce = 6;
            const uint32_t begin = first_step * kDepth;
            const uint32_t left = args.gemm.k - begin;
            const uint32_t pieces = (left < part * kDepth ? left : part * kDepth) / 16;
            CK_NO_UNROLL
            for (uint32_t first = workitem_id(); first < m * pieces; first += kAtOnce * kThreads) {
                Uint32x4 value[kAtOnce];
                CK_UNROLL
                for (uint32_t index = 0; index < kAtOnce; ++index) {
                    const uint32_t wanted = first + index * kThreads;
                    const uint32_t row = wanted / pieces;
                    const uint64_t source =
                        args.gemm.a + row * args.gemm.lda + begin + (wanted - row * pieces) * 16;
                    if (wanted < m * pieces)
                        value[index] =
                            load_16_bytes<LoadPlace::Aligned>(global_pointer<const uint8_t>(source));
                }
                CK_UNROLL
                for (uint32_t index = 0; index < kAtOnce; ++index) {
                    const uint32_t wanted = first + index * kThreads;
                    const uint32_t row = wanted / pieces;
                    if (wanted < m * pieces)
                        store_local_16_bytes(activations + row * stride + (wanted - row * pieces) * 16,
                                             value[index]);
                }
            }
        };

        bool begun = false;
        Turn copied;
        Turn read;
        CK_NO_UNROLL
        for (; first_tile < end_tile; first_tile += kTiles) {
            const uint32_t count = end_tile - first_tile < kTiles ? end_tile - first_tile : kTiles;
            // A work-item has one column of C, whose factors are loaded before the products.
            const auto open_output = [&](Int8GemmOutput<ElementPlace::Natural>& output) CK_INLINE_LAMBDA {
                output.open(args.gemm, 0, static_cast<int64_t>(first_tile) * kTileColumns, kRows,
                            count * kTileColumns);
            };
            const uint32_t column = workitem_id() % (kTiles * kTileColumns);
            Int8GemmColumns<1> factors;
            CK_NO_UNROLL
            for (uint32_t first_step = 0; first_step < steps; first_step += part_steps) {
                const uint32_t part = steps - first_step < part_steps ? steps - first_step : part_steps;
                const uint32_t low = count * part * wave_id() / kWaves;
                const uint32_t high = count * part * (wave_id() + 1) / kWaves;
                Place place{low / part, low % part};
                Place copying = place;
                uint32_t copies = high - low;

                const auto copy_step = [&]() CK_INLINE_LAMBDA {
                    if (copies == 0) return;
                    --copies;
                    if (lane_id() == 0) {
                        const LocalBarrier barrier = filled + copied.stage;
                        const uint32_t row = (first_tile + copying.tile) * kTileColumns;
                        const uint32_t step = first_step + copying.step;
                        arrive_and_expect(barrier, kStageBytes);
                        copy_tile(ring + copied.stage * kCodeBytes, mapped.codes, row, step * (kDepth / 2),
                                  barrier);
                        copy_tile(scales + copied.stage * kScaleBytes, mapped.scales, row,
                                  first_scale(step, scale_shift) & ~15u, barrier);
                    }
                    copied.advance();
                    copying.advance(part);
                };
                CK_UNROLL
                for (int stage = 0; stage < kStages; ++stage) copy_step();

                if (!begun) {
                    make_tables(args, local);
                    wait_for_kernel_before();
                } else if (parts > 1) {
                    local_barrier();
                }
                if (first_step == 0) {
                    Int8GemmOutput<ElementPlace::Natural> output;
                    open_output(output);
                    factors.load(output, column);
                    CK_NO_UNROLL
                    for (uint32_t index = workitem_id(); index < kTiles * kTileSums; index += kThreads)
                        sums[index] = 0;
                }
                if (!begun || parts > 1) copy_activations(first_step, part);
                begun = true;
                local_barrier();

                // Row r of a tile is a lane's row g where neighbouring lanes' rows differ in their third bit,
                // by which the copy's permutation keeps their 16 bytes apart.
                const uint32_t lane_row = lane_id() / 4 % 2 * 4 + lane_id() / 8;
                const uint32_t quarter = lane_id() % 4;
                LocalPointer<const uint8_t> rows[kBlocks];
                CK_UNROLL
                for (uint32_t block = 0; block < kBlocks; ++block) {
                    const uint32_t wanted = block * 8 + lane_id() / 4;
                    rows[block] = activations + (wanted < m ? wanted : m - 1) * stride + quarter * 32;
                }
                const LocalPointer<const uint8_t> tables = local + kTables + lane_id() % kCopies * 16;
                Int32x4 accumulator[kBlocks];
                CK_UNROLL
                for (int block = 0; block < kBlocks; ++block) accumulator[block] = Int32x4{0, 0, 0, 0};

                const auto multiply = [&]() CK_INLINE_LAMBDA {
                    const LocalPointer<const uint8_t> lane_codes =
                        ring + read.stage * kCodeBytes + lane_row * 128;
                    const LocalPointer<const uint8_t> lane_scales =
                        scales + read.stage * kScaleBytes + lane_row * 16 +
                        first_scale(first_step + place.step, scale_shift) % 16;
                    CK_UNROLL
                    for (uint32_t half = 0; half < 2; ++half) {
                        const uint32_t piece = ((half * 4 + quarter) ^ lane_row) * 16;
                        const Uint32x4 upper = load_local_16_bytes(lane_codes + piece);
                        const Uint32x4 lower = load_local_16_bytes(lane_codes + piece + 8 * 128);
                        CK_UNROLL
                        for (uint32_t group = 0; group < 2; ++group) {
                            Uint32x4 values[kBlocks];
                            CK_UNROLL
                            for (int block = 0; block < kBlocks; ++block)
                                values[block] = load_local_16_bytes(rows[block] + place.step * kDepth +
                                                                    half * 128 + group * 16);
                            const uint32_t scale = (half * 8 + quarter * 2 + group) >> scale_shift;
                            const NibbleTable upper_table{
                                load_local_16_bytes(tables + lane_scales[scale] * kTableStride)};
                            const NibbleTable lower_table{
                                load_local_16_bytes(tables + lane_scales[scale + 8 * 16] * kTableStride)};
                            CK_UNROLL
                            for (uint32_t word = 0; word < 2; ++word) {
                                const Uint32x2 above = upper_table.look_up(upper[group * 2 + word]);
                                const Uint32x2 below = lower_table.look_up(lower[group * 2 + word]);
                                const Uint32x4 weight = {above.x, below.x, above.y, below.y};
                                CK_UNROLL
                                for (int block = 0; block < kBlocks; ++block)
                                    accumulator[block] =
                                        mma_m16n8k32(weight, word == 0 ? values[block].lo : values[block].hi,
                                                     accumulator[block]);
                            }
                        }
                    }
                };
                // A lane has rows quarter * 2 and the next of a block, columns lane_row and lane_row + 8.
                const auto add_to_sums = [&]() CK_INLINE_LAMBDA {
                    CK_UNROLL
                    for (int block = 0; block < kBlocks; ++block) {
                        const LocalPointer<int32_t> target =
                            sums + place.tile * kTileSums + (block * 8 + quarter * 2) * kSumStride + lane_row;
                        add_to_local(target, accumulator[block].x);
                        add_to_local(target + kSumStride, accumulator[block].y);
                        add_to_local(target + 8, accumulator[block].z);
                        add_to_local(target + kSumStride + 8, accumulator[block].w);
                        accumulator[block] = Int32x4{0, 0, 0, 0};
                    }
                };
                CK_NO_UNROLL
                for (uint32_t left = high - low; left != 0; --left) {
                    wait_for_phase(filled + read.stage, read.parity);
                    multiply();
                    wave_local_fence();
                    copy_step();
                    read.advance();
                    if (place.step + 1 == part) add_to_sums();
                    place.advance(part);
                }
                if (place.step != 0) add_to_sums();
            }
            local_barrier();

            Int8GemmOutput<ElementPlace::Natural> output;
            open_output(output);
            if (column < output.columns) {
                const LocalPointer<const int32_t> column_sums =
                    sums + column / kTileColumns * kTileSums + column % kTileColumns;
                CK_NO_UNROLL
                for (uint32_t row = workitem_id() / (kTiles * kTileColumns); row < output.rows;
                     row += kThreads / (kTiles * kTileColumns)) {
                    const int32_t accumulated[1] = {column_sums[row * kSumStride]};
                    int8_gemm_finish(output, row, column, 1, accumulated, factors);
                }
            }
            local_barrier();
        }
    }
};

}  // namespace ckitchen

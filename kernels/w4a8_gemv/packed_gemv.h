// Few rows of activations times a 4-bit weight, whose codes are read once, straight from global memory, and
// decoded in registers: the 16 values that the codes of a group can have are 16 bytes, which a lane looks its
// codes up in.
#pragma once

#include "../device/w4a8_grid.h"
#include "../int8_gemm/gemv.h"
#include "w4a8_gemv_args.h"

namespace ckitchen {

// A wave computes kColumns columns for all rows, its lanes splitting K in pieces of 16 weights, and adds the
// lanes' sums at the end.
template <int kRows, int kColumns, int kWaves, int kAlignment>
struct W4a8PackedGemv {
    static constexpr int kLocalBytes = kGridTableBytes;
    static constexpr uint32_t kDepth = kWaveSize * kPieceElements;
    static constexpr int kResults = kRows * kColumns;
    static constexpr int kLanesPerResult = kWaveSize / kResults;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;
    static_assert(kResults <= kWaveSize, "one result or less for a lane");

    // What a lane reads of the weight in one step, a step ahead.
    struct Step {
        Uint32x2 codes[kColumns];
        uint32_t scale[kColumns];
    };

    static CK_DEVICE void run(const W4a8GemvArgs& args, LocalPointer<uint8_t> local) {
        make_grid_tables(args.codebook, args.levels, kWaves * kWaveSize, local);
        CK_NO_UNROLL
        for (int64_t column = (static_cast<int64_t>(workgroup_id()) * kWaves + wave_id()) * kColumns;
             column < args.gemm.n; column += static_cast<int64_t>(args.workgroups) * kWaves * kColumns)
            run_columns(args, column, local);
    }

    static CK_DEVICE void run_columns(const W4a8GemvArgs& args, int64_t first_column,
                                      LocalPointer<const uint8_t> local) {
        const int64_t columns_left = args.gemm.n - first_column;
        const uint32_t columns = columns_left < kColumns ? static_cast<uint32_t>(columns_left) : kColumns;
        const uint64_t codes = args.packed + first_column * args.ld_packed;
        const uint64_t scales = args.s_rel + first_column * args.ld_s_rel;
        uint64_t activations[kRows];
        CK_UNROLL
        for (int m = 0; m < kRows; ++m) {
            const int64_t row = m < args.gemm.m ? m : args.gemm.m - 1;
            activations[m] = as_scalar_address(args.gemm.a + row * args.gemm.lda);
        }
        int32_t sum[kResults];
        CK_UNROLL
        for (int index = 0; index < kResults; ++index) sum[index] = 0;

        // Floor of the quotient of small numbers, away from its jumps: exact.
        const float groups_of_piece = 1.0f / static_cast<float>(args.groups.pieces);
        const auto load = [&](uint32_t k, Step& step) CK_INLINE_LAMBDA {
            const uint32_t position = k + lane_id() * kPieceElements;
            const bool inside = position < args.gemm.k;
            const uint32_t piece = position / kPieceElements;
            const uint32_t group =
                args.groups.pieces == 1
                    ? piece
                    : static_cast<uint32_t>((static_cast<float>(piece) + 0.5f) * groups_of_piece);
            CK_UNROLL
            for (uint32_t n = 0; n < kColumns; ++n) {
                step.codes[n] = Uint32x2{0, 0};
                step.scale[n] = 0;
                if (!inside || n >= columns) continue;
                step.codes[n] = load_codes<kPlace>(lane_address(codes + n * args.ld_packed, position / 2),
                                                   kPieceElements);
                step.scale[n] =
                    *global_pointer<const uint8_t>(lane_address(scales + n * args.ld_s_rel, group));
            }
        };
        const auto multiply = [&](uint32_t k, const Step& step) CK_INLINE_LAMBDA {
            const uint32_t position = k + lane_id() * kPieceElements;
            Uint32x4 weight[kColumns];
            CK_UNROLL
            for (int n = 0; n < kColumns; ++n) {
                const NibbleTable table = grid_table(local, step.scale[n]);
                const Uint32x2 first = table.look_up(step.codes[n].x);
                const Uint32x2 second = table.look_up(step.codes[n].y);
                weight[n] = Uint32x4{first.x, first.y, second.x, second.y};
            }
            CK_UNROLL
            for (int m = 0; m < kRows; ++m) {
                Uint32x4 bytes = {0, 0, 0, 0};
                if (position < args.gemm.k)
                    bytes = load_16_bytes<LoadPlace::Aligned>(
                        global_pointer<const uint8_t>(lane_address(activations[m], position)));
                const Uint32x2 first = NibbleTable::in_order(bytes.x, bytes.y);
                const Uint32x2 second = NibbleTable::in_order(bytes.z, bytes.w);
                bytes = Uint32x4{first.x, first.y, second.x, second.y};
                CK_UNROLL
                for (int n = 0; n < kColumns; ++n)
                    sum[m * kColumns + n] = dot16(bytes, weight[n], sum[m * kColumns + n]);
            }
        };
        Step step;
        load(0, step);
        CK_NO_UNROLL
        for (uint32_t k = 0; k < args.gemm.k; k += kDepth) {
            Step next;
            load(k + kDepth, next);
            multiply(k, step);
            step = next;
        }

        const int32_t total = sum_over_lanes<kResults, kWaveSize / 2>(sum);
        const uint32_t result = lane_id() / kLanesPerResult;
        const uint32_t row = result / kColumns;
        const uint32_t column = result % kColumns;
        Int8GemmOutput<kAlignment == 16 ? ElementPlace::Natural : ElementPlace::Anywhere> output;
        output.open(args.gemm, 0, first_column, kRows, kColumns);
        if (lane_id() % kLanesPerResult != 0 || row >= output.rows || column >= output.columns) return;
        Int8GemmColumns<1> factors;
        factors.load(output, column);
        const int32_t accumulator[1] = {total};
        int8_gemm_finish(output, row, column, 1, accumulator, factors);
    }
};

}  // namespace ckitchen

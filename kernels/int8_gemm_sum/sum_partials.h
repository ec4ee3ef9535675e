// Adds the int32 sums of the parts of a split K, exactly and so in any order, and finishes them like any
// other INT8 GEMM.
#pragma once

#include "../int8_gemm/epilogue.h"
#include "int8_gemm_sum_args.h"

namespace ckitchen {

template <int kWaves>
struct Int8GemmSum {
    static CK_DEVICE void run(const Int8GemmSumArgs& args) {
        const uint32_t index = workgroup_id() * (kWaves * kWaveSize) + workitem_id();
        Int8GemmOutput<ElementPlace::Anywhere> output;
        output.open(args.gemm, 0, 0, 0xffffffffu, 0xffffffffu);
        const uint32_t row = index / args.quads;
        const uint32_t column = (index - row * args.quads) * 4;
        if (row >= output.rows) return;
        const uint32_t left = output.columns - column;
        Int8GemmColumns<4> columns;
        columns.load(output, column);
        uint64_t source = args.partials + (static_cast<uint64_t>(row) * args.gemm.n + column) * 4;
        const uint64_t part_bytes = static_cast<uint64_t>(args.gemm.m) * args.gemm.n * 4;
        int32_t sum[4] = {0, 0, 0, 0};
        CK_NO_UNROLL
        for (uint32_t split = 0; split < args.splits; ++split, source += part_bytes) {
            if (left >= 4) {
                const Uint32x4 part =
                    load_16_bytes<LoadPlace::Anywhere>(global_pointer<const uint8_t>(source));
                CK_UNROLL
                for (int lane = 0; lane < 4; ++lane) sum[lane] += static_cast<int32_t>(part[lane]);
            } else {
                CK_UNROLL
                for (uint32_t lane = 0; lane < 3; ++lane) {
                    if (lane < left) sum[lane] += global_pointer<const int32_t>(source)[lane];
                }
            }
        }
        int8_gemm_finish(output, row, column, left < 4 ? left : 4, sum, columns);
    }
};

}  // namespace ckitchen

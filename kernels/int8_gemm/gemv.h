// INT8 GEMM for few rows of A. The weights are read once, straight from global memory; a wave computes
// kWaveColumns columns for all rows, its lanes splitting K in pieces of 16 bytes, and adds the lanes' sums at
// the end.
#pragma once

#include "epilogue.h"

namespace ckitchen {

// Sums kCount values over the 32 lanes, halving the number of values with each exchange: afterwards the lane
// whose leading bits (16, 8, ...) spell an index holds that value's sum. kCount is a power of two, at
// most 32.
template <int kCount, int kMask>
CK_DEVICE int32_t sum_over_lanes(const int32_t (&value)[kCount]) {
    if constexpr (kCount == 1) {
        int32_t sum = value[0];
        if constexpr (kMask >= 1) {
            sum += exchange_xor<kMask>(sum);
            const int32_t rest[1] = {sum};
            return sum_over_lanes<1, kMask / 2>(rest);
        }
        return sum;
    } else {
        const bool upper = (lane_id() & kMask) != 0;
        int32_t half[kCount / 2];
        CK_UNROLL
        for (int index = 0; index < kCount / 2; ++index) {
            const int32_t low = value[index];
            const int32_t high = value[index + kCount / 2];
            half[index] = (upper ? high : low) + exchange_xor<kMask>(upper ? low : high);
        }
        return sum_over_lanes<kCount / 2, kMask / 2>(half);
    }
}

template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, int kAlignment, typename Offset>
struct Int8GemmGemv {
    static constexpr int kThreads = kWavesN * kWaveSize;
    static constexpr int kLocalBytes = 0;
    static constexpr int kWaveColumns = kColumns / kWavesN;
    static constexpr int kResults = kRows * kWaveColumns;
    static constexpr int kLanesPerResult = kWaveSize / kResults;
    static_assert(kWavesM == 1 && kDepth == kWaveSize * 16 && kResults <= kWaveSize,
                  "one result or less for a lane");

    static CK_DEVICE void run(const Int8GemmArgs& whole_args, LocalPointer<uint8_t>) {
        Int8GemmArgs args = whole_args;
        const uint32_t id = int8_gemm_take_part(args, args.tiles_n);
        const int64_t first_column = static_cast<int64_t>(id) * kColumns + wave_id() * kWaveColumns;
        if (first_column >= args.n) return;
        Pointer weights[kWaveColumns];
        CK_UNROLL
        for (int n = 0; n < kWaveColumns; ++n) {
            const int64_t column = first_column + n < args.n ? first_column + n : args.n - 1;
            weights[n] = global_pointer<const uint8_t>(args.b) + column * args.ldb;
        }
        Pointer rows[kRows];
        CK_UNROLL
        for (int m = 0; m < kRows; ++m) {
            const int64_t row = m < args.m ? m : args.m - 1;
            rows[m] = global_pointer<const uint8_t>(args.a) + row * args.lda;
        }
        int32_t sum[kResults];
        CK_UNROLL
        for (int index = 0; index < kResults; ++index) sum[index] = 0;

        const uint32_t whole = args.k / kDepth * kDepth;
        CK_NO_UNROLL
        for (uint32_t k = 0; k < whole; k += kDepth) {
            Uint32x4 weight[kWaveColumns];
            CK_UNROLL
            for (int n = 0; n < kWaveColumns; ++n) weight[n] = load_piece(weights[n], k);
            CK_UNROLL
            for (int m = 0; m < kRows; ++m) accumulate(sum, m, load_piece(rows[m], k), weight);
        }
        if (whole != args.k) {
            Uint32x4 weight[kWaveColumns];
            CK_UNROLL
            for (int n = 0; n < kWaveColumns; ++n) weight[n] = load_last_piece(weights[n], whole, args.k);
            CK_UNROLL
            for (int m = 0; m < kRows; ++m)
                accumulate(sum, m, load_last_piece(rows[m], whole, args.k), weight);
        }

        const int32_t total = sum_over_lanes<kResults, kWaveSize / 2>(sum);
        const uint32_t result = lane_id() / kLanesPerResult;
        const uint32_t row = result / kWaveColumns;
        const uint32_t column = result % kWaveColumns;
        Int8GemmOutput<kAlignment == 16 ? ElementPlace::Natural : ElementPlace::Anywhere> output;
        output.open(args, 0, first_column, kRows, kWaveColumns);
        if (lane_id() % kLanesPerResult != 0 || row >= output.rows || column >= output.columns) return;
        Int8GemmColumns<1> columns;
        columns.load(output, column);
        const int32_t accumulator[1] = {total};
        int8_gemm_finish(output, row, column, 1, accumulator, columns);
    }

    using Pointer = GlobalPointer<const uint8_t>;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    // This lane's 16 bytes of the kDepth bytes of a row from k on.
    static CK_DEVICE Uint32x4 load_piece(Pointer row, uint32_t k) {
        const uint64_t base = reinterpret_cast<uint64_t>(row) + k;
        return load_16_bytes<kPlace>(global_pointer<const uint8_t>(lane_address(base, lane_id() * 16)));
    }

    // The same where the row ends before kDepth bytes.
    static CK_DEVICE Uint32x4 load_last_piece(Pointer row, uint32_t k, uint32_t length) {
        const uint32_t position = k + lane_id() * 16;
        if constexpr (kAlignment == 16) {
            return position < length ? load_16_bytes<kPlace>(row + position) : Uint32x4{0, 0, 0, 0};
        } else {
            return load_16_bytes_of_row(row, position, length);
        }
    }

    static CK_DEVICE void accumulate(int32_t (&sum)[kResults], int m, Uint32x4 row,
                                     const Uint32x4 (&weight)[kWaveColumns]) {
        CK_UNROLL
        for (int n = 0; n < kWaveColumns; ++n) {
            sum[m * kWaveColumns + n] = dot16(row, weight[n], sum[m * kWaveColumns + n]);
        }
    }
};

}  // namespace ckitchen

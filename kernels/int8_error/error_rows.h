// Sums of squares over rows, in float64. A row of at most 1024 columns is a wave's, or a part of one; longer
// rows are a power of two of waves', at most a workgroup's, which take steps of 1024 columns in turn.
//
// The order of the additions is the operator's definition: lanes hold pieces of 16 columns, a piece is added
// up first, halves onto halves, then the pieces of a step, then the steps of a wave, then the waves.
#pragma once

#include "../device/rotation.h"
#include "int8_error_args.h"

namespace ckitchen {

// Two sums that are formed side by side.
struct ErrorSums {
    double difference;
    double original;

    CK_DEVICE ErrorSums plus(const ErrorSums& other) const {
        return {difference + other.difference, original + other.original};
    }
};

template <int kMask>
CK_DEVICE double exchange_xor_double(double value) {
    const uint64_t bits = __builtin_bit_cast(uint64_t, value);
    const uint32_t low = static_cast<uint32_t>(exchange_xor<kMask>(static_cast<int32_t>(bits)));
    const uint32_t high = static_cast<uint32_t>(exchange_xor<kMask>(static_cast<int32_t>(bits >> 32)));
    return __builtin_bit_cast(double, static_cast<uint64_t>(high) << 32 | low);
}

template <int kMask>
CK_DEVICE ErrorSums sum_of_lanes(const ErrorSums& sums) {
    return sums.plus(
        {exchange_xor_double<kMask>(sums.difference), exchange_xor_double<kMask>(sums.original)});
}

// The sum over the aligned 2^lanes_log2 lanes that hold the pieces of a row.
CK_DEVICE ErrorSums sum_of_lanes(ErrorSums sums, uint32_t lanes_log2) {
    if (lanes_log2 > 4) sums = sum_of_lanes<16>(sums);
    if (lanes_log2 > 3) sums = sum_of_lanes<8>(sums);
    if (lanes_log2 > 2) sums = sum_of_lanes<4>(sums);
    if (lanes_log2 > 1) sums = sum_of_lanes<2>(sums);
    if (lanes_log2 > 0) sums = sum_of_lanes<1>(sums);
    return sums;
}

// Squares of float32 are exact in float64, so that a fused addition rounds like a separate one.
CK_DEVICE double sum_of_squares(const float (&value)[kPieceElements]) {
    constexpr int kHalf = kPieceElements / 2;
    double sum[kHalf];
    CK_UNROLL
    for (int index = 0; index < kHalf; ++index) {
        const double low = static_cast<double>(value[index]);
        const double high = static_cast<double>(value[index + kHalf]);
        sum[index] = __builtin_fma(high, high, low * low);
    }
    CK_UNROLL
    for (int half = kHalf / 2; half > 0; half /= 2) {
        CK_UNROLL
        for (int index = 0; index < kHalf / 2; ++index) {
            if (index < half) sum[index] = sum[index] + sum[index + half];
        }
    }
    return sum[0];
}

template <int kAlignment>
struct Int8ErrorRows {
    static constexpr int kWaves = kInt8ErrorWaves;
    static constexpr int kSlotBytes = kWaves * static_cast<int>(sizeof(ErrorSums));
    // Two sets of slots, which rows use in turn.
    static constexpr int kLocalBytes = kWaves * kRotationLocalBytes + 2 * kSlotBytes;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    static CK_DEVICE void run(const Int8ErrorArgs& args, LocalPointer<uint8_t> local) {
        const LocalPointer<uint8_t> exchange = local + wave_id() * kRotationLocalBytes;
        LocalPointer<uint8_t> slots = local + kWaves * kRotationLocalBytes;
        const LocalPointer<uint8_t> end_of_slots = slots + 2 * kSlotBytes;
        const uint32_t rows_log2 = __builtin_ctz(kWaveElements) - args.width_log2;
        const uint32_t row_of_wave = wave_id() >> args.row_waves_log2 << rows_log2;
        const int64_t held = static_cast<int64_t>(kWaves >> args.row_waves_log2 << rows_log2);
        const uint32_t wave_of_row = wave_id() & ((1u << args.row_waves_log2) - 1);
        const int64_t first_column = static_cast<int64_t>(wave_of_row) * kWaveElements;
        CK_NO_UNROLL
        for (int64_t first = workgroup_id() * held; first < args.rows; first += args.groups * held) {
            const int64_t row = first + row_of_wave;
            ErrorSums sums[kWavePieces] = {};
            CK_NO_UNROLL
            for (int64_t column = first_column; column < args.k; column += kWaves * kWaveElements)
                add_step(args, row, column, exchange, sums);
            if (args.row_waves_log2 == 0) {
                store_rows(args, row, sums);
                continue;
            }
            const ErrorSums sum = sum_of_waves(args, sums[0], wave_of_row, slots);
            if (wave_of_row == 0 && lane_id() == 0 && row < args.rows) store(args, row, sum);
            slots = slots + kSlotBytes == end_of_slots ? slots - kSlotBytes : slots + kSlotBytes;
        }
    }

    // Adds the sums of a step's rows: of one in sums[0], or of those of each piece.
    static CK_DEVICE void add_step(const Int8ErrorArgs& args, int64_t first_row, int64_t first_column,
                                   LocalPointer<uint8_t> exchange, ErrorSums (&sums)[kWavePieces]) {
        const uint32_t size = element_size(args.type);
        uint64_t source[kWavePieces];
        uint32_t count[kWavePieces];
        WavePieces decoded;
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            const uint32_t index = piece_index(piece);
            const int64_t row = first_row + (index >> args.width_log2);
            const int64_t column = first_column + (index & ((1u << args.width_log2) - 1));
            source[piece] = args.x + (row * args.ldx + column) * size;
            count[piece] = row < args.rows ? piece_count(column, args.k) : 0;
            decode(args, row, args.q + row * args.ldq + column, count[piece], decoded.value[piece]);
        }
        if (args.rotate_group != 0) rotate_wave(decoded, args.rotate_group, args.rotate_factor, exchange);
        WavePieces original;
        original.load<kPlace>(args.type, source, count);
        ErrorSums of_piece[kWavePieces];
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            // One after the other: all at once take four times the registers.
            scheduling_boundary();
            float difference[kPieceElements];
            CK_UNROLL
            for (int index = 0; index < kPieceElements; ++index)
                difference[index] = decoded.value[piece][index] - original.value[piece][index];
            of_piece[piece].difference = sum_of_squares(difference);
            scheduling_boundary();
            of_piece[piece].original = sum_of_squares(original.value[piece]);
        }
        const uint32_t lanes_log2 = args.width_log2 - __builtin_ctz(kPieceElements);
        if ((1u << args.width_log2) == kWaveElements) {
            sums[0] = sums[0].plus(sum_of_lanes(of_piece[0].plus(of_piece[1]), lanes_log2 - 1));
            return;
        }
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece)
            sums[piece] = sums[piece].plus(sum_of_lanes(of_piece[piece], lanes_log2));
    }

    // Values of a piece of which `count` columns exist.
    static CK_DEVICE void decode(const Int8ErrorArgs& args, int64_t row, uint64_t address, uint32_t count,
                                 float (&value)[kPieceElements]) {
        clear_piece(value);
        if (count == 0) return;
        const auto source = global_pointer<const uint8_t>(address);
        Uint32x4 bytes = {0, 0, 0, 0};
        if (count == kPieceElements) {
            bytes = load_16_bytes<kPlace>(source);
        } else {
            CK_UNROLL
            for (uint32_t index = 0; index < kPieceElements; ++index) {
                if (index < count) bytes[index / 4] |= static_cast<uint32_t>(source[index]) << index % 4 * 8;
            }
        }
        const float scale = __builtin_bit_cast(float, reinterpret_cast<GlobalPointer<const UnalignedUint32>>(
                                                          args.scale)[row * args.scale_stride]);
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index) {
            const int32_t byte =
                static_cast<int32_t>(static_cast<uint32_t>(bytes[index / 4]) << (3 - index % 4) * 8) >> 24;
            // What does not exist is 0 whatever the scale, which may be infinite.
            value[index] = static_cast<uint32_t>(index) < count ? static_cast<float>(byte) * scale : 0.0f;
        }
    }

    // The sum of a row's waves, in lane 0 of the first one. All waves of the workgroup take part.
    static CK_DEVICE ErrorSums sum_of_waves(const Int8ErrorArgs& args, const ErrorSums& sums,
                                            uint32_t wave_of_row, LocalPointer<uint8_t> slots) {
        const auto slot = reinterpret_cast<LocalPointer<double>>(slots);
        if (lane_id() == 0) {
            slot[2 * wave_id()] = sums.difference;
            slot[2 * wave_id() + 1] = sums.original;
        }
        local_barrier();
        ErrorSums sum = {0.0, 0.0};
        if (wave_of_row != 0) return sum;
        if (lane_id() < 1u << args.row_waves_log2) {
            const uint32_t wave = wave_id() + lane_id();
            sum = {slot[2 * wave], slot[2 * wave + 1]};
        }
        return sum_of_lanes(sum, 3);
    }

    // The rows of one wave.
    static CK_DEVICE void store_rows(const Int8ErrorArgs& args, int64_t first_row,
                                     const ErrorSums (&sums)[kWavePieces]) {
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            const uint32_t index = piece_index(piece);
            const int64_t row = first_row + (index >> args.width_log2);
            if ((index & ((1u << args.width_log2) - 1)) == 0 && row < args.rows)
                store(args, row, sums[piece]);
        }
    }

    static CK_DEVICE void store(const Int8ErrorArgs& args, int64_t row, const ErrorSums& sums) {
        store_double(args.difference + row * 8, sums.difference);
        store_double(args.original + row * 8, sums.original);
    }

    static CK_DEVICE void store_double(uint64_t address, double value) {
        const uint64_t bits = __builtin_bit_cast(uint64_t, value);
        const GlobalPointer<uint32_t> word = global_pointer<uint32_t>(address);
        store_element<ElementPlace::Anywhere>(word, static_cast<uint32_t>(bits));
        store_element<ElementPlace::Anywhere>(word + 1, static_cast<uint32_t>(bits >> 32));
    }
};

}  // namespace ckitchen

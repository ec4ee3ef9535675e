// Decoding of 4-bit weights. Waves work on their own: each takes 1024 columns of a row, or several narrow
// rows, and goes on to further ones.
#pragma once

#include "../device/rotation.h"
#include "../device/w4a8_grid.h"
#include "../device/wave_steps.h"
#include "w4a8_dequant_args.h"

namespace ckitchen {

template <int kWaves, int kAlignment>
struct W4a8DequantRows {
    static constexpr int kTableBytes = kW4a8Levels * 4;
    static constexpr int kWaveBytes = kRotationLocalBytes + kTableBytes;
    static constexpr int kLocalBytes = kWaves * kWaveBytes;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    static_assert(kGridTableBytes <= kLocalBytes, "the tables take the place of the waves' memory");

    static CK_DEVICE void run(const W4a8DequantArgs& args, LocalPointer<uint8_t> local) {
        if (args.type == kW4a8DequantInt8ByTables) {
            make_grid_tables(args.codebook, args.levels, kWaves * kWaveSize, local);
            for_each_wave_step<kWaves>(args.rows, args.steps, args.width_log2, args.workgroups,
                                       [&](int64_t row, int64_t column)
                                           CK_INLINE_LAMBDA { look_up_step(args, row, column, local); });
            return;
        }
        // Each wave has its own exchange memory and, behind it, its own copy of the levels.
        const LocalPointer<uint8_t> exchange = local + wave_id() * kWaveBytes;
        const LocalPointer<float> table =
            reinterpret_cast<LocalPointer<float>>(exchange + kRotationLocalBytes);
        const float level = lane_level(args.codebook, args.levels);
        if (lane_id() < kW4a8Levels) table[lane_id()] = level;
        wave_local_fence();
        for_each_wave_step<kWaves>(args.rows, args.steps, args.width_log2, args.workgroups,
                                   [&](int64_t row, int64_t column)
                                       CK_INLINE_LAMBDA { run_step(args, row, column, exchange, table); });
    }

    // The grid, by tables.
    static CK_DEVICE void look_up_step(const W4a8DequantArgs& args, int64_t first_row, int64_t first_column,
                                       LocalPointer<const uint8_t> local) {
        Uint32x2 codes[kWavePieces];
        uint32_t scale[kWavePieces];
        uint64_t target[kWavePieces];
        bool exists[kWavePieces];
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            const uint32_t index = piece_index(piece);
            const int64_t row = first_row + (index >> args.width_log2);
            const int64_t column = first_column + (index & ((1u << args.width_log2) - 1));
            target[piece] = args.out + row * args.ld_out + column;
            exists[piece] = row < args.rows && column < args.k;
            codes[piece] = Uint32x2{0, 0};
            scale[piece] = 0;
            if (!exists[piece]) continue;
            codes[piece] =
                load_codes<kPlace>(args.packed + row * args.ld_packed + column / 2, kPieceElements);
            scale[piece] = global_pointer<const uint8_t>(
                args.s_rel)[row * args.ld_s_rel + first_group_of_piece(args.groups, column)];
        }
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            const NibbleTable table = grid_table(local, scale[piece]);
            const Uint32x2 first = table.look_up_in_order(codes[piece].x);
            const Uint32x2 second = table.look_up_in_order(codes[piece].y);
            if (exists[piece])
                store_16_bytes<kPlace>(target[piece], Uint32x4{first.x, first.y, second.x, second.y});
        }
    }

    static CK_DEVICE void run_step(const W4a8DequantArgs& args, int64_t first_row, int64_t first_column,
                                   LocalPointer<uint8_t> exchange, LocalPointer<const float> table) {
        const uint32_t size = args.type == kW4a8DequantInt8 ? 1 : element_size(args.type);
        uint64_t target[kWavePieces];
        uint32_t count[kWavePieces];
        WavePieces pieces;
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            const uint32_t index = piece_index(piece);
            const int64_t row = first_row + (index >> args.width_log2);
            const int64_t column = first_column + (index & ((1u << args.width_log2) - 1));
            target[piece] = args.out + (row * args.ld_out + column) * size;
            count[piece] = row < args.rows ? piece_count(column, args.k) : 0;
            decode(args, row, column, count[piece], table, pieces.value[piece]);
        }
        if (args.type == kW4a8DequantInt8) {
            CK_UNROLL
            for (int piece = 0; piece < kWavePieces; ++piece) {
                uint32_t byte[kPieceElements];
                CK_UNROLL
                for (int index = 0; index < kPieceElements; ++index)
                    byte[index] = __builtin_bit_cast(uint32_t, pieces.value[piece][index]) & 255;
                store_byte_piece<kPlace>(target[piece], count[piece], byte);
            }
            return;
        }
        if (args.rotate_group != 0) rotate_wave(pieces, args.rotate_group, args.rotate_factor, exchange);
        pieces.store<kPlace>(args.type, target, count);
    }

    // Values of a piece of which `count` columns exist; grid values stay in the low bits of floats.
    static CK_DEVICE void decode(const W4a8DequantArgs& args, int64_t row, int64_t column, uint32_t count,
                                 LocalPointer<const float> table, float (&value)[kPieceElements]) {
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index) value[index] = 0.0f;
        if (count == 0) return;
        const Uint32x2 codes = load_codes<kPlace>(args.packed + row * args.ld_packed + column / 2, count);
        const int64_t first = first_group_of_piece(args.groups, column);
        float scale[kQuarters];
        for_groups_of_piece(args.groups.size, scale, [&](uint32_t quarter) CK_INLINE_LAMBDA {
            if (quarter * kQuarterElements >= count) return 0.0f;
            return load_group_scale(args.s_rel, args.scale_type,
                                    row * args.ld_s_rel + group_of_quarter(args.groups, first, quarter));
        });
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index) {
            const uint32_t code = codes[index / 8] >> index % 8 * 4 & 15;
            value[index] = grid_value_in_low_bits(table[code], scale[index / kQuarterElements]);
        }
        if (args.type == kW4a8DequantInt8) return;

        const float s_channel = __builtin_bit_cast(
            float, reinterpret_cast<GlobalPointer<const UnalignedUint32>>(args.s_channel)[row]);
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index)
            value[index] = (value[index] - kIntegerInLowBits) * s_channel;
        if (args.correction == 0) return;
        float correction[kQuarters];
        for_groups_of_piece(args.groups.size, correction, [&](uint32_t quarter) CK_INLINE_LAMBDA {
            if (quarter * kQuarterElements >= count) return 0.0f;
            return load_float(args.correction, args.correction_type,
                              group_of_quarter(args.groups, first, quarter) * args.ld_correction + row);
        });
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index)
            value[index] = value[index] + correction[index / kQuarterElements];
    }
};

}  // namespace ckitchen

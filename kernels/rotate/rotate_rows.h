// Rotation. Waves work on their own: each takes 1024 elements of a row, or several narrow rows, and goes on
// to further ones.
#pragma once

#include "../device/rotation.h"
#include "../device/wave_steps.h"
#include "rotate_args.h"

namespace ckitchen {

template <int kWaves, int kAlignment>
struct RotateRows {
    static constexpr int kLocalBytes = kWaves * kRotationLocalBytes;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    static CK_DEVICE void run(const RotateArgs& args, LocalPointer<uint8_t> local) {
        for_each_wave_step<kWaves>(args.rows, args.steps, args.width_log2, args.groups,
                                   [&](int64_t row, int64_t column) CK_INLINE_LAMBDA {
                                       run_step(args, row, column, local + wave_id() * kRotationLocalBytes);
                                   });
    }

    static CK_DEVICE void run_step(const RotateArgs& args, int64_t first_row, int64_t first_column,
                                   LocalPointer<uint8_t> wave_local) {
        const uint32_t size = element_size(args.type);
        uint64_t source[kWavePieces];
        uint64_t target[kWavePieces];
        uint32_t count[kWavePieces];
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            const uint32_t index = piece_index(piece);
            const int64_t row = first_row + (index >> args.width_log2);
            const int64_t column = first_column + (index & ((1u << args.width_log2) - 1));
            source[piece] = args.x + (row * args.ldx + column) * size;
            target[piece] = args.y + (row * args.ldy + column) * size;
            count[piece] = row < args.rows ? piece_count(column, args.k) : 0;
        }
        WavePieces pieces;
        pieces.load<kPlace>(args.type, source, count);
        rotate_wave(pieces, args.group, args.factor, wave_local);
        pieces.store<kPlace>(args.type, target, count);
    }
};

}  // namespace ckitchen

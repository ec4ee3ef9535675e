// Row quantization. Each wave holds 1024 elements of x in its registers, applies the activation and the
// rotation, and joins the other waves of its row for the largest magnitude.
#pragma once

#include "../device/activation.h"
#include "../device/divide.h"
#include "../device/row_waves.h"
#include "int8_quantize_args.h"

namespace ckitchen {

// The scale of a row whose largest finite magnitude is `amax`, as bits.
CK_DEVICE float int8_row_scale(uint32_t amax) {
    const float scale = __builtin_bit_cast(float, amax) / 127.0f;
    return scale > 1e-30f ? scale : 1e-30f;
}

// Quotients by one row's scale, which lies between 1e-30 and the largest float / 127, correctly rounded
// wherever they are at least 1/4 in magnitude. With the correctly rounded reciprocal one correction brings
// the product to within one unit in the last place, and a second one, whose remainder is exact, gives the
// rounded quotient (Markstein 1990). Nothing of this under- or overflows for such a scale; of smaller
// quotients only that they round to 0 matters here.
struct Int8Divisor {
    float scale;
    float reciprocal;

    CK_DEVICE explicit Int8Divisor(float row_scale) : scale(row_scale), reciprocal(1.0f / row_scale) {}

    CK_DEVICE float corrected(float quotient, float x) const {
        return __builtin_fmaf(__builtin_fmaf(-quotient, scale, x), reciprocal, quotient);
    }

    CK_DEVICE float quotient_of(float x) const { return corrected(corrected(x * reciprocal, x), x); }

    // rne(x / scale) in the lowest byte, the other bits mean nothing, where x / scale lies between -127 and
    // 127. Adding 1.5 * 2^23 rounds to an integer, half to even, and leaves it in the low bits in two's
    // complement.
    CK_DEVICE uint32_t rounded(float x) const {
        return __builtin_bit_cast(uint32_t, quotient_of(x) + 12582912.0f);
    }

    // clamp(rne(x / scale), -128, 127), a NaN as 0, in the same way.
    CK_DEVICE uint32_t quantized(float x) const {
        const float quotient = quotient_of(x);
        // x / scale is x itself where x is infinite or a NaN.
        const float number = __builtin_fabsf(x) < __builtin_inff() ? quotient : x;
        const float defined = number == number ? number : 0.0f;
        const float clamped = __builtin_fminf(__builtin_fmaxf(defined, -128.0f), 127.0f);
        return __builtin_bit_cast(uint32_t, clamped + 12582912.0f);
    }
};

// Quantizes and stores the first `count` (0..16) values of a piece.
template <LoadPlace kPlace>
CK_DEVICE void int8_store_piece(uint64_t address, uint32_t count, const float (&value)[kPieceElements],
                                const Int8Divisor& divisor) {
    uint32_t byte[kPieceElements];
    CK_UNROLL
    for (int index = 0; index < kPieceElements; ++index) {
        byte[index] = divisor.quantized(value[index]) & 255;
    }
    store_byte_piece<kPlace>(address, count, byte);
}

CK_DEVICE void int8_store_scale(const Int8QuantizeArgs& args, int64_t row, float scale) {
    store_element<ElementPlace::Anywhere>(global_pointer<float>(args.scale) + row, scale);
}

// Stores a piece whose first `count` (0..16) values exist, at its place in q. In blocks of 16 rows a piece is
// whole: the values behind the row's end are zeros.
template <LoadPlace kPlace>
CK_DEVICE void int8_store(const Int8QuantizeArgs& args, int64_t row, int64_t column, uint32_t count,
                          const float (&value)[kPieceElements], const Int8Divisor& divisor) {
    if (args.q_block == 0) {
        int8_store_piece<kPlace>(args.q + row * args.ldq + column, count, value, divisor);
    } else {
        const uint64_t address = args.q + (row >> 4) * args.q_block + column * 16 + (row & 15) * 16;
        int8_store_piece<kPlace>(address, count == 0 ? 0 : kPieceElements, value, divisor);
    }
}

// Places of a lane's two pieces in the matrix.
struct Int8QuantizePlace {
    int64_t row[kWavePieces];
    int64_t column[kWavePieces];
    uint32_t count[kWavePieces];  // elements, 0 outside of the matrix
};

// The values that the quantizer reads: activation in float32, then the rotation, rounded to x's type. All
// lanes of the wave take part.
template <LoadPlace kPlace>
CK_DEVICE void int8_prepare(const Int8QuantizeArgs& args, const Int8QuantizePlace& place,
                            LocalPointer<uint8_t> wave_local, WavePieces& pieces) {
    const uint32_t size = element_size(args.type);
    uint64_t address[kWavePieces];
    CK_UNROLL
    for (int piece = 0; piece < kWavePieces; ++piece)
        address[piece] = args.x + (place.row[piece] * args.ldx + place.column[piece]) * size;
    pieces.load<kPlace>(args.type, address, place.count);
    if (args.activation == kActivationGeluTanh) {
        apply_gelu_tanh(pieces);
    } else if (args.activation == kActivationSwiglu) {
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) address[piece] += args.k * size;
        apply_swiglu(pieces, address, place.count,
                     [&](uint64_t up_address, uint32_t count, float(&up)[kPieceElements]) {
                         load_piece_of<kPlace>(args.type, up_address, count, up);
                     });
    }
    if (args.rotate_group != 0) {
        rotate_wave(pieces, args.rotate_group, args.rotate_factor, wave_local);
        pieces.round(args.type);
    }
}

CK_DEVICE uint32_t int8_amax(const float (&value)[kPieceElements]) {
    uint32_t amax = 0;
    CK_UNROLL
    for (int index = 0; index < kPieceElements; ++index) amax = larger(amax, finite_magnitude(value[index]));
    return amax;
}

// Quantizes values of one row, four to a word. `finite`: none of them is an infinity or a NaN; the same in
// all lanes of the wave. Halves are met often, so that a quick quotient that leaves those to the exact one
// saves nothing: with 8 bits of mantissa one of some hundred values is half of the row's largest one.
template <int kCount>
CK_DEVICE void int8_quantized(const float (&value)[kCount], const Int8Divisor& divisor, bool finite,
                              uint32_t (&packed)[kCount / 4]) {
    if (finite) {
        CK_UNROLL
        for (int word = 0; word < kCount / 4; ++word)
            packed[word] =
                pack_low_bytes(divisor.rounded(value[4 * word]), divisor.rounded(value[4 * word + 1]),
                               divisor.rounded(value[4 * word + 2]), divisor.rounded(value[4 * word + 3]));
    } else {
        CK_UNROLL
        for (int word = 0; word < kCount / 4; ++word)
            packed[word] = pack_low_bytes(
                divisor.quantized(value[4 * word]), divisor.quantized(value[4 * word + 1]),
                divisor.quantized(value[4 * word + 2]), divisor.quantized(value[4 * word + 3]));
    }
}

// Rows of whole pieces without an activation. A lane has one piece, and a row as many waves as it needs.
template <int kWaves, int kAlignment>
struct Int8QuantizePieces {
    static constexpr int kResidentGroups = kWaves <= 12 ? 3 : 1;
    static constexpr int kSlotsAt = kWaves * kRotationLocalBytes;
    static constexpr int kLocalBytes = kSlotsAt + (RowWaves<kWaves>::kSlotBytes + 15) / 16 * 16;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    static CK_DEVICE void run(const Int8QuantizeArgs& args, LocalPointer<uint8_t> local) {
        const RowWaves<kWaves> waves(args.row_share);
        uint32_t turn = 0;
        CK_NO_UNROLL
        for (int64_t first = static_cast<int64_t>(workgroup_id()) * waves.held; first < args.rows;
             first += static_cast<int64_t>(args.groups) * waves.held) {
            run_row(args, first + waves.row, waves, turn, local);
            turn ^= 1;
        }
    }

    static CK_DEVICE void run_row(const Int8QuantizeArgs& args, int64_t row, const RowWaves<kWaves>& waves,
                                  uint32_t turn, LocalPointer<uint8_t> local) {
        const bool takes_part = waves.row < waves.held && row < args.rows;
        const bool exists = takes_part && waves.column < args.k;
        float value[kPieceElements];
        clear_piece(value);
        const uint32_t size = element_size(args.type);
        if (exists)
            load_whole_piece_of<kPlace>(
                args.type, lane_address(args.x + row * args.ldx * size, waves.column * size), value);
        if (takes_part && args.rotate_group != 0) {
            rotate_piece(value, args.rotate_group, local + wave_id() * kRotationLocalBytes, lane_id_again());
            CK_UNROLL
            for (int index = 0; index < kPieceElements; ++index)
                value[index] = value[index] * args.rotate_factor;
            round_piece(args.type, value);
        }
        uint32_t amax = 0;
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index) amax = larger(amax, magnitude(value[index]));
        const bool finite = amax < kInfinity;
        if (!finite) amax = int8_amax(value);
        amax = waves.larger_of_row(amax, turn, local + kSlotsAt);
        if (!takes_part) return;
        const float scale = int8_row_scale(amax);
        if (waves.column == 0) int8_store_scale(args, row, scale);
        uint32_t word[kPieceElements / 4];
        int8_quantized(value, Int8Divisor(scale), !any_lane(!finite), word);
        if (!exists) return;
        const Uint32x4 packed = {word[0], word[1], word[2], word[3]};
        if (args.q_block == 0) {
            store_16_bytes<kPlace>(lane_address(args.q + row * args.ldq, waves.column), packed);
        } else {
            const uint64_t block = args.q + (row >> 4) * args.q_block + (row & 15) * 16;
            store_16_bytes<kPlace>(block + waves.column * 16, packed);
        }
    }
};

// A workgroup holds whole rows: one, or several narrow ones, each in 2^width_log2 elements.
template <int kWaves, int kAlignment>
struct Int8QuantizeWhole {
    static constexpr int kResidentGroups = kWaves <= 8 ? 3 : 1;
    static constexpr int kLocalBytes = kWaves * kRotationLocalBytes;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    static CK_DEVICE void run(const Int8QuantizeArgs& args, LocalPointer<uint8_t> local) {
        const uint32_t rows_log2 = __builtin_ctz(kWaves * kWaveElements) - args.row_share;
        for (int64_t first = static_cast<int64_t>(workgroup_id()) << rows_log2; first < args.rows;
             first += static_cast<int64_t>(args.groups) << rows_log2)
            run_rows(args, first, local);
    }

    static CK_DEVICE void run_rows(const Int8QuantizeArgs& args, int64_t first, LocalPointer<uint8_t> local) {
        Int8QuantizePlace place;
        const uint32_t k = static_cast<uint32_t>(args.k);
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            const uint32_t index = wave_id() * kWaveElements + piece_index(piece);
            const uint32_t column = index & ((1u << args.row_share) - 1);
            place.row[piece] = first + (index >> args.row_share);
            place.column[piece] = column;
            place.count[piece] = place.row[piece] < args.rows ? piece_count(column, k) : 0;
        }
        WavePieces pieces;
        int8_prepare<kPlace>(args, place, local + wave_id() * kRotationLocalBytes, pieces);

        uint32_t amax[kWavePieces];
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) amax[piece] = int8_amax(pieces.value[piece]);
        larger_of_rows(amax, args.row_share, local);
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            const float scale = int8_row_scale(amax[piece]);
            int8_store<kPlace>(args, place.row[piece], place.column[piece], place.count[piece],
                               pieces.value[piece], Int8Divisor(scale));
            if (place.column[piece] == 0 && place.row[piece] < args.rows)
                int8_store_scale(args, place.row[piece], scale);
        }
    }
};

// A workgroup goes over a row of any width twice: for the largest magnitude, then, computing the same values
// again, to quantize them.
template <int kWaves, int kAlignment>
struct Int8QuantizeAny {
    static constexpr int kResidentGroups = 1;
    static constexpr int kLocalBytes = kWaves * kRotationLocalBytes;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    static CK_DEVICE void run(const Int8QuantizeArgs& args, LocalPointer<uint8_t> local) {
        for (int64_t row = workgroup_id(); row < args.rows; row += args.groups) run_row(args, row, local);
    }

    static CK_DEVICE void run_row(const Int8QuantizeArgs& args, int64_t row, LocalPointer<uint8_t> local) {
        uint32_t amax = 0;
        float scale = 0.0f;
        CK_NO_UNROLL
        for (int pass = 0; pass < 2; ++pass) {
            CK_NO_UNROLL
            for (int64_t first = wave_id() * kWaveElements; first < args.k; first += kWaves * kWaveElements) {
                Int8QuantizePlace place;
                CK_UNROLL
                for (int piece = 0; piece < kWavePieces; ++piece) {
                    place.row[piece] = row;
                    place.column[piece] = first + piece_index(piece);
                    place.count[piece] = piece_count(place.column[piece], args.k);
                }
                WavePieces pieces;
                int8_prepare<kPlace>(args, place, local + wave_id() * kRotationLocalBytes, pieces);
                if (pass == 0) {
                    CK_UNROLL
                    for (int piece = 0; piece < kWavePieces; ++piece)
                        amax = larger(amax, int8_amax(pieces.value[piece]));
                } else {
                    CK_UNROLL
                    for (int piece = 0; piece < kWavePieces; ++piece)
                        int8_store<kPlace>(args, row, place.column[piece], place.count[piece],
                                           pieces.value[piece], Int8Divisor(scale));
                }
            }
            if (pass == 0) {
                scale = int8_row_scale(larger_of_waves(amax, kWaves, local));
                if (workitem_id() == 0) int8_store_scale(args, row, scale);
            }
        }
    }
};

}  // namespace ckitchen

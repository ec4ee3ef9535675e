// W4A8 quantization of rows. A wave holds 1024 weights in its registers and handles every piece of 16 columns
// by itself; waves and lanes join for groups of several pieces and for the row's largest value.
#pragma once

#include "requant_piece.h"

namespace ckitchen {

// What a lane holds: two pieces, the places they come from, and what belongs to their groups. There is one
// copy of the arithmetic, for the first of them: the pieces change places after each turn, and two turns
// bring them back.
struct W4a8Lane {
    int64_t row[kWavePieces];
    int64_t column[kWavePieces];
    int64_t group[kWavePieces];      // of the piece's first column
    uint32_t count[kWavePieces];     // columns, 0 outside of the matrix
    uint32_t ordinary[kWavePieces];  // 1: every weight is 0 or not smaller than 2^-40
    WavePieces weight;
    float scale[kWavePieces][kQuarters];
    float minimum[kWavePieces][kQuarters];

    CK_DEVICE void place(const W4a8RequantArgs& args, int piece, int64_t at_row, int64_t at_column) {
        row[piece] = at_row;
        column[piece] = at_column;
        group[piece] = first_group_of_piece(args.groups, at_column);
        count[piece] = at_row < args.rows ? piece_count(at_column, args.k) : 0;
    }

    // Loads the weights as the quantizer sees them: what is not finite is 0 and counted; then the rotation,
    // rounded to the type, whose overflows are 0 as well. All lanes of the wave take part.
    template <LoadPlace kPlace>
    CK_DEVICE void load(const W4a8RequantArgs& args, LocalPointer<uint8_t> exchange, uint32_t& nonfinite) {
        const uint32_t size = element_size(args.type);
        uint64_t address[kWavePieces];
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece)
            address[piece] = args.weight + (row[piece] * args.ldw + column[piece]) * size;
        weight.load<kPlace>(args.type, address, count);
        nonfinite += clear_nonfinite();
        if (args.rotate_group != 0) {
            rotate_wave(weight, args.rotate_group, args.rotate_factor, exchange, lane_id_again());
            weight.round(args.type);
            clear_nonfinite();
        }
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            // Minus 1, a zero is larger than anything else.
            uint32_t smallest = ~0u;
            CK_UNROLL
            for (int index = 0; index < kPieceElements; ++index) {
                const uint32_t below = magnitude(weight.value[piece][index]) - 1;
                smallest = below < smallest ? below : smallest;
            }
            ordinary[piece] = smallest >= magnitude(kOrdinaryLow) - 1 ? 1 : 0;
        }
    }

    // Puts 0 in the place of what is not finite, and counts it.
    CK_DEVICE uint32_t clear_nonfinite() {
        uint32_t cleared = 0;
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            uint32_t largest = 0;
            CK_UNROLL
            for (int index = 0; index < kPieceElements; ++index)
                largest = larger(largest, magnitude(weight.value[piece][index]));
            if (largest < kInfinity) continue;
            CK_UNROLL
            for (int index = 0; index < kPieceElements; ++index) {
                const float value = weight.value[piece][index];
                const bool finite = magnitude(value) < kInfinity;
                weight.value[piece][index] = finite ? value : 0.0f;
                cleared += finite ? 0 : 1;
                if (index % 4 == 3) scheduling_boundary();
            }
        }
        return cleared;
    }

    template <typename T>
    static CK_DEVICE void exchange_values(T& a, T& b) {
        const T other = a;
        a = b;
        b = other;
    }

    CK_DEVICE void exchange_pieces() {
        exchange_values(row[0], row[1]);
        exchange_values(column[0], column[1]);
        exchange_values(group[0], group[1]);
        exchange_values(count[0], count[1]);
        exchange_values(ordinary[0], ordinary[1]);
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index)
            exchange_values(weight.value[0][index], weight.value[1][index]);
        CK_UNROLL
        for (int quarter = 0; quarter < kQuarters; ++quarter) {
            exchange_values(scale[0][quarter], scale[1][quarter]);
            exchange_values(minimum[0][quarter], minimum[1][quarter]);
        }
    }

    // The following concern the first piece.

    // Does a group begin at this quarter?
    CK_DEVICE bool begins_group(const W4a8Groups& groups, uint32_t quarter) const {
        if (quarter * kQuarterElements >= count[0]) return false;
        if (groups.pieces > 1) return quarter == 0 && column[0] >> 4 == group[0] * groups.pieces;
        return (quarter & ((1u << (groups.shift - 2)) - 1)) == 0;
    }

    CK_DEVICE void extremes(const W4a8RequantArgs& args, float (&a)[kQuarters], float (&b)[kQuarters]) const {
        piece_extremes(args.layout, args.groups.size, weight.value[0], a, b);
    }

    CK_DEVICE void sums(const W4a8RequantArgs& args, const W4a8Codebook& codebook, float (&a)[kQuarters],
                        float (&b)[kQuarters]) const {
        piece_sums(codebook, args.groups.size, weight.value[0], scale[0], ordinary[0] != 0, a, b);
    }

    // Scales of groups that lie within a piece.
    CK_DEVICE void scale_by_extremes(const W4a8RequantArgs& args, const float (&a)[kQuarters],
                                     const float (&b)[kQuarters]) {
        CK_UNROLL
        for (int quarter = 0; quarter < kQuarters; ++quarter) minimum[0][quarter] = b[quarter];
        for_groups_of_piece(args.groups.size, scale[0], [&](uint32_t quarter) CK_INLINE_LAMBDA {
            return scale_of_extremes(args.layout, a[quarter], minimum[0][quarter]);
        });
        if (args.layout != kW4a8Asymmetric) return;
        CK_UNROLL
        for (uint32_t quarter = 0; quarter < kQuarters; ++quarter) {
            if (begins_group(args.groups, quarter))
                store_correction(args, row[0], group_of_quarter(args.groups, group[0], quarter),
                                 scale[0][quarter], minimum[0][quarter]);
        }
    }

    CK_DEVICE void scale_by_sums(const W4a8RequantArgs& args, const float (&a)[kQuarters],
                                 const float (&b)[kQuarters]) {
        for_groups_of_piece(args.groups.size, scale[0], [&](uint32_t quarter) CK_INLINE_LAMBDA {
            return scale_of_sums(a[quarter], b[quarter]);
        });
    }

    static CK_DEVICE void store_correction(const W4a8RequantArgs& args, int64_t row, int64_t group,
                                           float scale, float minimum) {
        store_float(args.correction, args.type, group * args.ld_correction + row, 8.0f * scale + minimum);
    }

    // Bits of the largest magnitude that a piece decodes to before s_channel is known. Without a codebook
    // the codes are final and are stored.
    template <LoadPlace kPlace>
    CK_DEVICE uint32_t largest(const W4a8RequantArgs& args, const W4a8Codebook& codebook) const {
        if (args.layout == kW4a8Codebook)
            return piece_codebook_max(codebook, args.groups.size, count[0], weight.value[0], scale[0],
                                      ordinary[0] != 0);
        uint32_t result = 0;
        const Uint32x2 codes =
            piece_linear_codes(args, W4a8Draw(args, row[0], column[0]), count[0], weight.value[0], scale[0],
                               minimum[0], ordinary[0] != 0, result);
        store_piece<kPlace>(args, codes);
        return result;
    }

    template <LoadPlace kPlace>
    CK_DEVICE void store_piece(const W4a8RequantArgs& args, Uint32x2 codes) const {
        store_codes<kPlace>(args.packed + row[0] * args.ld_packed + column[0] / 2, count[0], codes);
    }

    // Stores scale / s_channel of the groups that begin in the piece. With a codebook, chooses and stores the
    // codes. All lanes of the wave take part.
    template <LoadPlace kPlace>
    CK_DEVICE void finish(const W4a8RequantArgs& args, float s_channel, float level_of_lane,
                          LocalPointer<uint8_t> memory) const {
        float s_rel[kQuarters];
        for_groups_of_piece(args.groups.size, s_rel, [&](uint32_t quarter) CK_INLINE_LAMBDA {
            const uint32_t bits = encode_s_rel(args, scale[0][quarter], s_channel);
            if (begins_group(args.groups, quarter))
                store_s_rel(args, row[0], group_of_quarter(args.groups, group[0], quarter), bits);
            return args.scale_type == kW4a8ScaleE4m3 ? e4m3_to_float(bits) : __builtin_bit_cast(float, bits);
        });
        if (args.layout != kW4a8Codebook) return;
        const Uint32x2 codes =
            piece_codebook_codes(args, W4a8Draw(args, row[0], column[0]), weight.value[0], s_channel,
                                 ordinary[0] != 0, s_rel, level_of_lane, memory);
        store_piece<kPlace>(args, codes);
    }

    static CK_DEVICE uint32_t encode_s_rel(const W4a8RequantArgs& args, float scale, float s_channel) {
        const float value = scale / s_channel;
        return args.scale_type == kW4a8ScaleE4m3 ? float_to_e4m3(value) : __builtin_bit_cast(uint32_t, value);
    }

    static CK_DEVICE void store_s_rel(const W4a8RequantArgs& args, int64_t row, int64_t group,
                                      uint32_t bits) {
        const int64_t index = row * args.ld_s_rel + group;
        if (args.scale_type == kW4a8ScaleE4m3) {
            global_pointer<uint8_t>(args.s_rel)[index] = static_cast<uint8_t>(bits);
        } else {
            reinterpret_cast<GlobalPointer<UnalignedUint32>>(args.s_rel)[index] = bits;
        }
    }
};
static_assert(kWavePieces == 2, "two turns");

// s_channel of a row from the bits of its largest value.
CK_DEVICE float w4a8_s_channel(uint32_t largest) {
    return larger(__builtin_bit_cast(float, largest) / 127.0f, kSmallestScale);
}

CK_DEVICE void w4a8_store_s_channel(const W4a8RequantArgs& args, int64_t row, float s_channel) {
    reinterpret_cast<GlobalPointer<UnalignedUint32>>(args.s_channel)[row] =
        __builtin_bit_cast(uint32_t, s_channel);
}

// Stores the number of non-finite elements that this wave met.
template <int kWaves>
CK_DEVICE void w4a8_store_count(const W4a8RequantArgs& args, uint32_t nonfinite) {
    if (args.counts == 0) return;
    // Halves, so that no sum of 32 lanes overflows.
    int32_t half[2] = {static_cast<int32_t>(nonfinite & 0xffff), static_cast<int32_t>(nonfinite >> 16)};
    CK_UNROLL
    for (int index = 0; index < 2; ++index) {
        half[index] += exchange_xor<1>(half[index]);
        half[index] += exchange_xor<2>(half[index]);
        half[index] += exchange_xor<4>(half[index]);
        half[index] += exchange_xor<8>(half[index]);
        half[index] += exchange_xor<16>(half[index]);
    }
    const uint64_t sum = (static_cast<uint64_t>(half[1]) << 16) + static_cast<uint32_t>(half[0]);
    if (lane_id() == 0) global_pointer<uint64_t>(args.counts)[workgroup_id() * kWaves + wave_id()] = sum;
}

// A wave's exchange memory between a rotation and the final codes, whose tables take all of it: partial
// results of the wave's pieces, results of groups, and the wave's copy of the codebook.
enum W4a8Part : uint32_t { kPartA = 0, kPartB = 1, kPartScale = 2, kPartMinimum = 3, kPartCodebook = 4 };
constexpr uint32_t kWaveParts = kWavePieces * kWaveSize;
static_assert(kPartCodebook * kWaveParts * 4 + kW4a8Levels * 4 <= kRotationLocalBytes, "all parts fit");
static_assert(kW4a8Levels * kLaneTableStride <= kRotationLocalBytes, "the tables fit");

CK_DEVICE W4a8Codebook w4a8_share_codebook(float level_of_lane, LocalPointer<uint8_t> exchange) {
    W4a8Codebook codebook;
    codebook.table = exchange + kPartCodebook * kWaveParts * 4;
    codebook.middle = value_of_lane(level_of_lane, 7);
    codebook.top = value_of_lane(level_of_lane, kW4a8Levels - 1);
    wave_local_fence();
    if (lane_id() < kW4a8Levels)
        reinterpret_cast<LocalPointer<float>>(exchange + kPartCodebook * kWaveParts * 4)[lane_id()] =
            level_of_lane;
    wave_local_fence();
    return codebook;
}

// Joins two partial results of pieces of one group, from left to right.
template <bool kSums>
CK_DEVICE void w4a8_join(float& a, float& b, float next_a, float next_b) {
    a = kSums ? a + next_a : larger(a, next_a);
    b = kSums ? b + next_b : smaller(b, next_b);
}

// A workgroup holds whole rows: one, or several narrow ones, each in 2^width_log2 elements.
template <int kWaves, int kAlignment>
struct W4a8RequantWhole {
    static constexpr int kLocalBytes = kWaves * kRotationLocalBytes;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    static CK_DEVICE void run(const W4a8RequantArgs& args, LocalPointer<uint8_t> local) {
        const uint32_t rows_log2 = __builtin_ctz(kWaves * kWaveElements) - args.width_log2;
        const float level_of_lane = lane_level(args.codebook, args.levels);
        uint32_t nonfinite = 0;
        CK_NO_UNROLL
        for (int64_t first = static_cast<int64_t>(workgroup_id()) << rows_log2; first < args.rows;
             first += static_cast<int64_t>(args.workgroups) << rows_log2)
            run_rows(args, first, level_of_lane, nonfinite, local);
        w4a8_store_count<kWaves>(arguments_again(args), nonfinite);
    }

    static CK_DEVICE void run_rows(const W4a8RequantArgs& kernel_args, int64_t first, float level_of_lane,
                                   uint32_t& nonfinite, LocalPointer<uint8_t> local) {
        const LocalPointer<uint8_t> exchange = local + wave_id() * kRotationLocalBytes;
        const bool wide = kernel_args.groups.pieces > 1;
        W4a8RequantArgs args = arguments_again(kernel_args);
        W4a8Lane lane;
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            const uint32_t index = wave_id() * kWaveElements + piece_index(piece);
            lane.place(args, piece, first + (index >> args.width_log2),
                       index & ((1u << args.width_log2) - 1));
        }
        lane.load<kPlace>(args, exchange, nonfinite);
        const W4a8Codebook codebook = w4a8_share_codebook(level_of_lane, exchange);
        args = arguments_again(kernel_args);

        CK_NO_UNROLL
        for (uint32_t turn = 0; turn < kWavePieces; ++turn) {
            float a[kQuarters];
            float b[kQuarters];
            lane.extremes(args, a, b);
            if (wide) {
                store_parts(local, turn, a[0], b[0]);
            } else {
                lane.scale_by_extremes(args, a, b);
            }
            lane.exchange_pieces();
        }
        if (wide) scale_groups<false>(args, first, lane, local);
        args = arguments_again(kernel_args);
        const int refinements = args.layout == kW4a8Codebook ? 2 : 0;
        CK_NO_UNROLL
        for (int pass = 0; pass < refinements; ++pass) {
            CK_NO_UNROLL
            for (uint32_t turn = 0; turn < kWavePieces; ++turn) {
                float a[kQuarters];
                float b[kQuarters];
                lane.sums(args, codebook, a, b);
                if (wide) {
                    store_parts(local, turn, a[0], b[0]);
                } else {
                    lane.scale_by_sums(args, a, b);
                }
                lane.exchange_pieces();
            }
            if (wide) scale_groups<true>(args, first, lane, local);
        }

        args = arguments_again(kernel_args);
        uint32_t largest[kWavePieces] = {0, 0};
        CK_NO_UNROLL
        for (uint32_t turn = 0; turn < kWavePieces; ++turn) {
            largest[0] = largest[1];
            largest[1] = lane.largest<kPlace>(args, codebook);
            lane.exchange_pieces();
        }
        // Results of groups have been read from other waves' memory, which those are about to overwrite.
        if (wide) local_barrier();
        larger_of_rows(largest, args.width_log2, local);
        args = arguments_again(kernel_args);
        CK_NO_UNROLL
        for (uint32_t turn = 0; turn < kWavePieces; ++turn) {
            const float s_channel = w4a8_s_channel(largest[0]);
            if (lane.column[0] == 0 && lane.row[0] < args.rows)
                w4a8_store_s_channel(args, lane.row[0], s_channel);
            lane.finish<kPlace>(args, s_channel, level_of_lane, exchange);
            lane.exchange_pieces();
            largest[0] = largest[1];
        }
    }

    // Place of a piece's or a group's value: 64 of each kind in every wave's memory.
    static CK_DEVICE LocalPointer<float> part(LocalPointer<uint8_t> local, W4a8Part kind, uint32_t index) {
        return reinterpret_cast<LocalPointer<float>>(local + index / kWaveParts * kRotationLocalBytes +
                                                     (kind * kWaveParts + index % kWaveParts) * 4);
    }

    static CK_DEVICE void store_parts(LocalPointer<uint8_t> local, uint32_t piece, float a, float b) {
        const uint32_t index = wave_id() * kWaveParts + piece * kWaveSize + lane_id();
        *part(local, kPartA, index) = a;
        *part(local, kPartB, index) = b;
    }

    // Scales of groups of several pieces from the pieces' partial results: one work-item joins a group.
    template <bool kSums>
    static CK_DEVICE void scale_groups(const W4a8RequantArgs& args, int64_t first_row, W4a8Lane& lane,
                                       LocalPointer<uint8_t> local) {
        local_barrier();
        const uint32_t row_groups = static_cast<uint32_t>(args.row_groups);
        const uint32_t groups = (kWaves * kWaveElements >> args.width_log2) * row_groups;
        CK_NO_UNROLL
        for (uint32_t group = workitem_id(); group < groups; group += kWaves * kWaveSize) {
            const uint32_t row = group / row_groups;
            const uint32_t row_group = group % row_groups;
            const uint32_t begin = (row << (args.width_log2 - 4)) + row_group * args.groups.pieces;
            float joined_a = *part(local, kPartA, begin);
            float joined_b = *part(local, kPartB, begin);
            CK_NO_UNROLL
            for (uint32_t index = begin + 1; index < begin + args.groups.pieces; ++index)
                w4a8_join<kSums>(joined_a, joined_b, *part(local, kPartA, index),
                                 *part(local, kPartB, index));
            const float scale = kSums ? scale_of_sums(joined_a, joined_b)
                                      : scale_of_extremes(args.layout, joined_a, joined_b);
            *part(local, kPartScale, group) = scale;
            if (!kSums) {
                *part(local, kPartMinimum, group) = joined_b;
                if (args.layout == kW4a8Asymmetric && first_row + row < args.rows)
                    W4a8Lane::store_correction(args, first_row + row, row_group, scale, joined_b);
            }
        }
        local_barrier();
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            const uint32_t index = wave_id() * kWaveElements + piece_index(piece);
            const uint32_t group =
                (index >> args.width_log2) * row_groups + static_cast<uint32_t>(lane.group[piece]);
            const bool exists = lane.count[piece] != 0;
            const float scale = exists ? *part(local, kPartScale, group) : 1.0f;
            CK_UNROLL
            for (int quarter = 0; quarter < kQuarters; ++quarter) lane.scale[piece][quarter] = scale;
            if (kSums) continue;
            const float minimum = exists ? *part(local, kPartMinimum, group) : 0.0f;
            CK_UNROLL
            for (int quarter = 0; quarter < kQuarters; ++quarter) lane.minimum[piece][quarter] = minimum;
        }
    }
};

// A workgroup goes over a row of any width several times, computing the same weights again; what belongs to
// groups waits in scratch memory.
template <int kWaves, int kAlignment>
struct W4a8RequantAny {
    static constexpr int kLocalBytes = kWaves * kRotationLocalBytes;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    static CK_DEVICE void run(const W4a8RequantArgs& args, LocalPointer<uint8_t> local) {
        const float level_of_lane = lane_level(args.codebook, args.levels);
        uint32_t nonfinite = 0;
        CK_NO_UNROLL
        for (int64_t row = workgroup_id(); row < args.rows; row += args.workgroups)
            run_row(args, row, level_of_lane, nonfinite, local);
        w4a8_store_count<kWaves>(arguments_again(args), nonfinite);
    }

    // Place of a piece's or a group's value in this workgroup's scratch memory.
    static CK_DEVICE GlobalPointer<float> part(const W4a8RequantArgs& args, W4a8Part kind, int64_t index) {
        const int64_t begin = workgroup_id() * args.scratch_floats;
        const int64_t place = kind == kPartScale     ? 0
                              : kind == kPartMinimum ? args.row_groups
                              : kind == kPartA       ? 2 * args.row_groups
                                                     : 2 * args.row_groups + args.k / 16;
        return global_pointer<float>(args.scratch) + (begin + place + index);
    }

    // What a pass over the row computes. Groups within a piece need no other lane: the first pass does all
    // up to the largest value. Without a codebook the codes need no s_channel, and there is no last pass.
    enum Pass : uint32_t { kExtremes, kFirstSums, kSecondSums, kLargest, kCodes, kDone };

    static CK_DEVICE uint32_t next_pass(uint32_t pass, bool wide, bool with_codebook) {
        if (pass == kExtremes && !(wide && with_codebook)) pass = wide ? kSecondSums : kLargest;
        return pass == kLargest && !with_codebook ? kDone : pass + 1;
    }

    static CK_DEVICE void run_row(const W4a8RequantArgs& kernel_args, int64_t row, float level_of_lane,
                                  uint32_t& nonfinite, LocalPointer<uint8_t> local) {
        const bool wide = kernel_args.groups.pieces > 1;
        const bool with_codebook = kernel_args.layout == kW4a8Codebook;
        const uint32_t last_before_s_channel = wide ? kLargest : kExtremes;
        uint32_t largest = 0;
        float s_channel = 0.0f;
        CK_NO_UNROLL
        for (uint32_t pass = kExtremes; pass != kDone; pass = next_pass(pass, wide, with_codebook)) {
            const uint32_t met = run_pass(kernel_args, row, pass, level_of_lane, s_channel, largest, local);
            if (pass == kExtremes) nonfinite += met;
            if (wide && pass == kExtremes) scale_groups<false>(kernel_args, row);
            if (wide && (pass == kFirstSums || pass == kSecondSums)) scale_groups<true>(kernel_args, row);
            if (pass == last_before_s_channel) {
                s_channel = w4a8_s_channel(larger_of_waves(largest, kWaves, local));
                if (workitem_id() == 0) w4a8_store_s_channel(arguments_again(kernel_args), row, s_channel);
            }
        }
        workgroup_barrier();
        if (with_codebook) return;
        const W4a8RequantArgs args = arguments_again(kernel_args);
        CK_NO_UNROLL
        for (int64_t group = workitem_id(); group < args.row_groups; group += kWaves * kWaveSize)
            W4a8Lane::store_s_rel(args, row, group,
                                  W4a8Lane::encode_s_rel(args, *part(args, kPartScale, group), s_channel));
        // The next row's scratch values wait for the last readers of this one's.
        workgroup_barrier();
    }

    // Returns the number of non-finite elements that this lane met.
    static CK_DEVICE uint32_t run_pass(const W4a8RequantArgs& kernel_args, int64_t row, uint32_t pass,
                                       float level_of_lane, float s_channel, uint32_t& largest,
                                       LocalPointer<uint8_t> local) {
        const LocalPointer<uint8_t> exchange = local + wave_id() * kRotationLocalBytes;
        const bool wide = kernel_args.groups.pieces > 1;
        uint32_t sums = 0;
        if (kernel_args.layout == kW4a8Codebook) {
            if (wide && (pass == kFirstSums || pass == kSecondSums)) sums = 1;
            if (!wide && pass == kExtremes) sums = 2;
        }
        uint32_t nonfinite = 0;
        CK_NO_UNROLL
        for (int64_t first = wave_id() * kWaveElements; first < kernel_args.k;
             first += kWaves * kWaveElements) {
            W4a8RequantArgs args = arguments_again(kernel_args);
            W4a8Lane lane;
            CK_UNROLL
            for (int piece = 0; piece < kWavePieces; ++piece)
                lane.place(args, piece, row, first + piece_index(piece));
            lane.load<kPlace>(args, exchange, nonfinite);
            const W4a8Codebook codebook = w4a8_share_codebook(level_of_lane, exchange);
            CK_NO_UNROLL
            for (int turn = 0; turn < kWavePieces; ++turn) {
                args = arguments_again(kernel_args);
                float a[kQuarters];
                float b[kQuarters];
                if (pass == kExtremes) {
                    lane.extremes(args, a, b);
                    if (wide) {
                        store_parts(args, lane, a[0], b[0]);
                    } else {
                        lane.scale_by_extremes(args, a, b);
                    }
                } else {
                    load_scales(args, lane);
                }
                CK_NO_UNROLL
                for (uint32_t sum = 0; sum < sums; ++sum) {
                    lane.sums(args, codebook, a, b);
                    if (wide) {
                        store_parts(args, lane, a[0], b[0]);
                    } else {
                        lane.scale_by_sums(args, a, b);
                    }
                }
                args = arguments_again(kernel_args);
                if (pass == kLargest || (!wide && pass == kExtremes)) {
                    largest = larger(largest, lane.largest<kPlace>(args, codebook));
                    if (!wide) store_scales(args, lane);
                }
                args = arguments_again(kernel_args);
                if (pass == kCodes) lane.finish<kPlace>(args, s_channel, level_of_lane, exchange);
                lane.exchange_pieces();
            }
        }
        return nonfinite;
    }

    static CK_DEVICE void store_parts(const W4a8RequantArgs& args, const W4a8Lane& lane, float a, float b) {
        if (lane.count[0] == 0) return;
        *part(args, kPartA, lane.column[0] >> 4) = a;
        *part(args, kPartB, lane.column[0] >> 4) = b;
    }

    // Scales of groups within a piece, for the last pass.
    static CK_DEVICE void store_scales(const W4a8RequantArgs& args, const W4a8Lane& lane) {
        CK_UNROLL
        for (uint32_t quarter = 0; quarter < kQuarters; ++quarter) {
            if (lane.begins_group(args.groups, quarter))
                *part(args, kPartScale, group_of_quarter(args.groups, lane.group[0], quarter)) =
                    lane.scale[0][quarter];
        }
    }

    static CK_DEVICE void load_scales(const W4a8RequantArgs& args, W4a8Lane& lane) {
        for_groups_of_piece(args.groups.size, lane.scale[0], [&](uint32_t quarter) CK_INLINE_LAMBDA {
            if (quarter * kQuarterElements >= lane.count[0]) return 1.0f;
            return *part(args, kPartScale, group_of_quarter(args.groups, lane.group[0], quarter));
        });
        if (args.layout != kW4a8Asymmetric) return;
        for_groups_of_piece(args.groups.size, lane.minimum[0], [&](uint32_t quarter) CK_INLINE_LAMBDA {
            if (quarter * kQuarterElements >= lane.count[0]) return 0.0f;
            return *part(args, kPartMinimum, group_of_quarter(args.groups, lane.group[0], quarter));
        });
    }

    // Scales of groups of several pieces from the pieces' partial results: one work-item joins a group.
    template <bool kSums>
    static CK_DEVICE void scale_groups(const W4a8RequantArgs& kernel_args, int64_t row) {
        const W4a8RequantArgs args = arguments_again(kernel_args);
        workgroup_barrier();
        CK_NO_UNROLL
        for (int64_t group = workitem_id(); group < args.row_groups; group += kWaves * kWaveSize) {
            const int64_t begin = group * args.groups.pieces;
            float joined_a = *part(args, kPartA, begin);
            float joined_b = *part(args, kPartB, begin);
            CK_NO_UNROLL
            for (int64_t index = begin + 1; index < begin + args.groups.pieces; ++index)
                w4a8_join<kSums>(joined_a, joined_b, *part(args, kPartA, index), *part(args, kPartB, index));
            const float scale = kSums ? scale_of_sums(joined_a, joined_b)
                                      : scale_of_extremes(args.layout, joined_a, joined_b);
            *part(args, kPartScale, group) = scale;
            if (!kSums) {
                *part(args, kPartMinimum, group) = joined_b;
                if (args.layout == kW4a8Asymmetric)
                    W4a8Lane::store_correction(args, row, group, scale, joined_b);
            }
        }
        workgroup_barrier();
    }
};

// Adds the waves' counts to the caller's counter. One workgroup.
template <int kWaves, int kAlignment>
struct W4a8RequantCount {
    static constexpr int kThreads = kWaves * kWaveSize;
    static constexpr int kLocalBytes = kThreads * 8;

    static CK_DEVICE void run(const W4a8RequantArgs& args, LocalPointer<uint8_t> local) {
        const LocalPointer<uint64_t> sums = reinterpret_cast<LocalPointer<uint64_t>>(local);
        uint64_t sum = 0;
        CK_NO_UNROLL
        for (uint32_t index = workitem_id(); index < args.count_waves; index += kThreads)
            sum += global_pointer<const uint64_t>(args.counts)[index];
        sums[workitem_id()] = sum;
        CK_NO_UNROLL
        for (uint32_t others = kThreads / 2; others > 0; others /= 2) {
            local_barrier();
            if (workitem_id() < others) sums[workitem_id()] += sums[workitem_id() + others];
        }
        if (workitem_id() != 0) return;
        const auto halves = reinterpret_cast<GlobalPointer<UnalignedUint32>>(args.nonfinite);
        const uint64_t before = static_cast<uint64_t>(halves[1]) << 32 | halves[0];
        const uint64_t after = before + sums[0];
        halves[0] = static_cast<uint32_t>(after);
        halves[1] = static_cast<uint32_t>(after >> 32);
    }
};

}  // namespace ckitchen

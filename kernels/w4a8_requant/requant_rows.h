// W4A8 quantization of rows. A wave holds 1024 weights in its registers and handles every piece of 16 columns
// by itself; waves and lanes join for groups of several pieces and for the row's largest value.
#pragma once

#include "requant_outputs.h"
#include "requant_piece.h"

namespace ckitchen {

// Where a piece lies in the matrix.
struct W4a8Place {
    int64_t row;
    int64_t column;
    int64_t group;   // of its first column
    uint32_t count;  // columns, 0 outside of the matrix

    // Does a group begin at this quarter?
    CK_DEVICE bool begins_group(const W4a8Groups& groups, uint32_t quarter) const {
        if (quarter * kQuarterElements >= count) return false;
        if (groups.pieces > 1) return quarter == 0 && column >> 4 == group * groups.pieces;
        return (quarter & ((1u << (groups.shift - 2)) - 1)) == 0;
    }
};

// What a lane holds: two pieces and the scales of their groups. There is one copy of the arithmetic, for the
// first of them: the pieces change places after each turn, and two turns bring them back.
struct W4a8Lane {
    int64_t first_row;               // of what the workgroup holds
    int64_t first_column;            // likewise
    uint32_t width_log2;             // a row takes 2^width_log2 of the workgroup's elements
    uint32_t index;                  // of the first piece among them
    uint32_t ordinary[kWavePieces];  // 1: every weight is 0 or not smaller than 2^-40
    WavePieces weight;
    float scale[kWavePieces][kQuarters];

    // Places are computed where they are used: registers are scarcer than time.
    CK_DEVICE W4a8Place place_of(const W4a8RequantArgs& args, uint32_t at) const {
        W4a8Place place;
        place.row = first_row + (at >> width_log2);
        place.column = first_column + (at & ((1u << width_log2) - 1));
        place.group = first_group_of_piece(args.groups, place.column);
        place.count = place.row < args.rows ? piece_count(place.column, args.k) : 0;
        return place;
    }

    CK_DEVICE W4a8Place place(const W4a8RequantArgs& args) const { return place_of(args, index); }

    // From a piece of the lane to the other.
    static constexpr uint32_t kOtherPiece = kWaveSize * kPieceElements;

    // Loads the weights as the quantizer sees them: what is not finite is 0 and counted; then the rotation,
    // rounded to the type, whose overflows are 0 as well. All lanes of the wave take part.
    template <LoadPlace kPlace>
    CK_DEVICE void load(const W4a8RequantArgs& args, LocalPointer<uint8_t> exchange, uint32_t& nonfinite) {
        const uint32_t size = element_size(args.type);
        uint64_t address[kWavePieces];
        uint32_t count[kWavePieces];
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) {
            const W4a8Place place = place_of(args, index + piece * kOtherPiece);
            address[piece] = args.weight + (place.row * args.ldw + place.column) * size;
            count[piece] = place.count;
        }
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
            for (int element = 0; element < kPieceElements; ++element) {
                const uint32_t below = magnitude(weight.value[piece][element]) - 1;
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
            for (int element = 0; element < kPieceElements; ++element)
                largest = larger(largest, magnitude(weight.value[piece][element]));
            if (largest < kInfinity) continue;
            CK_UNROLL
            for (int element = 0; element < kPieceElements; ++element) {
                const float value = weight.value[piece][element];
                const bool finite = magnitude(value) < kInfinity;
                weight.value[piece][element] = finite ? value : 0.0f;
                cleared += finite ? 0 : 1;
                if (element % 4 == 3) scheduling_boundary();
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
        index ^= kOtherPiece;
        exchange_values(ordinary[0], ordinary[1]);
        CK_UNROLL
        for (int element = 0; element < kPieceElements; ++element)
            exchange_values(weight.value[0][element], weight.value[1][element]);
        CK_UNROLL
        for (int quarter = 0; quarter < kQuarters; ++quarter)
            exchange_values(scale[0][quarter], scale[1][quarter]);
    }

    // The following concern the first piece.

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
        for_groups_of_piece(args.groups.size, scale[0], [&](uint32_t quarter) CK_INLINE_LAMBDA {
            return scale_of_extremes(args.layout, a[quarter], b[quarter]);
        });
        if (args.layout != kW4a8Asymmetric) return;
        const W4a8Place here = place(args);
        CK_UNROLL
        for (uint32_t quarter = 0; quarter < kQuarters; ++quarter) {
            if (here.begins_group(args.groups, quarter))
                store_correction(args, here.row, group_of_quarter(args.groups, here.group, quarter),
                                 scale[0][quarter], b[quarter]);
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
    // the codes are final and are stored; `minimum` are the smallest weights of the groups.
    template <LoadPlace kPlace>
    CK_DEVICE uint32_t largest(const W4a8RequantArgs& args, const W4a8Codebook& codebook,
                               const float (&minimum)[kQuarters]) const {
        const W4a8Place here = place(args);
        if (args.layout == kW4a8Codebook)
            return piece_codebook_max(codebook, args.groups.size, here.count, weight.value[0], scale[0],
                                      ordinary[0] != 0);
        uint32_t result = 0;
        const Uint32x2 codes =
            piece_linear_codes(args, W4a8Draw(args, here.row, here.column), here.count, weight.value[0],
                               scale[0], minimum, ordinary[0] != 0, result);
        store_piece<kPlace>(args, here, codes);
        return result;
    }

    template <LoadPlace kPlace>
    static CK_DEVICE void store_piece(const W4a8RequantArgs& args, const W4a8Place& here, Uint32x2 codes) {
        store_codes<kPlace>(args.packed + here.row * args.ld_packed + here.column / 2, here.count, codes);
    }

    // Stores scale / s_channel of the groups that begin in the piece. With a codebook, chooses and stores the
    // codes. All lanes of the wave take part.
    template <LoadPlace kPlace>
    CK_DEVICE void finish(const W4a8RequantArgs& args, float s_channel, float level_of_lane,
                          LocalPointer<uint8_t> memory) const {
        const W4a8Place here = place(args);
        float s_rel[kQuarters];
        for_groups_of_piece(args.groups.size, s_rel, [&](uint32_t quarter) CK_INLINE_LAMBDA {
            const uint32_t bits = w4a8_encode_s_rel(args, scale[0][quarter], s_channel);
            if (here.begins_group(args.groups, quarter))
                w4a8_store_s_rel(args, here.row, group_of_quarter(args.groups, here.group, quarter), bits);
            return w4a8_decode_s_rel(args, bits);
        });
        if (args.layout != kW4a8Codebook) return;
        const Uint32x2 codes =
            piece_codebook_codes(args, W4a8Draw(args, here.row, here.column), weight.value[0], s_channel,
                                 ordinary[0] != 0, s_rel, level_of_lane, memory);
        store_piece<kPlace>(args, here, codes);
    }
};
static_assert(kWavePieces == 2, "two turns");

// A wave's exchange memory between a rotation and the final codes, whose tables take all of it: partial
// results of the wave's pieces, results of groups, and the wave's copy of the codebook.
enum W4a8Part : uint32_t { kPartA = 0, kPartB = 1, kPartScale = 2, kPartMinimum = 3, kPartCodebook = 4 };
constexpr uint32_t kWaveParts = kWavePieces * kWaveSize;
static_assert(kPartCodebook * kWaveParts * 4 + W4a8Codebook::kEntriesBytes <= kRotationLocalBytes,
              "all parts fit");
static_assert(kW4a8Levels * W4a8LaneTable::kStride <= kRotationLocalBytes, "the tables fit");

CK_DEVICE W4a8Codebook w4a8_share_codebook(const W4a8LaneLevel& lane, LocalPointer<uint8_t> exchange) {
    const LocalPointer<uint8_t> memory = exchange + kPartCodebook * kWaveParts * 4;
    wave_local_fence();
    W4a8Codebook::write(lane, memory);
    wave_local_fence();
    return {memory, value_of_lane(lane.threshold, 7)};
}

// A workgroup holds whole rows: one, or several narrow ones, each in 2^width_log2 elements.
template <int kWaves, int kAlignment>
struct W4a8RequantWhole {
    static constexpr int kResidentGroups = 1;
    static constexpr int kLocalBytes = kWaves * kRotationLocalBytes;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    static CK_DEVICE void run(const W4a8RequantArgs& args, LocalPointer<uint8_t> local) {
        const uint32_t rows_log2 = __builtin_ctz(kWaves * kWaveElements) - args.row_share;
        const W4a8LaneLevel level_of_lane(args);
        uint32_t nonfinite = 0;
        CK_NO_UNROLL
        for (int64_t first = static_cast<int64_t>(workgroup_id()) << rows_log2; first < args.rows;
             first += static_cast<int64_t>(args.workgroups) << rows_log2)
            run_rows(args, first, level_of_lane, nonfinite, local);
        w4a8_store_count(arguments_again(args), kWaves, nonfinite);
    }

    static CK_DEVICE void run_rows(const W4a8RequantArgs& kernel_args, int64_t first,
                                   const W4a8LaneLevel& level_of_lane, uint32_t& nonfinite,
                                   LocalPointer<uint8_t> local) {
        const LocalPointer<uint8_t> exchange = local + wave_id() * kRotationLocalBytes;
        const bool wide = kernel_args.groups.pieces > 1;
        W4a8RequantArgs args = arguments_again(kernel_args);
        W4a8Lane lane;
        lane.first_row = first;
        lane.first_column = 0;
        lane.width_log2 = args.row_share;
        lane.index = wave_id() * kWaveElements + piece_index(0);
        // Waves beyond the end of the row only wait at the barriers.
        const uint32_t row_index = wave_id() * kWaveElements & ((1u << args.row_share) - 1);
        const uint32_t turns = row_index == 0 || row_index < args.k ? kWavePieces : 0;
        if (turns != 0) lane.load<kPlace>(args, exchange, nonfinite);
        const W4a8Codebook codebook = w4a8_share_codebook(level_of_lane, exchange);
        args = arguments_again(kernel_args);

        CK_NO_UNROLL
        for (uint32_t turn = 0; turn < turns; ++turn) {
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
        if (wide) scale_groups<false>(args, first, turns, lane, local);
        args = arguments_again(kernel_args);
        const int refinements = args.layout == kW4a8Codebook ? 2 : 0;
        CK_NO_UNROLL
        for (int pass = 0; pass < refinements; ++pass) {
            CK_NO_UNROLL
            for (uint32_t turn = 0; turn < turns; ++turn) {
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
            if (wide) scale_groups<true>(args, first, turns, lane, local);
        }

        args = arguments_again(kernel_args);
        uint32_t largest[kWavePieces] = {0, 0};
        CK_NO_UNROLL
        for (uint32_t turn = 0; turn < turns; ++turn) {
            float minimum[kQuarters] = {0.0f, 0.0f, 0.0f, 0.0f};
            if (args.layout == kW4a8Asymmetric) load_minimum(args, lane, local, minimum);
            largest[0] = largest[1];
            largest[1] = lane.largest<kPlace>(args, codebook, minimum);
            lane.exchange_pieces();
        }
        // Results of groups have been read from other waves' memory, which those are about to overwrite.
        if (wide) local_barrier();
        larger_of_rows(largest, args.row_share, local);
        args = arguments_again(kernel_args);
        CK_NO_UNROLL
        for (uint32_t turn = 0; turn < turns; ++turn) {
            const float s_channel = w4a8_s_channel(largest[0]);
            const W4a8Place here = lane.place(args);
            if (here.column == 0 && here.row < args.rows) w4a8_store_s_channel(args, here.row, s_channel);
            lane.finish<kPlace>(args, s_channel, level_of_lane.level, exchange);
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
    static CK_DEVICE void scale_groups(const W4a8RequantArgs& args, int64_t first_row, uint32_t turns,
                                       W4a8Lane& lane, LocalPointer<uint8_t> local) {
        local_barrier();
        const uint32_t row_groups = static_cast<uint32_t>(args.row_groups);
        const uint32_t groups = (kWaves * kWaveElements >> args.row_share) * row_groups;
        CK_NO_UNROLL
        for (uint32_t group = workitem_id(); group < groups; group += kWaves * kWaveSize) {
            const uint32_t row = group / row_groups;
            const uint32_t row_group = group % row_groups;
            const uint32_t begin = (row << (args.row_share - 4)) + row_group * args.groups.pieces;
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
        CK_NO_UNROLL
        for (uint32_t turn = 0; turn < turns; ++turn) {
            const W4a8Place here = lane.place(args);
            const float scale = here.count != 0 ? *part(local, kPartScale, group_of(args, lane, here)) : 1.0f;
            CK_UNROLL
            for (int quarter = 0; quarter < kQuarters; ++quarter) lane.scale[0][quarter] = scale;
            lane.exchange_pieces();
        }
    }

    // Index of a piece's group among those of all the workgroup's rows.
    static CK_DEVICE uint32_t group_of(const W4a8RequantArgs& args, const W4a8Lane& lane,
                                       const W4a8Place& here) {
        return (lane.index >> args.row_share) * static_cast<uint32_t>(args.row_groups) +
               static_cast<uint32_t>(here.group);
    }

    // The smallest weights of the first piece's groups.
    static CK_DEVICE void load_minimum(const W4a8RequantArgs& args, const W4a8Lane& lane,
                                       LocalPointer<uint8_t> local, float (&minimum)[kQuarters]) {
        if (args.groups.pieces == 1) {
            float largest[kQuarters];
            lane.extremes(args, largest, minimum);
            return;
        }
        const W4a8Place here = lane.place(args);
        const float value = here.count != 0 ? *part(local, kPartMinimum, group_of(args, lane, here)) : 0.0f;
        CK_UNROLL
        for (int quarter = 0; quarter < kQuarters; ++quarter) minimum[quarter] = value;
    }
};

// A workgroup goes over a row of any width several times, computing the same weights again; what belongs to
// groups waits in scratch memory.
template <int kWaves, int kAlignment>
struct W4a8RequantAny {
    static constexpr int kResidentGroups = 1;
    static constexpr int kLocalBytes = kWaves * kRotationLocalBytes;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    static CK_DEVICE void run(const W4a8RequantArgs& args, LocalPointer<uint8_t> local) {
        const W4a8LaneLevel level_of_lane(args);
        uint32_t nonfinite = 0;
        CK_NO_UNROLL
        for (int64_t row = workgroup_id(); row < args.rows; row += args.workgroups)
            run_row(args, row, level_of_lane, nonfinite, local);
        w4a8_store_count(arguments_again(args), kWaves, nonfinite);
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

    static CK_DEVICE void run_row(const W4a8RequantArgs& kernel_args, int64_t row,
                                  const W4a8LaneLevel& level_of_lane, uint32_t& nonfinite,
                                  LocalPointer<uint8_t> local) {
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
            w4a8_store_s_rel(args, row, group,
                             w4a8_encode_s_rel(args, *part(args, kPartScale, group), s_channel));
        // The next row's scratch values wait for the last readers of this one's.
        workgroup_barrier();
    }

    // Returns the number of non-finite elements that this lane met.
    static CK_DEVICE uint32_t run_pass(const W4a8RequantArgs& kernel_args, int64_t row, uint32_t pass,
                                       const W4a8LaneLevel& level_of_lane, float s_channel, uint32_t& largest,
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
            lane.first_row = row;
            lane.first_column = first;
            lane.width_log2 = __builtin_ctz(kWaveElements);
            lane.index = piece_index(0);
            lane.load<kPlace>(args, exchange, nonfinite);
            const W4a8Codebook codebook = w4a8_share_codebook(level_of_lane, exchange);
            CK_NO_UNROLL
            for (int turn = 0; turn < kWavePieces; ++turn) {
                args = arguments_again(kernel_args);
                float a[kQuarters];
                float b[kQuarters];
                float minimum[kQuarters];
                if (pass == kExtremes) {
                    lane.extremes(args, a, minimum);
                    if (wide) {
                        store_parts(args, lane, a[0], minimum[0]);
                    } else {
                        lane.scale_by_extremes(args, a, minimum);
                    }
                } else {
                    load_scales(args, lane, minimum);
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
                    largest = larger(largest, lane.largest<kPlace>(args, codebook, minimum));
                    if (!wide) store_scales(args, lane);
                }
                args = arguments_again(kernel_args);
                if (pass == kCodes) lane.finish<kPlace>(args, s_channel, level_of_lane.level, exchange);
                lane.exchange_pieces();
            }
        }
        return nonfinite;
    }

    static CK_DEVICE void store_parts(const W4a8RequantArgs& args, const W4a8Lane& lane, float a, float b) {
        const W4a8Place here = lane.place(args);
        if (here.count == 0) return;
        *part(args, kPartA, here.column >> 4) = a;
        *part(args, kPartB, here.column >> 4) = b;
    }

    // Scales of groups within a piece, for the last pass.
    static CK_DEVICE void store_scales(const W4a8RequantArgs& args, const W4a8Lane& lane) {
        const W4a8Place here = lane.place(args);
        CK_UNROLL
        for (uint32_t quarter = 0; quarter < kQuarters; ++quarter) {
            if (here.begins_group(args.groups, quarter))
                *part(args, kPartScale, group_of_quarter(args.groups, here.group, quarter)) =
                    lane.scale[0][quarter];
        }
    }

    static CK_DEVICE void load_scales(const W4a8RequantArgs& args, W4a8Lane& lane,
                                      float (&minimum)[kQuarters]) {
        const W4a8Place here = lane.place(args);
        for_groups_of_piece(args.groups.size, lane.scale[0], [&](uint32_t quarter) CK_INLINE_LAMBDA {
            if (quarter * kQuarterElements >= here.count) return 1.0f;
            return *part(args, kPartScale, group_of_quarter(args.groups, here.group, quarter));
        });
        CK_UNROLL
        for (int quarter = 0; quarter < kQuarters; ++quarter) minimum[quarter] = 0.0f;
        // With an asymmetric layout only groups of several pieces have a second pass.
        if (args.layout != kW4a8Asymmetric || here.count == 0) return;
        const float value = *part(args, kPartMinimum, here.group);
        CK_UNROLL
        for (int quarter = 0; quarter < kQuarters; ++quarter) minimum[quarter] = value;
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
    static constexpr int kResidentGroups = 1;
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

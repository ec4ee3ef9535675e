// W4A8 quantization with a codebook where the weights of a piece belong to one group. A lane has one piece,
// and a row as many waves as it needs; choices are made by quick_piece.h and, where that leaves a doubt,
// exactly.
#pragma once

#include "../device/row_waves.h"
#include "quick_piece.h"
#include "requant_outputs.h"

namespace ckitchen {

// A lane's piece and the scale of its group.
struct W4a8Piece {
    float weight[kPieceElements];
    float scale;
    int32_t positive;   // bits of the largest weight, negative where there is none from 0 on
    uint32_t negative;  // bits of the smallest weight, its sign clear where there is none below 0

    // As signed integers, the bits of numbers from 0 on are in their order and larger than those of all
    // others; as unsigned ones, those of numbers below 0 are, in the opposite order.
    CK_DEVICE void find_ends() {
        positive = __builtin_bit_cast(int32_t, weight[0]);
        negative = __builtin_bit_cast(uint32_t, weight[0]);
        CK_UNROLL
        for (int index = 1; index < kPieceElements; ++index) {
            const int32_t bits = __builtin_bit_cast(int32_t, weight[index]);
            positive = bits > positive ? bits : positive;
            negative = larger(negative, static_cast<uint32_t>(bits));
        }
    }

    // Finds the ends. Puts 0 in the place of what is not finite, and returns its number.
    CK_DEVICE uint32_t clear_nonfinite() {
        find_ends();
        if (positive < static_cast<int32_t>(kInfinity) && negative < (kInfinity | 1u << 31)) return 0;
        uint32_t cleared = 0;
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index) {
            const bool finite = magnitude(weight[index]) < kInfinity;
            weight[index] = finite ? weight[index] : 0.0f;
            cleared += finite ? 0 : 1;
            if (index % 4 == 3) scheduling_boundary();
        }
        find_ends();
        return cleared;
    }

    CK_DEVICE float largest() const {
        const int32_t below = static_cast<int32_t>(negative ^ 1u << 31);
        const int32_t bits = positive > below ? positive : below;
        return __builtin_bit_cast(float, bits > 0 ? bits : 0);
    }

    CK_DEVICE float lowest() const {
        return __builtin_bit_cast(float, negative >> 31 != 0 ? negative : positive_bits());
    }
    CK_DEVICE float highest() const {
        return __builtin_bit_cast(float, positive >= 0 ? positive_bits() : negative);
    }

    // Sums of weight * level (a) and level^2 (b) with the nearest levels.
    CK_DEVICE void sums(const W4a8CellTable& table, LocalPointer<uint8_t> memory, float& a, float& b) const {
        bool certain = false;
        if (table.usable()) {
            const float reciprocal = approximate_reciprocal(scale);
            certain = quick_sums(table, weight, reciprocal, a, b) &&
                      within_cells(table, largest(), reciprocal, scale);
        }
        if (!any_lane(!certain)) return;
        float level[kPieceElements];
        exact_levels(table.codebook, weight, scale, memory, level);
        float sum_a[2];
        float sum_b[2];
        CK_UNROLL
        for (int half = 0; half < 2; ++half)
            half_sums(weight, level, half * kPieceElements / 2, sum_a[half], sum_b[half]);
        a = sum_a[0] + sum_a[1];
        b = sum_b[0] + sum_b[1];
    }

    // Bits of the largest |level * scale|. The levels of all weights lie between those of the ends. Where all
    // weights are on one side of 0, the end of that side decides: the magnitudes of nearest levels do not
    // fall away from 0. For if x >= 0 has a nearest level n < 0, the next level p behind it is not nearer, p
    // >= p - x >= x - n >= |n|, also when the differences are rounded, and larger numbers have n or levels
    // from p on; likewise below 0.
    CK_DEVICE uint32_t largest_value(const W4a8CellTable& table, LocalPointer<uint8_t> memory) const {
        const float end[2] = {lowest(), highest()};
        float level[2] = {0.0f, 0.0f};
        bool certain = false;
        if (table.usable()) {
            const float reciprocal = approximate_reciprocal(scale);
            float distance = __builtin_inff();
            quick_levels(table, end, reciprocal, level, distance);
            certain = distance > table.cells.band && within_cells(table, largest(), reciprocal, scale);
        }
        if (any_lane(!certain)) exact_levels(table.codebook, end, scale, memory, level);
        return larger(magnitude(level[0] * scale), magnitude(level[1] * scale));
    }

    // Final codes on the grid of s_channel, packed. `memory` is the wave's. What lies outside of the matrix
    // (`exists`) gets any codes, and so takes no part in the choice of the way to them.
    CK_DEVICE Uint32x2 codes(const W4a8RequantArgs& args, const W4a8CellTable& table, int64_t row,
                             uint32_t column, bool exists, float s_channel, float s_rel,
                             LocalPointer<uint8_t> memory) {
        Uint32x2 result = {0, 0};
        bool certain = false;
        const float level_of_lane = table.codebook.level(lane_id() % kW4a8Levels);
        if (args.stochastic == 0) {
            const bool fits =
                !exists || (table.usable() && quick_codes_fit(table, largest(), s_channel, s_rel));
            if (!any_lane(!fits)) {
                certain = quick_codes(table, weight, s_channel, s_rel, result);
            } else {
                certain = searched_codes(level_of_lane, weight, s_channel, s_rel, memory, result);
                // Sums are exact, and 0 has the lower level where a sum is 0.
                certain |= largest() == 0.0f;
            }
        }
        if (any_lane(exists && !certain))
            result = exact_codes(args, W4a8Draw(args, row, column), s_channel, s_rel, level_of_lane, memory);
        return result;
    }

  private:
    CK_DEVICE uint32_t positive_bits() const { return static_cast<uint32_t>(positive); }

    // The rest has one copy of its arithmetic: the numbers take turns.

    // Number i of lane l waits in local memory at i * 128 + l * 4, and its level after it.
    template <int kCount>
    static CK_DEVICE void exact_levels(const W4a8Codebook& codebook, const float (&number)[kCount],
                                       float scale, LocalPointer<uint8_t> memory, float (&level)[kCount]) {
        const auto own = reinterpret_cast<LocalPointer<float>>(memory) + lane_id();
        // Other lanes have read a rotation's values here.
        wave_local_fence();
        CK_UNROLL
        for (int index = 0; index < kCount; ++index) own[index * kWaveSize] = number[index];
        CK_NO_UNROLL
        for (int index = 0; index < kCount; ++index)
            own[index * kWaveSize] = codebook.nearest_level(own[index * kWaveSize] / scale);
        CK_UNROLL
        for (int index = 0; index < kCount; ++index) level[index] = own[index * kWaveSize];
    }

    CK_DEVICE Uint32x2 exact_codes(const W4a8RequantArgs& args, const W4a8Draw& draw, float s_channel,
                                   float s_rel, float level_of_lane, LocalPointer<uint8_t> memory) {
        const W4a8LaneTable table = build_lane_table(level_of_lane, s_rel, memory);
        const float second = table.level(W4a8LaneTable::kStride);
        uint64_t result = 0;
        CK_NO_UNROLL
        for (uint32_t turn = 0; turn < kPieceElements; ++turn) {
            const float x = weight[0] / s_channel;
            const W4a8Neighbours around = table.find(x);
            const uint64_t code =
                args.stochastic != 0 ? around.drawn(x, draw.at(turn), second) : around.nearest(x);
            result = result >> 4 | code << 60;
            // They are in their places again afterwards.
            const float first = weight[0];
            CK_UNROLL
            for (int index = 1; index < kPieceElements; ++index) weight[index - 1] = weight[index];
            weight[kPieceElements - 1] = first;
        }
        return Uint32x2{static_cast<uint32_t>(result), static_cast<uint32_t>(result >> 32)};
    }
};

// A workgroup holds one row or several, each in `row_share` waves.
template <int kWaves, int kAlignment>
struct W4a8RequantCodebook {
    static constexpr int kResidentGroups = kWaves <= 12 ? 2 : 1;
    // Behind the waves' memory the cells, and what the waves of a row join.
    static constexpr int kTableAt = kWaves * kRotationLocalBytes;
    static constexpr int kSlotsAt = kTableAt + W4a8CellTable::kBytes;
    static constexpr int kLocalBytes = (kSlotsAt + RowWaves<kWaves>::kSlotBytes + 15) / 16 * 16;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    // Where a lane's piece lies.
    struct Place {
        RowWaves<kWaves> waves;
        int64_t row;
        uint32_t group;
        bool takes_part;  // is there a row for the wave?
        bool exists;
    };

    static CK_DEVICE void run(const W4a8RequantArgs& args, LocalPointer<uint8_t> local) {
        const W4a8CellTable table(args, local + kTableAt);
        const RowWaves<kWaves> waves(args.row_share);
        const auto group = static_cast<uint32_t>(first_group_of_piece(args.groups, waves.column));
        uint32_t nonfinite = 0;
        uint32_t turn = 0;
        CK_NO_UNROLL
        for (int64_t first = static_cast<int64_t>(workgroup_id()) * waves.held; first < args.rows;
             first += static_cast<int64_t>(args.workgroups) * waves.held) {
            const int64_t row = first + waves.row;
            const bool takes_part = waves.row < waves.held && row < args.rows;
            const Place place = {waves, row, group, takes_part, takes_part && waves.column < args.k};
            run_rows(args, turn, place, table, nonfinite, local);
            turn ^= 1;
        }
        w4a8_store_count<kWaves>(args, nonfinite);
    }

    static CK_DEVICE void run_rows(const W4a8RequantArgs& args, uint32_t turn, const Place& place,
                                   const W4a8CellTable& table, uint32_t& nonfinite,
                                   LocalPointer<uint8_t> local) {
        const LocalPointer<uint8_t> memory = local + wave_id() * kRotationLocalBytes;
        const bool wide = args.groups.pieces > 1;
        W4a8Piece piece;
        piece.scale = 1.0f;
        if (place.takes_part) {
            nonfinite += load(args, place, memory, piece);
            const float largest = piece.largest();
            if (wide) {
                store_parts(memory, largest, 0.0f);
            } else {
                piece.scale = scale_of_extremes(kW4a8Codebook, largest, 0.0f);
            }
        }
        if (wide) join_groups<false>(args, place, piece, local);
        CK_NO_UNROLL
        for (int refinement = 0; refinement < 2; ++refinement) {
            if (place.takes_part) {
                float a;
                float b;
                piece.sums(table, memory, a, b);
                if (wide) {
                    store_parts(memory, a, b);
                } else {
                    piece.scale = scale_of_sums(a, b);
                }
            }
            if (wide) join_groups<true>(args, place, piece, local);
        }
        uint32_t largest = place.takes_part ? piece.largest_value(table, memory) : 0;
        largest = place.waves.larger_of_row(place.exists ? largest : 0, turn, local + kSlotsAt);
        if (!place.takes_part) return;

        const float s_channel = w4a8_s_channel(largest);
        if (place.waves.column == 0) w4a8_store_s_channel(args, place.row, s_channel);
        const uint32_t bits = w4a8_encode_s_rel(args, piece.scale, s_channel);
        const Uint32x2 codes = piece.codes(args, table, place.row, place.waves.column, place.exists,
                                           s_channel, w4a8_decode_s_rel(args, bits), memory);
        if (!place.exists) return;
        if (place.waves.column >> 4 == place.group * args.groups.pieces)
            w4a8_store_s_rel(args, place.row, place.group, bits);
        store_codes<kPlace>(lane_address(args.packed + place.row * args.ld_packed, place.waves.column / 2),
                            kPieceElements, codes);
    }

    // The weights as the quantizer sees them: what is not finite is 0 and counted; then the rotation, rounded
    // to the type, whose overflows are 0 as well.
    static CK_DEVICE uint32_t load(const W4a8RequantArgs& args, const Place& place,
                                   LocalPointer<uint8_t> memory, W4a8Piece& piece) {
        const uint32_t size = element_size(args.type);
        if (place.exists) {
            load_whole_piece_of<kPlace>(
                args.type, lane_address(args.weight + place.row * args.ldw * size, place.waves.column * size),
                piece.weight);
        } else {
            clear_piece(piece.weight);
        }
        const uint32_t cleared = piece.clear_nonfinite();
        if (args.rotate_group == 0) return cleared;
        rotate_piece(piece.weight, args.rotate_group, memory, lane_id_again());
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index)
            piece.weight[index] = piece.weight[index] * args.rotate_factor;
        round_piece(args.type, piece.weight);
        piece.clear_nonfinite();
        return cleared;
    }

    // A piece's results, for the joining of groups, in its wave's memory; behind those the groups' scales.
    static constexpr uint32_t kPartBytes = kWaveSize * 4;

    static CK_DEVICE LocalPointer<float> part(LocalPointer<uint8_t> local, uint32_t kind, uint32_t index) {
        return reinterpret_cast<LocalPointer<float>>(local + index / kWaveSize * kRotationLocalBytes +
                                                     kind * kPartBytes) +
               index % kWaveSize;
    }

    static CK_DEVICE void store_parts(LocalPointer<uint8_t> memory, float a, float b) {
        // Other lanes have read a rotation's values here.
        wave_local_fence();
        *part(memory, 0, lane_id()) = a;
        *part(memory, 1, lane_id()) = b;
    }

    // Scales of groups of several pieces from the pieces' results: one work-item joins a group, from left to
    // right.
    template <bool kSums>
    static CK_DEVICE void join_groups(const W4a8RequantArgs& args, const Place& place, W4a8Piece& piece,
                                      LocalPointer<uint8_t> local) {
        local_barrier();
        const uint32_t row_groups = static_cast<uint32_t>(args.row_groups);
        CK_NO_UNROLL
        for (uint32_t group = workitem_id(); group < place.waves.held * row_groups;
             group += kWaves * kWaveSize) {
            const uint32_t row = group / row_groups;
            const uint32_t begin =
                row * args.row_share * kWaveSize + (group - row * row_groups) * args.groups.pieces;
            float a = *part(local, 0, begin);
            float b = *part(local, 1, begin);
            CK_NO_UNROLL
            for (uint32_t index = begin + 1; index < begin + args.groups.pieces; ++index)
                w4a8_join<kSums>(a, b, *part(local, 0, index), *part(local, 1, index));
            *part(local, 2, group) = kSums ? scale_of_sums(a, b) : scale_of_extremes(kW4a8Codebook, a, b);
        }
        local_barrier();
        if (place.exists) piece.scale = *part(local, 2, place.waves.row * row_groups + place.group);
        // The memory is about to be used for other things.
        local_barrier();
    }
};

}  // namespace ckitchen

// W4A8 quantization with a codebook where the weights of a piece belong to one group. A lane has one piece,
// and a row as many waves as it needs; choices are made by quick_piece.h and, where that leaves a doubt,
// exactly.
#pragma once

#include "../device/row_waves.h"
#include "quick_piece.h"
#include "requant_outputs.h"

namespace ckitchen {

// The numbers of the pieces of a wave in local memory, where half of its lanes take one piece and the other
// half another. Number i of lane l is word i * 33 + l: no bank conflicts, neither among the lanes nor in a
// piece.
struct W4a8WaveNumbers {
    static constexpr uint32_t kApart = kWaveSize + 1;
    static constexpr uint32_t kBytes = kPieceElements * kApart * 4;
    static_assert(kWaveSize == 2 * kPieceElements && kW4a8Levels == kPieceElements, "a lane for each number");

    LocalPointer<float> words;

    CK_DEVICE W4a8WaveNumbers(const float (&number)[kPieceElements], LocalPointer<uint8_t> memory)
        : words(reinterpret_cast<LocalPointer<float>>(memory)) {
        // Other lanes have read a rotation's values here.
        wave_local_fence();
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index)
            words[index * kApart + lane_id()] = number[index];
    }

    // Calls work(first, second) until all of the lanes have had their turn; with one lane left, both are the
    // same.
    template <typename Work>
    CK_DEVICE void for_lanes(uint32_t lanes, Work work) const {
        wave_local_fence();
        CK_NO_UNROLL
        while (lanes != 0) {
            const auto first = static_cast<uint32_t>(__builtin_ctz(lanes));
            lanes &= lanes - 1;
            const uint32_t second = lanes != 0 ? static_cast<uint32_t>(__builtin_ctz(lanes)) : first;
            lanes &= lanes - 1;
            work(first, second);
        }
        wave_local_fence();
    }

    // The lane whose piece this one works on.
    static CK_DEVICE uint32_t source(uint32_t first, uint32_t second) {
        return lane_id() < kPieceElements ? first : second;
    }

    static CK_DEVICE float of_half(float value, uint32_t first, uint32_t second) {
        const float of_first = value_of_lane(value, first);
        const float of_second = value_of_lane(value, second);
        return lane_id() < kPieceElements ? of_first : of_second;
    }

    CK_DEVICE float number(uint32_t first, uint32_t second) const { return *place(first, second); }

    CK_DEVICE void replace(uint32_t first, uint32_t second, float value) const {
        if (lane_id() < kPieceElements || first != second) *place(first, second) = value;
    }

    // What replaced the numbers of this lane's source, as levels.
    CK_DEVICE W4a8ScaledLevels<kApart * 4> levels(uint32_t first, uint32_t second) const {
        const LocalPointer<const float> own = words + source(first, second);
        return {reinterpret_cast<LocalPointer<const uint8_t>>(own), own[7 * kApart],
                own[(kW4a8Levels - 1) * kApart]};
    }

    // What replaced the numbers of this lane.
    CK_DEVICE void load(float (&value)[kPieceElements]) const {
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index) value[index] = words[index * kApart + lane_id()];
    }

  private:
    CK_DEVICE LocalPointer<float> place(uint32_t first, uint32_t second) const {
        return words + (lane_id() % kPieceElements * kApart + source(first, second));
    }
};

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
        const bool certain = quick_sums(table, weight, largest(), scale, a, b);
        const uint32_t doubtful = lanes_where(!certain);
        if (doubtful == 0) return;
        const W4a8WaveNumbers numbers(weight, memory);
        numbers.for_lanes(doubtful, [&](uint32_t first, uint32_t second) CK_INLINE_LAMBDA {
            const float divisor = W4a8WaveNumbers::of_half(scale, first, second);
            numbers.replace(first, second,
                            table.codebook.nearest_level(numbers.number(first, second) / divisor));
        });
        if (certain) return;
        float level[kPieceElements];
        numbers.load(level);
        float sum_a[2];
        float sum_b[2];
        CK_UNROLL
        for (int half = 0; half < 2; ++half)
            half_sums(weight, level, half * kPieceElements / 2, sum_a[half], sum_b[half]);
        a = sum_a[0] + sum_a[1];
        b = sum_b[0] + sum_b[1];
    }

    // Bits of the largest |level * scale|. All lanes of the wave take part. The levels of all weights lie
    // between those of the ends. Where all weights are on one side of 0, the end of that side decides: the
    // magnitudes of nearest levels do not fall away from 0. For if x >= 0 has a nearest level n < 0, the next
    // level p behind it is not nearer, p
    // >= p - x >= x - n >= |n|, also when the differences are rounded, and larger numbers have n or levels
    // from p on; likewise below 0.
    CK_DEVICE uint32_t largest_value(const W4a8CellTable& table) const {
        const float end[2] = {lowest(), highest()};
        float level[2];
        float distance = __builtin_inff();
        const W4a8QuickLevels levels(table, largest(), scale);
        levels.find(table, end, level, distance);
        const bool certain = levels.usable && distance > table.cells.band;
        if (any_lane(!certain)) exact_levels(table.codebook, end, scale, level);
        return larger(magnitude(level[0] * scale), magnitude(level[1] * scale));
    }

    // Final codes on the grid of s_channel, packed. `memory` is the wave's. What lies outside of the matrix
    // (`exists`) gets any codes, and so takes no part in the choice of the way to them.
    // `bits` are those of s_rel as they are stored.
    template <bool kMiddles>
    CK_DEVICE Uint32x2 codes(const W4a8RequantArgs& args, const W4a8CellTable& table,
                             const W4a8MiddleTable& middles, int64_t row, uint32_t column, bool exists,
                             float s_channel, uint32_t bits, LocalPointer<uint8_t> memory) {
        bits = exists ? bits : W4a8MiddleTable::kFirst;
        const float s_rel = w4a8_decode_s_rel(args, bits);
        Uint32x2 result = {0, 0};
        bool certain = false;
        const float level_of_lane = table.codebook.level(lane_id() % kW4a8Levels);
        if (args.stochastic == 0) {
            const bool fits = !exists || fine_cells_fit(table.cells, largest(), s_channel, s_rel);
            if (any_lane(!fits)) {
                certain = searched_codes(level_of_lane, weight, s_channel, s_rel, memory, result);
                // Sums are exact, and 0 has the lower level where a sum is 0.
                certain |= largest() == 0.0f;
            } else if (kMiddles && args.scale_type == kW4a8ScaleE4m3) {
                certain = quick_codes(table, middles, weight, s_channel, s_rel, bits, result);
            } else {
                certain = quick_codes(table, weight, s_channel, s_rel, result);
            }
        }
        const uint32_t doubtful = lanes_where(exists && !certain);
        if (doubtful != 0)
            exact_codes(args, W4a8Draw(args, row, column), s_channel, s_rel, level_of_lane, memory, doubtful,
                        result);
        return result;
    }

  private:
    CK_DEVICE uint32_t positive_bits() const { return static_cast<uint32_t>(positive); }

    // The nearest levels of the two ends, which take turns in one copy of the arithmetic.
    static CK_DEVICE void exact_levels(const W4a8Codebook& codebook, const float (&end)[2], float scale,
                                       float (&level)[2]) {
        float next = end[0];
        CK_NO_UNROLL
        for (int turn = 0; turn < 2; ++turn) {
            level[0] = level[1];
            level[1] = codebook.nearest_level(next / scale);
            next = end[1];
        }
    }

    CK_DEVICE void exact_codes(const W4a8RequantArgs& args, const W4a8Draw& draw, float s_channel,
                               float s_rel, float level_of_lane, LocalPointer<uint8_t> memory,
                               uint32_t doubtful, Uint32x2& codes) const {
        const W4a8WaveNumbers numbers(weight, memory);
        numbers.for_lanes(doubtful, [&](uint32_t first, uint32_t second) CK_INLINE_LAMBDA {
            const float x = numbers.number(first, second) / s_channel;
            const float scale_here = W4a8WaveNumbers::of_half(s_rel, first, second);
            // The scaled levels lie in the numbers' places.
            wave_local_fence();
            numbers.replace(first, second, grid_value(level_of_lane, scale_here));
            wave_local_fence();
            const auto levels = numbers.levels(first, second);
            const W4a8Neighbours around = levels.find(x);
            uint32_t code;
            if (args.stochastic != 0) {
                // Draws of the piece of another lane.
                const uint32_t from = (W4a8WaveNumbers::source(first, second) - lane_id()) * kPieceElements;
                code = around.drawn(x, draw.at(from + lane_id() % kPieceElements), levels.level(1));
            } else {
                code = around.nearest(x);
            }
            wave_local_fence();
            numbers.replace(first, second, __builtin_bit_cast(float, code));
        });
        if ((doubtful >> lane_id() & 1) == 0) return;
        float code[kPieceElements];
        numbers.load(code);
        codes = Uint32x2{0, 0};
        CK_UNROLL
        for (uint32_t index = 0; index < kPieceElements; ++index)
            codes[index / 8] |= __builtin_bit_cast(uint32_t, code[index]) << index % 8 * 4;
    }
};

// A workgroup holds one row or several, each in `row_share` waves.
template <int kWaves, int kAlignment>
struct W4a8RequantCodebook {
    static constexpr int kResidentGroups = kWaves <= 12 ? 3 : 1;
    // Behind the waves' memory the cells, and what the waves of a row join.
    static constexpr int kWaveBytes = W4a8WaveNumbers::kBytes;
    static_assert(kWaveBytes >= kRotationLocalBytes, "a wave rotates there");
    static constexpr int kTableAt = kWaves * kWaveBytes;
    // Workgroups of many waves have no room for the middles.
    static constexpr bool kMiddles = kWaves <= 12;
    static constexpr int kMiddlesAt = kTableAt + W4a8CellTable::kBytes;
    static constexpr int kSlotsAt = kMiddlesAt + (kMiddles ? W4a8MiddleTable::kBytes : 0);
    static constexpr int kLocalBytes = (kSlotsAt + RowWaves<kWaves>::kSlotBytes + 15) / 16 * 16;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    // Where a lane's piece lies.
    struct Place {
        RowWaves<kWaves> waves;
        int64_t row;
        uint32_t group;
        bool exists;
    };

    // The workgroup is as large as the rows that it holds.
    static CK_DEVICE void run(const W4a8RequantArgs& args, LocalPointer<uint8_t> local) {
        const RowWaves<kWaves> waves(args.row_share);
        const uint32_t launched = waves.held * waves.share;
        int64_t row = static_cast<int64_t>(workgroup_id()) * waves.held + waves.row;
        if (row < args.rows && waves.column < args.k)
            prefetch(source(args, row, waves.column, element_size(args.type)));
        W4a8CellTable table(args, local + kTableAt);
        const W4a8MiddleTable middles = {local + kMiddlesAt};
        if (kMiddles && args.scale_type == kW4a8ScaleE4m3 && args.stochastic == 0)
            middles.write(table, local + kMiddlesAt, launched * kWaveSize);
        const auto group = static_cast<uint32_t>(first_group_of_piece(args.groups, waves.column));
        uint32_t nonfinite = 0;
        uint32_t turn = 0;
        CK_NO_UNROLL
        while (row - waves.row < args.rows) {
            const Place place = {waves, row, group, row < args.rows && waves.column < args.k};
            run_rows(args, turn, place, table, middles, nonfinite, local);
            row += static_cast<int64_t>(args.workgroups) * waves.held;
            turn ^= 1;
        }
        w4a8_store_count(args, launched, nonfinite);
    }

    // All waves take part, also those whose row is not there.
    static CK_DEVICE void run_rows(const W4a8RequantArgs& args, uint32_t turn, const Place& place,
                                   const W4a8CellTable& table, const W4a8MiddleTable& middles,
                                   uint32_t& nonfinite, LocalPointer<uint8_t> local) {
        const LocalPointer<uint8_t> memory = local + wave_id() * kWaveBytes;
        const bool wide = args.groups.pieces > 1;
        W4a8Piece piece;
        nonfinite += load(args, place, memory, piece);
        const float largest_weight = piece.largest();
        piece.scale = scale_of_extremes(kW4a8Codebook, largest_weight, 0.0f);
        if (wide) join_groups<false>(args, place, largest_weight, 0.0f, piece, local);
        CK_NO_UNROLL
        for (int refinement = 0; refinement < 2; ++refinement) {
            float a;
            float b;
            piece.sums(table, memory, a, b);
            piece.scale = scale_of_sums(a, b);
            if (wide) join_groups<true>(args, place, a, b, piece, local);
        }
        // All lanes of the wave take part in this, also those outside of the matrix.
        const uint32_t largest_of_piece = piece.largest_value(table);
        const uint32_t largest =
            place.waves.larger_of_row(place.exists ? largest_of_piece : 0, turn, local + kSlotsAt);
        const float s_channel = w4a8_s_channel(largest);
        const uint32_t bits = w4a8_encode_s_rel(args, piece.scale, s_channel);
        const Uint32x2 codes = piece.codes<kMiddles>(args, table, middles, place.row, place.waves.column,
                                                     place.exists, s_channel, bits, memory);
        if (!place.exists) return;
        const uint32_t column = computed_anew(place.waves.column);
        if (column == 0) w4a8_store_s_channel(args, place.row, s_channel);
        if (column >> 4 == place.group * args.groups.pieces)
            w4a8_store_s_rel(args, place.row, place.group, bits);
        store_codes<kPlace>(lane_address(args.packed + place.row * args.ld_packed, column / 2),
                            kPieceElements, codes);
    }

    static CK_DEVICE uint64_t source(const W4a8RequantArgs& args, int64_t row, uint32_t column,
                                     uint32_t size) {
        return lane_address(args.weight + row * args.ldw * size, column * size);
    }

    // Each type has its addresses for itself: with loads in common, compilers make the rest conditional
    // moves, and all types go through those of all.
    template <typename Format>
    static CK_DEVICE void load_as(const W4a8RequantArgs& args, const Place& place, W4a8Piece& piece) {
        const uint64_t address = source(args, place.row, computed_anew(place.waves.column), Format::kSize);
        load_whole_piece<Format, kPlace>(address, piece.weight);
        const int64_t further = static_cast<int64_t>(args.workgroups) * place.waves.held;
        if (place.row + further < args.rows) prefetch(address + further * args.ldw * Format::kSize);
    }

    // The weights as the quantizer sees them: what is not finite is 0 and counted; then the rotation, rounded
    // to the type, whose overflows are 0 as well.
    static CK_DEVICE uint32_t load(const W4a8RequantArgs& args, const Place& place,
                                   LocalPointer<uint8_t> memory, W4a8Piece& piece) {
        if (!place.exists) {
            clear_piece(piece.weight);
        } else if (args.type == kElementBfloat16) {
            load_as<Bfloat16Format>(args, place, piece);
        } else if (args.type == kElementFloat16) {
            load_as<Float16Format>(args, place, piece);
        } else {
            load_as<Float32Format>(args, place, piece);
        }
        const uint32_t cleared = piece.clear_nonfinite();
        if (args.rotate_group == 0) return cleared;
        rotate_piece(piece.weight, args.rotate_group, memory, value_again(lane_id()));
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
        return reinterpret_cast<LocalPointer<float>>(local + index / kWaveSize * kWaveBytes +
                                                     kind * kPartBytes) +
               index % kWaveSize;
    }

    // Scales of groups of several pieces from the pieces' results a and b: one work-item joins a group, from
    // left to right.
    template <bool kSums>
    static CK_DEVICE void join_groups(const W4a8RequantArgs& args, const Place& place, float own_a,
                                      float own_b, W4a8Piece& piece, LocalPointer<uint8_t> local) {
        // Other lanes have read a rotation's values or numbers here.
        wave_local_fence();
        *part(local, 0, workitem_id()) = own_a;
        *part(local, 1, workitem_id()) = own_b;
        local_barrier();
        const uint32_t row_groups = static_cast<uint32_t>(args.row_groups);
        CK_NO_UNROLL
        for (uint32_t group = workitem_id(); group < place.waves.held * row_groups;
             group += place.waves.held * place.waves.share * kWaveSize) {
            const uint32_t row = group / row_groups;
            const uint32_t begin =
                row * place.waves.share * kWaveSize + (group - row * row_groups) * args.groups.pieces;
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

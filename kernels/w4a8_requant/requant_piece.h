// The arithmetic of the W4A8 quantizer on one piece of 16 columns. Groups are 4 or 8 columns, or whole
// pieces: what belongs to a group is kept for each quarter of a piece.
#pragma once

#include "../device/divide.h"
#include "codebook.h"

namespace ckitchen {

CK_DEVICE float larger(float a, float b) {
    return a > b ? a : b;
}

CK_DEVICE float smaller(float a, float b) {
    return a < b ? a : b;
}

constexpr float kSmallestScale = 1e-8f;

// Joins the quarters of each group: quarter values in, group values out, at every quarter of the group.
template <typename Join>
CK_DEVICE void join_quarters(uint32_t group, float (&value)[kQuarters], Join join) {
    if (group == 4) return;
    const float first = join(value[0], value[1]);
    const float second = join(value[2], value[3]);
    const float whole = join(first, second);
    value[0] = group == 8 ? first : whole;
    value[1] = value[0];
    value[2] = group == 8 ? second : whole;
    value[3] = value[2];
}

// quotient[i] = value[i] / divisor of its quarter. `ordinary`: every value is 0 or at least 2^-40.
CK_DEVICE void divide_piece(const float (&value)[kPieceElements], const float (&divisor)[kQuarters],
                            uint32_t group, bool ordinary, float (&quotient)[kPieceElements]) {
    float reciprocal[kQuarters];
    for_groups_of_piece(group, reciprocal,
                        [&](uint32_t quarter) CK_INLINE_LAMBDA { return 1.0f / divisor[quarter]; });
    const float largest = larger(larger(divisor[0], divisor[1]), larger(divisor[2], divisor[3]));
    if (ordinary && largest <= kOrdinaryHigh) {
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index) {
            const int quarter = index / kQuarterElements;
            quotient[index] = quick_quotient(value[index], divisor[quarter], reciprocal[quarter]);
        }
    } else {
        // One copy of the full division: the numbers take turns.
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index) quotient[index] = value[index];
        float turn_divisor[kQuarters] = {divisor[0], divisor[1], divisor[2], divisor[3]};
        CK_NO_UNROLL
        for (int turn = 0; turn < kPieceElements; ++turn) {
            const float result = quotient[0] / turn_divisor[0];
            CK_UNROLL
            for (int index = 1; index < kPieceElements; ++index) quotient[index - 1] = quotient[index];
            quotient[kPieceElements - 1] = result;
            if (turn % kQuarterElements == kQuarterElements - 1) {
                CK_UNROLL
                for (int index = 1; index < kQuarters; ++index) turn_divisor[index - 1] = turn_divisor[index];
            }
        }
    }
}

// The two of 16 non-descending levels around a number.
struct W4a8Neighbours {
    uint32_t below;  // levels below the number, at most 15
    float low;       // the last of them, -infinity where there is none
    float high;      // the level behind it

    // Is `high` the nearest level? A tie takes the lower one, and what lies beyond the last level has no
    // other.
    CK_DEVICE bool high_is_nearest(float x) const {
        return __builtin_fabsf(x - high) < __builtin_fabsf(x - low) || high < x;
    }

    // Index of the nearest level.
    CK_DEVICE uint32_t nearest(float x) const {
        const uint32_t lower = below > 0 ? below - 1 : 0;
        return high_is_nearest(x) ? below : lower;
    }

    // Index of one of the two levels around x, the upper one where x is beyond the part `u` of the way to it.
    // Where x has no two levels around it they are the first two, or the last two. `second` is level 1.
    CK_DEVICE uint32_t drawn(float x, float u, float second) const {
        const float lower_level = below > 0 ? low : high;
        const float upper_level = below > 0 ? high : second;
        const uint32_t lower = below > 0 ? below - 1 : 0;
        return lower + (x > u * (upper_level - lower_level) + lower_level ? 1 : 0);
    }
};

// The scaled levels of a group in local memory, kBytesApart from one to the next.
template <uint32_t kBytesApart>
struct W4a8ScaledLevels {
    static constexpr uint32_t kStride = kBytesApart;

    LocalPointer<const uint8_t> table;
    float middle;  // level 7
    float top;     // level 15

    CK_DEVICE float level(uint32_t code) const { return at(code * kStride); }

    CK_DEVICE W4a8Neighbours find(float x) const {
        const bool upper = middle < x;
        uint32_t offset = upper ? 8 * kStride : 0;
        W4a8Neighbours around;
        around.low = upper ? middle : -__builtin_inff();
        around.high = upper ? top : middle;
        halve<4>(x, offset, around);
        halve<2>(x, offset, around);
        halve<1>(x, offset, around);
        around.below = offset / kStride;
        return around;
    }

  private:
    CK_DEVICE float at(uint32_t offset) const {
        return *reinterpret_cast<LocalPointer<const float>>(table + offset);
    }

    template <uint32_t kSpan>
    CK_DEVICE void halve(float x, uint32_t& offset, W4a8Neighbours& around) const {
        const float level_here = at(offset + (kSpan - 1) * kStride);
        const bool is_below = level_here < x;
        offset = is_below ? offset + kSpan * kStride : offset;
        around.low = is_below ? level_here : around.low;
        around.high = is_below ? around.high : level_here;
    }
};

// The levels of a group that every lane has for itself, level j of lane l at j * 128 + l * 4: no bank
// conflicts.
using W4a8LaneTable = W4a8ScaledLevels<kWaveSize * 4>;

// clamp(rne(level * scale), -127, 127) of all levels, into this lane's table. All lanes of the wave take
// part; `lane_level` is level lane % 16.
CK_DEVICE W4a8LaneTable build_lane_table(float level_of_lane, float scale, LocalPointer<uint8_t> memory) {
    const LocalPointer<uint8_t> own = memory + lane_id() * 4;
    W4a8LaneTable table;
    // Other lanes may have read what lies here, a rotation's values or the codebook.
    wave_local_fence();
    table.table = own;
    table.middle = grid_value(value_of_lane(level_of_lane, 7), scale);
    table.top = grid_value(value_of_lane(level_of_lane, kW4a8Levels - 1), scale);
    CK_NO_UNROLL
    for (uint32_t code = 0; code < kW4a8Levels; code += 4) {
        CK_UNROLL
        for (uint32_t next = 0; next < 4; ++next) {
            const float value = grid_value(value_of_lane(level_of_lane, code + next), scale);
            *reinterpret_cast<LocalPointer<float>>(own + (code + next) * W4a8LaneTable::kStride) = value;
        }
    }
    return table;
}

// What the scales of the groups come from: for the asymmetric layout the largest (a) and the smallest (b)
// weight, else the largest magnitude (a).
CK_DEVICE void piece_extremes(uint32_t layout, uint32_t group, const float (&weight)[kPieceElements],
                              float (&a)[kQuarters], float (&b)[kQuarters]) {
    const bool signs_matter = layout == kW4a8Asymmetric;
    CK_UNROLL
    for (int quarter = 0; quarter < kQuarters; ++quarter) {
        const int first = quarter * kQuarterElements;
        a[quarter] = signs_matter ? weight[first] : __builtin_fabsf(weight[first]);
        b[quarter] = weight[first];
        CK_UNROLL
        for (int index = first + 1; index < first + kQuarterElements; ++index) {
            a[quarter] = larger(a[quarter], signs_matter ? weight[index] : __builtin_fabsf(weight[index]));
            b[quarter] = smaller(b[quarter], weight[index]);
        }
    }
    join_quarters(group, a, [](float x, float y) CK_INLINE_LAMBDA { return larger(x, y); });
    join_quarters(group, b, [](float x, float y) CK_INLINE_LAMBDA { return smaller(x, y); });
}

CK_DEVICE float scale_of_extremes(uint32_t layout, float a, float b) {
    const float range = layout == kW4a8Asymmetric ? a - b : a;
    const float steps = layout == kW4a8Asymmetric ? 15.0f : 7.0f;
    return larger(layout == kW4a8Codebook ? a : range / steps, kSmallestScale);
}

// Sums of weight * level (a) and level^2 (b) with the nearest levels, as balanced trees.
CK_DEVICE void piece_sums(const W4a8Codebook& codebook, uint32_t group, const float (&weight)[kPieceElements],
                          const float (&scale)[kQuarters], bool ordinary, float (&a)[kQuarters],
                          float (&b)[kQuarters]) {
    float x[kPieceElements];
    divide_piece(weight, scale, group, ordinary, x);
    CK_UNROLL
    for (int quarter = 0; quarter < kQuarters; ++quarter) {
        float product[kQuarterElements];
        float square[kQuarterElements];
        CK_UNROLL
        for (int within = 0; within < kQuarterElements; ++within) {
            const int index = quarter * kQuarterElements + within;
            const float level = codebook.nearest_level(x[index]);
            product[within] = weight[index] * level;
            square[within] = level * level;
        }
        a[quarter] = (product[0] + product[1]) + (product[2] + product[3]);
        b[quarter] = (square[0] + square[1]) + (square[2] + square[3]);
        if (quarter % 2 == 1) scheduling_boundary();
    }
    join_quarters(group, a, [](float left, float right) CK_INLINE_LAMBDA { return left + right; });
    join_quarters(group, b, [](float left, float right) CK_INLINE_LAMBDA { return left + right; });
}

CK_DEVICE float scale_of_sums(float a, float b) {
    return larger(a / larger(b, kSmallestScale), kSmallestScale);
}

// Bits of the largest |level * scale| of the first `count` columns, with the nearest levels.
CK_DEVICE uint32_t piece_codebook_max(const W4a8Codebook& codebook, uint32_t group, uint32_t count,
                                      const float (&weight)[kPieceElements], const float (&scale)[kQuarters],
                                      bool ordinary) {
    float x[kPieceElements];
    divide_piece(weight, scale, group, ordinary, x);
    uint32_t result = 0;
    CK_UNROLL
    for (uint32_t quarter = 0; quarter < kQuarters; ++quarter) {
        uint32_t largest = 0;
        CK_UNROLL
        for (uint32_t within = 0; within < kQuarterElements; ++within) {
            const uint32_t index = quarter * kQuarterElements + within;
            const float level = codebook.nearest_level(x[index]);
            largest = larger(largest, magnitude(level * scale[quarter]));
        }
        if (quarter * kQuarterElements < count) result = larger(result, largest);
        if (quarter % 2 == 1) scheduling_boundary();
    }
    return result;
}

// The uniform draw in [0, 1) that belongs to one element: a hash of its place in the whole tensor and the
// seed. Only the low 32 bits of the place are used.
struct W4a8Draw {
    uint32_t first;  // of a piece's first column
    uint32_t seed;

    CK_DEVICE W4a8Draw(const W4a8RequantArgs& args, int64_t row, int64_t column)
        : first((args.row_offset + static_cast<uint32_t>(row)) * static_cast<uint32_t>(args.k) +
                static_cast<uint32_t>(column)),
          seed(args.seed) {}

    CK_DEVICE float at(uint32_t index) const {
        uint32_t x = (first + index) ^ seed;
        x = x * 747796405u + 2891336453u;
        const uint32_t w = ((x >> ((x >> 28) + 4u)) ^ x) * 277803737u;
        const uint32_t h = (w >> 22) ^ w;
        return static_cast<float>(h >> 8) * 0x1p-24f;
    }
};

// Final codes of the codebook layout on the grid of s_channel, packed. All lanes of the wave take part;
// `memory` holds the lanes' tables.
CK_DEVICE Uint32x2 piece_codebook_codes(const W4a8RequantArgs& args, const W4a8Draw& draw,
                                        const float (&weight)[kPieceElements], float s_channel, bool ordinary,
                                        const float (&s_rel)[kQuarters], float level_of_lane,
                                        LocalPointer<uint8_t> memory) {
    const float divisor[kQuarters] = {s_channel, s_channel, s_channel, s_channel};
    float x[kPieceElements];
    divide_piece(weight, divisor, 16, ordinary, x);
    Uint32x2 codes = {0, 0};
    W4a8LaneTable table;
    CK_UNROLL
    for (uint32_t quarter = 0; quarter < kQuarters; ++quarter) {
        // Groups begin at every quarter, at every second one, or at the first.
        if (quarter == 0 || args.groups.size == 4 || (quarter == 2 && args.groups.size == 8))
            table = build_lane_table(level_of_lane, s_rel[quarter], memory);
        W4a8Neighbours around[kQuarterElements];
        CK_UNROLL
        for (uint32_t within = 0; within < kQuarterElements; ++within)
            around[within] = table.find(x[quarter * kQuarterElements + within]);
        uint32_t code[kQuarterElements];
        if (args.stochastic != 0) {
            const float second = table.level(1);
            CK_UNROLL
            for (uint32_t within = 0; within < kQuarterElements; ++within)
                code[within] = around[within].drawn(x[quarter * kQuarterElements + within],
                                                    draw.at(quarter * kQuarterElements + within), second);
        } else {
            CK_UNROLL
            for (uint32_t within = 0; within < kQuarterElements; ++within)
                code[within] = around[within].nearest(x[quarter * kQuarterElements + within]);
        }
        CK_UNROLL
        for (uint32_t within = 0; within < kQuarterElements; ++within)
            codes[quarter / 2] |= code[within] << (quarter % 2 * 16 + within * 4);
        scheduling_boundary();
    }
    return codes;
}

// Codes of the layouts without a codebook, packed, and the bits of the largest |(code - 8) * scale| of the
// first `count` columns.
CK_DEVICE Uint32x2 piece_linear_codes(const W4a8RequantArgs& args, const W4a8Draw& draw, uint32_t count,
                                      const float (&weight)[kPieceElements], const float (&scale)[kQuarters],
                                      const float (&minimum)[kQuarters], bool ordinary, uint32_t& largest) {
    const bool asymmetric = args.layout == kW4a8Asymmetric;
    float x[kPieceElements];
    CK_UNROLL
    for (int index = 0; index < kPieceElements; ++index)
        x[index] = asymmetric ? weight[index] - minimum[index / kQuarterElements] : weight[index];
    divide_piece(x, scale, args.groups.size, ordinary, x);
    const float lowest = asymmetric ? 0.0f : -8.0f;
    const float offset = asymmetric ? 0.0f : 8.0f;
    Uint32x2 codes = {0, 0};
    CK_UNROLL
    for (uint32_t index = 0; index < kPieceElements; ++index) {
        float rounded;
        if (args.stochastic != 0) {
            rounded = __builtin_floorf(x[index] + draw.at(index));
        } else {
            rounded = __builtin_rintf(x[index]);
        }
        const float code = __builtin_fminf(__builtin_fmaxf(rounded, lowest), lowest + 15.0f) + offset;
        const float value = (code - 8.0f) * scale[index / kQuarterElements];
        if (index < count) largest = larger(largest, magnitude(value));
        codes[index / 8] |= static_cast<uint32_t>(code) << index % 8 * 4;
        if (index % 4 == 3) scheduling_boundary();
    }
    return codes;
}

}  // namespace ckitchen

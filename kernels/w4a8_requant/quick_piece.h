// The codebook layout's choices without a division and without a search, for pieces that lie in one group.
// They are exact wherever the functions say `certain`; elsewhere, for about one piece of 1000 of random
// weights, the caller turns to the exact functions of requant_piece.h.
//
// A choice by the codebook. Exact is: the level behind threshold T where q = w / gs, rounded, is larger than
// T. Here t - w * c decides, c = r * u being the cells of the staircase for each 1, r the approximate
// reciprocal of gs, u the cells of a distance of 1, and t = T * u, rounded. r, c and t are within 2^-23,
// 2^-24 and 2^-24 of themselves, q within 2^-24 (or by 2^-150): if the two decide differently, t and w * c
// differ by less than 2^-21 * |t|, and what is computed, with one rounding, is less than the band of 2^-20 of
// the largest level's place. All of that is in units so small that the bits behind the sign are clear, which
// changes nothing else: kW4a8QuickLow and kW4a8QuickHigh keep all of it normal numbers.
//
// Which threshold that is, the cell of w * c says, a number below 32 that is computed with an error below
// 2^-17 cells. No threshold is nearer than 2^-12 cells to an end of its cell, so that behind the end of a
// cell all agree on the level there.
//
// A choice by the scaled levels L of a group. Exact is nearest(q, L) with q = w / s_channel, rounded. With
// M = L[j] + L[j + 1], an integer, it is j + 1 where 2q > M and j where 2q < M, if no other pair of levels
// has its middle there. Here 2 * w * r - M decides. L[j] differs from s_rel * c[j] by at most 1/2, if it is
// not clamped (largest_scale), so that a middle differs from s_rel times the middle of two levels by at most
// 1/2, and from s_rel times their threshold by little more: in fine cells of w / (s_channel * s_rel), 0.502 *
// per_unit / s_rel and the 2^-8 that are kept for all roundings. smallest_scale makes that the margin at
// most: the middle of no other pair is in the cell. |M| is at most 254, so the product differs from 2q by
// less than 2^-14.3 where the two decide differently; the two distances that decide in the exact form are
// smaller than 256 and rounded, which matters nearer than 2^-15 to M. The band is 2^-13, and more by what a
// word of the table of middles holds beside M.
#pragma once

#include "cells.h"

namespace ckitchen {

constexpr float kW4a8GridBand = 0x1p-13f;

// On PTX, where registers are scarce, a value from here on unknown to the compiler: what is computed from it
// is not kept from an earlier place on.
CK_DEVICE uint32_t computed_anew(uint32_t value) {
#if defined(__NVPTX__)
    return value_again(value);
#else
    return value;
#endif
}

// May what is at most `largest` in magnitude be looked up in cells of which `cells_of_one` (in
// kW4a8CellInLowBits) are a distance of 1?
template <uint32_t kCells>
CK_DEVICE bool within_cells(float largest, float cells_of_one, float scale) {
    return largest * cells_of_one <= w4a8_cells_in_use(kCells) && scale <= kW4a8QuickHigh;
}

// The smallest of a distance and the magnitudes of others.
template <int kCount>
CK_DEVICE float nearest_of(float distance, const float (&other)[kCount]) {
#if defined(__NVPTX__)
    // Integers have a minimum of three, but no magnitudes.
    uint32_t bits = __builtin_bit_cast(uint32_t, distance);
    CK_UNROLL
    for (int index = 0; index < kCount; index += 2) {
        const float pair = __builtin_fminf(__builtin_fabsf(other[index]), __builtin_fabsf(other[index + 1]));
        const uint32_t pair_bits = __builtin_bit_cast(uint32_t, pair);
        bits = pair_bits < bits ? pair_bits : bits;
    }
    return __builtin_bit_cast(float, bits);
#else
    CK_UNROLL
    for (int index = 0; index < kCount; ++index)
        distance = __builtin_fminf(distance, __builtin_fabsf(other[index]));
    return distance;
#endif
}

// Choices by the codebook in a group of this scale.
struct W4a8QuickLevels {
    bool usable;         // else all weights have the same level, of which nothing is certain
    float cells_of_one;  // in kW4a8CellInLowBits
    float units_of_one;  // the same in kW4a8DistanceUnit

    CK_DEVICE W4a8QuickLevels(const W4a8CellTable& table, float largest, float scale)
        : cells_of_one(approximate_reciprocal(scale) * table.cells.steps_per_unit) {
        usable = within_cells<kW4a8Steps>(largest, cells_of_one, scale);
        cells_of_one = usable ? cells_of_one : 0.0f;
        units_of_one = cells_of_one * (kW4a8DistanceUnit / kW4a8CellInLowBits);
    }

    // Nearest levels of weights, and the smallest distance to a threshold.
    template <int kCount>
    CK_DEVICE void find(const W4a8CellTable& table, const float (&weight)[kCount], float (&level)[kCount],
                        float& distance) const {
        uint32_t offset[kCount];
        CK_UNROLL
        for (int index = 0; index < kCount; ++index)
            offset[index] =
                W4a8CellTable::offset_of(W4a8CellTable::cell_of<kW4a8Steps>(weight[index], cells_of_one));
        float before[kCount];
        CK_UNROLL
        for (int index = 0; index < kCount; ++index) {
            before[index] = __builtin_fmaf(-weight[index], units_of_one, table.step(offset[index]));
            level[index] = table.step_level(offset[index], before[index]);
        }
        distance = nearest_of(distance, before);
    }
};

// Balanced sums of weight * level and level^2 over 8 weights from `first` on. Level 0 belongs to weight
// `first` where there are 8 levels.
template <int kCount>
CK_DEVICE void half_sums(const float (&weight)[kPieceElements], const float (&level)[kCount], int first,
                         float& a, float& b) {
    const int offset = kCount == kPieceElements ? first : 0;
    float product[8];
    float square[8];
    CK_UNROLL
    for (int index = 0; index < 8; ++index) {
        const float here = level[offset + index];
        product[index] = weight[first + index] * here;
        square[index] = here * here;
    }
    a = ((product[0] + product[1]) + (product[2] + product[3])) +
        ((product[4] + product[5]) + (product[6] + product[7]));
    b = ((square[0] + square[1]) + (square[2] + square[3])) +
        ((square[4] + square[5]) + (square[6] + square[7]));
}

// Sums of weight * level (a) and level^2 (b) with the nearest levels. Returns whether they are certain.
CK_DEVICE bool quick_sums(const W4a8CellTable& table, const float (&weight)[kPieceElements], float largest,
                          float scale, float& a, float& b) {
    constexpr int kHalf = kPieceElements / 2;
    const W4a8QuickLevels levels(table, largest, scale);
    float distance = __builtin_inff();
    float sum_a[2];
    float sum_b[2];
    CK_UNROLL
    for (int half = 0; half < 2; ++half) {
        float part[kHalf];
        float level[kHalf];
        CK_UNROLL
        for (int index = 0; index < kHalf; ++index) part[index] = weight[half * kHalf + index];
        levels.find(table, part, level, distance);
        half_sums(weight, level, half * kHalf, sum_a[half], sum_b[half]);
        scheduling_boundary();
    }
    a = sum_a[0] + sum_a[1];
    b = sum_b[0] + sum_b[1];
    return levels.usable && distance > table.cells.band;
}

// May the fine cells be used for these? s_rel and largest are the lane's.
CK_DEVICE bool fine_cells_fit(const W4a8CellLimits& cells, float largest, float s_channel, float s_rel) {
    return s_rel >= cells.smallest_scale && s_rel <= cells.largest_scale &&
           within_cells<kW4a8FineCells>(largest, approximate_reciprocal(s_channel * s_rel) * cells.per_unit,
                                        s_channel);
}

// Final codes on the grid of s_channel, packed. Returns whether they are certain.
CK_DEVICE bool quick_codes(const W4a8CellTable& table, const float (&weight)[kPieceElements], float s_channel,
                           float s_rel, Uint32x2& codes) {
    constexpr int kHalf = kPieceElements / 2;
    const float twice_reciprocal = 2.0f * approximate_reciprocal(s_channel);
    // Unknown to the compiler, so that it does not find the cells of both ways before it chooses one.
    const float cells_of_one = __builtin_bit_cast(
        float, computed_anew(__builtin_bit_cast(
                   uint32_t, approximate_reciprocal(s_channel * s_rel) * table.cells.per_unit)));
    float distance = __builtin_inff();
    CK_UNROLL
    for (int half = 0; half < 2; ++half) {
        uint32_t before[kHalf];
        CK_UNROLL
        for (int index = 0; index < kHalf; ++index)
            before[index] = table.code_before(
                W4a8CellTable::cell_of<kW4a8FineCells>(weight[half * kHalf + index], cells_of_one));
        uint32_t packed = 0;
        float middle[kHalf];
        CK_UNROLL
        for (int index = 0; index < kHalf; ++index) {
            const Float32x2 levels = table.codebook.levels(before[index] * W4a8Codebook::kEntryBytes);
            // The first term is larger than its level by kIntegerInLowBits, the second smaller.
            const float low = levels.x * s_rel + kIntegerInLowBits;
            const float high = levels.y * s_rel - kIntegerInLowBits;
            // Negative where the weight is beyond the middle.
            middle[index] = __builtin_fmaf(-weight[half * kHalf + index], twice_reciprocal, low + high);
            const uint32_t code = before[index] + (__builtin_bit_cast(uint32_t, middle[index]) >> 31);
            packed |= code << 4 * index;
        }
        distance = nearest_of(distance, middle);
        codes[half] = packed;
        scheduling_boundary();
    }
    return distance > kW4a8GridBand;
}

// The same with the middles of the scale, whose e4m3 code is `bits`, out of their table.
CK_DEVICE bool quick_codes(const W4a8CellTable& table, const W4a8MiddleTable& middles,
                           const float (&weight)[kPieceElements], float s_channel, float s_rel, uint32_t bits,
                           Uint32x2& codes) {
    constexpr int kHalf = kPieceElements / 2;
    const float twice_reciprocal = 2.0f * approximate_reciprocal(s_channel);
    const float cells_of_one = approximate_reciprocal(s_channel * s_rel) * table.cells.per_unit;
    const uint32_t scale_offset = W4a8MiddleTable::offset_of_scale(bits);
    float distance = __builtin_inff();
    CK_UNROLL
    for (int half = 0; half < 2; ++half) {
        uint32_t word[kHalf];
        CK_UNROLL
        for (int index = 0; index < kHalf; ++index) {
            const uint32_t cell =
                W4a8CellTable::cell_of<kW4a8FineCells>(weight[half * kHalf + index], cells_of_one);
            word[index] = middles.word(W4a8CellTable::offset_of(cell) + scale_offset);
        }
        float before[kHalf];
        uint32_t packed = 0;
        CK_UNROLL
        for (int index = kHalf - 1; index >= 0; --index) {
            // Negative where the weight is beyond the middle.
            before[index] = __builtin_fmaf(-weight[half * kHalf + index], twice_reciprocal,
                                           __builtin_bit_cast(float, word[index]));
            packed = (packed << 4) + (word[index] & 15) + (__builtin_bit_cast(uint32_t, before[index]) >> 31);
        }
        distance = nearest_of(distance, before);
        codes[half] = packed;
        scheduling_boundary();
    }
    return distance > kW4a8GridBand + W4a8MiddleTable::kCodeInSum;
}

// The sums L[j] + L[j + 1] of a group's scaled levels, which every lane has for itself in local memory, sum j
// of lane l at j * 128 + l * 4: no bank conflicts.
struct W4a8LaneMiddles {
    static constexpr uint32_t kStride = kWaveSize * 4;
    static constexpr uint32_t kBytes = (kW4a8Levels - 1) * kStride;

    LocalPointer<const uint8_t> table;
    float middle;  // sum 7

    // All lanes of the wave take part; `level_of_lane` is level lane % 16.
    CK_DEVICE W4a8LaneMiddles(float level_of_lane, float s_rel, LocalPointer<uint8_t> memory)
        : table(memory + lane_id() * 4), middle(0.0f) {
        const LocalPointer<uint8_t> own = memory + lane_id() * 4;
        // Other lanes have read a rotation's values here.
        wave_local_fence();
        float before = grid_value(value_of_lane(level_of_lane, 0), s_rel);
        CK_UNROLL
        for (uint32_t code = 1; code < kW4a8Levels; ++code) {
            const float level = grid_value(value_of_lane(level_of_lane, code), s_rel);
            const float sum = before + level;
            *reinterpret_cast<LocalPointer<float>>(own + (code - 1) * kStride) = sum;
            if (code == kW4a8Levels / 2) middle = sum;
            before = level;
        }
    }

    template <uint32_t kSpan>
    CK_DEVICE void halve(float weight, float twice_reciprocal, uint32_t& offset, float& distance) const {
        const float sum =
            *reinterpret_cast<LocalPointer<const float>>(table + offset + (kSpan - 1) * kStride);
        const float beyond = __builtin_fmaf(weight, twice_reciprocal, -sum);
        offset = beyond > 0.0f ? offset + kSpan * kStride : offset;
        distance = __builtin_fminf(distance, __builtin_fabsf(beyond));
    }
};

// The same for any scales: the levels are searched by halving. `memory` holds the lanes' tables. All lanes of
// the wave take part.
CK_DEVICE bool searched_codes(float level_of_lane, const float (&weight)[kPieceElements], float s_channel,
                              float s_rel, LocalPointer<uint8_t> memory, Uint32x2& codes) {
    const W4a8LaneMiddles middles(level_of_lane, s_rel, memory);
    const float twice_reciprocal = 2.0f * approximate_reciprocal(s_channel);
    constexpr int kPart = 4;
    float distance = __builtin_inff();
    codes = Uint32x2{0, 0};
    CK_UNROLL
    for (int first = 0; first < kPieceElements; first += kPart) {
        uint32_t offset[kPart];
        CK_UNROLL
        for (int index = 0; index < kPart; ++index) {
            const float beyond = __builtin_fmaf(weight[first + index], twice_reciprocal, -middles.middle);
            offset[index] = beyond > 0.0f ? 8 * W4a8LaneMiddles::kStride : 0;
            distance = __builtin_fminf(distance, __builtin_fabsf(beyond));
        }
        CK_UNROLL
        for (int index = 0; index < kPart; ++index)
            middles.halve<4>(weight[first + index], twice_reciprocal, offset[index], distance);
        CK_UNROLL
        for (int index = 0; index < kPart; ++index)
            middles.halve<2>(weight[first + index], twice_reciprocal, offset[index], distance);
        CK_UNROLL
        for (int index = 0; index < kPart; ++index) {
            middles.halve<1>(weight[first + index], twice_reciprocal, offset[index], distance);
            codes[first / 8] |= offset[index] / W4a8LaneMiddles::kStride << (first + index) % 8 * 4;
        }
        scheduling_boundary();
    }
    return distance > kW4a8GridBand && s_channel <= kOrdinaryHigh;
}

}  // namespace ckitchen

// The codebook layout's choices without a division and without a search, for pieces that lie in one group.
// They are exact wherever the functions say `certain`; elsewhere, for about one piece of 500 of random
// weights, the caller turns to the exact functions of requant_piece.h.
//
// A choice by the codebook. Exact is: the level behind threshold T where q = w / gs, rounded, is larger than
// T. Here w * r - T decides, r being the approximate reciprocal of gs. The product differs from the real
// quotient by less than 2^-22 of it, and that from q by at most 2^-24 of it (or by 2^-150). So if the two
// decide differently, T lies between them, and the difference, computed with one rounding, is at most 2^-21 *
// |T| + 2^-149: less than the band of 2^-20 of the largest level, which is no smaller than T and than 2^-40.
//
// Which threshold that is, the cell of w * r says: no other one lies in the cell or nearer to it than the
// smallest margin of 2^-8 cells. The number of cells is computed with a relative error below 2^-21, of at
// most 63: less than 2^-14.
//
// A choice by the scaled levels L of a group. Exact is nearest(q, L) with q = w / s_channel, rounded. With
// M = L[j] + L[j + 1], an integer, it is j + 1 where 2q > M and j where 2q < M, if no other pair of levels
// has its middle there. Here 2 * w * r - M decides. L[j] differs from s_rel * c[j] by at most 1/2, if it is
// not clamped (largest_scale), so that a middle differs from s_rel times the middle of two levels by at most
// 1/2, and from s_rel times their threshold by little more: in cells of w / (s_channel * s_rel), 0.502 *
// per_unit / s_rel and the 2^-8 that are kept for all roundings. smallest_scale makes that the margin at
// most: the middle of no other pair is in the cell. |M| is at most 254, so the product differs from 2q by
// less than 2^-14.3 where the two decide differently; the two distances that decide in the exact form are
// smaller than 256 and rounded, which matters nearer than 2^-15 to M. The band is 2^-13.
#pragma once

#include "cells.h"

namespace ckitchen {

constexpr float kW4a8GridBand = 0x1p-13f;

// Nearest levels of weights by the codebook, and the smallest distance to a threshold.
template <int kCount>
CK_DEVICE void quick_levels(const W4a8CellTable& table, const float (&weight)[kCount], float reciprocal,
                            float (&level)[kCount], float& distance) {
    const float cells_of_one = reciprocal * table.cells.per_unit;
    uint32_t entry[kCount];
    CK_UNROLL
    for (int index = 0; index < kCount; ++index) entry[index] = table.entry_of(weight[index], cells_of_one);
    CK_UNROLL
    for (int index = 0; index < kCount; ++index) {
        const Float32x2 levels = table.codebook.levels(entry[index]);
        const float low = levels.x;
        const float high = levels.y;
        const float beyond =
            __builtin_fmaf(weight[index], reciprocal, -table.codebook.threshold(entry[index]));
        level[index] = beyond > 0.0f ? high : low;
        distance = __builtin_fminf(distance, __builtin_fabsf(beyond));
    }
}

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

// Sums of weight * level (a) and level^2 (b) with the nearest levels. Returns whether they are certain, as
// far as thresholds are concerned.
CK_DEVICE bool quick_sums(const W4a8CellTable& table, const float (&weight)[kPieceElements], float reciprocal,
                          float& a, float& b) {
    constexpr int kHalf = kPieceElements / 2;
    float distance = __builtin_inff();
    float sum_a[2];
    float sum_b[2];
    CK_UNROLL
    for (int half = 0; half < 2; ++half) {
        float part[kHalf];
        float level[kHalf];
        CK_UNROLL
        for (int index = 0; index < kHalf; ++index) part[index] = weight[half * kHalf + index];
        quick_levels(table, part, reciprocal, level, distance);
        half_sums(weight, level, half * kHalf, sum_a[half], sum_b[half]);
        scheduling_boundary();
    }
    a = sum_a[0] + sum_a[1];
    b = sum_b[0] + sum_b[1];
    return distance > table.cells.band;
}

// May pieces whose weights are at most `largest` in magnitude be looked up by the cells of largest *
// cells_of_one?
CK_DEVICE bool within_cells(const W4a8CellTable& table, float largest, float reciprocal, float scale) {
    return largest * (reciprocal * table.cells.per_unit) <= kW4a8CellsInUse && scale <= kOrdinaryHigh;
}

// May quick_codes look these up? s_rel and largest are the lane's.
CK_DEVICE bool quick_codes_fit(const W4a8CellTable& table, float largest, float s_channel, float s_rel) {
    const W4a8CellLimits& cells = table.cells;
    return s_rel >= cells.smallest_scale && s_rel <= cells.largest_scale &&
           within_cells(table, largest, approximate_reciprocal(s_channel * s_rel), s_channel);
}

// Final codes on the grid of s_channel, packed. Returns whether they are certain.
CK_DEVICE bool quick_codes(const W4a8CellTable& table, const float (&weight)[kPieceElements], float s_channel,
                           float s_rel, Uint32x2& codes) {
    constexpr int kHalf = kPieceElements / 2;
    const float twice_reciprocal = 2.0f * approximate_reciprocal(s_channel);
    const float cells_of_one = approximate_reciprocal(s_channel * s_rel) * table.cells.per_unit;
    float distance = __builtin_inff();
    CK_UNROLL
    for (int half = 0; half < 2; ++half) {
        uint32_t entry[kHalf];
        CK_UNROLL
        for (int index = 0; index < kHalf; ++index)
            entry[index] = table.entry_of(weight[half * kHalf + index], cells_of_one);
        uint32_t packed = 0;
        CK_UNROLL
        for (int index = 0; index < kHalf; ++index) {
            const Float32x2 levels = table.codebook.levels(entry[index]);
            // The first term is larger than its level by kIntegerInLowBits, the second smaller.
            const float low = levels.x * s_rel + kIntegerInLowBits;
            const float high = levels.y * s_rel + kIntegerInLowBits - 2.0f * kIntegerInLowBits;
            const float beyond =
                __builtin_fmaf(weight[half * kHalf + index], twice_reciprocal, -(low + high));
            const uint32_t code = entry[index] / W4a8Codebook::kEntryBytes + (beyond > 0.0f ? 1 : 0);
            packed |= code << 4 * index;
            distance = __builtin_fminf(distance, __builtin_fabsf(beyond));
        }
        codes[half] = packed;
        scheduling_boundary();
    }
    return distance > kW4a8GridBand;
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

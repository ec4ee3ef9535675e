// Tables of even cells that lead from a weight to the one threshold of the codebook that it has to be
// compared with.
#pragma once

#include "../device/divide.h"
#include "codebook.h"

namespace ckitchen {

// Equal cells around 0, numbered from 0 on, half of their number being the one in the middle. There are two
// tables of them.
//
// The staircase, for choices by the codebook. Its cells are as wide as the codebook lets them be with no two
// thresholds in one: for each the threshold inside, and the level at its lower end, which is the level at the
// upper end of the cell before. Where no more than 32 cells are in use, no access has bank conflicts.
//
// The fine cells, for choices by the scaled levels of a group, whose thresholds are only about in their
// places. For each the threshold that is nearest to its middle: where the others are far enough away (the
// margin), what lies in a cell need be compared with that threshold alone.
constexpr uint32_t kW4a8Steps = 64;
constexpr uint32_t kW4a8FineCells = 64;

// 2 + a number of cells * this is rounded to a cell, which is in its lowest bits. The bits above those are
// gone when it has become an offset of words.
constexpr float kW4a8CellInLowBits = 0x1p-22f;

constexpr float w4a8_middle_cell(uint32_t cells) {
    return 2.0f + static_cast<float>(cells / 2) * kW4a8CellInLowBits;
}

// How far from the middle cells are used, in kW4a8CellInLowBits.
constexpr float w4a8_cells_in_use(uint32_t cells) {
    return static_cast<float>(cells / 2 - 1) * kW4a8CellInLowBits;
}

// Fine cells from the middle to the level of the largest magnitude, and the smallest margin. With the default
// codebook, the number that leaves the largest.
constexpr float kW4a8FineToLargest = 23.5f;
constexpr float kW4a8SmallestMargin = 0x1p-8f;

// Cells of the staircase from the middle to the level of the largest magnitude: the first number, or the next
// that is larger by a step, and so on, a lane trying each. No threshold may be nearer than the gap to an end
// of its cell.
constexpr float kW4a8FewestSteps = 12.0f;
constexpr float kW4a8MoreSteps = 0.4f;
constexpr float kW4a8Gap = 0x1p-12f;
static_assert(kW4a8FewestSteps + kW4a8MoreSteps * (kWaveSize - 1) < kW4a8Steps / 2 - 2.0f,
              "the last cell has no threshold, so that no level behind it is asked for");

// The unit of distances to thresholds, of which a cell of the staircase is one. They are smaller than 2^-63,
// so that the two bits behind their sign are clear.
constexpr float kW4a8DistanceUnit = 0x1p-66f;

// 2^-20 and 2^20: where the largest level lies between them, and a group's scale below the second, what is
// computed in cells has no intermediate result outside of the normal numbers.
constexpr float kW4a8QuickLow = 0x1p-20f;
constexpr float kW4a8QuickHigh = 0x1p20f;

// Where the cells may be used. See quick_piece.h for why. What is per unit is in kW4a8CellInLowBits.
struct W4a8CellLimits {
    float steps_per_unit;  // cells of the staircase of a distance of 1
    float band;            // nearer than this to a threshold nothing is certain, in kW4a8DistanceUnit
    float per_unit;        // fine cells
    float smallest_scale;  // of groups whose scaled levels they lead to; larger than the largest: of none
    float largest_scale;
};

// The workgroup's codebook and cells in local memory.
struct W4a8CellTable {
    static constexpr uint32_t kStepsAt = W4a8Codebook::kEntriesBytes;
    static constexpr uint32_t kStepLevelsAt = kStepsAt + kW4a8Steps * 4;
    static constexpr uint32_t kFineAt = kStepLevelsAt + kW4a8Steps * 4;
    static constexpr uint32_t kMarginsAt = kFineAt + kW4a8FineCells;
    static constexpr uint32_t kFineWaves = kW4a8FineCells / kWaveSize;
    static constexpr uint32_t kStepsPerUnitAt = kMarginsAt + kFineWaves * 4;
    static constexpr uint32_t kBytes = kStepsPerUnitAt + 4;

    W4a8Codebook codebook;
    W4a8CellLimits cells;

    // All waves of the workgroup take part.
    CK_DEVICE W4a8CellTable(const W4a8RequantArgs& args, LocalPointer<uint8_t> memory) {
        const auto margins = reinterpret_cast<LocalPointer<float>>(memory + kMarginsAt);
        const auto chosen = reinterpret_cast<LocalPointer<float>>(memory + kStepsPerUnitAt);
        codebook.table = memory;
        if (wave_id() == 0) {
            W4a8Codebook::write(W4a8LaneLevel(args), memory);
            wave_local_fence();
            const float steps = kW4a8FewestSteps + kW4a8MoreSteps * static_cast<float>(lane_id());
            const float steps_per_unit = steps / largest_level();
            const uint32_t suitable = lanes_where(one_step_a_cell(steps_per_unit));
            if (suitable == 0) {
                *chosen = 0.0f;
            } else if (lane_id() == static_cast<uint32_t>(__builtin_ctz(suitable))) {
                *chosen = steps_per_unit;
            }
        }
        local_barrier();
        codebook.middle = value_of_lane(codebook.threshold(7 * W4a8Codebook::kEntryBytes), 0);
        const float largest = value_of_lane(largest_level(), 0);
        const float steps_per_unit = value_of_lane(*chosen, 0);
        const float per_unit = kW4a8FineToLargest / largest;
        const uint32_t cell = workitem_id();
        if (cell < kW4a8Steps) write_step(memory, cell, steps_per_unit);
        if (cell < kW4a8FineCells) {
            float margin = 0.0f;
            const uint32_t nearest = nearest_place(cell, per_unit, margin);
            memory[kFineAt + cell] = static_cast<uint8_t>(nearest);
            margin = lower(margin, lane_at_distance<1>(margin));
            margin = lower(margin, lane_at_distance<2>(margin));
            margin = lower(margin, lane_at_distance<4>(margin));
            margin = lower(margin, lane_at_distance<8>(margin));
            margin = lower(margin, lane_at_distance<16>(margin));
            if (lane_id() == 0) margins[wave_id()] = margin;
        }
        local_barrier();
        const float margin = value_of_lane(lower(margins[0], margins[1]), 0);
        const bool ordinary = largest >= kW4a8QuickLow && largest <= kW4a8QuickHigh;
        // Without a staircase all weights are in one cell, and nothing is certain.
        const bool has_steps = ordinary && steps_per_unit != 0.0f;
        cells.steps_per_unit = has_steps ? steps_per_unit * kW4a8CellInLowBits : 0.0f;
        cells.band = has_steps ? largest * steps_per_unit * (0x1p-20f * kW4a8DistanceUnit) : __builtin_inff();
        cells.per_unit = per_unit * kW4a8CellInLowBits;
        cells.largest_scale = 127.25f / largest;
        cells.smallest_scale = ordinary && margin > kW4a8SmallestMargin
                                   ? 0.502f * per_unit / (margin - kW4a8SmallestMargin)
                                   : __builtin_inff();
    }

    // The cell of a weight, where `cells_of_one` cells, in kW4a8CellInLowBits, are a distance of 1. Bits
    // above those of its number are set too.
    template <uint32_t kCells>
    static CK_DEVICE uint32_t cell_of(float weight, float cells_of_one) {
        return __builtin_bit_cast(uint32_t, __builtin_fmaf(weight, cells_of_one, w4a8_middle_cell(kCells)));
    }

    // Where the word of a cell is among those of the others.
    static CK_DEVICE uint32_t offset_of(uint32_t cell) { return cell << 2; }

    // The place of the threshold in a cell of the staircase, in kW4a8DistanceUnit; a place behind the cell
    // where there is none.
    CK_DEVICE float step(uint32_t offset) const { return word(kStepsAt, offset); }

    // The level in a cell, where the distance to its threshold is `before`: negative behind it, where the
    // level is that of the next cell.
    CK_DEVICE float step_level(uint32_t offset, float before) const {
        static_assert(1.5f * kW4a8DistanceUnit < 0x1p-63f, "one bit is left");
        return word(kStepLevelsAt, offset + (__builtin_bit_cast(uint32_t, before) >> 29));
    }

    // The level before the threshold that what lies in a fine cell is compared with.
    CK_DEVICE uint32_t code_before(uint32_t cell) const {
        return codebook.table[kFineAt + cell % kW4a8FineCells];
    }

  private:
    CK_DEVICE float word(uint32_t at, uint32_t offset) const {
        return *reinterpret_cast<LocalPointer<const float>>(codebook.table + offset + at);
    }

    CK_DEVICE float largest_level() const {
        return higher(__builtin_fabsf(codebook.level(0)), __builtin_fabsf(codebook.level(kW4a8Levels - 1)));
    }

    CK_DEVICE float place(uint32_t code, float per_unit) const {
        return codebook.threshold(code * W4a8Codebook::kEntryBytes) * per_unit;
    }

    // Is there no more than one threshold in every cell, and each far enough from its ends?
    CK_DEVICE bool one_step_a_cell(float per_unit) const {
        bool result = true;
        float before = -__builtin_inff();
        CK_UNROLL
        for (uint32_t code = 0; code + 1 < kW4a8Levels; ++code) {
            const float here = place(code, per_unit);
            const float cell = __builtin_rintf(here);
            result = result && cell > before && __builtin_fabsf(here - cell) < 0.5f - kW4a8Gap;
            before = cell;
        }
        return result;
    }

    CK_DEVICE void write_step(LocalPointer<uint8_t> memory, uint32_t cell, float per_unit) const {
        const float middle = static_cast<float>(static_cast<int32_t>(cell - kW4a8Steps / 2));
        float step = middle + 1.0f;
        uint32_t below = 0;
        CK_UNROLL
        for (uint32_t code = 0; code + 1 < kW4a8Levels; ++code) {
            const float here = place(code, per_unit);
            below += here < middle - 0.5f ? 1 : 0;
            if (__builtin_fabsf(here - middle) < 0.5f) step = here;
        }
        *reinterpret_cast<LocalPointer<float>>(memory + kStepsAt + cell * 4) = step * kW4a8DistanceUnit;
        *reinterpret_cast<LocalPointer<float>>(memory + kStepLevelsAt + cell * 4) = codebook.level(below);
    }

    // The threshold that is nearest to the middle of a fine cell, and how far away the nearest of the others
    // is, in cells.
    CK_DEVICE uint32_t nearest_place(uint32_t cell, float per_unit, float& margin) const {
        const float middle = static_cast<float>(static_cast<int32_t>(cell - kW4a8FineCells / 2));
        uint32_t nearest = 0;
        float before = place(0, per_unit);
        CK_UNROLL
        for (uint32_t code = 1; code + 1 < kW4a8Levels; ++code) {
            const float next = place(code, per_unit);
            nearest += before + next < 2.0f * middle ? 1 : 0;
            before = next;
        }
        margin = __builtin_inff();
        if (nearest > 0) margin = middle - 0.5f - place(nearest - 1, per_unit);
        if (nearest + 2 < kW4a8Levels) margin = lower(margin, place(nearest + 1, per_unit) - (middle + 0.5f));
        return nearest;
    }

    static CK_DEVICE float lower(float a, float b) { return a < b ? a : b; }
    static CK_DEVICE float higher(float a, float b) { return a > b ? a : b; }

    template <int kMask>
    static CK_DEVICE float lane_at_distance(float value) {
        return __builtin_bit_cast(float, exchange_xor<kMask>(__builtin_bit_cast(int32_t, value)));
    }
};

// For each e4m3 scale from 16 to 128 and each fine cell, the middle between the scaled levels on either side
// of the cell's threshold: a word with the sum of the two, an integer, and in its lowest four bits, which do
// not matter to that, the code of the lower one.
struct W4a8MiddleTable {
    static constexpr uint32_t kFirst = 0x58;
    static constexpr uint32_t kLast = 0x70;
    static constexpr float kSmallestScale = 16.0f;
    static constexpr float kLargestScale = 128.0f;
    static constexpr uint32_t kWords = (kLast - kFirst + 1) * kW4a8FineCells;
    static constexpr uint32_t kBytes = kWords * 4;
    // What the code adds to a sum is at most this.
    static constexpr float kCodeInSum = 15 * 0x1p-16f;

    LocalPointer<const uint8_t> words;

    // All `threads` work-items of the workgroup take part. The fine cells are for these scales from here on.
    static CK_DEVICE void write(W4a8CellTable& table, LocalPointer<uint8_t> memory, uint32_t threads) {
        W4a8CellLimits& cells = table.cells;
        cells.smallest_scale = cells.smallest_scale > kSmallestScale ? cells.smallest_scale : kSmallestScale;
        cells.largest_scale = cells.largest_scale < kLargestScale ? cells.largest_scale : kLargestScale;
        CK_NO_UNROLL
        for (uint32_t index = workitem_id(); index < kWords; index += threads) {
            const uint32_t code = table.code_before(index % kW4a8FineCells);
            const float scale = e4m3_to_float(kFirst + index / kW4a8FineCells);
            const float sum = grid_value(table.codebook.level(code), scale) +
                              grid_value(table.codebook.level(code + 1), scale);
            reinterpret_cast<LocalPointer<uint32_t>>(memory)[index] =
                __builtin_bit_cast(uint32_t, sum) | code;
        }
        local_barrier();
    }

    // What is added to the offset of a cell for one of the scales.
    static CK_DEVICE uint32_t offset_of_scale(uint32_t bits) { return (bits - kFirst) * kW4a8FineCells * 4; }

    CK_DEVICE uint32_t word(uint32_t offset) const {
        return *reinterpret_cast<LocalPointer<const uint32_t>>(words + offset);
    }
};

}  // namespace ckitchen

// A table of cells that leads to the one threshold of the codebook that a weight has to be compared with.
#pragma once

#include "../device/divide.h"
#include "codebook.h"

namespace ckitchen {

// Equal cells around 0, numbered 0 to 127, 64 in the middle. For each, the threshold that is nearest to its
// middle: where the others are far enough away (the margin), what lies in a cell need be compared with that
// threshold alone.
constexpr uint32_t kW4a8Cells = 128;
constexpr float kW4a8CellsInUse = 63.0f;      // on either side of the middle
constexpr float kW4a8CellsToLargest = 50.0f;  // from the middle to the level of the largest magnitude
constexpr float kW4a8SmallestMargin = 0x1p-8f;

// A number of cells + this is rounded to a cell, which is in its lowest bits.
constexpr float kW4a8CellInLowBits = 12582912.0f + kW4a8Cells / 2;

// Where the cells may be used. See quick_piece.h for why.
struct W4a8CellLimits {
    float per_unit;        // cells of a distance of 1; 0: not to be used at all
    float band;            // nearer than this to a threshold nothing is certain
    float smallest_scale;  // of groups whose scaled levels they lead to
    float largest_scale;
};

// The workgroup's codebook and cells in local memory. An access to the cells has no bank conflicts either.
struct W4a8CellTable {
    static constexpr uint32_t kCellsAt = W4a8Codebook::kEntriesBytes;
    static constexpr uint32_t kPlacesAt = kCellsAt + kW4a8Cells;
    static constexpr uint32_t kMarginsAt = kPlacesAt + kW4a8Levels * 4;
    static constexpr uint32_t kCellWaves = kW4a8Cells / kWaveSize;
    static constexpr uint32_t kBytes = kMarginsAt + kCellWaves * 4;

    W4a8Codebook codebook;
    W4a8CellLimits cells;

    // All waves of the workgroup take part.
    CK_DEVICE W4a8CellTable(const W4a8RequantArgs& args, LocalPointer<uint8_t> memory) {
        const auto places = reinterpret_cast<LocalPointer<float>>(memory + kPlacesAt);
        const auto margins = reinterpret_cast<LocalPointer<float>>(memory + kMarginsAt);
        if (wave_id() == 0) W4a8Codebook::write(W4a8LaneLevel(args), memory);
        local_barrier();
        codebook.table = memory;
        codebook.middle = value_of_lane(codebook.threshold(7 * W4a8Codebook::kEntryBytes), 0);
        const float largest = value_of_lane(
            higher(__builtin_fabsf(codebook.level(0)), __builtin_fabsf(codebook.level(kW4a8Levels - 1))), 0);
        const float per_unit = kW4a8CellsToLargest / largest;
        if (wave_id() == 0 && lane_id() < kW4a8Levels)
            places[lane_id()] = codebook.threshold(lane_id() * W4a8Codebook::kEntryBytes) * per_unit;
        local_barrier();
        if (wave_id() < kCellWaves) {
            float margin = 0.0f;
            const uint32_t cell = wave_id() * kWaveSize + lane_id();
            const uint32_t nearest = nearest_place(places, cell, margin);
            memory[kCellsAt + cell] = static_cast<uint8_t>(nearest * W4a8Codebook::kEntryBytes);
            margin = lower(margin, lane_at_distance<1>(margin));
            margin = lower(margin, lane_at_distance<2>(margin));
            margin = lower(margin, lane_at_distance<4>(margin));
            margin = lower(margin, lane_at_distance<8>(margin));
            margin = lower(margin, lane_at_distance<16>(margin));
            if (lane_id() == 0) margins[wave_id()] = margin;
        }
        local_barrier();
        const float margin =
            value_of_lane(lower(lower(margins[0], margins[1]), lower(margins[2], margins[3])), 0);
        const bool usable =
            margin > kW4a8SmallestMargin && largest >= kOrdinaryLow && largest <= kOrdinaryHigh;
        cells.per_unit = usable ? per_unit : 0.0f;
        cells.band = largest * 0x1p-20f;
        cells.largest_scale = 127.25f / largest;
        cells.smallest_scale = 0.502f * per_unit / (margin - kW4a8SmallestMargin);
    }

    CK_DEVICE bool usable() const { return cells.per_unit != 0.0f; }

    // The entry of the threshold to compare a weight with, whose cell is weight * cells_of_one.
    CK_DEVICE uint32_t entry_of(float weight, float cells_of_one) const {
        const float cell = __builtin_fmaf(weight, cells_of_one, kW4a8CellInLowBits);
        return codebook.table[kCellsAt + (__builtin_bit_cast(uint32_t, cell) & (kW4a8Cells - 1))];
    }

  private:
    // The threshold that is nearest to the middle of a cell, and how far away the nearest of the others is,
    // in cells.
    static CK_DEVICE uint32_t nearest_place(LocalPointer<const float> places, uint32_t cell, float& margin) {
        const float middle = static_cast<float>(static_cast<int32_t>(cell - kW4a8Cells / 2));
        uint32_t nearest = 0;
        float place = places[0];
        CK_UNROLL
        for (uint32_t code = 1; code + 1 < kW4a8Levels; ++code) {
            const float next = places[code];
            nearest += place + next < 2.0f * middle ? 1 : 0;
            place = next;
        }
        margin = __builtin_inff();
        if (nearest > 0) margin = middle - 0.5f - places[nearest - 1];
        if (nearest + 2 < kW4a8Levels) margin = lower(margin, places[nearest + 1] - (middle + 0.5f));
        return nearest;
    }

    static CK_DEVICE float lower(float a, float b) { return a < b ? a : b; }
    static CK_DEVICE float higher(float a, float b) { return a > b ? a : b; }

    template <int kMask>
    static CK_DEVICE float lane_at_distance(float value) {
        return __builtin_bit_cast(float, exchange_xor<kMask>(__builtin_bit_cast(int32_t, value)));
    }
};

}  // namespace ckitchen

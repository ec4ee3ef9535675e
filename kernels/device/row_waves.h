// Rows of a matrix that take whole waves of a workgroup: 512 elements a wave, a piece of 16 a lane.
#pragma once

#include "magnitude.h"

namespace ckitchen {

template <int kWaves>
struct RowWaves {
    // Local memory of the workgroup: two values of every wave, which rows use in turn.
    static constexpr int kSlotBytes = 2 * kWaves * 4;

    uint32_t share;   // waves that a row takes
    uint32_t held;    // rows of a workgroup
    uint32_t row;     // of this wave among them, `held` for waves that are left over
    uint32_t first;   // wave of the row
    uint32_t column;  // of the lane's piece

    CK_DEVICE explicit RowWaves(uint32_t row_share)
        : share(row_share), held(as_scalar(kWaves / row_share)), row(as_scalar(wave_id() / row_share)) {
        first = row * share;
        column = ((wave_id() - first) * kWaveSize + lane_id()) * kPieceElements;
    }

    // The largest value of a row's waves, 0 for a wave that has no row. All waves of the workgroup take part;
    // `turn` is 0 and 1 in turn.
    CK_DEVICE uint32_t larger_of_row(uint32_t value, uint32_t turn, LocalPointer<uint8_t> local) const {
        const auto slots = reinterpret_cast<LocalPointer<uint32_t>>(local) + turn * kWaves;
        value = larger_of_wave(value);
        if (lane_id() == 0) slots[wave_id()] = value;
        local_barrier();
        return larger_of_wave(row < held && lane_id() < share ? slots[first + lane_id()] : 0);
    }
};

}  // namespace ckitchen

// Steps of a wave that works on its own: each takes 1024 elements of a row, or several narrow rows.
#pragma once

#include "piece.h"

namespace ckitchen {

// Calls step(first_row, first_column) for this wave's share of a [rows, k] matrix. width_log2, steps and
// groups are of wave_grid.
template <int kWaves, typename Step>
CK_DEVICE void for_each_wave_step(int64_t rows, int64_t steps, uint32_t width_log2, uint32_t groups,
                                  Step step_at) {
    const uint32_t wave = workgroup_id() * kWaves + wave_id();
    const uint32_t waves = groups * kWaves;
    const uint32_t rows_log2 = __builtin_ctz(kWaveElements) - width_log2;
    // Steps are counted along rows. One division at the start, then additions; a row of 2^32 steps or
    // more is longer than all waves together.
    int64_t row = 0;
    int64_t step = wave;
    int64_t row_stride = 0;
    int64_t step_stride = waves;
    if (steps <= 0xffffffff) {
        const uint32_t divisor = static_cast<uint32_t>(steps);
        row = as_scalar(wave / divisor);
        step = as_scalar(wave % divisor);
        row_stride = as_scalar(waves / divisor);
        step_stride = as_scalar(waves % divisor);
    }
    CK_NO_UNROLL
    while (row << rows_log2 < rows) {
        step_at(row << rows_log2, step * kWaveElements);
        row += row_stride;
        step += step_stride;
        if (step >= steps) {
            step -= steps;
            row += 1;
        }
    }
}

}  // namespace ckitchen

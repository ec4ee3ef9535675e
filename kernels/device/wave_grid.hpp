// Launch geometry of kernels whose waves work on their own: the host's side of wave_steps.h.
#pragma once

#include <cstdint>

namespace ckitchen {

struct WaveGrid {
    std::uint32_t groups = 0;      // workgroups in x; y and z are 1
    std::uint32_t threads = 0;     // work-items of a workgroup in x; y and z are 1
    std::uint32_t width_log2 = 0;  // a row takes 2^width_log2 elements of its wave's 1024
    std::int64_t steps = 0;        // waves' steps to cover a row
};

// Enough workgroups to fill every GPU several times over; each goes on to further rows.
inline constexpr std::int64_t kWaveMaxGroups = 4096;

// rows and k are at least 1.
constexpr WaveGrid wave_grid(std::uint32_t threads, std::int64_t rows, std::int64_t k,
                             std::int64_t most_groups = kWaveMaxGroups) {
    constexpr std::int64_t kWaveElements = 1024;
    WaveGrid grid;
    grid.threads = threads;
    grid.width_log2 = 4;  // a lane's piece is 16 elements of one row
    while (grid.width_log2 < 10 && (std::int64_t{1} << grid.width_log2) < k) ++grid.width_log2;
    const std::int64_t rows_per_wave = kWaveElements >> grid.width_log2;
    const std::int64_t row_steps = rows / rows_per_wave + (rows % rows_per_wave != 0 ? 1 : 0);
    grid.steps = k / kWaveElements + (k % kWaveElements != 0 ? 1 : 0);
    const std::int64_t waves = threads / 32;
    const std::int64_t most = most_groups * waves;
    const bool many = row_steps > most || grid.steps > most || row_steps * grid.steps > most;
    const std::int64_t wanted = many ? most : row_steps * grid.steps;
    grid.groups = static_cast<std::uint32_t>((wanted + waves - 1) / waves);
    return grid;
}

}  // namespace ckitchen

// The correction of an asymmetric weight: a product of the activations' group sums and the weight's
// corrections whose float32 sums have a fixed order.
#pragma once

#include "../device/matrix.h"
#include "../device/w4a8.h"
#include "w4a8_linear_args.h"

namespace ckitchen {

// One work-item sums one group of one row at a time.
template <int kWaves>
struct W4a8LinearSums {
    static constexpr int kThreads = kWaves * kWaveSize;
    static constexpr int kLocalBytes = 0;

    static CK_DEVICE void run(const W4a8LinearArgs& args, LocalPointer<uint8_t>) {
        const int64_t count = args.rows * args.row_groups;
        CK_NO_UNROLL
        for (int64_t index = workgroup_id() * kThreads + workitem_id(); index < count;
             index += args.workgroups * kThreads) {
            const int64_t row = quotient(index, args.row_groups);
            const int64_t group = index - row * args.row_groups;
            const GlobalPointer<const uint32_t> words =
                global_pointer<const uint32_t>(args.q + row * args.ldq + group * args.group);
            int32_t sum = 0;
            CK_NO_UNROLL
            for (uint32_t word = 0; word < args.group / 4; ++word) sum = dot4(words[word], 0x01010101u, sum);
            global_pointer<float>(args.sums)[index] =
                static_cast<float>(sum) * global_pointer<const float>(args.scale_a)[row];
        }
    }
};

// A workgroup takes tiles of 32 rows and 128 columns; a lane has 16 rows of one column in its registers. The
// sums go through local memory, 64 groups at a time.
template <int kWaves>
struct W4a8LinearCorrect {
    static constexpr int kThreads = kWaves * kWaveSize;
    static constexpr int kTileRows = 32;
    static constexpr int kLaneRows = 16;
    static constexpr int kRowWaves = kTileRows / kLaneRows;
    static constexpr int kTileColumns = kWaves / kRowWaves * kWaveSize;
    static constexpr int kTileGroups = 64;
    static constexpr int kStride = kTileRows + 4;  // floats from group to group, keeps 16-byte accesses
    static constexpr int kLocalBytes = kTileGroups * kStride * 4;

    static CK_DEVICE void run(const W4a8LinearArgs& args, LocalPointer<uint8_t> local) {
        const int64_t tiles_n = (args.columns + kTileColumns - 1) / kTileColumns;
        const int64_t tiles = (args.rows + kTileRows - 1) / kTileRows * tiles_n;
        CK_NO_UNROLL
        for (int64_t tile = workgroup_id(); tile < tiles; tile += args.workgroups) {
            const int64_t tile_row = quotient(tile, tiles_n);
            const int64_t tile_column = tile - tile_row * tiles_n;
            run_tile(args, tile_row * kTileRows, tile_column * kTileColumns,
                     reinterpret_cast<LocalPointer<float>>(local));
        }
    }

    static CK_DEVICE void run_tile(const W4a8LinearArgs& args, int64_t first_row, int64_t first_column,
                                   LocalPointer<float> sums) {
        const uint32_t lane_row = wave_id() % kRowWaves * kLaneRows;
        const int64_t row = first_row + lane_row;
        const int64_t column = first_column + wave_id() / kRowWaves * kWaveSize + lane_id();
        const bool exists = column < args.columns;
        float value[kLaneRows];
        CK_UNROLL
        for (int index = 0; index < kLaneRows; ++index) {
            value[index] = 0.0f;
            if (exists && row + index < args.rows)
                value[index] =
                    load_float(args.values, kElementFloat32, (row + index) * args.ld_values + column);
        }
        CK_NO_UNROLL
        for (uint32_t first = 0; first < args.row_groups; first += kTileGroups) {
            const uint32_t left = args.row_groups - first;
            const uint32_t groups = left < kTileGroups ? left : kTileGroups;
            local_barrier();
            CK_NO_UNROLL
            for (uint32_t index = workitem_id(); index < kTileRows * kTileGroups; index += kThreads) {
                const uint32_t group = index % kTileGroups;
                const uint32_t tile_row = index / kTileGroups;
                float sum = 0.0f;
                if (group < groups && first_row + tile_row < args.rows)
                    sum = global_pointer<const float>(
                        args.sums)[(first_row + tile_row) * args.row_groups + first + group];
                sums[group * kStride + tile_row] = sum;
            }
            local_barrier();
            CK_NO_UNROLL
            for (uint32_t group = 0; group < groups; ++group) {
                const float correction =
                    exists ? load_float(args.correction, args.correction_type,
                                        static_cast<int64_t>(first + group) * args.ld_correction + column)
                           : 0.0f;
                CK_UNROLL
                for (int index = 0; index < kLaneRows; index += 4) {
                    const Float32x4 four = *reinterpret_cast<LocalPointer<const Float32x4>>(
                        sums + group * kStride + lane_row + index);
                    value[index] = value[index] + four.x * correction;
                    value[index + 1] = value[index + 1] + four.y * correction;
                    value[index + 2] = value[index + 2] + four.z * correction;
                    value[index + 3] = value[index + 3] + four.w * correction;
                }
            }
        }
        if (!exists) return;
        const float bias = args.bias != 0 ? load_float(args.bias, args.bias_type, column) : 0.0f;
        CK_UNROLL
        for (int index = 0; index < kLaneRows; ++index) {
            // Without a bias nothing is added: adding zero would turn -0 into +0.
            const float result = args.bias != 0 ? value[index] + bias : value[index];
            if (row + index < args.rows)
                store_float(args.y, args.y_type, (row + index) * args.ldy + column, result);
        }
    }
};

}  // namespace ckitchen

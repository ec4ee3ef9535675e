// Gathering the values that a codebook is chosen from: a wave goes over one group of columns at a time,
// twice.
#pragma once

#include "../device/magnitude.h"
#include "../device/w4a8.h"
#include "w4a8_choose_codebook_args.h"

namespace ckitchen {

template <int kWaves>
CK_DEVICE void gather_groups(const W4a8ChooseCodebookArgs& args) {
    const int64_t groups = args.rows * args.row_groups;
    CK_NO_UNROLL
    for (int64_t group = workgroup_id() * kWaves + wave_id(); group < groups;
         group += args.workgroups * kWaves) {
        const int64_t sample = quotient(group, args.row_groups);
        const int64_t row = sample * args.whole + quotient(sample * args.rest, args.rows);
        const int64_t first = row * args.ldw + (group - sample * args.row_groups) * args.group;
        uint32_t largest = 0;
        CK_NO_UNROLL
        for (uint32_t index = lane_id(); index < args.group; index += kWaveSize)
            largest = larger(largest, finite_magnitude(load_float(args.weight, args.type, first + index)));
        largest = larger_of_lanes<1>(largest);
        largest = larger_of_lanes<2>(largest);
        largest = larger_of_lanes<4>(largest);
        largest = larger_of_lanes<8>(largest);
        largest = larger_of_lanes<16>(largest);
        const float amax = __builtin_bit_cast(float, largest);
        const float scale = amax > 1e-8f ? amax : 1e-8f;
        CK_NO_UNROLL
        for (uint32_t index = lane_id(); index < args.group; index += kWaveSize) {
            const float value = load_float(args.weight, args.type, first + index);
            const bool finite = magnitude(value) < kInfinity;
            global_pointer<float>(args.values)[group * args.group + index] =
                finite ? value / scale : __builtin_nanf("");
        }
    }
}

}  // namespace ckitchen

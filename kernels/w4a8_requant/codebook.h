// The codebook of the W4A8 quantizer as its kernels look it up: levels and the exact thresholds between them.
#pragma once

#include "../device/magnitude.h"
#include "../device/w4a8.h"
#include "w4a8_requant_args.h"

namespace ckitchen {

// Place of a float among all floats in ascending order, and back.
CK_DEVICE int32_t float_order(float x) {
    const int32_t bits = __builtin_bit_cast(int32_t, x);
    return bits ^ (bits >> 31 & 0x7fffffff);
}

CK_DEVICE float float_of_order(int32_t order) {
    return __builtin_bit_cast(float, order ^ (order >> 31 & 0x7fffffff));
}

// The largest number whose nearest level is `low` or one before it, where `high` is the level behind it. That
// is about half way, but the distances that decide are rounded: what `upper` says of numbers between the two
// changes once, and bisection finds the place.
CK_DEVICE float w4a8_threshold(float low, float high) {
    const auto upper = [&](float x)
                           CK_INLINE_LAMBDA { return __builtin_fabsf(x - high) < __builtin_fabsf(x - low); };
    // The distances are exact to half of their last place, so that the change is this near to the middle;
    // where it is not, overflow or equal levels are at work.
    const float middle = 0.5f * low + 0.5f * high;
    const float around = (high - low) * 0x1p-20f;
    const float begin = middle - around;
    const float end = middle + around;
    int32_t first = float_order(begin > low && !upper(begin) ? begin : low);
    int32_t last = float_order(end < high && upper(end) ? end : high);
    CK_NO_UNROLL
    while (static_cast<uint32_t>(last) - static_cast<uint32_t>(first) > 1 && first < last) {
        const uint32_t half = (static_cast<uint32_t>(last) - static_cast<uint32_t>(first)) / 2;
        const int32_t between = static_cast<int32_t>(static_cast<uint32_t>(first) + half);
        if (upper(float_of_order(between))) {
            last = between;
        } else {
            first = between;
        }
    }
    return float_of_order(first);
}

// What a lane knows of the codebook: level lane % 16, the level behind it (the last one again), and the
// threshold between the two.
struct W4a8LaneLevel {
    float level;
    float next;
    float threshold;

    CK_DEVICE explicit W4a8LaneLevel(const W4a8RequantArgs& args)
        : level(lane_level(args.codebook, args.levels)), next(level), threshold(level) {
        if (args.layout != kW4a8Codebook) return;
        const uint32_t code = lane_id() % kW4a8Levels;
        next = level_of_code(args.codebook, args.levels, code + 1 < kW4a8Levels ? code + 1 : code);
        threshold = w4a8_threshold(level, next);
    }
};

// The levels in local memory. Entry j, of 8 bytes, has to do with levels j and j + 1. No access has bank
// conflicts, whatever the lanes look up.
struct W4a8Codebook {
    static constexpr uint32_t kEntryBytes = 8;
    static constexpr uint32_t kThresholdsAt = kW4a8Levels * kEntryBytes;
    static constexpr uint32_t kEntriesBytes = 2 * kThresholdsAt;

    LocalPointer<const uint8_t> table;
    float middle;  // threshold 7

    // One wave writes the table, with all its lanes.
    static CK_DEVICE void write(const W4a8LaneLevel& lane, LocalPointer<uint8_t> memory) {
        if (lane_id() >= kW4a8Levels) return;
        const LocalPointer<uint8_t> entry = memory + lane_id() * kEntryBytes;
        *reinterpret_cast<LocalPointer<Float32x2>>(entry) = Float32x2{lane.level, lane.next};
        *reinterpret_cast<LocalPointer<float>>(entry + kThresholdsAt) = lane.threshold;
    }

    CK_DEVICE float level(uint32_t code) const {
        return *reinterpret_cast<LocalPointer<const float>>(table + code * kEntryBytes);
    }

    // The entry's two levels.
    CK_DEVICE Float32x2 levels(uint32_t entry) const {
        return *reinterpret_cast<LocalPointer<const Float32x2>>(table + entry);
    }

    CK_DEVICE float threshold(uint32_t entry) const {
        return *reinterpret_cast<LocalPointer<const float>>(table + kThresholdsAt + entry);
    }

    template <uint32_t kSpan>
    CK_DEVICE uint32_t halve(float x, uint32_t entry) const {
        return threshold(entry + (kSpan - 1) * kEntryBytes) < x ? entry + kSpan * kEntryBytes : entry;
    }

    // The nearest level of x has as many levels before it as there are thresholds below x.
    CK_DEVICE float nearest_level(float x) const {
        uint32_t entry = middle < x ? 8 * kEntryBytes : 0;
        entry = halve<4>(x, entry);
        entry = halve<2>(x, entry);
        entry = halve<1>(x, entry);
        return *reinterpret_cast<LocalPointer<const float>>(table + entry);
    }
};

}  // namespace ckitchen

// A linear's quantized activation in the caller's workspace, for GPUs.
#pragma once

#include <cstdint>

namespace ckitchen::ops {

// scale [m], then q [m, ld]. The workspace may lie at any address; both are put on multiples of 16 bytes, and
// so is every row of q.
struct QuantizedRows {
    static uint64_t workspace(int64_t m, int64_t k) {
        const auto rows = static_cast<uint64_t>(m);
        return kAlignment - 1 + round_up(rows * sizeof(float)) + rows * round_up(static_cast<uint64_t>(k));
    }

    // A NULL workspace, in queries, counts as aligned.
    QuantizedRows(void* workspace, int64_t m, int64_t k) : ld(static_cast<int64_t>(round_up(k))) {
        const uint64_t base = round_up(reinterpret_cast<uint64_t>(workspace));
        scale = reinterpret_cast<float*>(base);
        q = reinterpret_cast<int8_t*>(base + round_up(static_cast<uint64_t>(m) * sizeof(float)));
    }

    float* scale;
    int8_t* q;
    int64_t ld;  // elements

  private:
    static constexpr uint64_t kAlignment = 16;
    static constexpr uint64_t round_up(uint64_t bytes) {
        return (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }
};

}  // namespace ckitchen::ops

// The linears' intermediate result in the caller's workspace.
#pragma once

#include <cstdint>

namespace ckitchen::cpu {

// A quantized activation: scale [m], then q [m, k] without padding. The workspace may lie at any address; the
// floats are put on a multiple of 4, at the cost of up to 3 bytes.
struct QuantizedRows {
    static std::uint64_t workspace(std::int64_t m, std::int64_t k) {
        if (m == 0) return 0;
        const std::uint64_t rows = static_cast<std::uint64_t>(m);
        return kAlignment - 1 + rows * sizeof(float) + rows * static_cast<std::uint64_t>(k);
    }

    QuantizedRows(void* workspace, std::int64_t m) {
        char* const base = static_cast<char*>(workspace);
        const std::uintptr_t past = reinterpret_cast<std::uintptr_t>(base) % kAlignment;
        scale = reinterpret_cast<float*>(base + (past == 0 ? 0 : kAlignment - past));
        q = reinterpret_cast<std::int8_t*>(scale + m);
    }

    float* scale;
    std::int8_t* q;

  private:
    static constexpr std::uintptr_t kAlignment = alignof(float);
};

}  // namespace ckitchen::cpu

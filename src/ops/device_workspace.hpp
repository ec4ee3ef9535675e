// Parts of a caller's workspace, which may lie at any address, for kernels.
#pragma once

#include <cstdint>

namespace ckitchen::ops {

// Hands out parts at multiples of 16 bytes, one behind the other. Sizes are computed by the same walk from
// address 0.
class DeviceWorkspace {
  public:
    // A NULL workspace, in queries, counts as aligned.
    explicit DeviceWorkspace(const void* base) : next_(round_up(reinterpret_cast<uint64_t>(base))) {}

    // Address of the next part.
    uint64_t take(uint64_t bytes) {
        const uint64_t part = next_;
        next_ += round_up(bytes);
        return part;
    }

    // Bytes that a workspace at any address must have to hold everything that was taken from this one, which
    // began at NULL.
    uint64_t needed() const { return next_ == 0 ? 0 : next_ + kAlignment - 1; }

  private:
    static constexpr uint64_t kAlignment = 16;
    static constexpr uint64_t round_up(uint64_t bytes) {
        return (bytes + kAlignment - 1) / kAlignment * kAlignment;
    }

    uint64_t next_;
};

}  // namespace ckitchen::ops

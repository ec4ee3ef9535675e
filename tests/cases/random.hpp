// Random numbers that are the same on every platform: failures are repeated from a seed.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace ckitchen::cases {

// splitmix64's output function: a bijection that mixes all bits.
inline uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

class Random {
  public:
    explicit Random(uint64_t seed) : state_(mix(seed)) {}

    uint64_t bits() { return mix(state_++); }
    // 0 <= result < count.
    int64_t below(int64_t count) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(count)); }
    int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
    bool one_in(int64_t count) { return below(count) == 0; }
    template <typename T>
    T pick(std::initializer_list<T> choices) {
        return choices.begin()[below(static_cast<int64_t>(choices.size()))];
    }
    // [0, 1).
    float unit() { return static_cast<float>(bits() >> 40) * 0x1p-24f; }
    // Nearly normal, variance 1: a sum of four uniform numbers.
    float normal() {
        const uint64_t b = bits();
        const auto part = [b](int i) { return static_cast<float>(b >> (16 * i) & 0xffff) * 0x1p-16f; };
        return (part(0) + part(1) + part(2) + part(3) - 2.0f) * 1.7320508f;
    }

  private:
    uint64_t state_;
};

}  // namespace ckitchen::cases

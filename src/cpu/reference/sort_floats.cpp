#include "cpu/reference/sort_floats.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>

namespace ckitchen::reference {
namespace {

constexpr int kDigitBits = 11;
constexpr int kDigits = 3;  // of 32 bits
constexpr std::uint32_t kDigitValues = 1u << kDigitBits;
constexpr std::uint32_t kSign = 0x80000000u;

// Unsigned numbers in the order of the floats: positive ones above negative ones, those the other way round.
std::uint32_t key_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

std::uint32_t digit_of(std::uint32_t key, int digit) {
    return (key >> (kDigitBits * digit)) & (kDigitValues - 1);
}

}  // namespace

// By digits of the keys, the lowest first, each pass stable.
void sort_floats(float* values, std::int64_t count) {
    std::array<std::array<std::int64_t, kDigitValues>, kDigits> places{};
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint32_t key = key_of(values[i]);
        for (int digit = 0; digit < kDigits; ++digit)
            ++places[static_cast<std::size_t>(digit)][digit_of(key, digit)];
    }
    for (auto& of_digit : places) {
        std::int64_t next = 0;
        for (std::int64_t& place : of_digit) {
            const std::int64_t in_place = place;
            place = next;
            next += in_place;
        }
    }
    const auto other = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(count));
    float* from = values;
    float* to = other.get();
    for (int digit = 0; digit < kDigits; ++digit) {
        auto& of_digit = places[static_cast<std::size_t>(digit)];
        for (std::int64_t i = 0; i < count; ++i) to[of_digit[digit_of(key_of(from[i]), digit)]++] = from[i];
        std::swap(from, to);
    }
    // An odd number of passes ends in the other array.
    static_assert(kDigits % 2 == 1);
    std::copy_n(from, count, values);
}

}  // namespace ckitchen::reference

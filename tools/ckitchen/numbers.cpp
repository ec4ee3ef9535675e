#include "numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace ckitchen::cli {
namespace {

constexpr std::uint32_t kF32ExponentMask = 0x7F800000u;
constexpr float kMagnitudeLimit = 0x1p100f;

template <typename T>
T load(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

template <typename Convert>
void convert_16(std::span<const std::byte> data, std::span<float> out, Convert convert) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = convert(load<std::uint16_t>(data.data() + 2 * i));
}

template <typename Convert>
void convert_to_16(std::span<const float> values, std::span<std::byte> out, Convert convert) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint16_t bits = convert(values[i]);
        std::memcpy(out.data() + 2 * i, &bits, 2);
    }
}

// Exponent bits all set means NaN or infinity in every IEEE-like format.
template <typename Bits>
ValueFault scan_bits(std::span<const std::byte> data, Bits exponent_mask, Bits limit) {
    // Counters as wide as the values, so that as many of them are looked at at once as fit into a register. A
    // strip is too short for them to overflow. A magnitude has no sign bit, and registers compare signed
    // numbers.
    using Signed = std::make_signed_t<Bits>;
    constexpr std::size_t kStrip = 16384;
    constexpr auto kMagnitude = static_cast<Bits>(std::numeric_limits<Signed>::max());
    ValueFault fault;
    const std::size_t count = data.size() / sizeof(Bits);
    for (std::size_t begin = 0; begin < count; begin += kStrip) {
        const std::size_t end = std::min(count, begin + kStrip);
        Bits non_finite = 0;
        Bits large = 0;  // or not finite
        for (std::size_t i = begin; i < end; ++i) {
            const auto magnitude =
                static_cast<Signed>(load<Bits>(data.data() + i * sizeof(Bits)) & kMagnitude);
            non_finite = static_cast<Bits>(non_finite + (magnitude >= static_cast<Signed>(exponent_mask)));
            large = static_cast<Bits>(large + (magnitude >= static_cast<Signed>(limit)));
        }
        fault.non_finite += non_finite;
        fault.too_large += static_cast<Bits>(large - non_finite);
    }
    return fault;
}

}  // namespace

float bf16_to_float(std::uint16_t bits) {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

float f16_to_float(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1Fu;
    const std::uint32_t mantissa = bits & 0x3FFu;
    if (exponent == 0x1F) return std::bit_cast<float>(sign | kF32ExponentMask | (mantissa << 13));
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t float_to_bf16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

std::uint16_t float_to_f16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > kF32ExponentMask) return static_cast<std::uint16_t>(sign | 0x7E00u);
    // 65520 is half way between the largest f16 and the next step, which is infinity.
    if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);
    if (magnitude < 0x38800000u) {
        // Below 2^-14 f16 counts in units of 2^-24. The product is exact and the conversion below rounds.
        const float units = std::bit_cast<float>(magnitude) * 0x1p24f;
        return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(units)));
    }
    const std::uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
    return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

void to_floats(Dtype dtype, std::span<const std::byte> data, std::span<float> out) {
    if (out.empty()) return;
    switch (dtype) {
        case Dtype::kF32:
            std::memcpy(out.data(), data.data(), out.size_bytes());
            break;
        case Dtype::kF16:
            convert_16(data, out, f16_to_float);
            break;
        default:
            convert_16(data, out, bf16_to_float);
            break;
    }
}

void from_floats(Dtype dtype, std::span<const float> values, std::span<std::byte> out) {
    if (values.empty()) return;
    if (dtype == Dtype::kF32) {
        std::memcpy(out.data(), values.data(), values.size_bytes());
        return;
    }
    // A lambda each, so that the conversion is part of the loop.
    if (dtype == Dtype::kF16) {
        convert_to_16(values, out, [](float value) { return float_to_f16(value); });
    } else {
        convert_to_16(values, out, [](float value) { return float_to_bf16(value); });
    }
}

ValueFault scan_values(Dtype dtype, std::span<const std::byte> data) {
    const auto limit = std::bit_cast<std::uint32_t>(kMagnitudeLimit);
    switch (dtype) {
        case Dtype::kF32:
            return scan_bits<std::uint32_t>(data, kF32ExponentMask, limit);
        case Dtype::kF16:  // cannot reach the limit
            return scan_bits<std::uint16_t>(data, 0x7C00, 0x7C00);
        default:
            return scan_bits<std::uint16_t>(data, 0x7F80, static_cast<std::uint16_t>(limit >> 16));
    }
}

void ErrorSums::add_rows(std::span<const double> sums) {
    const std::size_t rows = sums.size() / 2;
    for (std::size_t row = 0; row < rows; ++row) {
        difference += sums[row];
        original += sums[rows + row];
    }
}

double ErrorSums::relative() const {
    if (original > 0) return std::sqrt(difference / original);
    return difference > 0 ? std::numeric_limits<double>::infinity() : 0.0;
}

}  // namespace ckitchen::cli

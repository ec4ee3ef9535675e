// 16-bit floats on the host, and what a block of weights is looked at for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dtype.hpp"
#include "plan.hpp"

namespace ckitchen::cli {

float bf16_to_float(std::uint16_t bits);
float f16_to_float(std::uint16_t bits);
// Round to nearest even, overflow to infinity, NaN stays NaN.
std::uint16_t float_to_bf16(float value);
std::uint16_t float_to_f16(float value);

// `data` holds elements of `dtype` (F32, F16 or BF16) at any alignment; `out` takes as many floats.
void to_floats(Dtype dtype, std::span<const std::byte> data, std::span<float> out);
// The other way round.
void from_floats(Dtype dtype, std::span<const float> values, std::span<std::byte> out);

// Counts NaN, infinities and values of 2^100 or more.
ValueFault scan_values(Dtype dtype, std::span<const std::byte> data);

// ||decoded - original||^2 and ||original||^2, in float64.
struct ErrorSums {
    double difference = 0;
    double original = 0;

    // Adds rows, one after the other: `sums` are their differences, then as many originals.
    void add_rows(std::span<const double> sums);
    // sqrt(difference / original); 0 when the original is 0 and met exactly.
    double relative() const;
};

}  // namespace ckitchen::cli

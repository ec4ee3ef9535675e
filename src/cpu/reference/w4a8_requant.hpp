// W4A8 requantization of a float weight: three layouts, nearest or stochastic rounding.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen::reference {

// Number of float32 values of scratch that one call of w4a8_requant needs: a row and its group scales.
std::int64_t w4a8_requant_scratch(const ck_w4a8_requant_args& p);

// Quantizes rows [row_begin, row_end) and returns how many of their elements were not finite. p.nonfinite is
// not touched.
std::uint64_t w4a8_requant(const ck_w4a8_requant_args& p, std::int64_t row_begin, std::int64_t row_end,
                           float* scratch);

}  // namespace ckitchen::reference

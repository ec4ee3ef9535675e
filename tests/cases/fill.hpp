// What tensors hold: random values and values chosen to hurt.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cases/operands.hpp"

namespace ckitchen::cases {

enum class Fill {
    kNormal,     // bell-shaped, an outlier now and then
    kExtreme,    // the ends of the range: +-127 and -128, huge and tiny magnitudes side by side
    kTies,       // quotients that fall on or an ulp beside the middle between two results
    kNonFinite,  // NaN and infinities among normal values, rows without a finite one
    kTiny,       // subnormal and nearly subnormal magnitudes
    kZero,       // zeros of both signs, some rows not zero
    kSameRows,   // every row equal: a row that was taken from elsewhere does not show in its value but a row
                 // that was never computed does; cheap for the largest shapes
};
inline constexpr int kFillCount = 7;

const char* fill_name(Fill fill);
std::optional<Fill> find_fill(std::string_view name);

// Writes the `row`-th row (contiguous, width() elements) of an operand. The values depend on the arguments
// alone.
void fill_row(const Operand& operand, Fill fill, uint64_t seed, int64_t row, uint8_t* to);

}  // namespace ckitchen::cases

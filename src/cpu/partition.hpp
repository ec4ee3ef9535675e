// How loops over rows are cut into ranges.
#pragma once

#include <algorithm>
#include <cstdint>

namespace ckitchen::cpu {

// Rows of `width` elements in one range: enough work to be worth taking, little enough to balance.
inline std::int64_t rows_per_range(std::int64_t width) {
    constexpr std::int64_t kElementsPerRange = 32768;
    return std::max<std::int64_t>(1, kElementsPerRange / std::max<std::int64_t>(1, width));
}

}  // namespace ckitchen::cpu

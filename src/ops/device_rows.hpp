// An operator's rows of kernels/<op>/<op>.inc as its variants.
#pragma once

#include <array>
#include <cstddef>

#include "ops/operator.hpp"

namespace ckitchen::ops {

// A kernel is called ckitchen_<variant>.
template <typename Row, std::size_t kCount>
constexpr std::array<DeviceRow, kCount> device_rows_of(const Row (&table)[kCount]) {
    constexpr std::size_t kPrefixLength = sizeof("ckitchen_") - 1;
    std::array<DeviceRow, kCount> rows{};
    for (std::size_t i = 0; i < kCount; ++i)
        rows[i] = {table[i].kernel + kPrefixLength, table[i].feature, &table[i]};
    return rows;
}

}  // namespace ckitchen::ops

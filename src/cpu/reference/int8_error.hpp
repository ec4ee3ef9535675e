// How far int8 rows are from the floats that they stand for.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen::reference {

// The sums of rows [row_begin, row_end).
void int8_error(const ck_int8_error_args& p, std::int64_t row_begin, std::int64_t row_end);

}  // namespace ckitchen::reference

// Symmetric int8 quantization of rows, with an optional activation and rotation in front.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen::reference {

// Quantizes rows [row_begin, row_end).
void int8_quantize(const ck_int8_quantize_args& p, std::int64_t row_begin, std::int64_t row_end);

}  // namespace ckitchen::reference

// Decoding a W4A8 weight to its int8 grid or to floats.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen::reference {

// Decodes rows [row_begin, row_end).
void w4a8_dequant(const ck_w4a8_dequant_args& p, std::int64_t row_begin, std::int64_t row_end);

}  // namespace ckitchen::reference

// ConvRot rotation: each contiguous block of `group` columns times the regular Hadamard matrix.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen::reference {

// The largest group; a buffer of this many values holds whole blocks of every legal group.
inline constexpr std::int64_t kMaxRotateGroup = 1024;

// Rotates one block of `group` values in place, in float32, 1/sqrt(group) included, not rounded to a dtype.
void rotate_block(float* block, std::int64_t group);

// Rotates rows [row_begin, row_end). y may be x itself (same leading dimension).
void rotate(const ck_rotate_args& p, std::int64_t row_begin, std::int64_t row_end);

}  // namespace ckitchen::reference

// Choosing the 16 levels of the codebook layout for a (rotated) weight.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen::reference {

// How many rows are looked at, and which: row i is the weight's row codebook_sample_row(i).
std::int64_t codebook_sample_rows(const ck_w4a8_choose_codebook_args& p);
std::int64_t codebook_sample_row(const ck_w4a8_choose_codebook_args& p, std::int64_t sample);

// Writes the group-normalized values of sampled rows [sample_begin, sample_end) to values[sample * k + col].
// Non-finite elements become NaN.
void codebook_gather(const ck_w4a8_choose_codebook_args& p, std::int64_t sample_begin,
                     std::int64_t sample_end, float* values);

// Fits the levels to `count` gathered values, which it reorders.
void codebook_fit(float* values, std::int64_t count, float levels[16]);

}  // namespace ckitchen::reference

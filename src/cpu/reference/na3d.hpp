// Neighborhood attention, in float64: what every backend's result is measured against.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen::reference {

// Number of queries: batch * t * h * w * heads. They are numbered in that order, heads fastest.
std::int64_t na3d_queries(const ck_na3d_args& p);

// One query's result [head_dim] before any rounding. With `magnitude`, *magnitude is raised to the largest
// |scale| * sum |q_d * k_d| of its keys (the X of the error bounds).
void na3d_query(const ck_na3d_args& p, std::int64_t query, double* result, double* magnitude);

// Queries [begin, end), rounded to float32 and then to the dtype.
void na3d(const ck_na3d_args& p, std::int64_t begin, std::int64_t end);

}  // namespace ckitchen::reference

// Ascending order of millions of floats, in a fifth of the time that comparisons take.
#pragma once

#include <cstdint>

namespace ckitchen::reference {

// No NaN. -0 comes before 0. Takes as much memory again.
void sort_floats(float* values, std::int64_t count);

}  // namespace ckitchen::reference

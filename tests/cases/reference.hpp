// The library's plain reference, called directly and on one thread.
#pragma once

#include "cases/problem.hpp"

namespace ckitchen::cases {

// `problem` is packed (see packed()) and its pointers are host memory. Every default is filled in here, apart
// from the library's own code for that. ck_na3d has no reference here: it is bounded, see
// attention_reference.
void run_reference(const Problem& problem);

}  // namespace ckitchen::cases

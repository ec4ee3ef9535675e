// Makes problems: random ones that cover every parameter, and the shapes at which tiled code goes wrong.
#pragma once

#include <vector>

#include "cases/check.hpp"
#include "cases/random.hpp"

namespace ckitchen::cases {

// How large a case may be. cost() of every generated case stays below `cost`.
struct Budget {
    double cost = 2e5;
    int64_t elements = 1 << 14;  // of the largest tensor, roughly
};

// Number of combinations of dtypes and modes of an operator. Case `index` of random_case has combination
// index % count, so that `count` consecutive cases cover all.
int64_t combination_count(ck_op op);

// Everything that the combination does not fix is drawn from `seed`: shapes (tile edges preferred), leading
// dimensions and strides, alignments, optional operands, fill, placement.
Case random_case(ck_op op, int64_t index, uint64_t seed, const Budget& budget, bool on_cpu);

// 7, 8, 9, 15, 16, 17 ... 255, 256, 257: one below, at and above the tiles in use; 1 besides.
const std::vector<int64_t>& tile_edges();

}  // namespace ckitchen::cases

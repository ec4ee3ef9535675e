// The tensors of a problem: where in the args their pointers stand, their shape, their strides, what they
// hold.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cases/problem.hpp"

namespace ckitchen::cases {

enum class Role { kInput, kOutput, kAccumulate };

// What an operand means, which decides how it is filled and compared.
enum class Content {
    kInt8,      // any int8
    kValues,    // activations, weights: any float
    kScales,    // float scales, mostly positive
    kBias,      // floats of the size of an output
    kCodes,     // packed 4-bit codes: any byte
    kRelative,  // group scales: finite, not negative
    kCodebook,  // 16 ascending levels
    kCounter,   // uint64
    kSums       // float64
};

constexpr int kRank = 6;

struct Operand {
    const char* name;
    size_t field;  // offset of the pointer in the args
    Role role;
    Content content;
    ck_dtype dtype;  // CK_DTYPE_NONE for a counter and for sums
    int64_t element_size;
    bool required;
    uintptr_t alignment;  // from the problem; 0 = absent (or unspecified when required)
    std::array<int64_t, kRank> extent;
    std::array<int64_t, kRank> stride;  // in elements; the last is 1

    bool present() const { return required || alignment != 0; }
    int64_t elements() const;
    int64_t rows() const;  // product of all extents but the last; 0 when any extent is 0
    int64_t width() const { return extent[kRank - 1]; }
    int64_t row_offset(int64_t row) const;  // in elements, from element 0; may be negative
    // The lowest and one past the highest element offset that the operand covers.
    void range(int64_t* lowest, int64_t* end) const;
};

int64_t element_size(ck_dtype dtype);

// Every operand, absent optional ones included, in the order of the args.
std::vector<Operand> describe(const Problem& problem);

// Multiplications (or elements touched) that the problem costs: for size budgets and throughput figures.
double cost(const Problem& problem);

// The same problem with packed strides and every pointer NULL: what the reference is run on.
Problem packed(const Problem& problem);

}  // namespace ckitchen::cases

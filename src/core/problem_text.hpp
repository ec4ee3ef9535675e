// A problem as one line of text, for log lines, failing tests and `ckitchen bench --problem`:
//
//   op=int8_gemm out_dtype=bf16 m=128 n=64 k=96 a=@16 lda=100 b=@1 ldb=96 ...
//
// Fields have the names of the args struct; fields that are 0 are left out. A pointer appears as @ and its
// alignment in bytes, at most 256. Workspace fields do not appear. What follows a '|' is not part of the
// problem.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/struct_io.hpp"

namespace ckitchen {

// The operators in the order of their ck_op numbers.
struct OpName {
    ck_op op;
    const char* name;  // without "ck_"
    StructLayout args;
};
std::span<const OpName> op_names();
const OpName* find_op(ck_op op);
const OpName* find_op(std::string_view name);

// `args` is the operator's struct at its full present size.
std::string problem_text(ck_op op, const void* args);

// An operator's args of any kind.
struct ParsedProblem {
    ck_op op = 0;
    // struct_size is set. Pointers hold their alignment as an address: 0 is absent; never to be dereferenced.
    alignas(8) std::array<unsigned char, 512> args{};
};
Status parse_problem(std::string_view text, ParsedProblem& problem);

}  // namespace ckitchen

// A problem: an operator and its args, where every pointer field holds an alignment instead of an address
// (the number 4 in `a` means "present, at an address that 4 divides and 8 does not"; NULL means absent). This
// is what a problem text says, what the generator makes and what the runner turns into real memory.
#pragma once

#include <ckitchen.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ckitchen::cases {

union Args {
    uint32_t struct_size;
    ck_int8_gemm_args int8_gemm;
    ck_int8_quantize_args int8_quantize;
    ck_int8_linear_args int8_linear;
    ck_rotate_args rotate;
    ck_w4a8_requant_args w4a8_requant;
    ck_w4a8_choose_codebook_args w4a8_choose_codebook;
    ck_w4a8_dequant_args w4a8_dequant;
    ck_w4a8_linear_args w4a8_linear;
    ck_na3d_args na3d;
    ck_int8_error_args int8_error;
};

struct Problem {
    ck_op op = 0;
    Args args;
};

// One line per operator: everything that code needs to treat all of them alike.
struct Op {
    ck_op op;
    const char* name;  // without "ck_"
    uint32_t args_size;
    ck_status (*call)(ck_context*, const Args&, void* stream);
    ck_status (*supported)(ck_context*, const Args&, ck_support_info*);
    ck_status (*workspace_size)(ck_context*, const Args&, uint64_t*);
    void** (*workspace)(Args&, uint64_t** size);  // nullptr: the operator has no workspace fields
};

const std::vector<Op>& all_ops();
const Op& find_op(ck_op op);
const Op* find_op(std::string_view name);

// All defaults, struct_size set.
Problem make_problem(ck_op op);

// The text form, for example "op=int8_gemm out_dtype=bf16 m=128 n=64 k=96 a=@1".
std::string format_problem(const Problem& problem);

// Empty when the text is not a problem; `error` then says which part.
std::optional<Problem> parse_problem(const std::string& text, std::string* error);

inline void* at_alignment(uintptr_t bytes) {
    return reinterpret_cast<void*>(bytes);
}

}  // namespace ckitchen::cases

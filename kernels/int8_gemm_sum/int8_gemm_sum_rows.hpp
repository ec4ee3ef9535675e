// The rows of int8_gemm_sum.inc for the host. Pure functions of a problem's sizes; knows no driver and no
// device.
#pragma once

#include <cstdint>

#include "int8_gemm_sum_args.h"

namespace ckitchen {

struct Int8GemmSumRow {
    const char* name;
    const char* kernel;     // symbol in the code object
    const char* feature;    // name from arch.json
    std::uint32_t threads;  // work-items of a workgroup, all in x
};

inline constexpr Int8GemmSumRow kInt8GemmSumRows[] = {
#define CK_INT8_GEMM_SUM_ROW(name, feature, waves) \
    {#name, "ckitchen_int8_gemm_sum_" #name, #feature, (waves)*32},
#include "int8_gemm_sum.inc"
#undef CK_INT8_GEMM_SUM_ROW
};

constexpr std::int64_t int8_gemm_sum_quads(std::int64_t n) {
    return n / 4 + (n % 4 != 0 ? 1 : 0);
}

// Workgroups for m x n results, of which a work-item takes four. K is split only where there are few.
constexpr std::uint32_t int8_gemm_sum_groups(const Int8GemmSumRow& row, std::int64_t m, std::int64_t n) {
    return static_cast<std::uint32_t>((m * int8_gemm_sum_quads(n) + row.threads - 1) / row.threads);
}

}  // namespace ckitchen

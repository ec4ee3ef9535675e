// The rows of int8_gemm_align.inc for the host. Pure functions of a problem's sizes; knows no driver and no
// device.
#pragma once

#include <cstdint>

#include "int8_gemm_align_args.h"

namespace ckitchen {

struct Int8GemmAlignRow {
    const char* name;
    const char* kernel;     // symbol in the code object
    const char* feature;    // name from arch.json
    std::uint32_t threads;  // work-items of a workgroup, all in x
};

inline constexpr Int8GemmAlignRow kInt8GemmAlignRows[] = {
#define CK_INT8_GEMM_ALIGN_ROW(name, feature, waves) \
    {#name, "ckitchen_int8_gemm_align_" #name, #feature, (waves)*32},
#include "int8_gemm_align.inc"
#undef CK_INT8_GEMM_ALIGN_ROW
};

// The leading dimension of a copy: whole lines, since pieces of 128 bytes off their borders take a quarter
// more sectors.
constexpr std::int64_t int8_gemm_aligned_ld(std::int64_t columns) {
    return (columns + 127) / 128 * 128;
}

// Workgroups for a matrix of so many rows, of which each wave takes one after the other.
constexpr std::uint32_t int8_gemm_align_groups(const Int8GemmAlignRow& row, std::int64_t rows) {
    constexpr std::int64_t kMost = 32768;
    const std::int64_t waves = row.threads / 32;
    const std::int64_t wanted = rows / waves + (rows % waves != 0 ? 1 : 0);
    return static_cast<std::uint32_t>(wanted < kMost ? wanted : kMost);
}

}  // namespace ckitchen

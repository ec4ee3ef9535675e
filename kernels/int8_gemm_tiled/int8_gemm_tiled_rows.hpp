// The rows of int8_gemm_tiled.inc for the host; they are described, limited and launched like those of the
// INT8 GEMM.
#pragma once

#include "../int8_gemm/int8_gemm_rows.hpp"

namespace ckitchen {

inline constexpr Int8GemmRow kInt8GemmTiledRows[] = {
#define CK_INT8_GEMM_TILED_ROW(name, feature, kind, m, n, k, waves_m, waves_n, lds, alignment, wide) \
    {#name, "ckitchen_int8_gemm_tiled_" #name, #feature, Int8GemmKind::kind, m,        n,            \
     k,     (waves_m) * (waves_n)*32,          lds,      alignment,          wide != 0},
#include "int8_gemm_tiled.inc"
#undef CK_INT8_GEMM_TILED_ROW
};
inline constexpr std::size_t kInt8GemmTiledRowCount = std::size(kInt8GemmTiledRows);

// A of so many rows is stored as whole blocks of 16.
constexpr std::int64_t int8_gemm_tiled_rows(std::int64_t m) {
    return (m + 15) / 16 * 16;
}

}  // namespace ckitchen

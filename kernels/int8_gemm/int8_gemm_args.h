// Arguments of every INT8 GEMM kernel, passed by value as the one explicit kernel argument. Host and device
// share this file; it holds fixed-width fields only and no padding.
#pragma once

#include "../device/tensor_map.h"

#if defined(__AMDGCN__) || defined(__NVPTX__)
#include "../device/types.h"
#else
#include <cstdint>
namespace ckitchen {
using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;
}  // namespace ckitchen
#endif

namespace ckitchen {

// Element types as the kernels number them.
enum Int8GemmType : uint32_t {
    kInt8GemmNone = 0,  // no bias
    kInt8GemmFloat32 = 1,
    kInt8GemmFloat16 = 2,
    kInt8GemmBfloat16 = 3,
    kInt8GemmInt32 = 4,  // output only: the accumulators, scales and bias are not read
};

// Workgroups of a launch of a row without limit on leading dimensions; each goes on to further tiles.
constexpr uint32_t kInt8GemmWideGroups = 65535;

// The main loops: see int8_gemm.inc.
enum class Int8GemmKind : uint8_t { Wmma, Tiled, Dot4, Mma, MmaAsync, Wgmma, Gemv, WgmmaFew };

// Kinds that copy whole tiles by tensor maps: their kernels take Int8GemmMappedArgs and dynamic local memory.
constexpr bool int8_gemm_mapped(Int8GemmKind kind) {
    return kind == Int8GemmKind::Wgmma || kind == Int8GemmKind::WgmmaFew;
}

// Work-items of a workgroup: those of the waves that multiply, and a warpgroup or a wave beside them that
// copies.
constexpr uint32_t int8_gemm_threads(Int8GemmKind kind, uint32_t waves_m, uint32_t waves_n) {
    const uint32_t copying = kind == Int8GemmKind::Wgmma ? 4 : kind == Int8GemmKind::WgmmaFew ? 1 : 0;
    return (waves_m * waves_n + copying) * 32;
}

// C[m,n] = cast((float(sum_k A[m,k] * B[n,k]) * scale_a[m]) * scale_b[n] + bias[n]). Leading dimensions count
// elements. A kernel requires m >= 1 and n >= 1 and the limits of its row; k = 0 is valid where the row says
// so.
struct Int8GemmArgs {
    uint64_t a;        // int8 [m, lda]
    uint64_t b;        // int8 [n, ldb]
    uint64_t c;        // output_type [m, ldc]
    uint64_t scale_a;  // float32 [m], or [1] when scale_a_stride is 0; unused for an int32 output
    uint64_t scale_b;  // float32 [n], or [1] when scale_b_stride is 0; unused for an int32 output
    uint64_t bias;     // bias_type [n]; unused without a bias and for an int32 output
    int64_t m;
    int64_t n;
    int64_t lda;
    int64_t ldb;
    int64_t ldc;
    uint32_t k;               // at most 131071: int32 accumulation is exact up to there
    uint32_t output_type;     // Int8GemmType
    uint32_t bias_type;       // Int8GemmType
    uint32_t scale_a_stride;  // 1: one scale per row of A; 0: one scale
    uint32_t scale_b_stride;  // 1: one scale per row of B; 0: one scale
    uint32_t tiles_m;         // from int8_gemm_grid
    uint32_t tiles_n;         // from int8_gemm_grid
    uint32_t group_m;         // rows of tiles that one group of the launch order covers, at least 1
    uint32_t splits;          // parts of K, each with workgroups of its own; 1: none
    uint32_t split_k;         // of a part, from int8_gemm_split_k; the last one may be shorter
};

// With splits > 1, c is int32 [splits, m, n], ldc is n and output_type kInt8GemmInt32: part after part.
static_assert(sizeof(Int8GemmArgs) == 128, "the kernels read this layout");

// What the kernels that copy whole tiles take instead.
struct Int8GemmMappedArgs {
    TensorMap a;  // [m, k], tiles of tile m rows of 128 bytes with the 128-byte swizzle
    TensorMap b;  // [n, k], tiles of tile n rows
    Int8GemmArgs gemm;
};

static_assert(sizeof(Int8GemmMappedArgs) == 384, "the kernels read this layout");

}  // namespace ckitchen

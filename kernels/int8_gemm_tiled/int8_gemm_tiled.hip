// The kernels of int8_gemm_tiled.inc that this target has the features for.
#include "wmma_tiled.h"

#define CK_INT8_GEMM_TILED_KERNEL_0(name, kind, m, n, k, waves_m, waves_n, lds, alignment, wide)
#define CK_INT8_GEMM_TILED_KERNEL_1(name, kind, m, n, k, waves_m, waves_n, lds, alignment, wide)            \
    CK_KERNEL((waves_m) * (waves_n)*ckitchen::kWaveSize)                                                    \
    void ckitchen_int8_gemm_tiled_##name(ckitchen::Int8GemmArgs args) {                                     \
        using Variant = ckitchen::Int8Gemm##kind<m, n, k, waves_m, waves_n, alignment, ckitchen::uint32_t>; \
        static_assert(Variant::kLocalBytes == (lds) && (wide) == 0,                                         \
                      "the row states the local memory that the kernel uses, and its 32-bit offsets");      \
        CK_SHARED static ckitchen::Uint32x4 local[(lds) / 16];                                              \
        Variant::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)local);                               \
    }
#define CK_INT8_GEMM_TILED_EXPAND(condition, ...) CK_INT8_GEMM_TILED_KERNEL_##condition(__VA_ARGS__)
#define CK_INT8_GEMM_TILED_IF(condition, ...) CK_INT8_GEMM_TILED_EXPAND(condition, __VA_ARGS__)
#define CK_INT8_GEMM_TILED_ROW(name, feature, kind, m, n, k, waves_m, waves_n, lds, alignment, wide) \
    CK_INT8_GEMM_TILED_IF(CK_ROW_ENABLED(name, feature), name, kind, m, n, k, waves_m, waves_n, lds, \
                          alignment, wide)

#include "int8_gemm_tiled.inc"

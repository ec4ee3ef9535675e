// The kernels of int8_gemm.inc that this target has the features for.
#if defined(__NVPTX__)
#include "mma.h"
#else
#include "dot4.h"
#include "wmma.h"
#endif
#include "gemv.h"

#define CK_INT8_GEMM_OFFSET_0 ckitchen::uint32_t
#define CK_INT8_GEMM_OFFSET_1 ckitchen::uint64_t
#define CK_INT8_GEMM_KERNEL_0(name, kind, m, n, k, waves_m, waves_n, lds, alignment, wide)
#define CK_INT8_GEMM_KERNEL_1(name, kind, m, n, k, waves_m, waves_n, lds, alignment, wide)              \
    CK_KERNEL((waves_m) * (waves_n)*ckitchen::kWaveSize)                                                \
    void ckitchen_int8_gemm_##name(ckitchen::Int8GemmArgs args) {                                       \
        using Variant =                                                                                 \
            ckitchen::Int8Gemm##kind<m, n, k, waves_m, waves_n, alignment, CK_INT8_GEMM_OFFSET_##wide>; \
        static_assert(Variant::kLocalBytes == (lds),                                                    \
                      "the row states the local memory that the kernel uses");                          \
        static_assert(Variant::kThreads == (waves_m) * (waves_n)*ckitchen::kWaveSize,                   \
                      "one lane, one work-item");                                                       \
        CK_SHARED static ckitchen::Uint32x4 local[(lds) == 0 ? 1 : (lds) / 16];                         \
        Variant::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)local);                           \
    }
#define CK_INT8_GEMM_EXPAND(condition, ...) CK_INT8_GEMM_KERNEL_##condition(__VA_ARGS__)
#define CK_INT8_GEMM_IF(condition, ...) CK_INT8_GEMM_EXPAND(condition, __VA_ARGS__)
#define CK_INT8_GEMM_ROW(name, feature, kind, m, n, k, waves_m, waves_n, lds, alignment, wide)            \
    CK_INT8_GEMM_IF(CK_ROW_ENABLED(name, feature), name, kind, m, n, k, waves_m, waves_n, lds, alignment, \
                    wide)

#include "int8_gemm.inc"

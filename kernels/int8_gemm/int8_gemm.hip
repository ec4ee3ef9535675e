// The kernels of int8_gemm.inc that this target has the features for.
#if defined(__NVPTX__)
#include "mma.h"
#include "wgmma.h"
#else
#include "dot4.h"
#include "wmma.h"
#endif
#include "gemv.h"

#define CK_INT8_GEMM_OFFSET_0 ckitchen::uint32_t
#define CK_INT8_GEMM_OFFSET_1 ckitchen::uint64_t
#define CK_INT8_GEMM_VARIANT(kind, m, n, k, waves_m, waves_n, lds, alignment, wide)                       \
    using Variant =                                                                                       \
        ckitchen::Int8Gemm##kind<m, n, k, waves_m, waves_n, alignment, CK_INT8_GEMM_OFFSET_##wide>;       \
    static_assert(Variant::kLocalBytes == (lds), "the row states the local memory that the kernel uses"); \
    static_assert(                                                                                        \
        Variant::kThreads == ckitchen::int8_gemm_threads(ckitchen::Int8GemmKind::kind, waves_m, waves_n), \
        "one lane, one work-item")

#define CK_INT8_GEMM_STATIC(name, kind, m, n, k, waves_m, waves_n, lds, ...)               \
    CK_KERNEL(ckitchen::int8_gemm_threads(ckitchen::Int8GemmKind::kind, waves_m, waves_n)) \
    void ckitchen_int8_gemm_##name(ckitchen::Int8GemmArgs args) {                          \
        CK_INT8_GEMM_VARIANT(kind, m, n, k, waves_m, waves_n, lds, __VA_ARGS__);           \
        CK_SHARED static ckitchen::Uint32x4 local[(lds) == 0 ? 1 : (lds) / 16];            \
        ckitchen::wait_for_kernel_before();                                                \
        ckitchen::allow_next_kernel();                                                     \
        Variant::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)local);              \
    }
#define CK_INT8_GEMM_MAPPED(name, kind, m, n, k, waves_m, waves_n, lds, ...)                             \
    CK_KERNEL_RESIDENT(ckitchen::int8_gemm_threads(ckitchen::Int8GemmKind::kind, waves_m, waves_n),      \
                       ckitchen::Int8GemmKind::kind == ckitchen::Int8GemmKind::WgmmaFew ? 256 / (n) : 1) \
    void ckitchen_int8_gemm_##name(CK_CONSTANT_ARGUMENT ckitchen::Int8GemmMappedArgs args) {             \
        CK_INT8_GEMM_VARIANT(kind, m, n, k, waves_m, waves_n, lds, __VA_ARGS__);                         \
        Variant::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)ckitchen::dynamic_local);          \
    }
#define CK_INT8_GEMM_DEFINE_Wmma CK_INT8_GEMM_STATIC
#define CK_INT8_GEMM_DEFINE_Dot4 CK_INT8_GEMM_STATIC
#define CK_INT8_GEMM_DEFINE_Mma CK_INT8_GEMM_STATIC
#define CK_INT8_GEMM_DEFINE_MmaAsync CK_INT8_GEMM_STATIC
#define CK_INT8_GEMM_DEFINE_Gemv CK_INT8_GEMM_STATIC
#define CK_INT8_GEMM_DEFINE_Wgmma CK_INT8_GEMM_MAPPED
#define CK_INT8_GEMM_DEFINE_WgmmaFew CK_INT8_GEMM_MAPPED

#define CK_INT8_GEMM_KERNEL_0(name, kind, ...)
#define CK_INT8_GEMM_KERNEL_1(name, kind, ...) CK_INT8_GEMM_DEFINE_##kind(name, kind, __VA_ARGS__)
#define CK_INT8_GEMM_EXPAND(condition, ...) CK_INT8_GEMM_KERNEL_##condition(__VA_ARGS__)
#define CK_INT8_GEMM_IF(condition, ...) CK_INT8_GEMM_EXPAND(condition, __VA_ARGS__)
#define CK_INT8_GEMM_ROW(name, feature, kind, m, n, k, waves_m, waves_n, lds, alignment, wide)            \
    CK_INT8_GEMM_IF(CK_ROW_ENABLED(name, feature), name, kind, m, n, k, waves_m, waves_n, lds, alignment, \
                    wide)

#include "int8_gemm.inc"

// The kernels of int8_gemm_align.inc that this target has the features for.
#include "align_rows.h"

#define CK_INT8_GEMM_ALIGN_KERNEL_0(name, waves)
#define CK_INT8_GEMM_ALIGN_KERNEL_1(name, waves)                             \
    CK_KERNEL((waves)*ckitchen::kWaveSize)                                   \
    void ckitchen_int8_gemm_align_##name(ckitchen::Int8GemmAlignArgs args) { \
        ckitchen::Int8GemmAlign<waves>::run(args);                           \
    }
#define CK_INT8_GEMM_ALIGN_EXPAND(condition, ...) CK_INT8_GEMM_ALIGN_KERNEL_##condition(__VA_ARGS__)
#define CK_INT8_GEMM_ALIGN_IF(condition, ...) CK_INT8_GEMM_ALIGN_EXPAND(condition, __VA_ARGS__)
#define CK_INT8_GEMM_ALIGN_ROW(name, feature, waves) \
    CK_INT8_GEMM_ALIGN_IF(CK_ROW_ENABLED(name, feature), name, waves)

#include "int8_gemm_align.inc"

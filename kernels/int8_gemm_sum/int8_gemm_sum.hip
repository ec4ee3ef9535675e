// The kernels of int8_gemm_sum.inc that this target has the features for.
#include "sum_partials.h"

#define CK_INT8_GEMM_SUM_KERNEL_0(name, waves)
#define CK_INT8_GEMM_SUM_KERNEL_1(name, waves)                           \
    CK_KERNEL((waves)*ckitchen::kWaveSize)                               \
    void ckitchen_int8_gemm_sum_##name(ckitchen::Int8GemmSumArgs args) { \
        ckitchen::Int8GemmSum<waves>::run(args);                         \
    }
#define CK_INT8_GEMM_SUM_EXPAND(condition, ...) CK_INT8_GEMM_SUM_KERNEL_##condition(__VA_ARGS__)
#define CK_INT8_GEMM_SUM_IF(condition, ...) CK_INT8_GEMM_SUM_EXPAND(condition, __VA_ARGS__)
#define CK_INT8_GEMM_SUM_ROW(name, feature, waves) \
    CK_INT8_GEMM_SUM_IF(CK_ROW_ENABLED(name, feature), name, waves)

#include "int8_gemm_sum.inc"

// The kernels of w4a8_gemv.inc that this target has the features for.
#include "packed_gemv.h"

#if CK_ENABLED(CKITCHEN_FEATURE_ptx_wgmma)
#include "mma_gemv.h"
#endif

#define CK_W4A8_GEMV_DEFINE_Dot(name, rows, columns, waves, resident, stages, lds, alignment) \
    using W4a8Gemv_##name = ckitchen::W4a8PackedGemv<rows, columns, waves, alignment>;        \
    CK_KERNEL_RESIDENT((waves)*ckitchen::kWaveSize, resident)                                 \
    void ckitchen_w4a8_gemv_##name(ckitchen::W4a8GemvArgs args) {                             \
        CK_SHARED static ckitchen::Uint32x4 local[W4a8Gemv_##name::kLocalBytes / 16];         \
        W4a8Gemv_##name::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)local);         \
    }
#define CK_W4A8_GEMV_DEFINE_Mma(name, rows, columns, waves, resident, stages, lds, alignment) \
    CK_KERNEL_RESIDENT((waves)*ckitchen::kWaveSize, resident)                                 \
    void ckitchen_w4a8_gemv_##name(CK_CONSTANT_ARGUMENT ckitchen::W4a8MmaArgs args) {         \
        ckitchen::W4a8MmaGemv<rows, waves, stages, 16, lds>::run(                             \
            args, (ckitchen::LocalPointer<ckitchen::uint8_t>)ckitchen::dynamic_local);        \
    }
#define CK_W4A8_GEMV_KERNEL_0(name, kind, ...)
#define CK_W4A8_GEMV_KERNEL_1(name, kind, ...) CK_W4A8_GEMV_DEFINE_##kind(name, __VA_ARGS__)
#define CK_W4A8_GEMV_EXPAND(condition, ...) CK_W4A8_GEMV_KERNEL_##condition(__VA_ARGS__)
#define CK_W4A8_GEMV_IF(condition, ...) CK_W4A8_GEMV_EXPAND(condition, __VA_ARGS__)
#define CK_W4A8_GEMV_ROW(name, feature, kind, rows, columns, waves, resident, launched, stages, lds,        \
                         alignment)                                                                         \
    CK_W4A8_GEMV_IF(CK_ROW_ENABLED(name, feature), name, kind, rows, columns, waves, resident, stages, lds, \
                    alignment)

#include "w4a8_gemv.inc"

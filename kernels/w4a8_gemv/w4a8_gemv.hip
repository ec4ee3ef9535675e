// The kernels of w4a8_gemv.inc that this target has the features for.
#include "packed_gemv.h"

#define CK_W4A8_GEMV_KERNEL_0(name, rows, columns, waves, resident, launched, alignment)
#define CK_W4A8_GEMV_KERNEL_1(name, rows, columns, waves, resident, launched, alignment) \
    using W4a8Gemv_##name = ckitchen::W4a8PackedGemv<rows, columns, waves, alignment>;   \
    CK_KERNEL_RESIDENT((waves)*ckitchen::kWaveSize, resident)                            \
    void ckitchen_w4a8_gemv_##name(ckitchen::W4a8GemvArgs args) {                        \
        CK_SHARED static ckitchen::Uint32x4 local[W4a8Gemv_##name::kLocalBytes / 16];    \
        W4a8Gemv_##name::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)local);    \
    }
#define CK_W4A8_GEMV_EXPAND(condition, ...) CK_W4A8_GEMV_KERNEL_##condition(__VA_ARGS__)
#define CK_W4A8_GEMV_IF(condition, ...) CK_W4A8_GEMV_EXPAND(condition, __VA_ARGS__)
#define CK_W4A8_GEMV_ROW(name, feature, rows, columns, waves, resident, launched, alignment) \
    CK_W4A8_GEMV_IF(CK_ROW_ENABLED(name, feature), name, rows, columns, waves, resident, launched, alignment)

#include "w4a8_gemv.inc"

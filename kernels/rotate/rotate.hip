// The kernels of rotate.inc that this target has the features for.
#include "rotate_rows.h"

#define CK_ROTATE_KERNEL_0(name, waves, lds, alignment)
#define CK_ROTATE_KERNEL_1(name, waves, lds, alignment)                        \
    CK_KERNEL((waves)*ckitchen::kWaveSize)                                     \
    void ckitchen_rotate_##name(ckitchen::RotateArgs args) {                   \
        using Variant = ckitchen::RotateRows<waves, alignment>;                \
        static_assert(Variant::kLocalBytes == (lds),                           \
                      "the row states the local memory that the kernel uses"); \
        CK_SHARED static ckitchen::Uint32x4 local[(lds) / 16];                 \
        Variant::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)local);  \
    }
#define CK_ROTATE_EXPAND(condition, ...) CK_ROTATE_KERNEL_##condition(__VA_ARGS__)
#define CK_ROTATE_IF(condition, ...) CK_ROTATE_EXPAND(condition, __VA_ARGS__)
#define CK_ROTATE_ROW(name, feature, waves, lds, alignment) \
    CK_ROTATE_IF(CK_ROW_ENABLED(name, feature), name, waves, lds, alignment)

#include "rotate.inc"

// The kernels of w4a8_linear.inc that this target has the features for.
#include "correction.h"

#define CK_W4A8_LINEAR_KERNEL_0(name, kind, waves, lds)
#define CK_W4A8_LINEAR_KERNEL_1(name, kind, waves, lds)                                                      \
    CK_KERNEL((waves)*ckitchen::kWaveSize)                                                                   \
    void ckitchen_w4a8_linear_##name(ckitchen::W4a8LinearArgs args) {                                        \
        using Kernel = ckitchen::W4a8Linear##kind<waves>;                                                    \
        static_assert(Kernel::kLocalBytes == (lds), "the row states the local memory that the kernel uses"); \
        CK_SHARED static ckitchen::Uint32x4 local[(lds) == 0 ? 1 : (lds) / 16];                              \
        Kernel::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)local);                                 \
    }
#define CK_W4A8_LINEAR_EXPAND(condition, ...) CK_W4A8_LINEAR_KERNEL_##condition(__VA_ARGS__)
#define CK_W4A8_LINEAR_IF(condition, ...) CK_W4A8_LINEAR_EXPAND(condition, __VA_ARGS__)
#define CK_W4A8_LINEAR_ROW(name, feature, kind, waves, lds) \
    CK_W4A8_LINEAR_IF(CK_ROW_ENABLED(name, feature), name, kind, waves, lds)

#include "w4a8_linear.inc"

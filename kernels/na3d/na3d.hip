// The kernels of na3d.inc that this target has the features for.
#include "na3d_mma.h"
#include "na3d_vector.h"
#include "na3d_wmma.h"

#define CK_NA3D_KERNEL_0(name, kind, width, waves, resident, lds, alignment)
#define CK_NA3D_KERNEL_1(name, kind, width, waves, resident, lds, alignment)    \
    CK_KERNEL_RESIDENT((waves)*ckitchen::kWaveSize, resident)                   \
    void ckitchen_na3d_##name(ckitchen::Na3dArgs args) {                        \
        using Variant = ckitchen::Na3d##kind<width, waves, alignment>;          \
        static_assert(Variant::kLocalBytes == (lds),                            \
                      "the row states the local memory that the kernel uses");  \
        CK_SHARED static ckitchen::Uint32x4 local[(lds) == 0 ? 1 : (lds) / 16]; \
        Variant::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)local);   \
    }
#define CK_NA3D_EXPAND(condition, ...) CK_NA3D_KERNEL_##condition(__VA_ARGS__)
#define CK_NA3D_IF(condition, ...) CK_NA3D_EXPAND(condition, __VA_ARGS__)
#define CK_NA3D_ROW(name, feature, kind, width, waves, resident, lds, alignment) \
    CK_NA3D_IF(CK_ROW_ENABLED(name, feature), name, kind, width, waves, resident, lds, alignment)

#include "na3d.inc"

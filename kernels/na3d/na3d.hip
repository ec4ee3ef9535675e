// The kernels of na3d.inc that this target has the features for.
#include "na3d_vector.h"

#define CK_NA3D_KERNEL_0(name, waves, alignment)
#define CK_NA3D_KERNEL_1(name, waves, alignment)           \
    CK_KERNEL((waves)*ckitchen::kWaveSize)                 \
    void ckitchen_na3d_##name(ckitchen::Na3dArgs args) {   \
        ckitchen::Na3dVector<waves, alignment>::run(args); \
    }
#define CK_NA3D_EXPAND(condition, ...) CK_NA3D_KERNEL_##condition(__VA_ARGS__)
#define CK_NA3D_IF(condition, ...) CK_NA3D_EXPAND(condition, __VA_ARGS__)
#define CK_NA3D_ROW(name, feature, waves, alignment) \
    CK_NA3D_IF(CK_ROW_ENABLED(name, feature), name, waves, alignment)

#include "na3d.inc"

// The kernels of w4a8_requant.inc that this target has the features for.
#include "codebook_rows.h"
#include "requant_rows.h"

#define CK_W4A8_REQUANT_KERNEL_0(name, kind, waves, lds, alignment)
#define CK_W4A8_REQUANT_KERNEL_1(name, kind, waves, lds, alignment)                      \
    using W4a8Requant_##name = ckitchen::W4a8Requant##kind<waves, alignment>;            \
    CK_KERNEL_UP_TO((waves)*ckitchen::kWaveSize, W4a8Requant_##name::kResidentGroups)    \
    void ckitchen_w4a8_requant_##name(ckitchen::W4a8RequantArgs args) {                  \
        static_assert(W4a8Requant_##name::kLocalBytes == (lds),                          \
                      "the row states the local memory that the kernel uses");           \
        CK_SHARED static ckitchen::Uint32x4 local[(lds) / 16];                           \
        W4a8Requant_##name::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)local); \
    }
#define CK_W4A8_REQUANT_EXPAND(condition, ...) CK_W4A8_REQUANT_KERNEL_##condition(__VA_ARGS__)
#define CK_W4A8_REQUANT_IF(condition, ...) CK_W4A8_REQUANT_EXPAND(condition, __VA_ARGS__)
#define CK_W4A8_REQUANT_ROW(name, feature, kind, waves, lds, alignment) \
    CK_W4A8_REQUANT_IF(CK_ROW_ENABLED(name, feature), name, kind, waves, lds, alignment)

#include "w4a8_requant.inc"

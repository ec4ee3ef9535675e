// The kernels of w4a8_dequant.inc that this target has the features for.
#include "dequant_rows.h"

#define CK_W4A8_DEQUANT_KERNEL_0(name, waves, lds, alignment)
#define CK_W4A8_DEQUANT_KERNEL_1(name, waves, lds, alignment)                             \
    CK_KERNEL_RESIDENT((waves)*ckitchen::kWaveSize, ckitchen::kW4a8DequantResidentGroups) \
    void ckitchen_w4a8_dequant_##name(ckitchen::W4a8DequantArgs args) {                   \
        using Variant = ckitchen::W4a8DequantRows<waves, alignment>;                      \
        static_assert(Variant::kLocalBytes == (lds),                                      \
                      "the row states the local memory that the kernel uses");            \
        CK_SHARED static ckitchen::Uint32x4 local[(lds) / 16];                            \
        ckitchen::allow_next_kernel();                                                    \
        Variant::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)local);             \
        /* It depends on no kernel before it, but its end means theirs. */                \
        if (ckitchen::workgroup_id() == 0) ckitchen::wait_for_kernel_before();            \
    }
#define CK_W4A8_DEQUANT_EXPAND(condition, ...) CK_W4A8_DEQUANT_KERNEL_##condition(__VA_ARGS__)
#define CK_W4A8_DEQUANT_IF(condition, ...) CK_W4A8_DEQUANT_EXPAND(condition, __VA_ARGS__)
#define CK_W4A8_DEQUANT_ROW(name, feature, waves, lds, alignment) \
    CK_W4A8_DEQUANT_IF(CK_ROW_ENABLED(name, feature), name, waves, lds, alignment)

#include "w4a8_dequant.inc"

// The kernels of int8_error.inc that this target has the features for.
#include "error_rows.h"

#define CK_INT8_ERROR_KERNEL_0(name, lds, alignment)
#define CK_INT8_ERROR_KERNEL_1(name, lds, alignment)                           \
    CK_KERNEL(ckitchen::kInt8ErrorWaves* ckitchen::kWaveSize)                  \
    void ckitchen_int8_error_##name(ckitchen::Int8ErrorArgs args) {            \
        using Variant = ckitchen::Int8ErrorRows<alignment>;                    \
        static_assert(Variant::kLocalBytes == (lds),                           \
                      "the row states the local memory that the kernel uses"); \
        CK_SHARED static ckitchen::Uint32x4 local[(lds) / 16];                 \
        Variant::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)local);  \
    }
#define CK_INT8_ERROR_EXPAND(condition, ...) CK_INT8_ERROR_KERNEL_##condition(__VA_ARGS__)
#define CK_INT8_ERROR_IF(condition, ...) CK_INT8_ERROR_EXPAND(condition, __VA_ARGS__)
#define CK_INT8_ERROR_ROW(name, feature, lds, alignment) \
    CK_INT8_ERROR_IF(CK_ROW_ENABLED(name, feature), name, lds, alignment)

#include "int8_error.inc"

// The kernels of int8_quantize.inc that this target has the features for.
#include "vector_rows.h"

#define CK_INT8_QUANTIZE_KERNEL_0(name, waves, width, lds, alignment)
#define CK_INT8_QUANTIZE_KERNEL_1(name, waves, width, lds, alignment)                     \
    using Int8Quantize_##name = ckitchen::Int8Quantize##width<waves, alignment>;          \
    CK_KERNEL_RESIDENT((waves)*ckitchen::kWaveSize, Int8Quantize_##name::kResidentGroups) \
    void ckitchen_int8_quantize_##name(ckitchen::Int8QuantizeArgs args) {                 \
        static_assert(Int8Quantize_##name::kLocalBytes == (lds),                          \
                      "the row states the local memory that the kernel uses");            \
        CK_SHARED static ckitchen::Uint32x4 local[(lds) / 16];                            \
        ckitchen::allow_next_kernel();                                                    \
        Int8Quantize_##name::run(args, (ckitchen::LocalPointer<ckitchen::uint8_t>)local); \
    }
#define CK_INT8_QUANTIZE_EXPAND(condition, ...) CK_INT8_QUANTIZE_KERNEL_##condition(__VA_ARGS__)
#define CK_INT8_QUANTIZE_IF(condition, ...) CK_INT8_QUANTIZE_EXPAND(condition, __VA_ARGS__)
#define CK_INT8_QUANTIZE_ROW(name, feature, waves, width, lds, alignment) \
    CK_INT8_QUANTIZE_IF(CK_ROW_ENABLED(name, feature), name, waves, width, lds, alignment)

#include "int8_quantize.inc"

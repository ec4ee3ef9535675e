// Checks of single arguments that several operators share. Every message says the argument, its value, the
// limit.
#pragma once

#include <ckitchen.h>

#include <initializer_list>

#include "core/dtype.hpp"
#include "core/region.hpp"
#include "core/status.hpp"

namespace ckitchen::ops {

// Far beyond any memory, small enough that a sum of a few never overflows.
constexpr int64_t kMaxExtent = int64_t{1} << 48;

// "CK_F32"; "unknown" for what is none.
const char* dtype_name(ck_dtype dtype);

Status check_extent(const char* name, int64_t value, int64_t limit = kMaxExtent);
// A leading dimension: 0 becomes the packed width.
Status check_ld(const char* name, int64_t& ld, const char* width_name, int64_t width);
Status check_dtype(const char* name, ck_dtype dtype, std::initializer_list<ck_dtype> allowed);
// A field that is read only when `pointer` is given.
Status check_optional_dtype(const char* name, ck_dtype dtype, const void* pointer,
                            std::initializer_list<ck_dtype> allowed);
Status check_choice(const char* name, int32_t value, int32_t last);
// ConvRot group: 4, 16, 64, 256 or 1024 that divides k; 0 when `optional`.
Status check_rotate_group(const char* name, int32_t group, int64_t k, bool optional);
// W4A8 group of columns that share a scale.
Status check_weight_group(int32_t group, int64_t k);

constexpr std::initializer_list<ck_dtype> kFloats = {CK_F32, CK_F16, CK_BF16};

// Width of an input row of `activation` for k output columns.
constexpr int64_t activation_width(ck_activation activation, int64_t k) {
    return activation == CK_ACTIVATION_SWIGLU ? 2 * k : k;
}

}  // namespace ckitchen::ops

// A W4A8 weight's description for the kernels.
#pragma once

#include <ckitchen.h>

#include "core/codebook.hpp"
#include "device/w4a8_weight.h"
#include "ops/device_types.hpp"

namespace ckitchen::ops {

// Both number them alike.
static_assert(static_cast<int>(CK_W4A8_CODEBOOK) == static_cast<int>(kW4a8Codebook));
static_assert(static_cast<int>(CK_W4A8_UNIFORM) == static_cast<int>(kW4a8Uniform));
static_assert(static_cast<int>(CK_W4A8_ASYMMETRIC) == static_cast<int>(kW4a8Asymmetric));

constexpr uint32_t scale_type(ck_dtype s_rel_dtype) {
    return s_rel_dtype == CK_F32 ? kW4a8ScaleFloat32 : kW4a8ScaleE4m3;
}

// The levels of the codes where the caller gives no codebook.
inline void default_levels(ck_w4a8_layout layout, float (&levels)[16]) {
    for (int code = 0; code < 16; ++code)
        levels[code] = layout == CK_W4A8_CODEBOOK ? kDefaultCodebook[code] : static_cast<float>(code - 8);
}

}  // namespace ckitchen::ops

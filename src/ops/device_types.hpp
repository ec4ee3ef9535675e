// The public element types as the kernels number them.
#pragma once

#include <ckitchen.h>

#include "device/element_type.h"

namespace ckitchen::ops {

// Both number them alike.
static_assert(static_cast<int>(CK_F32) == static_cast<int>(kElementFloat32));
static_assert(static_cast<int>(CK_F16) == static_cast<int>(kElementFloat16));
static_assert(static_cast<int>(CK_BF16) == static_cast<int>(kElementBfloat16));

constexpr uint32_t element_type(ck_dtype dtype) {
    return static_cast<uint32_t>(dtype);
}

inline uint64_t address(const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
}

// 1 / sqrt(group) for a rotation group, a power of 4; 1 for no group.
constexpr float rotation_factor(int32_t group) {
    float factor = 1.0f;
    for (int32_t size = 4; size <= group; size *= 4) factor *= 0.5f;
    return factor;
}

}  // namespace ckitchen::ops

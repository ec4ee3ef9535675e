// Parts of the arguments of the kernels on 4-bit weights. Host and device share this file.
#pragma once

#include "element_type.h"

namespace ckitchen {

// As ckitchen.h numbers them.
enum W4a8Layout : uint32_t { kW4a8Codebook = 0, kW4a8Uniform = 1, kW4a8Asymmetric = 2 };

// Types of the scales of groups as the kernels number them.
enum W4a8ScaleType : uint32_t { kW4a8ScaleE4m3 = 0, kW4a8ScaleFloat32 = 1 };

// Groups of columns that share a scale: 4, 8, or a multiple of 16.
struct W4a8Groups {
    uint32_t size;
    uint32_t shift;   // log2(size) up to 16, 4 beyond
    uint32_t pieces;  // of 16 columns in a group, at least 1
};

constexpr W4a8Groups w4a8_groups(uint32_t size) {
    return {size, size == 4 ? 2u : size == 8 ? 3u : 4u, size < 16 ? 1u : size / 16};
}

}  // namespace ckitchen

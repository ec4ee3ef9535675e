// Element types: sizes and the names used in messages and problem texts.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen {

constexpr int64_t dtype_size(ck_dtype dtype) {
    switch (dtype) {
        case CK_F32:
        case CK_I32:
            return 4;
        case CK_F16:
        case CK_BF16:
            return 2;
        case CK_F8_E4M3:
        case CK_I8:
            return 1;
        default:
            return 0;
    }
}

constexpr bool is_float_input(ck_dtype dtype) {
    return dtype == CK_F32 || dtype == CK_F16 || dtype == CK_BF16;
}

}  // namespace ckitchen

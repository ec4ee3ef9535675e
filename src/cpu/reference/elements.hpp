// Reading and writing elements by dtype. Public pointers have no alignment, so every access is a memcpy,
// which compiles to an ordinary unaligned load or store.
#pragma once

#include <ckitchen.h>

#include <cstdint>
#include <cstring>

#include "cpu/reference/numeric.hpp"

namespace ckitchen::reference {

template <typename T>
inline T load(const void* base, std::int64_t index) {
    T value;
    std::memcpy(&value, static_cast<const char*>(base) + index * static_cast<std::int64_t>(sizeof(T)),
                sizeof(T));
    return value;
}

template <typename T>
inline void store(void* base, std::int64_t index, T value) {
    std::memcpy(static_cast<char*>(base) + index * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
}

inline std::int64_t element_size(ck_dtype dtype) {
    switch (dtype) {
        case CK_F32:
        case CK_I32:
            return 4;
        case CK_F16:
        case CK_BF16:
            return 2;
        default:
            return 1;
    }
}

// An element of a float tensor (f32, f16, bf16, e4m3) as float32, exactly.
inline float load_float(ck_dtype dtype, const void* base, std::int64_t index) {
    switch (dtype) {
        case CK_F16:
            return f16_to_f32(load<std::uint16_t>(base, index));
        case CK_BF16:
            return bf16_to_f32(load<std::uint16_t>(base, index));
        case CK_F8_E4M3:
            return e4m3_to_f32(load<std::uint8_t>(base, index));
        default:
            return load<float>(base, index);
    }
}

// One rounding to the dtype.
inline void store_float(ck_dtype dtype, void* base, std::int64_t index, float value) {
    switch (dtype) {
        case CK_F16:
            store(base, index, f32_to_f16(value));
            break;
        case CK_BF16:
            store(base, index, f32_to_bf16(value));
            break;
        case CK_F8_E4M3:
            store(base, index, f32_to_e4m3(value));
            break;
        default:
            store(base, index, value);
            break;
    }
}

// The value after a rounding to f32, f16 or bf16, as float32.
inline float round_to(ck_dtype dtype, float value) {
    switch (dtype) {
        case CK_F16:
            return f16_to_f32(f32_to_f16(value));
        case CK_BF16:
            return bf16_to_f32(f32_to_bf16(value));
        default:
            return value;
    }
}

// The same for `count` neighbours; the dtype is decided once, outside the loop.
inline void load_floats(ck_dtype dtype, const void* base, std::int64_t first, std::int64_t count,
                        float* values) {
    switch (dtype) {
        case CK_F16:
            for (std::int64_t i = 0; i < count; ++i)
                values[i] = f16_to_f32(load<std::uint16_t>(base, first + i));
            break;
        case CK_BF16:
            for (std::int64_t i = 0; i < count; ++i)
                values[i] = bf16_to_f32(load<std::uint16_t>(base, first + i));
            break;
        default:
            for (std::int64_t i = 0; i < count; ++i) values[i] = load<float>(base, first + i);
            break;
    }
}

inline void store_floats(ck_dtype dtype, void* base, std::int64_t first, std::int64_t count,
                         const float* values) {
    switch (dtype) {
        case CK_F16:
            for (std::int64_t i = 0; i < count; ++i) store(base, first + i, f32_to_f16(values[i]));
            break;
        case CK_BF16:
            for (std::int64_t i = 0; i < count; ++i) store(base, first + i, f32_to_bf16(values[i]));
            break;
        default:
            for (std::int64_t i = 0; i < count; ++i) store(base, first + i, values[i]);
            break;
    }
}

inline void round_floats(ck_dtype dtype, std::int64_t count, float* values) {
    switch (dtype) {
        case CK_F16:
            for (std::int64_t i = 0; i < count; ++i) values[i] = f16_to_f32(f32_to_f16(values[i]));
            break;
        case CK_BF16:
            for (std::int64_t i = 0; i < count; ++i) values[i] = bf16_to_f32(f32_to_bf16(values[i]));
            break;
        default:
            break;
    }
}

}  // namespace ckitchen::reference

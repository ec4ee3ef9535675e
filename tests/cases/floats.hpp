// Conversions of the small float types, written for the tests alone: they share no code with the library.
#pragma once

#include <ckitchen.h>

#include <cstdint>

namespace ckitchen::cases {

// Round to nearest even; float16 and bfloat16 overflow to infinity, e4m3 saturates at 448.
uint16_t to_f16(float value);
uint16_t to_bf16(float value);
uint8_t to_e4m3(float value);

float from_f16(uint16_t bits);
float from_bf16(uint16_t bits);
float from_e4m3(uint8_t bits);

// One element of an array of `dtype` (float types, CK_I8, CK_I32), at any byte address.
float load_float(const void* from, ck_dtype dtype);
void store_float(void* to, ck_dtype dtype, float value);

// Equal bits, or both NaN.
bool same_value(const void* a, const void* b, ck_dtype dtype);

}  // namespace ckitchen::cases

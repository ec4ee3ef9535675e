#include "cases/floats.hpp"

#include <cmath>
#include <cstring>

#include "cases/operands.hpp"

namespace ckitchen::cases {
namespace {

// Rounds to a format with `digits` significant bits whose smallest normal number is 2^lowest. std::ldexp and
// std::nearbyint are exact here: the scaled value has at most 24 bits.
double round_to(double value, int digits, int lowest) {
    if (value == 0 || !std::isfinite(value)) return value;
    int exponent = 0;
    std::frexp(value, &exponent);  // 0.5 <= |mantissa| < 1
    const int step = (exponent - 1 < lowest ? lowest : exponent - 1) - (digits - 1);
    return std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
}

uint32_t bits_of(float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

// Sign, exponent and fraction of a value that the format holds exactly.
uint32_t encode(double value, int exponent_bits, int fraction_bits) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t sign = std::signbit(value) ? 1u << (exponent_bits + fraction_bits) : 0;
    const double magnitude = std::fabs(value);
    if (magnitude == 0) return sign;
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    exponent -= 1;
    if (exponent < 1 - bias)
        return sign | static_cast<uint32_t>(std::ldexp(magnitude, bias - 1 + fraction_bits));
    const auto fraction = static_cast<uint32_t>(std::ldexp(magnitude, fraction_bits - exponent));
    return sign | static_cast<uint32_t>(exponent + bias) << fraction_bits |
           (fraction & ((1u << fraction_bits) - 1));
}

float decode(uint32_t bits, int exponent_bits, int fraction_bits, bool has_infinity) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const uint32_t fraction = bits & ((1u << fraction_bits) - 1);
    const uint32_t exponent = bits >> fraction_bits & ((1u << exponent_bits) - 1);
    const bool negative = (bits >> (fraction_bits + exponent_bits) & 1) != 0;
    double magnitude = 0;
    if (has_infinity && exponent == (1u << exponent_bits) - 1)
        magnitude = fraction == 0 ? HUGE_VAL : std::nan("");
    else if (exponent == 0)
        magnitude = std::ldexp(static_cast<double>(fraction), 1 - bias - fraction_bits);
    else
        magnitude = std::ldexp(static_cast<double>(fraction + (1u << fraction_bits)),
                               static_cast<int>(exponent) - bias - fraction_bits);
    return static_cast<float>(negative ? -magnitude : magnitude);
}

}  // namespace

uint16_t to_f16(float value) {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
    const double rounded = round_to(value, 11, -14);
    if (std::fabs(rounded) > 65504) return static_cast<uint16_t>(sign | 0x7c00);
    return static_cast<uint16_t>(encode(rounded, 5, 10));
}

uint16_t to_bf16(float value) {
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7fc0);
    const double rounded = round_to(value, 8, -126);
    if (std::fabs(rounded) > 3.4e38) return static_cast<uint16_t>(sign | 0x7f80);
    return static_cast<uint16_t>(bits_of(static_cast<float>(rounded)) >> 16);
}

uint8_t to_e4m3(float value) {
    const uint8_t sign = std::signbit(value) ? 0x80 : 0;
    if (std::isnan(value)) return static_cast<uint8_t>(sign | 0x7f);
    const double rounded = round_to(value, 4, -6);
    if (std::fabs(rounded) > 448) return static_cast<uint8_t>(sign | 0x7e);
    return static_cast<uint8_t>(encode(rounded, 4, 3));
}

float from_f16(uint16_t bits) {
    return decode(bits, 5, 10, true);
}

float from_bf16(uint16_t bits) {
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float value = 0;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
}

float from_e4m3(uint8_t bits) {
    return (bits & 0x7f) == 0x7f ? std::nanf("") : decode(bits, 4, 3, false);
}

float load_float(const void* from, ck_dtype dtype) {
    uint32_t bits = 0;
    std::memcpy(&bits, from, static_cast<size_t>(element_size(dtype)));
    switch (dtype) {
        case CK_F32: {
            float value = 0;
            std::memcpy(&value, &bits, sizeof(value));
            return value;
        }
        case CK_F16:
            return from_f16(static_cast<uint16_t>(bits));
        case CK_BF16:
            return from_bf16(static_cast<uint16_t>(bits));
        case CK_F8_E4M3:
            return from_e4m3(static_cast<uint8_t>(bits));
        case CK_I8:
            return static_cast<float>(static_cast<int8_t>(bits));
        default:
            return static_cast<float>(static_cast<int32_t>(bits));
    }
}

void store_float(void* to, ck_dtype dtype, float value) {
    uint32_t bits = 0;
    switch (dtype) {
        case CK_F32:
            bits = bits_of(value);
            break;
        case CK_F16:
            bits = to_f16(value);
            break;
        case CK_BF16:
            bits = to_bf16(value);
            break;
        case CK_F8_E4M3:
            bits = to_e4m3(value);
            break;
        default:
            bits = static_cast<uint32_t>(static_cast<int32_t>(value));
            break;
    }
    std::memcpy(to, &bits, static_cast<size_t>(element_size(dtype)));
}

bool same_value(const void* a, const void* b, ck_dtype dtype) {
    if (dtype == CK_DTYPE_NONE) return std::memcmp(a, b, 8) == 0;
    if (std::memcmp(a, b, static_cast<size_t>(element_size(dtype))) == 0) return true;
    if (dtype == CK_I8 || dtype == CK_I32) return false;
    return std::isnan(load_float(a, dtype)) && std::isnan(load_float(b, dtype));
}

}  // namespace ckitchen::cases

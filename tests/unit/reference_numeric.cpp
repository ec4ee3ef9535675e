// The scalar arithmetic of the reference: every code of the small floats, ties, edges of the exponential.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include "catch.hpp"

#include "cpu/reference/elements.hpp"
#include "cpu/reference/numeric.hpp"

using namespace ckitchen::reference;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::uint32_t bits(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

float next_above(float value) {
    return std::nextafter(value, kInfinity);
}

float next_below(float value) {
    return std::nextafter(value, -kInfinity);
}

// The value of a small float with the given field widths, from its definition, in float64.
double value_of(int code, int exponent_bits, int mantissa_bits) {
    const int mantissa = code & ((1 << mantissa_bits) - 1);
    const int exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const bool negative = ((code >> (exponent_bits + mantissa_bits)) & 1) != 0;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const double magnitude =
        exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                      : std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
    return negative ? -magnitude : magnitude;
}

}  // namespace

TEST_CASE("every f16 code has its value and survives a round trip") {
    for (int code = 0; code < 65536; ++code) {
        const auto half = static_cast<std::uint16_t>(code);
        const float value = f16_to_f32(half);
        const int exponent = (code >> 10) & 31;
        if (exponent < 31) {
            REQUIRE(static_cast<double>(value) == value_of(code, 5, 10));
            REQUIRE(std::signbit(value) == (code >= 32768));
            REQUIRE(f32_to_f16(value) == half);
        } else if ((code & 0x3FF) == 0) {
            REQUIRE(value == (code < 32768 ? kInfinity : -kInfinity));
            REQUIRE(f32_to_f16(value) == half);
        } else {
            REQUIRE(value != value);
            REQUIRE(f32_to_f16(value) == (half | 0x200));
        }
    }
}

TEST_CASE("f32 to f16 rounds half to even between all neighbours") {
    for (int code = 0; code < 0x7BFF; ++code) {
        const float low = f16_to_f32(static_cast<std::uint16_t>(code));
        const float high = f16_to_f32(static_cast<std::uint16_t>(code + 1));
        const float middle = low + (high - low) / 2.0f;
        const int even = code % 2 == 0 ? code : code + 1;
        REQUIRE(f32_to_f16(middle) == even);
        REQUIRE(f32_to_f16(next_below(middle)) == code);
        REQUIRE(f32_to_f16(next_above(middle)) == code + 1);
        REQUIRE(f32_to_f16(-middle) == (even | 0x8000));
    }
    CHECK(f32_to_f16(65519.996f) == 0x7BFF);
    CHECK(f32_to_f16(65520.0f) == 0x7C00);
    CHECK(f32_to_f16(std::numeric_limits<float>::max()) == 0x7C00);
    CHECK(f32_to_f16(-kInfinity) == 0xFC00);
    CHECK(f32_to_f16(std::numeric_limits<float>::denorm_min()) == 0);
    CHECK(f32_to_f16(-0.0f) == 0x8000);
    const float narrow_nan = std::bit_cast<float>(0x7F800001u);  // its payload does not fit
    CHECK((f32_to_f16(narrow_nan) & 0x7FFF) > 0x7C00);
}

TEST_CASE("every bf16 code survives a round trip and rounding is half to even") {
    for (int code = 0; code < 65536; ++code) {
        const auto half = static_cast<std::uint16_t>(code);
        const float value = bf16_to_f32(half);
        REQUIRE(bits(value) == static_cast<std::uint32_t>(code) << 16);
        if (value == value) {
            REQUIRE(f32_to_bf16(value) == half);
        } else {
            REQUIRE(f32_to_bf16(value) == (half | 0x40));
        }
    }
    for (std::uint32_t code = 0; code < 0x7F80; ++code) {
        const std::uint32_t middle = (code << 16) | 0x8000u;
        REQUIRE(f32_to_bf16(std::bit_cast<float>(middle)) == (code % 2 == 0 ? code : code + 1));
        REQUIRE(f32_to_bf16(std::bit_cast<float>(middle - 1)) == code);
        REQUIRE(f32_to_bf16(std::bit_cast<float>(middle + 1)) == code + 1);
    }
    CHECK(f32_to_bf16(std::numeric_limits<float>::max()) == 0x7F80);
    const std::uint16_t nan = f32_to_bf16(std::bit_cast<float>(0x7FFFFFFFu));  // adding would wrap to -0
    CHECK((nan & 0x7FFF) > 0x7F80);
    CHECK((f32_to_bf16(std::bit_cast<float>(0x7F800001u)) & 0x7FFF) > 0x7F80);
}

TEST_CASE("every e4m3 code has its value and survives a round trip") {
    for (int code = 0; code < 256; ++code) {
        const auto byte = static_cast<std::uint8_t>(code);
        const float value = e4m3_to_f32(byte);
        if ((code & 0x7F) == 0x7F) {
            REQUIRE(value != value);
            REQUIRE(f32_to_e4m3(value) == 0x7F);
        } else {
            REQUIRE(static_cast<double>(value) == value_of(code, 4, 3));
            REQUIRE(std::signbit(value) == (code >= 128));
            REQUIRE(f32_to_e4m3(value) == byte);
        }
    }
    CHECK(e4m3_to_f32(0x01) == 0x1p-9f);
    CHECK(e4m3_to_f32(0x08) == 0x1p-6f);
    CHECK(e4m3_to_f32(0x7E) == 448.0f);
}

TEST_CASE("f32 to e4m3 rounds half to even and saturates") {
    for (int code = 0; code < 0x7E; ++code) {
        const float low = e4m3_to_f32(static_cast<std::uint8_t>(code));
        const float high = e4m3_to_f32(static_cast<std::uint8_t>(code + 1));
        const float middle = low + (high - low) / 2.0f;
        REQUIRE(f32_to_e4m3(middle) == (code % 2 == 0 ? code : code + 1));
        REQUIRE(f32_to_e4m3(next_below(middle)) == code);
        REQUIRE(f32_to_e4m3(next_above(middle)) == code + 1);
    }
    CHECK(f32_to_e4m3(449.0f) == 0x7E);
    CHECK(f32_to_e4m3(464.0f) == 0x7E);
    CHECK(f32_to_e4m3(480.0f) == 0x7E);
    CHECK(f32_to_e4m3(kInfinity) == 0x7E);
    CHECK(f32_to_e4m3(-kInfinity) == 0xFE);
    CHECK(f32_to_e4m3(kNan) == 0x7F);
    CHECK(f32_to_e4m3(-0.0f) == 0x80);
    CHECK(f32_to_e4m3(std::numeric_limits<float>::denorm_min()) == 0);
}

TEST_CASE("rne is the C library's rounding in the default mode") {
    for (const float x : {0.0f, 0.5f, 1.5f, 2.5f, 3.5f, 0.49999997f, 0.50000006f, 126.5f, 127.5f, 4194303.5f,
                          4194304.5f, 8388607.5f, 8388607.0f, 8388608.0f, 16777215.0f, 1e30f, kInfinity,
                          std::numeric_limits<float>::denorm_min()}) {
        CHECK(bits(rne(x)) == bits(std::nearbyint(x)));
        CHECK(bits(rne(-x)) == bits(std::nearbyint(-x)));
    }
    CHECK(rne(kNan) != rne(kNan));
    std::mt19937 random(7);
    for (int i = 0; i < 200000; ++i) {
        const float x = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
        if (x != x) continue;
        REQUIRE(bits(rne(x)) == bits(std::nearbyint(x)));
        REQUIRE(round_down(x) == std::floor(x));
    }
}

TEST_CASE("to_int8 clamps before it converts and maps NaN to 0") {
    CHECK(to_int8(kInfinity, -128.0f, 127.0f) == 127);
    CHECK(to_int8(-kInfinity, -128.0f, 127.0f) == -128);
    CHECK(to_int8(kNan, -128.0f, 127.0f) == 0);
    CHECK(to_int8(3e9f, -127.0f, 127.0f) == 127);
    CHECK(to_int8(-128.0f, -127.0f, 127.0f) == -127);
    CHECK(to_int8(-0.0f, -8.0f, 7.0f) == 0);
}

TEST_CASE("larger ignores a NaN in its first argument") {
    CHECK(larger(kNan, 1e-8f) == 1e-8f);
    CHECK(larger(2.0f, 1.0f) == 2.0f);
    CHECK(larger(1.0f, 2.0f) == 2.0f);
}

TEST_CASE("exp32 at its edges") {
    CHECK(exp32(0.0f) == 1.0f);
    CHECK(exp32(-0.0f) == 1.0f);
    CHECK(exp32(next_above(88.0f)) == kInfinity);
    CHECK(exp32(88.0f) < kInfinity);
    CHECK(exp32(next_below(-87.0f)) == 0.0f);
    CHECK(exp32(-87.0f) > 0.0f);
    CHECK(exp32(kInfinity) == kInfinity);
    CHECK(exp32(-kInfinity) == 0.0f);
    CHECK(exp32(kNan) != exp32(kNan));
    CHECK(exp32(std::numeric_limits<float>::max()) == kInfinity);
    for (float x = -87.0f; x <= 88.0f; x += 0.03125f)
        REQUIRE(exp32(x) == Approx(std::exp(static_cast<double>(x))).epsilon(2e-7));
}

TEST_CASE("activations at special values") {
    CHECK(bits(gelu_tanh(0.0f)) == 0u);
    CHECK(gelu_tanh(kInfinity) == kInfinity);
    CHECK(gelu_tanh(-kInfinity) != gelu_tanh(-kInfinity));  // -inf * 0
    CHECK(gelu_tanh(10.0f) == 10.0f);
    CHECK(gelu_tanh(1.0f) == Approx(0.8411920).epsilon(1e-6));
    CHECK(swiglu(0.0f, 3.0f) == 0.0f);
    CHECK(swiglu(1.0f, 2.0f) == Approx(1.4621172).epsilon(1e-6));
    CHECK(swiglu(-100.0f, 1.0f) == 0.0f);  // exp32(100) is infinite
}

TEST_CASE("elements lie at any address") {
    char memory[32] = {};
    for (int shift = 0; shift < 5; ++shift) {
        for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16, CK_F8_E4M3}) {
            store_float(dtype, memory + shift, 2, -1.5f);
            CHECK(load_float(dtype, memory + shift, 2) == -1.5f);
        }
    }
    store_float(CK_F16, memory, 0, 1.0f);
    CHECK(static_cast<unsigned char>(memory[1]) == 0x3C);
    CHECK(round_to(CK_F16, 2049.0f) == 2048.0f);
    CHECK(round_to(CK_BF16, 257.0f) == 256.0f);
    CHECK(round_to(CK_F32, 2049.0f) == 2049.0f);
}

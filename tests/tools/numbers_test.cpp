// 16-bit floats and the scan for values that cannot be quantized, over every bit pattern.
#include "numbers.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "catch.hpp"

namespace ckitchen::cli::test {
namespace {

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

TEST_CASE("Every f16 and bf16 survives the way to float and back") {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        const float from_f16 = f16_to_float(half);
        const float from_bf16 = bf16_to_float(half);
        if (std::isnan(from_f16))
            REQUIRE(std::isnan(f16_to_float(float_to_f16(from_f16))));
        else
            REQUIRE(float_to_f16(from_f16) == half);
        if (std::isnan(from_bf16))
            REQUIRE(std::isnan(bf16_to_float(float_to_bf16(from_bf16))));
        else
            REQUIRE(float_to_bf16(from_bf16) == half);
    }
    CHECK(f16_to_float(0x3C00) == 1.0f);
    CHECK(f16_to_float(0x7BFF) == 65504.0f);
    CHECK(f16_to_float(0x0001) == 0x1p-24f);
    CHECK(std::signbit(f16_to_float(0x8000)));
    CHECK(bf16_to_float(0x3F80) == 1.0f);
}

TEST_CASE("Values between two 16-bit floats go to the nearer, ties to even") {
    for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
        const double low = f16_to_float(static_cast<std::uint16_t>(bits));
        const double high = bits == 0x7BFF ? 65536.0 : f16_to_float(static_cast<std::uint16_t>(bits + 1));
        const auto middle = static_cast<float>((low + high) / 2);
        const std::uint32_t even = bits + (bits & 1);
        REQUIRE(float_to_f16(middle) == even);
        REQUIRE(float_to_f16(-middle) == (even | 0x8000));
        REQUIRE(float_to_f16(std::nextafter(middle, 0.0f)) == bits);
        REQUIRE(float_to_f16(std::nextafter(middle, 1e6f)) == bits + 1);
    }
    CHECK(float_to_f16(1e-9f) == 0);
    CHECK(float_to_f16(1e9f) == 0x7C00);
    CHECK(float_to_bf16(std::bit_cast<float>(0x3F808000u)) == 0x3F80);
    CHECK(float_to_bf16(std::bit_cast<float>(0x3F818000u)) == 0x3F82);
    CHECK(float_to_bf16(std::bit_cast<float>(0x3F808001u)) == 0x3F81);
    CHECK(float_to_bf16(std::numeric_limits<float>::max()) == 0x7F80);
    CHECK(std::isnan(bf16_to_float(float_to_bf16(std::bit_cast<float>(0x7F800001u)))));
}

TEST_CASE("NaN, infinity and huge values are counted in every dtype") {
    const float inf = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> values = {0, -1, nan, inf, -inf, 0x1p100f, -0x1p100f, 0x1p99f, 1e-45f};
    const ValueFault f32 = scan_values(Dtype::kF32, bytes_of(values));
    CHECK(f32.non_finite == 3);
    CHECK(f32.too_large == 2);
    std::uint64_t non_finite = 0;
    std::uint64_t too_large = 0;
    std::vector<std::uint16_t> all(65536);
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        all[bits] = static_cast<std::uint16_t>(bits);
        const float value = bf16_to_float(all[bits]);
        non_finite += std::isfinite(value) ? 0 : 1;
        too_large += std::isfinite(value) && std::abs(value) >= 0x1p100f ? 1 : 0;
    }
    const ValueFault bf16 = scan_values(Dtype::kBf16, bytes_of(all));
    CHECK(bf16.non_finite == non_finite);
    CHECK(bf16.too_large == too_large);
    CHECK(too_large > 0);
    const ValueFault f16 = scan_values(Dtype::kF16, bytes_of(all));
    CHECK(f16.non_finite == 2 * 1024);
    CHECK(f16.too_large == 0);
    CHECK(scan_values(Dtype::kF32, {}).non_finite == 0);
}

TEST_CASE("The relative error is the one of the norms") {
    ErrorSums sums;
    sums.add_rows(std::vector<double>{1, 0, 9, 16});
    CHECK(sums.relative() == Approx(0.2));
    sums.add_rows(std::vector<double>{1, 0});
    CHECK(sums.relative() == Approx(std::sqrt(2.0) / 5));
    CHECK(ErrorSums{}.relative() == 0);
    ErrorSums zero;
    zero.add_rows(std::vector<double>{1, 0});
    CHECK(std::isinf(zero.relative()));
}

TEST_CASE("Conversions work at any alignment") {
    std::vector<std::byte> odd(1 + 3 * 2);
    const std::vector<float> values = {1.5f, -2.0f, 0.25f};
    for (const Dtype dtype : {Dtype::kF16, Dtype::kBf16}) {
        from_floats(dtype, values, std::span(odd).subspan(1));
        std::vector<float> back(3);
        to_floats(dtype, std::span(odd).subspan(1), back);
        CHECK(back == values);
    }
}

}  // namespace
}  // namespace ckitchen::cli::test

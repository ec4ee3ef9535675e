// Results that are known beforehand: what zero rows, tiny values, infinities and NaN become, the sign of
// zero, the order of nibbles, and that no result depends on how a tensor is cut into calls.
#include <cmath>
#include <cstring>
#include <limits>

#include "suite.hpp"

namespace ckitchen::conformance {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("");

std::vector<int8_t> codes(const Outcome& outcome, const char* name) {
    const Bytes& bytes = outcome.outputs.at(name);
    return std::vector<int8_t>(bytes.begin(), bytes.end());
}

// int8_error

Case error_case(int64_t rows, int64_t k, const std::vector<float>& x, const std::vector<int8_t>& q,
                const std::vector<float>& scale) {
    Case which = make_case([&](ck_int8_error_args& args) {
        args.dtype = CK_F32;
        args.rows = rows;
        args.k = k;
        args.scale_mode = scale.size() == 1 && rows != 1 ? CK_SCALE_SCALAR : CK_SCALE_VECTOR;
    });
    which.given["x"] = to_bytes(x);
    which.given["q"] = to_bytes(q);
    which.given["scale"] = to_bytes(scale);
    return which;
}

TEST_CASE("int8_error of small numbers", "[rules][int8_error]") {
    // v = 2, -4, 6; then 1, -2, 3
    Case which = error_case(2, 3, {2, -3, 4, 0, 0, 5}, {1, -2, 3, 1, -2, 3}, {2, 1});
    which.given["difference"] = to_bytes(std::vector<double>{0 + 1 + 4, 1 + 4 + 4});
    which.given["original"] = to_bytes(std::vector<double>{4 + 9 + 16, 25});
    check(which);
    which = error_case(2, 3, {2, -3, 4, 0, 0, 5}, {1, -2, 3, 1, -2, 3}, {2});
    which.given["difference"] = to_bytes(std::vector<double>{0 + 1 + 4, 4 + 16 + 1});
    which.given["original"] = to_bytes(std::vector<double>{4 + 9 + 16, 25});
    check(which);
}

TEST_CASE("int8_error of values whose squares float32 cannot hold", "[rules][int8_error]") {
    Case which = error_case(2, 2, {0x1p100f, 0, 0x1p-100f, 0}, {1, 0, 0, 1}, {0x1p99f, 0x1p-100f});
    which.given["difference"] = to_bytes(std::vector<double>{0x1p198, 0x1p-199});
    which.given["original"] = to_bytes(std::vector<double>{0x1p200, 0x1p-200});
    check(which);
}

TEST_CASE("int8_error rotates back before it compares", "[rules][int8_error]") {
    // The rotation of (2, 0, 0, 0) is (1, 1, 1, -1).
    Case which = error_case(1, 4, {1, 1, 1, 1}, {2, 0, 0, 0}, {1});
    which.problem.args.int8_error.rotate_group = 4;
    which.given["difference"] = to_bytes(std::vector<double>{4});
    which.given["original"] = to_bytes(std::vector<double>{4});
    check(which);
}

// The order of the sums by another route than the reference's: one list of all columns is folded by the
// header's words. With these values every other order that was tried gives other bits.
TEST_CASE("int8_error adds up in the order of its definition", "[rules][int8_error]") {
    const auto halve = [](std::vector<double> values) {
        while (values.size() > 1) {
            const size_t half = values.size() / 2;
            for (size_t i = 0; i < half; ++i) values[i] += values[i + half];
            values.resize(half);
        }
        return values[0];
    };
    for (const int64_t k : {40, 1500, 2048, 10000}) {
        std::vector<float> x(static_cast<size_t>(k));
        uint32_t state = 1;
        for (float& value : x) {
            state = state * 1664525u + 1013904223u;
            value = std::ldexp(static_cast<float>(state >> 8), static_cast<int>(state >> 28) - 24);
        }
        std::vector<double> columns(static_cast<size_t>((k + 8191) / 8192 * 8192));
        double from_left_to_right = 0;
        for (size_t i = 0; i < x.size(); ++i) {
            columns[i] = static_cast<double>(x[i]) * static_cast<double>(x[i]);
            from_left_to_right += columns[i];
        }
        std::vector<double> turns(8, 0.0);
        for (size_t step = 0; step * 1024 < columns.size(); ++step) {
            std::vector<double> pieces;
            for (size_t piece = 0; piece < 64; ++piece) {
                const auto first = columns.begin() + static_cast<std::ptrdiff_t>(step * 1024 + piece * 16);
                pieces.push_back(halve({first, first + 16}));
            }
            turns[step % 8] += halve(pieces);
        }
        const double expected = halve(turns);
        CHECK(expected != from_left_to_right);
        Case which = error_case(1, k, x, std::vector<int8_t>(x.size(), 0), {1});
        which.given["difference"] = to_bytes(std::vector<double>{expected});
        which.given["original"] = to_bytes(std::vector<double>{expected});
        check(which);
    }
}

// int8_gemm

Case gemm(int64_t m, int64_t n, int64_t k, ck_dtype out_dtype, ck_dtype bias_dtype = CK_DTYPE_NONE) {
    return make_case(CK_OP_INT8_GEMM, [&](Args& all) {
        all.int8_gemm.m = m;
        all.int8_gemm.n = n;
        all.int8_gemm.k = k;
        all.int8_gemm.out_dtype = out_dtype;
        all.int8_gemm.bias_dtype = bias_dtype;
        if (bias_dtype != CK_DTYPE_NONE) all.int8_gemm.bias = at_alignment(256);
    });
}

TEST_CASE("int8_gemm of depth 0 is the bias, or zero", "[rules][int8_gemm]") {
    for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16}) {
        std::vector<float> bias;
        std::vector<float> c;
        for (int j = 1; j <= 8; ++j) bias.push_back(static_cast<float>(j));
        for (int i = 0; i < 4; ++i) c.insert(c.end(), bias.begin(), bias.end());
        Case which = gemm(4, 8, 0, dtype, CK_F32);
        which.given["scale_a"] = to_bytes(std::vector<float>(4, 1.0f));
        which.given["scale_b"] = to_bytes(std::vector<float>(8, 1.0f));
        which.given["bias"] = to_bytes(bias);
        which.given["c"] = to_bytes(c, dtype);
        check(which);
        Case zero = gemm(4, 8, 0, dtype);
        zero.given["scale_a"] = which.given["scale_a"];
        zero.given["scale_b"] = which.given["scale_b"];
        zero.given["c"] = to_bytes(std::vector<float>(32, 0.0f), dtype);
        check(zero);
    }
    Case sums = gemm(4, 8, 0, CK_I32);
    sums.given["c"] = Bytes(4 * 4 * 8, 0);
    check(sums);
}

// Nothing is added without a bias, so a negative scale leaves -0; a bias of 0 makes it +0.
TEST_CASE("int8_gemm and the sign of zero", "[rules][int8_gemm]") {
    for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16})
        for (const bool with_bias : {false, true}) {
            Case which = gemm(2, 3, 5, dtype, with_bias ? ck_dtype{CK_F32} : ck_dtype{CK_DTYPE_NONE});
            which.given["a"] = Bytes(10, 0);
            which.given["scale_a"] = to_bytes(std::vector<float>{-0.5f, 0.5f});
            which.given["scale_b"] = to_bytes(std::vector<float>{1.0f, -1.0f, 2.0f});
            if (with_bias) which.given["bias"] = to_bytes(std::vector<float>(3, 0.0f));
            const std::vector<float> c = with_bias
                                             ? std::vector<float>(6, 0.0f)
                                             : std::vector<float>{-0.0f, 0.0f, -0.0f, 0.0f, -0.0f, 0.0f};
            which.given["c"] = to_bytes(c, dtype);
            check(which);
        }
}

// (acc * scale_a) * scale_b is not acc * (scale_a * scale_b).
TEST_CASE("int8_gemm multiplies the scales one after the other", "[rules][int8_gemm]") {
    Case which = gemm(1, 1, 1, CK_F32);
    which.given["a"] = Bytes{3};
    which.given["b"] = Bytes{1};
    const float scale_a = 0x1.6b7f32p+0f;
    const float scale_b = 0x1.300e5cp+0f;
    which.given["scale_a"] = to_bytes(std::vector<float>{scale_a});
    which.given["scale_b"] = to_bytes(std::vector<float>{scale_b});
    volatile float first = 3.0f * scale_a;
    volatile float expected = first * scale_b;
    volatile float scales = scale_a * scale_b;
    volatile float other = 3.0f * scales;
    REQUIRE(expected != other);
    which.given["c"] = to_bytes(std::vector<float>{expected});
    check(which);
}

TEST_CASE("int8_gemm rounds the sum to float32 before it scales", "[rules][int8_gemm]") {
    // 2^24 + 1 = 1040 products of 127 * 127 = 16774160, and 3057 more.
    Case which = gemm(1, 1, 1042, CK_F32);
    Bytes a(1042, 127);
    Bytes b(1042, 127);
    a[1040] = 100;
    b[1040] = 30;
    a[1041] = 57;
    b[1041] = 1;
    int64_t sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += int64_t{a[i]} * b[i];
    REQUIRE(sum == (1 << 24) + 1);
    which.given["a"] = a;
    which.given["b"] = b;
    which.given["scale_a"] = to_bytes(std::vector<float>{1.0f});
    which.given["scale_b"] = to_bytes(std::vector<float>{1.0f});
    which.given["c"] = to_bytes(std::vector<float>{16777216.0f});
    check(which);
    Case exact = gemm(1, 1, 1042, CK_I32);
    exact.given["a"] = a;
    exact.given["b"] = b;
    exact.given["c"] = to_bytes(std::vector<int32_t>{16777217});
    check(exact);
}

TEST_CASE("int8_gemm lets NaN and infinity through", "[rules][int8_gemm]") {
    for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16}) {
        Case which = gemm(3, 2, 4, dtype);
        which.given["a"] = Bytes{1, 1, 1, 1, 0, 0, 0, 0, 255, 0, 0, 0};
        which.given["b"] = Bytes{1, 1, 1, 1, 1, 0, 0, 0};
        which.given["scale_a"] = to_bytes(std::vector<float>{kInfinity, kInfinity, 1.0f});
        which.given["scale_b"] = to_bytes(std::vector<float>{1.0f, kNan});
        which.given["c"] = to_bytes(std::vector<float>{kInfinity, kNan, kNan, kNan, -1.0f, kNan}, dtype);
        check(which);
    }
    // Finite, but beyond the type: infinity.
    Case overflow = gemm(1, 1, 1, CK_F16);
    overflow.given["a"] = Bytes{127};
    overflow.given["b"] = Bytes{127};
    overflow.given["scale_a"] = to_bytes(std::vector<float>{-100.0f});
    overflow.given["scale_b"] = to_bytes(std::vector<float>{1.0f});
    overflow.given["c"] = to_bytes(std::vector<float>{-kInfinity}, CK_F16);
    check(overflow);
}

// int8_quantize

Case quantize(const std::vector<float>& x, int64_t rows, ck_dtype dtype) {
    Case which = make_case(CK_OP_INT8_QUANTIZE, [&](Args& all) {
        all.int8_quantize.dtype = dtype;
        all.int8_quantize.rows = rows;
        all.int8_quantize.k = static_cast<int64_t>(x.size()) / rows;
    });
    which.given["x"] = to_bytes(x, dtype);
    return which;
}

TEST_CASE("int8_quantize of zero rows beside others", "[rules][int8_quantize]") {
    for (const int64_t k : {13, 48}) {
        std::vector<float> x(static_cast<size_t>(3 * k), 0.0f);
        for (int64_t i = 0; i < k; ++i) x[static_cast<size_t>(k + i)] = static_cast<float>(i - 6) * 0.5f;
        x[static_cast<size_t>(3 * k - 1)] = -2.0f;
        for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16}) {
            const Outcome outcome = check(quantize(x, 3, dtype));
            const std::vector<float> scale = to_floats(outcome.outputs.at("scale"), CK_F32);
            CHECK(scale[0] == 1e-30f);
            CHECK(scale[2] == 2.0f / 127.0f);
            const std::vector<int8_t> q = codes(outcome, "q");
            for (int64_t i = 0; i < k; ++i) {
                CHECK(q[static_cast<size_t>(i)] == 0);
                CHECK(q[static_cast<size_t>(2 * k + i)] == (i == k - 1 ? -127 : 0));
            }
        }
    }
}

TEST_CASE("int8_quantize of NaN and infinity", "[rules][int8_quantize]") {
    for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16}) {
        Case which = quantize({kNan, kInfinity, -kInfinity, 1.0f}, 1, dtype);
        which.given["scale"] = to_bytes(std::vector<float>{1.0f / 127.0f});
        which.given["q"] = to_bytes(std::vector<int8_t>{0, 127, -128, 127});
        check(which);
        Case none = quantize({kNan, kInfinity, -kInfinity, kNan}, 1, dtype);
        none.given["scale"] = to_bytes(std::vector<float>{1e-30f});
        none.given["q"] = to_bytes(std::vector<int8_t>{0, 127, -128, 0});
        check(none);
    }
    // The scale comes from the largest finite value.
    Case overflow = quantize({65504.0f, kInfinity, 1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f}, 1, CK_F16);
    overflow.given["scale"] = to_bytes(std::vector<float>{65504.0f / 127.0f});
    overflow.given["q"] = to_bytes(std::vector<int8_t>{127, 127, 0, 0, 0, 0, 0, 0});
    check(overflow);
}

TEST_CASE("int8_quantize of the negative end: -127", "[rules][int8_quantize]") {
    for (const float amax : {1.0f, 0.3f, 7.0f, 1e-20f, 60000.0f})
        for (const ck_dtype dtype : {CK_F32, CK_BF16}) {
            const Outcome outcome = check(quantize({-amax, amax, 0.0f, -amax}, 1, dtype));
            CHECK(codes(outcome, "q") == std::vector<int8_t>{-127, 127, 0, -127});
        }
}

TEST_CASE("int8_quantize of values near the smallest numbers", "[rules][int8_quantize]") {
    // 1e-38 / 127 is below the smallest scale.
    Case f32 = quantize({1e-38f, -1e-38f, 1e-40f, 0.0f}, 1, CK_F32);
    f32.given["scale"] = to_bytes(std::vector<float>{1e-30f});
    f32.given["q"] = to_bytes(std::vector<int8_t>{0, 0, 0, 0});
    check(f32);
    // The smallest float16 is 6e-8: an ordinary float32.
    Case f16 = quantize({0x1p-24f, -0x1p-24f, 0.0f, 0.0f}, 1, CK_F16);
    f16.given["scale"] = to_bytes(std::vector<float>{0x1p-24f / 127.0f});
    f16.given["q"] = to_bytes(std::vector<int8_t>{127, -127, 0, 0});
    check(f16);
}

TEST_CASE("int8_quantize rounds halves to even", "[rules][int8_quantize]") {
    Case which = quantize({127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 125.5f}, 1, CK_BF16);
    which.given["scale"] = to_bytes(std::vector<float>{1.0f});
    which.given["q"] = to_bytes(std::vector<int8_t>{127, 0, 2, 2, 0, -2, -2, 126});
    check(which);
}

TEST_CASE("gelu_tanh and swiglu at the ends of the range", "[rules][int8_quantize]") {
    // gelu(-inf) is NaN by its steps, hence 0; gelu of a large number is the number.
    Case gelu = quantize({-kInfinity, 10.0f, -10.0f, 0.0f}, 1, CK_F32);
    gelu.problem.args.int8_quantize.activation = CK_ACTIVATION_GELU_TANH;
    gelu.given["q"] = to_bytes(std::vector<int8_t>{0, 127, 0, 0});
    gelu.given["scale"] = to_bytes(std::vector<float>{10.0f / 127.0f});
    check(gelu);
    // Gates far to the left close, far to the right pass.
    Case swiglu = quantize({-1000.0f, 1000.0f, 5.0f, 0.25f}, 1, CK_F32);
    swiglu.problem.args.int8_quantize.activation = CK_ACTIVATION_SWIGLU;
    swiglu.problem.args.int8_quantize.k = 2;
    swiglu.given["q"] = to_bytes(std::vector<int8_t>{0, 127});
    swiglu.given["scale"] = to_bytes(std::vector<float>{250.0f / 127.0f});
    check(swiglu);
}

// W4A8

Case requant(const std::vector<float>& weight, int64_t n, ck_dtype dtype, int32_t group,
             ck_w4a8_layout layout) {
    Case which = make_case(CK_OP_W4A8_REQUANT, [&](Args& all) {
        all.w4a8_requant.dtype = dtype;
        all.w4a8_requant.n = n;
        all.w4a8_requant.k = static_cast<int64_t>(weight.size()) / n;
        all.w4a8_requant.group = group;
        all.w4a8_requant.layout = layout;
        all.w4a8_requant.nonfinite = static_cast<uint64_t*>(at_alignment(8));
    });
    which.given["weight"] = to_bytes(weight, dtype);
    return which;
}

// Powers of two keep every division exact: the whole result by hand.
TEST_CASE("w4a8_requant, uniform, by hand", "[rules][w4a8_requant]") {
    // Group 0: gs = 7/7 = 1. Group 1: gs = 3.5/7 = 0.5.
    Case which = requant({7, -7, 0, 1, 2.5f, -2.5f, 3.5f, -0.5f, 3.5f, 0, -3.5f, 1, 0.25f, 0.75f, -0.25f, 2},
                         1, CK_F32, 8, CK_W4A8_UNIFORM);
    which.problem.args.w4a8_requant.s_rel_dtype = CK_F32;
    // round half to even, then + 8: 15 1 8 9 | 2.5 -> 2, -2.5 -> -2, 3.5 -> 4, -0.5 -> 0
    //                               15 8 1 10 | 0.5 -> 0, 1.5 -> 2, -0.5 -> 0, 4
    const uint8_t code[16] = {15, 1, 8, 9, 10, 6, 12, 8, 15, 8, 1, 10, 8, 10, 8, 12};
    Bytes packed_codes;
    for (size_t i = 0; i < 16; i += 2)
        packed_codes.push_back(static_cast<uint8_t>(code[i] | code[i + 1] << 4));
    which.given["packed"] = packed_codes;
    const float s_channel = 7.0f / 127.0f;
    which.given["s_channel"] = to_bytes(std::vector<float>{s_channel});
    which.given["s_rel"] = to_bytes(std::vector<float>{1.0f / s_channel, 0.5f / s_channel});
    which.given["nonfinite"] = to_bytes(std::vector<uint64_t>{0});
    check(which);
}

TEST_CASE("w4a8_requant, asymmetric, by hand", "[rules][w4a8_requant]") {
    // Group 0 runs from 1 to 16: gs = 1, code = w - 1, correction = 8 + 1. Group 1 from -8 to 7: gs = 1.
    Case which = requant({1, 16, 4, 4.5f, -8, 7, 0, 0.5f}, 1, CK_BF16, 4, CK_W4A8_ASYMMETRIC);
    which.problem.args.w4a8_requant.s_rel_dtype = CK_F32;
    const uint8_t code[8] = {0, 15, 3, 4, 0, 15, 8, 8};
    Bytes packed_codes;
    for (size_t i = 0; i < 8; i += 2)
        packed_codes.push_back(static_cast<uint8_t>(code[i] | code[i + 1] << 4));
    which.given["packed"] = packed_codes;
    const float s_channel = 8.0f / 127.0f;
    which.given["s_channel"] = to_bytes(std::vector<float>{s_channel});
    which.given["s_rel"] = to_bytes(std::vector<float>{1.0f / s_channel, 1.0f / s_channel});
    which.given["correction"] = to_bytes(std::vector<float>{9.0f, 0.0f}, CK_BF16);
    check(which);
}

TEST_CASE("w4a8_requant of dead groups and rows", "[rules][w4a8_requant][w4a8_dequant]") {
    // Row 0 has a zero group among others, row 1 is all zero.
    std::vector<float> weight(128, 0.0f);
    for (size_t i = 0; i < 64; ++i)
        if (i / 16 != 1) weight[i] = std::sin(static_cast<float>(i));
    for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_UNIFORM, CK_W4A8_ASYMMETRIC}) {
        const Outcome outcome = check(requant(weight, 2, CK_F32, 16, layout));
        const std::vector<float> s_channel = to_floats(outcome.outputs.at("s_channel"), CK_F32);
        const std::vector<float> s_rel = to_floats(outcome.outputs.at("s_rel"), CK_F8_E4M3);
        for (float scale : s_rel) CHECK(std::isfinite(scale));
        CHECK(s_channel[0] > 1e-4f);
        // The smallest scale of a group is 1e-8, and its largest level 8 at most.
        CHECK((s_channel[1] >= 1e-8f && s_channel[1] < 1.1e-8f));

        Case dequant = make_case(CK_OP_W4A8_DEQUANT, [&](Args& all) {
            all.w4a8_dequant.out_dtype = CK_F32;
            all.w4a8_dequant.n = 2;
            all.w4a8_dequant.k = 64;
            all.w4a8_dequant.group = 16;
            all.w4a8_dequant.layout = layout;
            if (layout == CK_W4A8_ASYMMETRIC) all.w4a8_dequant.correction_dtype = CK_F32;
        });
        for (const auto& [name, bytes] : outcome.outputs)
            if (name != "nonfinite") dequant.given[name] = bytes;
        const std::vector<float> decoded = to_floats(check(dequant).outputs.at("out"), CK_F32);
        for (size_t i = 16; i < 32; ++i)
            CHECK(std::fabs(decoded[i]) < 1e-2f * std::fabs(s_channel[0]) + 1e-6f);
        for (size_t i = 64; i < 128; ++i) CHECK(std::fabs(decoded[i]) < 1e-6f);
        for (size_t i = 0; i < 16; ++i) CHECK(std::fabs(decoded[i] - weight[i]) < 0.15f);
    }
}

TEST_CASE("w4a8_requant of tiny weights stays finite", "[rules][w4a8_requant]") {
    for (const float tiny : {1e-38f, 1e-40f, 1e-36f})
        for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_UNIFORM, CK_W4A8_ASYMMETRIC}) {
            std::vector<float> weight(64, tiny);
            for (size_t i = 32; i < 64; ++i) weight[i] = i % 2 == 0 ? 1.0f : -1.0f;
            const Outcome outcome = check(requant(weight, 2, CK_F32, 16, layout));
            for (float scale : to_floats(outcome.outputs.at("s_rel"), CK_F8_E4M3))
                CHECK(std::isfinite(scale));
            for (float scale : to_floats(outcome.outputs.at("s_channel"), CK_F32))
                CHECK(std::isfinite(scale));
        }
}

// A weight that is not finite counts as 0 and is counted, each element once; its neighbours keep their codes.
TEST_CASE("w4a8_requant counts non-finite weights and takes them for zero", "[rules][w4a8_requant]") {
    std::vector<float> weight(256);
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = std::cos(static_cast<float>(i));
    for (const int32_t rotate_group : {0, 64})
        for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_UNIFORM, CK_W4A8_ASYMMETRIC}) {
            std::vector<float> zeroed = weight;
            std::vector<float> broken = weight;
            const float values[3] = {kNan, kInfinity, -kInfinity};
            for (size_t i = 0; i < 3; ++i) {
                zeroed[17 + 50 * i] = 0;
                broken[17 + 50 * i] = values[i];
            }
            Case clean = requant(zeroed, 1, CK_F32, 16, layout);
            Case which = requant(broken, 1, CK_F32, 16, layout);
            clean.problem.args.w4a8_requant.rotate_group = rotate_group;
            which.problem.args.w4a8_requant.rotate_group = rotate_group;
            clean.given["nonfinite"] = to_bytes(std::vector<uint64_t>{0});
            which.given["nonfinite"] = to_bytes(std::vector<uint64_t>{3});
            const Outcome expected = check(clean);
            const Outcome outcome = check(which);
            for (const char* name : {"packed", "s_rel", "s_channel"}) {
                INFO(name);
                CHECK(outcome.outputs.at(name) == expected.outputs.at(name));
            }
        }
    // Many rows on many threads count every element once.
    Case many = requant(std::vector<float>(64 * 1000, kNan), 1000, CK_BF16, 16, CK_W4A8_CODEBOOK);
    many.given["nonfinite"] = to_bytes(std::vector<uint64_t>{64000});
    check(many);
    // What a rotation overflows to infinity counts as 0 too, and is not counted: the first of four values is
    // (3 * 60000 + 60000) / 2, beyond float16.
    Case overflow = requant({60000, 60000, 60000, -60000}, 1, CK_F16, 4, CK_W4A8_UNIFORM);
    overflow.problem.args.w4a8_requant.rotate_group = 4;
    overflow.given["nonfinite"] = to_bytes(std::vector<uint64_t>{0});
    const Outcome outcome = check(overflow);
    CHECK(outcome.outputs.at("packed") == Bytes{0x88, 0x88});
    CHECK(to_floats(outcome.outputs.at("s_channel"), CK_F32) == std::vector<float>{1e-8f});
}

// Stochastic rounding: the draw belongs to the element of the whole tensor.
TEST_CASE("w4a8_requant does not depend on how rows are cut into calls", "[rules][w4a8_requant]") {
    const int64_t n = 64;
    const int64_t k = 96;
    const uint64_t far = uint64_t{1} << 33;
    for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_UNIFORM, CK_W4A8_ASYMMETRIC})
        for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{0xfedcba9876543210}})
            for (const uint64_t offset : {uint64_t{0}, uint64_t{7}, far, UINT64_MAX - 20}) {
                Case whole = make_case(CK_OP_W4A8_REQUANT, [&](Args& all) {
                    all.w4a8_requant.dtype = CK_BF16;
                    all.w4a8_requant.n = n;
                    all.w4a8_requant.k = k;
                    all.w4a8_requant.group = 16;
                    all.w4a8_requant.layout = layout;
                    all.w4a8_requant.seed = seed;
                    all.w4a8_requant.row_offset = offset;
                    all.w4a8_requant.rotate_group = 16;
                });
                std::vector<float> weight(static_cast<size_t>(n * k));
                Random random(3);
                for (float& value : weight) value = random.normal();
                whole.given["weight"] = to_bytes(weight, CK_BF16);
                const Outcome expected = check(whole);
                if (!expected.ok()) continue;
                std::map<std::string, Bytes> joined;
                for (int64_t row = 0; row < n;) {
                    const int64_t rows = std::min<int64_t>(row == 0 ? 1 : 21, n - row);
                    Case part = whole;
                    part.problem.args.w4a8_requant.n = rows;
                    part.problem.args.w4a8_requant.row_offset = offset + static_cast<uint64_t>(row);
                    const auto begin = whole.given["weight"].begin() + row * k * 2;
                    part.given["weight"] = Bytes(begin, begin + rows * k * 2);
                    for (const auto& [name, bytes] : check(part).outputs)
                        joined[name].insert(joined[name].end(), bytes.begin(), bytes.end());
                    row += rows;
                }
                for (const char* name : {"packed", "s_rel", "s_channel"}) {
                    INFO(name << ", seed " << seed << ", offset " << offset);
                    CHECK(joined[name] == expected.outputs.at(name));
                }
                // Twice the same is the same.
                CHECK(check(whole).outputs == expected.outputs);
            }
}

// Only the low 32 bits of the element's place are used; the seed's halves are.
TEST_CASE("w4a8_requant draws from the low 32 bits of the place and both halves of the seed",
          "[rules][w4a8_requant]") {
    const auto run = [&](uint64_t seed, uint64_t row_offset) {
        return check(make_case(CK_OP_W4A8_REQUANT,
                               [&](Args& all) {
                                   all.w4a8_requant.dtype = CK_F32;
                                   all.w4a8_requant.n = 4;
                                   all.w4a8_requant.k = 256;
                                   all.w4a8_requant.group = 16;
                                   all.w4a8_requant.seed = seed;
                                   all.w4a8_requant.row_offset = row_offset;
                               }))
            .outputs.at("packed");
    };
    const Bytes first = run(5, 0);
    CHECK(run(5, uint64_t{1} << 24) == first);  // 2^24 rows of 2^8 columns: 2^32 elements
    CHECK(run(5, uint64_t{1} << 60) == first);
    CHECK(run(5, (uint64_t{1} << 24) + 1) == run(5, 1));
    CHECK(run(5, 1) != first);
    CHECK(run(5, uint64_t{1} << 23) != first);
    CHECK(run(6, 0) != first);
    CHECK(run(uint64_t{5} << 32, 0) == first);  // the halves are joined by exclusive or
    CHECK(run((uint64_t{7} << 32) | 2, 0) == first);
    CHECK(run(0, 0) != first);
}

TEST_CASE("w4a8_dequant of every e4m3 scale and every code", "[rules][w4a8_dequant]") {
    Bytes s_rel;
    Bytes packed_codes;
    std::vector<float> s_channel;
    std::vector<int8_t> grid;
    for (int byte = 0; byte < 256; ++byte) {
        s_rel.push_back(static_cast<uint8_t>(byte));
        s_channel.push_back(1.0f);
        const float scale = from_e4m3(static_cast<uint8_t>(byte));
        for (int code = 0; code < 16; ++code) {
            if (code % 2 == 0) packed_codes.push_back(static_cast<uint8_t>(code | (code + 1) << 4));
            const float value = std::nearbyintf(static_cast<float>(code - 8) * scale);
            grid.push_back(std::isnan(value)
                               ? int8_t{0}
                               : static_cast<int8_t>(std::fmin(std::fmax(value, -127.0f), 127.0f)));
        }
    }
    Case which = make_case(CK_OP_W4A8_DEQUANT, [&](Args& all) {
        all.w4a8_dequant.out_dtype = CK_I8;
        all.w4a8_dequant.n = 256;
        all.w4a8_dequant.k = 16;
        all.w4a8_dequant.group = 16;
        all.w4a8_dequant.layout = CK_W4A8_UNIFORM;
    });
    which.given["packed"] = packed_codes;
    which.given["s_rel"] = s_rel;
    which.given["out"] = to_bytes(grid);
    check(which);

    Case floats = which;
    floats.problem.args.w4a8_dequant.out_dtype = CK_F32;
    floats.given["s_channel"] = to_bytes(s_channel);
    std::vector<float> expected(grid.begin(), grid.end());
    floats.given["out"] = to_bytes(expected);
    check(floats);
}

// Even columns lie in the low nibble; the default codebook is the table of the header.
TEST_CASE("w4a8_dequant: nibble order and the default codebook", "[rules][w4a8_dequant]") {
    Case which = make_case(CK_OP_W4A8_DEQUANT, [&](Args& all) {
        all.w4a8_dequant.out_dtype = CK_F32;
        all.w4a8_dequant.n = 1;
        all.w4a8_dequant.k = 16;
        all.w4a8_dequant.group = 16;
        all.w4a8_dequant.s_rel_dtype = CK_F32;
    });
    which.given["packed"] = Bytes{0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe};
    which.given["s_rel"] = to_bytes(std::vector<float>{100.0f});
    which.given["s_channel"] = to_bytes(std::vector<float>{2.0f});
    which.given["out"] = to_bytes(
        std::vector<float>{-196, -158, -128, -100, -76, -52, -32, -10, 10, 32, 54, 76, 100, 128, 158, 196});
    check(which);
}

TEST_CASE("w4a8_choose_codebook takes the default where it must", "[rules][w4a8_choose_codebook]") {
    const auto choose = [&](const std::vector<float>& weight, int64_t n) {
        Case which = make_case(CK_OP_W4A8_CHOOSE_CODEBOOK, [&](Args& all) {
            all.w4a8_choose_codebook.dtype = CK_F32;
            all.w4a8_choose_codebook.n = n;
            all.w4a8_choose_codebook.k = static_cast<int64_t>(weight.size()) / n;
            all.w4a8_choose_codebook.group = 16;
        });
        which.given["weight"] = to_bytes(weight);
        return to_floats(check(which).outputs.at("codebook"), CK_F32);
    };
    const float* table = ck_w4a8_default_codebook();
    const std::vector<float> standard(table, table + 16);
    // Two values: the lowest kurtosis there is. Evenly spread: -1.2. Nothing finite. All equal.
    std::vector<float> weight(64 * 16);
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = i % 2 == 0 ? 1.0f : -1.0f;
    CHECK(choose(weight, 4) == standard);
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i % 16) - 7.5f;
    CHECK(choose(weight, 4) == standard);
    CHECK(choose(std::vector<float>(64, kNan), 1) == standard);
    CHECK(choose(std::vector<float>(64, 0.0f), 1) == standard);
    CHECK(choose(std::vector<float>(64, 3.0f), 1) == standard);
    // One value far away in each group: heavy tails, so the levels are fitted, ascending, within [-1, 1].
    Random random(9);
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = i % 16 == 3 ? 40.0f : random.normal();
    const std::vector<float> fitted = choose(weight, 8);
    CHECK(fitted != standard);
    for (size_t j = 1; j < 16; ++j) CHECK(fitted[j - 1] <= fitted[j]);
    CHECK((fitted.front() >= -1.0f && fitted.back() == 1.0f));
    CHECK(choose(weight, 8) == fitted);
}

// One context, many shapes: what one call leaves behind must not show in the next.
TEST_CASE("many shapes in a row", "[rules][int8_quantize]") {
    const int64_t count = suite().count(60, 1000);
    for (int64_t i = 0; i < count; ++i) {
        const Budget small = {4096, 2048};
        check(random_case(CK_OP_INT8_QUANTIZE, i * 7, suite().seed + 1000, small, device().is_cpu()));
    }
}

}  // namespace
}  // namespace ckitchen::conformance

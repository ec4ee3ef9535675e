// Every check of the harness is given a fault that it must find: a check that cannot fail is worth nothing.
#include <cmath>
#include <cstring>

#include "suite.hpp"

namespace ckitchen::conformance {
namespace {

// Flips the bits of `mask` in the byte at `pointer + offset` on the device.
void flip(ck_context* context, void* pointer, int64_t offset, uint8_t mask) {
    uint8_t byte = 0;
    uint8_t* const place = static_cast<uint8_t*>(pointer) + offset;
    expect_ok(ck_copy(context, &byte, place, 1, CK_COPY_DEVICE_TO_HOST, nullptr), "ck_copy");
    byte ^= mask;
    expect_ok(ck_copy(context, place, &byte, 1, CK_COPY_HOST_TO_DEVICE, nullptr), "ck_copy");
}

// The operator, and then the damage.
template <typename Damage>
Hooks damaged(Damage damage) {
    Hooks hooks;
    hooks.call = [damage](const Op& op, ck_context* context, const Args& args) {
        const ck_status status = op.call(context, args, nullptr);
        if (status == CK_OK) damage(context, args);
        return status;
    };
    return hooks;
}

// int8_gemm with 3 unused bf16 columns behind each row of c.
Case gemm_case() {
    return make_case(CK_OP_INT8_GEMM, [](Args& all) {
        ck_int8_gemm_args& args = all.int8_gemm;
        args.out_dtype = CK_BF16;
        args.m = 5;
        args.n = 7;
        args.k = 19;
        args.lda = 23;
        args.ldc = 10;
    });
}

// The damage is of a size that is found in these values; other seeds have larger logits and wider bounds.
Case na3d_case(ck_dtype dtype) {
    Case which = make_case(CK_OP_NA3D, [dtype](Args& all) {
        ck_na3d_args& args = all.na3d;
        args.dtype = dtype;
        args.batch = args.t = args.heads = 1;
        args.h = 3;
        args.w = 5;
        args.head_dim = 8;
        args.kernel[0] = 1;
        args.kernel[1] = args.kernel[2] = 3;
        args.scale = 0.01f;  // small logits, which widen the bounds least
    });
    which.seed = 1;
    return which;
}

TEST_CASE("an undamaged result passes", "[harness][int8_gemm]") {
    const Outcome outcome = run_case(device(), gemm_case());
    INFO(outcome.line(device(), gemm_case()));
    CHECK(outcome.ok());
    CHECK(outcome.variant != "");
}

TEST_CASE("one wrong bit of a result is found", "[harness][int8_gemm]") {
    for (int bit = 0; bit < 8; ++bit) {
        const Hooks hooks = damaged([bit](ck_context* context, const Args& args) {
            flip(context, args.int8_gemm.c, (4 * 10 + 6) * 2, static_cast<uint8_t>(1 << bit));
        });
        const Outcome outcome = run_case(device(), gemm_case(), hooks);
        CHECK(outcome.has(Fault::kValue));
        CHECK(outcome.failures.size() == 1);
        CHECK(outcome.line(device(), gemm_case()).find("c[4,6]") != std::string::npos);
    }
}

TEST_CASE("a wrong sign of zero is found", "[harness][int8_gemm]") {
    Case which = gemm_case();
    which.given["a"] = Bytes(5 * 19, 0);
    const Hooks hooks =
        damaged([](ck_context* context, const Args& args) { flip(context, args.int8_gemm.c, 1, 0x80); });
    CHECK(run_case(device(), which).ok());
    CHECK(run_case(device(), which, hooks).has(Fault::kValue));
}

TEST_CASE("a NaN equals any NaN and no number", "[harness][int8_gemm]") {
    Case which = gemm_case();
    which.given["scale_a"] = to_bytes(std::vector<float>(5, std::nanf("")));
    const Hooks payload =
        damaged([](ck_context* context, const Args& args) { flip(context, args.int8_gemm.c, 0, 0x15); });
    const Hooks number =
        damaged([](ck_context* context, const Args& args) { flip(context, args.int8_gemm.c, 1, 0x40); });
    CHECK(run_case(device(), which, payload).ok());
    CHECK(run_case(device(), which, number).has(Fault::kValue));
}

TEST_CASE("an output that is left alone is found, whole and in part", "[harness][int8_gemm]") {
    Hooks nothing;
    nothing.call = [](const Op&, ck_context*, const Args&) { return ck_status{CK_OK}; };
    CHECK(run_case(device(), gemm_case(), nothing).has(Fault::kUnwritten));
    CHECK(run_case(device(), gemm_case(), nothing).has(Fault::kCounter));

    // One row less than asked for.
    Hooks short_call;
    short_call.call = [](const Op& op, ck_context* context, const Args& args) {
        Args fewer = args;
        fewer.int8_gemm.m -= 1;
        return op.call(context, fewer, nullptr);
    };
    CHECK(run_case(device(), gemm_case(), short_call).has(Fault::kUnwritten));

    // A result that happens to be all ones bits, 0xff, is no excuse: what lies there before differs from it.
    Case ones = make_case(CK_OP_INT8_GEMM, [](Args& all) {
        all.int8_gemm.out_dtype = CK_I32;
        all.int8_gemm.m = all.int8_gemm.n = all.int8_gemm.k = 1;
    });
    for (const int8_t a : {int8_t{-1}, int8_t{0}, int8_t{1}}) {
        ones.given["a"] = Bytes{static_cast<uint8_t>(a)};
        ones.given["b"] = Bytes{1};
        CHECK(run_case(device(), ones).ok());
        CHECK(run_case(device(), ones, nothing).has(Fault::kUnwritten));
    }
}

TEST_CASE("a written guard byte is found on either side of any tensor", "[harness][int8_gemm]") {
    const int64_t end = (4 * 10 + 7) * 2;
    for (const int64_t offset :
         {int64_t{-1}, int64_t{-2}, -kGuardBytes, end, end + 1, end + kGuardBytes - 1}) {
        INFO("offset " << offset);
        const Hooks hooks = damaged([offset](ck_context* context, const Args& args) {
            flip(context, args.int8_gemm.c, offset, 0x01);
        });
        const Outcome outcome = run_case(device(), gemm_case(), hooks);
        CHECK(outcome.has(Fault::kGuard));
        CHECK(outcome.failures.size() == 1);
    }
    const Hooks input = damaged([](ck_context* context, const Args& args) {
        flip(context, const_cast<float*>(args.int8_gemm.scale_a), 5 * 4, 0x80);
    });
    CHECK(run_case(device(), gemm_case(), input).has(Fault::kGuard));
}

TEST_CASE("a written byte between rows is found", "[harness][int8_gemm]") {
    for (const int64_t offset : {int64_t{7 * 2}, int64_t{9 * 2 + 1}, int64_t{(3 * 10 + 8) * 2}}) {
        const Hooks hooks = damaged([offset](ck_context* context, const Args& args) {
            flip(context, args.int8_gemm.c, offset, 0x10);
        });
        const Outcome outcome = run_case(device(), gemm_case(), hooks);
        CHECK(outcome.has(Fault::kPadding));
        CHECK(outcome.failures.size() == 1);
    }
    const Hooks input = damaged([](ck_context* context, const Args& args) {
        flip(context, const_cast<void*>(args.int8_gemm.a), 19, 0x01);
    });
    CHECK(run_case(device(), gemm_case(), input).has(Fault::kPadding));
}

TEST_CASE("a changed input is found", "[harness][int8_gemm]") {
    const Hooks hooks = damaged([](ck_context* context, const Args& args) {
        flip(context, const_cast<void*>(args.int8_gemm.a), 23 + 3, 0x01);
    });
    CHECK(run_case(device(), gemm_case(), hooks).has(Fault::kInput));
}

TEST_CASE("another variant than the announced one is found", "[harness][int8_gemm]") {
    Hooks hooks;
    hooks.last_variant = [] { return std::string("another_variant"); };
    const Outcome outcome = run_case(device(), gemm_case(), hooks);
    CHECK(outcome.has(Fault::kVariant));
    CHECK(outcome.failures.size() == 1);
}

TEST_CASE("another kernel than the variant's is found", "[harness][int8_gemm][simulated]") {
    CHECK(run_case(device(), gemm_case()).ok());
    Hooks other;
    other.launched = [](Device&) { return std::vector<std::string>{"ckitchen_int8_gemm_other"}; };
    CHECK(run_case(device(), gemm_case(), other).has(Fault::kKernel));
    Hooks none;
    none.launched = [](Device&) { return std::vector<std::string>(); };
    CHECK(run_case(device(), gemm_case(), none).has(Fault::kKernel));
}

TEST_CASE("a call that is not counted, or counted twice, is found", "[harness][int8_gemm]") {
    Hooks twice;
    twice.call = [](const Op& op, ck_context* context, const Args& args) {
        op.call(context, args, nullptr);
        return op.call(context, args, nullptr);
    };
    CHECK(run_case(device(), gemm_case(), twice).has(Fault::kCounter));
}

TEST_CASE("a refused call is found", "[harness][int8_gemm]") {
    Hooks hooks;
    hooks.call = [](const Op& op, ck_context* context, const Args& args) {
        Args wrong = args;
        wrong.int8_gemm.lda = 1;
        return op.call(context, wrong, nullptr);
    };
    const Outcome outcome = run_case(device(), gemm_case(), hooks);
    CHECK(outcome.has(Fault::kStatus));
    CHECK(outcome.status == CK_ERROR_INVALID_ARGUMENT);
    CHECK(outcome.failures[0].text.find("lda") != std::string::npos);
}

TEST_CASE("a wrong count of non-finite elements is found", "[harness][w4a8_requant]") {
    Case which = make_case(CK_OP_W4A8_REQUANT, [](Args& all) {
        ck_w4a8_requant_args& args = all.w4a8_requant;
        args.dtype = CK_BF16;
        args.n = 2;
        args.k = 32;
        args.group = 16;
        args.nonfinite = static_cast<uint64_t*>(at_alignment(8));
    });
    which.fill = Fill::kNonFinite;
    CHECK(run_case(device(), which).ok());
    const Hooks hooks = damaged(
        [](ck_context* context, const Args& args) { flip(context, args.w4a8_requant.nonfinite, 0, 0x01); });
    CHECK(run_case(device(), which, hooks).has(Fault::kValue));
}

TEST_CASE("attention that is left out is found", "[harness][na3d]") {
    Hooks nothing;
    nothing.call = [](const Op&, ck_context*, const Args&) { return ck_status{CK_OK}; };
    for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16})
        CHECK(run_case(device(), na3d_case(dtype), nothing).has(Fault::kUnwritten));
}

TEST_CASE("attention beyond its bounds is found", "[harness][na3d]") {
    for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16}) {
        INFO("dtype " << dtype);
        const Case which = na3d_case(dtype);
        CHECK(run_case(device(), which).ok());
        // The exponent's lowest bit: the element doubles or halves.
        const Hooks wrong = damaged([dtype](ck_context* context, const Args& args) {
            flip(context, args.na3d.out, element_size(dtype) - 1, 0x01);
            flip(context, args.na3d.out, 2 * element_size(dtype) - 1, 0x01);
        });
        CHECK(run_case(device(), which, wrong).has(Fault::kValue));
        // The norm's bound alone finds a small error in many elements.
        Hooks scaled;
        scaled.call = [dtype](const Op& op, ck_context* context, const Args& args) {
            const ck_status status = op.call(context, args, nullptr);
            const int64_t count = 3 * 5 * 8;
            Bytes bytes(static_cast<size_t>(count * element_size(dtype)));
            expect_ok(
                ck_copy(context, bytes.data(), args.na3d.out, bytes.size(), CK_COPY_DEVICE_TO_HOST, nullptr),
                "ck_copy");
            std::vector<float> values = to_floats(bytes, dtype);
            for (float& value : values)
                value *= dtype == CK_F32 ? 1.00001f : dtype == CK_F16 ? 1.002f : 1.016f;
            bytes = to_bytes(values, dtype);
            expect_ok(
                ck_copy(context, args.na3d.out, bytes.data(), bytes.size(), CK_COPY_HOST_TO_DEVICE, nullptr),
                "ck_copy");
            return status;
        };
        CHECK(run_case(device(), which, scaled).has(Fault::kValue));
        const Hooks nan = damaged([dtype](ck_context* context, const Args& args) {
            flip(context, args.na3d.out, element_size(dtype) - 1, 0xff);
            flip(context, args.na3d.out, element_size(dtype) - 2, 0xff);
        });
        CHECK(run_case(device(), which, nan).has(Fault::kValue));
    }
}

TEST_CASE("a codebook beyond its bound is found", "[harness][w4a8_choose_codebook]") {
    const Case which = make_case(CK_OP_W4A8_CHOOSE_CODEBOOK, [](Args& all) {
        ck_w4a8_choose_codebook_args& args = all.w4a8_choose_codebook;
        args.dtype = CK_F32;
        args.n = 16;
        args.k = 64;
        args.group = 16;
    });
    CHECK(run_case(device(), which).ok());
    // 2^-18 of a level, four times the bound.
    const Hooks hooks = damaged([](ck_context* context, const Args& args) {
        flip(context, args.w4a8_choose_codebook.codebook, 0, 0x20);
    });
    CHECK(run_case(device(), which, hooks).has(Fault::kValue));
}

TEST_CASE("a fault at a page's edge would end the run", "[harness][int8_gemm]") {
    // Not provoked here, but the placement itself: data that ends where accessible memory ends.
    if (!device().is_cpu()) {
        CHECK_THROWS(Buffer(device(), describe(gemm_case().problem)[0], Placement::kPageEnd));
        return;
    }
    Case which = gemm_case();
    for (const Placement placement : {Placement::kPageEnd, Placement::kPageBegin}) {
        which.placement = placement;
        CHECK(run_case(device(), which).ok());
    }
    const Operand operand = describe(which.problem)[0];
    const Buffer end(device(), operand, Placement::kPageEnd);
    CHECK((reinterpret_cast<uintptr_t>(end.pointer()) + 4 * 23 + 19) % 4096 == 0);
    const Buffer begin(device(), operand, Placement::kPageBegin);
    CHECK(reinterpret_cast<uintptr_t>(begin.pointer()) % 4096 == 0);
}

TEST_CASE("alignments are exact", "[harness][int8_gemm]") {
    Case which = gemm_case();
    for (uintptr_t alignment = 1; alignment <= 256; alignment *= 2) {
        which.problem.args.int8_gemm.a = at_alignment(alignment);
        const Buffer buffer(device(), describe(which.problem)[0], Placement::kGuarded);
        const auto address = reinterpret_cast<uintptr_t>(buffer.pointer());
        CHECK(address % alignment == 0);
        if (alignment < 256) CHECK(address % (2 * alignment) != 0);
    }
}

TEST_CASE("case texts read back as the same case", "[harness]") {
    for (const Op& op : all_ops())
        for (int64_t i = 0; i < 50; ++i) {
            const Case which = random_case(op.op, i, suite().seed, suite().budget(), true);
            const std::string text = format_case(which);
            std::string error;
            const std::optional<Case> back = parse_case(text, &error);
            INFO(text << ": " << error);
            REQUIRE(back.has_value());
            CHECK(format_case(*back) == text);
            CHECK(std::memcmp(&back->problem.args, &which.problem.args, op.args_size) == 0);
        }
    std::string error;
    for (const char* text : {"", "op=nothing", "op=rotate fish=1", "op=rotate rows=x",
                             "op=rotate | fill=blue", "op=rotate | seed=x", "op=rotate | placement=1"}) {
        INFO(text);
        CHECK_FALSE(parse_case(text, &error).has_value());
    }
}

TEST_CASE("generated cases stay within the budget and cover every combination", "[harness]") {
    const Budget budget;
    for (const Op& op : all_ops()) {
        int64_t empty = 0;
        for (int64_t i = 0; i < 300; ++i) {
            const Case which = random_case(op.op, i, suite().seed + 1, budget, true);
            INFO(format_case(which));
            CHECK(cost(which.problem) <= budget.cost * 1.01);
            empty += cost(which.problem) == 0;
        }
        INFO(op.name);
        CHECK(empty > 0);
        CHECK(empty < 60);
    }
}

TEST_CASE("the suite's own conversions of small floats", "[harness]") {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<uint16_t>(bits);
        const float f16 = from_f16(half);
        const float bf16 = from_bf16(half);
        if (std::isnan(f16) ? !std::isnan(from_f16(to_f16(f16))) : to_f16(f16) != half) FAIL("f16 " << bits);
        if (std::isnan(bf16) ? !std::isnan(from_bf16(to_bf16(bf16))) : to_bf16(bf16) != half)
            FAIL("bf16 " << bits);
    }
    for (uint32_t bits = 0; bits < 0x100; ++bits) {
        const auto code = static_cast<uint8_t>(bits);
        const float value = from_e4m3(code);
        if (std::isnan(value) ? (code & 0x7f) != 0x7f : to_e4m3(value) != code) FAIL("e4m3 " << bits);
    }
    CHECK(to_f16(65519.996f) == 0x7bff);
    CHECK(to_f16(65520.0f) == 0x7c00);
    CHECK(to_f16(0x1p-25f) == 0);
    CHECK(to_f16(0x1.8p-24f) == 2);
    CHECK(to_f16(1.0f + 0x1p-11f) == 0x3c00);
    CHECK(to_f16(1.0f + 0x3p-11f) == 0x3c02);
    CHECK(to_bf16(1.0f + 0x1p-8f) == 0x3f80);
    CHECK(to_bf16(1.0f + 0x3p-8f) == 0x3f82);
    CHECK(to_bf16(3.4e38f) == 0x7f80);
    CHECK(to_e4m3(1e9f) == 0x7e);
    CHECK(to_e4m3(-HUGE_VALF) == 0xfe);
    CHECK(from_e4m3(0x01) == 0x1p-9f);
    CHECK(to_e4m3(0x1p-10f) == 0);
    CHECK(to_e4m3(0x3p-10f) == 2);
}

}  // namespace
}  // namespace ckitchen::conformance

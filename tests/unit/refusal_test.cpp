// What is told where no variant takes a problem: argument, value and limit, in as many whole items as fit.
#include "ops/refusal.hpp"

#include <vector>

#include "catch.hpp"
#include "ops/int8_error.hpp"
#include "ops/int8_gemm.hpp"
#include "ops/int8_linear.hpp"
#include "ops/int8_quantize.hpp"
#include "ops/na3d.hpp"
#include "ops/rotate.hpp"
#include "ops/w4a8_dequant.hpp"
#include "ops/w4a8_linear.hpp"
#include "ops/w4a8_requant.hpp"

using namespace ckitchen;
using namespace ckitchen::ops;

namespace {

template <typename Op>
Refusal refusal(const char* name, typename Op::Args args) {
    REQUIRE(Op::normalise(args).ok());
    for (const DeviceRow& row : Op::device_rows()) {
        if (std::string_view(row.name) == name) return Op::refusal(args, Variant{Op::id, row.name, row.row});
    }
    FAIL("no row is called " << name);
    return {};
}

template <typename Args>
void* at(Args value) {
    return reinterpret_cast<void*>(static_cast<uintptr_t>(value));
}

ck_int8_gemm_args gemm(int64_t m, int64_t n, int64_t k) {
    ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
    args.out_dtype = CK_BF16;
    args.m = m;
    args.n = n;
    args.k = k;
    return args;
}

std::string all_refused(ck_int8_gemm_args args, const char* of_what = "this problem") {
    REQUIRE(Int8Gemm::normalise(args).ok());
    std::vector<RefusedVariant> refused;
    for (const DeviceRow& row : Int8Gemm::device_rows())
        refused.push_back({row.name, Int8Gemm::refusal(args, Variant{Int8Gemm::id, row.name, row.row})});
    const Status status = no_variant("int8_gemm", "gfx1201", of_what, refused);
    CHECK(status.code() == CK_ERROR_UNSUPPORTED_PROBLEM);
    return status.message();
}

}  // namespace

TEST_CASE("a refusal formats its values when it is asked") {
    CHECK_FALSE(Refusal());
    CHECK(Refusal().text().empty());
    CHECK(Refusal("k is 0").text() == "k is 0");
    const Refusal refusal("{} is {:#x}, {} at most {}, {}", "a", uint64_t{0xabc}, 0.5f, int64_t{-3}, 7);
    CHECK(refusal);
    CHECK(refusal.text() == "a is 0xabc, 0.5 at most -3, 7");
}

TEST_CASE("the first argument that is misaligned is named") {
    CHECK_FALSE(refuse_misaligned(16, {{"a", at(64)}, {"lda", 32}, {"ldx", 8, 2}}));
    CHECK(refuse_misaligned(16, {{"a", at(32)}, {"b", at(0x41)}}).text() ==
          "b is 0x41, must be a multiple of 16");
    CHECK(refuse_misaligned(16, {{"lda", 17}}).text() == "lda is 17, must be a multiple of 16");
    CHECK(refuse_misaligned(16, {{"ldx", 17, 2}}).text() ==
          "ldx is 17, times 2 bytes it must be a multiple of 16");
}

TEST_CASE("where nothing takes a problem, whole items are told") {
    const std::string text = all_refused(gemm(1, int64_t{1} << 38, 16));
    INFO(text);
    CHECK(text.size() < sizeof(ck_support_info::reason));
    CHECK(text.find("int8_gemm has no variant on gfx1201 for this problem: int8_gemm_") == 0);
    CHECK(text.find(": m is 1, n is 274877906944: more than ") != std::string::npos);
    // The rest by its number.
    const std::size_t more = text.rfind("; and ");
    REQUIRE(more != std::string::npos);
    CHECK(text.substr(text.size() - 5) == " more");
    const int left = std::stoi(text.substr(more + 6));
    CHECK(left > 0);
    CHECK(left < static_cast<int>(Int8Gemm::device_rows().size()));
}

TEST_CASE("variants with the same reason are one item") {
    const RefusedVariant refused[] = {{"first", {"m is {}, at most {}", 9, 8}},
                                      {"second", "k is 0"},
                                      {"third", {"m is {}, at most {}", 9, 8}}};
    CHECK(no_variant("op", "gfx1201", "this problem", refused).message() ==
          "op has no variant on gfx1201 for this problem: third and 1 other: m is 9, at most 8; second: k is "
          "0");
}

TEST_CASE("even a first item that is too long leaves a whole text") {
    const std::string reason(300, 'x');
    const RefusedVariant refused[] = {{"first", reason.c_str()}};
    CHECK(no_variant("op", "gfx1201", "this problem", refused).message() ==
          "op has no variant on gfx1201 for this problem; and 1 more");
    CHECK(no_variant("op", "gfx1201", "this problem", {}).message() ==
          "op has no variant on gfx1201 for this problem");
}

TEST_CASE("what keeps int8_gemm's variants from a problem") {
    const auto text = [](const char* name, const ck_int8_gemm_args& args) {
        return refusal<Int8Gemm>(name, args).text();
    };
    CHECK(text("int8_gemm_gemv_8", gemm(9, 16, 16)) == "m is 9, at most 8");
    CHECK(text("int8_gemm_mma_async_128x128", gemm(16, 16, 0)) == "k is 0");
    CHECK(text("int8_gemm_mma_async_128x128", gemm(16, 16, 24)) == "k is 24, must be a multiple of 16");
    ck_int8_gemm_args odd = gemm(16, 16, 32);
    odd.ldb = 40;
    CHECK(text("int8_gemm_mma_async_128x128", odd) == "ldb is 40, must be a multiple of 16");
    odd = gemm(16, 16, 32);
    odd.bias = at(0x101);
    odd.bias_dtype = CK_BF16;
    CHECK(text("int8_gemm_mma_async_128x128", odd) == "bias is 0x101, must be a multiple of 2");
}

TEST_CASE("a linear's refusals have the linear's names") {
    ck_int8_linear_args args = CK_INIT(ck_int8_linear_args);
    args.x_dtype = args.out_dtype = CK_BF16;
    args.m = 16;
    args.n = 16;
    args.k = 32;
    args.w = at(0x101);
    CHECK(refusal<Int8Linear>("int8_linear_mma_async_128x128", args).text() ==
          "w is 0x101, must be a multiple of 16");
}

TEST_CASE("what keeps the other operators' variants from a problem") {
    ck_rotate_args rotation = CK_INIT(ck_rotate_args);
    rotation.dtype = CK_BF16;
    rotation.rows = 2;
    rotation.k = 64;
    rotation.ldx = 68;
    rotation.group = 4;
    for (const DeviceRow& row : Rotate::device_rows()) {
        const Refusal found = refusal<Rotate>(row.name, rotation);
        if (found) CHECK(found.text() == "ldx is 68, times 2 bytes it must be a multiple of 16");
    }
    ck_int8_error_args error = CK_INIT(ck_int8_error_args);
    error.dtype = CK_BF16;
    error.rows = 2;
    error.k = 64;
    error.q = at(0x108);
    CHECK(refusal<Int8Error>("int8_error_aligned", error).text() == "q is 0x108, must be a multiple of 16");
    CHECK_FALSE(refusal<Int8Error>("int8_error_unaligned", error));
    error.q = nullptr;
    error.ldq = 72;
    CHECK(refusal<Int8Error>("int8_error_aligned", error).text() == "ldq is 72, must be a multiple of 16");
    error.rows = 1;  // whose stride is not used
    CHECK_FALSE(refusal<Int8Error>("int8_error_aligned", error));
    ck_na3d_args attention = CK_INIT(ck_na3d_args);
    attention.dtype = CK_F32;
    attention.batch = attention.t = attention.h = attention.w = attention.heads = 2;
    attention.head_dim = 64;
    attention.kernel[0] = attention.kernel[1] = attention.kernel[2] = 1;
    std::size_t refusals = 0;
    for (const DeviceRow& row : Na3d::device_rows()) {
        const Refusal found = refusal<Na3d>(row.name, attention);
        if (!found) continue;
        ++refusals;
        INFO(row.name << ": " << found.text());
        CHECK(found.text().find("dtype is CK_F32, must be CK_F16") == 0);
    }
    CHECK(refusals > 0);
}

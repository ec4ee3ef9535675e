// INT8 GEMM with row and column scales: ckitchen.h section 7.
#pragma once

#include "core/context.hpp"
#include "core/region.hpp"
#include "int8_gemm/int8_gemm_args.h"
#include "ops/operator.hpp"
#include "runtime/driver.hpp"

namespace ckitchen::ops {

// The most that int32 accumulation guarantees: 131071 * 128 * 128 < 2^31.
constexpr int64_t kMaxGemmK = 131071;
Status check_gemm_extents(int64_t m, int64_t n, int64_t k);

// What the arguments are called in the operator that the caller called.
struct Int8GemmNames {
    const char* a = "a";
    const char* lda = "lda";
    const char* b = "b";
    const char* ldb = "ldb";
    const char* c = "c";
    const char* scale_a = "scale_a";
    const char* scale_b = "scale_b";
};

// The first of C, the scales and the bias whose elements lie at no multiples of their size.
Refusal int8_gemm_unnatural(const ck_int8_gemm_args& args, const Int8GemmNames& names = {});
bool int8_gemm_is_natural(const ck_int8_gemm_args& args);

// The problem for a kernel, without its launch geometry.
Int8GemmArgs int8_gemm_device_args(const ck_int8_gemm_args& args);

struct Int8Gemm {
    using Args = ck_int8_gemm_args;
    static constexpr ck_op id = CK_OP_INT8_GEMM;
    static constexpr const char* cpu_variant = "int8_gemm_cpu";
    static constexpr const char* metric_names[] = {"m", "n", "k", "outputs", "columns"};

    static Status normalise(Args& args);
    static bool empty(const Args& args);
    static void regions(const Args& args, Regions& regions);
    static uint64_t workspace(const ck_context& context, const Args& args, const Variant& variant);
    static std::span<const DeviceRow> device_rows();
    static Metrics metrics(const Args& args);
    static Refusal refusal(const Args& args, const Variant& variant, const Int8GemmNames& names = {});
    static Status prepare(ck_context& context, const Args& args, const Variant& variant);
    // As part of another operator: without a workspace K is not split, and A and B must be such that none is
    // copied. `order` is that of its first kernel.
    static Status run(ck_context& context, const Args& args, const Variant& variant, void* stream,
                      runtime::LaunchOrder order = runtime::LaunchOrder::After);
};

}  // namespace ckitchen::ops

// Row quantization and INT8 GEMM in one call: ckitchen.h section 9.
#pragma once

#include "core/context.hpp"
#include "core/region.hpp"
#include "ops/operator.hpp"

namespace ckitchen::ops {

struct Int8Linear {
    using Args = ck_int8_linear_args;
    static constexpr ck_op id = CK_OP_INT8_LINEAR;
    static constexpr const char* cpu_variant = "int8_linear_cpu";
    // A device variant is one of the INT8 GEMM; the quantizer in front chooses its own.
    static constexpr const char* preferences = "int8_gemm";
    static constexpr const char* metric_names[] = {"m", "n", "k", "outputs", "columns"};

    static Status normalise(Args& args);
    static bool empty(const Args& args);
    static void regions(const Args& args, Regions& regions);
    static uint64_t workspace(const ck_context& context, const Args& args, const Variant& variant);
    static std::span<const DeviceRow> device_rows();
    static Metrics metrics(const Args& args);
    static Refusal refusal(const Args& args, const Variant& variant);
    static Status prepare(ck_context& context, const Args& args, const Variant& variant);
    static Status run(ck_context& context, const Args& args, const Variant& variant, void* stream);
};

}  // namespace ckitchen::ops

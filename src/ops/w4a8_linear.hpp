// Linear layer with a W4A8 weight: ckitchen.h section 10.
#pragma once

#include "core/context.hpp"
#include "core/region.hpp"
#include "ops/operator.hpp"

namespace ckitchen::ops {

struct W4a8Linear {
    using Args = ck_w4a8_linear_args;
    static constexpr ck_op id = CK_OP_W4A8_LINEAR;
    static constexpr const char* cpu_variant = "w4a8_linear_cpu";
    // A device variant is one of the INT8 GEMM; the quantizer and the decoder in front choose their own.
    static constexpr const char* preferences = "int8_gemm";
    static constexpr const char* metric_names[] = {"m", "n", "k", "outputs", "columns"};

    static Status normalise(Args& args);
    static bool empty(const Args& args);
    static void regions(const Args& args, Regions& regions);
    static uint64_t workspace(const ck_context& context, const Args& args, const Variant& variant);
    static std::span<const DeviceRow> device_rows();
    // `ahead`: for a device that decodes a part while the one before it is multiplied.
    static Metrics metrics(const Args& args, bool ahead = false);
    static Metrics metrics(const ck_context& context, const Args& args);
    static Refusal refusal(const Args& args, const Variant& variant);
    static Status prepare(ck_context& context, const Args& args, const Variant& variant);
    static Status run(ck_context& context, const Args& args, const Variant& variant, void* stream);
};

}  // namespace ckitchen::ops

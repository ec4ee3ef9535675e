// Decoding of a W4A8 weight: ckitchen.h section 10.
#pragma once

#include "core/context.hpp"
#include "core/region.hpp"
#include "ops/operator.hpp"
#include "runtime/driver.hpp"

namespace ckitchen::ops {

struct W4a8Dequant {
    using Args = ck_w4a8_dequant_args;
    static constexpr ck_op id = CK_OP_W4A8_DEQUANT;
    static constexpr const char* cpu_variant = "w4a8_dequant_cpu";
    static constexpr const char* metric_names[] = {"n", "k"};

    static Status normalise(Args& args);
    static bool empty(const Args& args);
    static void regions(const Args& args, Regions& regions);
    static std::span<const DeviceRow> device_rows();
    static Metrics metrics(const Args& args);
    static Refusal refusal(const Args& args, const Variant& variant);
    static Status prepare(ck_context& context, const Args& args, const Variant& variant);
    static Status run(ck_context& context, const Args& args, const Variant& variant, void* stream,
                      runtime::LaunchOrder order = runtime::LaunchOrder::After);
};

}  // namespace ckitchen::ops

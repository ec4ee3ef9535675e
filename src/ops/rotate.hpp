// ConvRot rotation: ckitchen.h section 8.
#pragma once

#include "core/context.hpp"
#include "core/region.hpp"
#include "ops/operator.hpp"

namespace ckitchen::ops {

struct Rotate {
    using Args = ck_rotate_args;
    static constexpr ck_op id = CK_OP_ROTATE;
    static constexpr const char* cpu_variant = "rotate_cpu";
    static constexpr const char* metric_names[] = {"m", "k"};
    // In place is legal.
    static constexpr const char* may_alias = "x";
    static constexpr const char* alias_of = "y";

    static Status normalise(Args& args);
    static bool empty(const Args& args);
    static void regions(const Args& args, Regions& regions);
    static std::span<const DeviceRow> device_rows();
    static Metrics metrics(const Args& args);
    static Refusal refusal(const Args& args, const Variant& variant);
    static Status prepare(ck_context& context, const Args& args, const Variant& variant);
    static Status run(ck_context& context, const Args& args, const Variant& variant, void* stream);
};

}  // namespace ckitchen::ops

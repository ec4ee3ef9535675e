// Neighborhood attention: ckitchen.h section 11.
#pragma once

#include "core/context.hpp"
#include "core/region.hpp"
#include "ops/operator.hpp"

namespace ckitchen::ops {

struct Na3d {
    using Args = ck_na3d_args;
    static constexpr ck_op id = CK_OP_NA3D;
    static constexpr const char* cpu_variant = "na3d_cpu";
    // `window`: the most keys that a query attends.
    static constexpr const char* metric_names[] = {"queries", "window", "head_dim"};

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

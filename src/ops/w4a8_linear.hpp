// Linear layer with a W4A8 weight: ckitchen.h section 10.
#pragma once

#include "core/context.hpp"
#include "core/region.hpp"

namespace ckitchen::ops {

struct W4a8Linear {
    using Args = ck_w4a8_linear_args;
    static constexpr ck_op id = CK_OP_W4A8_LINEAR;
    static constexpr const char* cpu_variant = "w4a8_linear_cpu";

    static Status normalise(Args& args);
    static bool empty(const Args& args);
    static void regions(const Args& args, Regions& regions);
    static uint64_t workspace(const ck_context& context, const Args& args, const Variant& variant);
    static Status run(ck_context& context, const Args& args, const Variant& variant, void* stream);
};

}  // namespace ckitchen::ops

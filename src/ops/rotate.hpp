// ConvRot rotation: ckitchen.h section 8.
#pragma once

#include "core/context.hpp"
#include "core/region.hpp"

namespace ckitchen::ops {

struct Rotate {
    using Args = ck_rotate_args;
    static constexpr ck_op id = CK_OP_ROTATE;
    static constexpr const char* cpu_variant = "rotate_cpu";
    // In place is legal.
    static constexpr const char* may_alias = "x";
    static constexpr const char* alias_of = "y";

    static Status normalise(Args& args);
    static bool empty(const Args& args);
    static void regions(const Args& args, Regions& regions);
    static Status run(ck_context& context, const Args& args, const Variant& variant, void* stream);
};

}  // namespace ckitchen::ops

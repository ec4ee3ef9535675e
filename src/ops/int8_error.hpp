// Distance of int8 rows from the floats that they stand for: ckitchen.h section 8.
#pragma once

#include "core/context.hpp"
#include "core/region.hpp"
#include "ops/operator.hpp"

namespace ckitchen::ops {

struct Int8Error {
    using Args = ck_int8_error_args;
    static constexpr ck_op id = CK_OP_INT8_ERROR;
    static constexpr const char* cpu_variant = "int8_error_cpu";
    static constexpr const char* metric_names[] = {"rows", "k"};

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

// Row quantization with activation and rotation: ckitchen.h section 8.
#pragma once

#include "core/context.hpp"
#include "core/region.hpp"
#include "ops/operator.hpp"

namespace ckitchen::ops {

struct Int8Quantize {
    using Args = ck_int8_quantize_args;
    static constexpr ck_op id = CK_OP_INT8_QUANTIZE;
    static constexpr const char* cpu_variant = "int8_quantize_cpu";
    static constexpr const char* metric_names[] = {"m", "k"};

    static Status normalise(Args& args);
    static bool empty(const Args& args);
    static void regions(const Args& args, Regions& regions);
    static uint64_t workspace(const ck_context& context, const Args& args, const Variant& variant);
    static std::span<const DeviceRow> device_rows();
    static Metrics metrics(const Args& args);
    static Refusal refusal(const Args& args, const Variant& variant);
    static Status prepare(ck_context& context, const Args& args, const Variant& variant);
    // Writes q in blocks of 16 rows, as INT8 GEMM rows of kind Tiled read it. args.q holds whole blocks, ldq
    // is a multiple of 16.
    static Status run_tiled(ck_context& context, const Args& args, const Variant& variant, void* stream);
    static Status run(ck_context& context, const Args& args, const Variant& variant, void* stream);
};

}  // namespace ckitchen::ops

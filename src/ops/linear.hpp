// What the linears on GPUs have in common: a row quantization into the workspace in front of a product.
#pragma once

#include "core/linear_args.hpp"
#include "ops/checks.hpp"
#include "ops/int8_gemm.hpp"
#include "ops/int8_quantize.hpp"

namespace ckitchen::ops {

// All arguments but the weight's.
template <typename Args>
Status normalise_linear(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("x_dtype", args.x_dtype, kFloats));
    CK_RETURN_IF_ERROR(check_dtype("out_dtype", args.out_dtype, kFloats));
    CK_RETURN_IF_ERROR(check_gemm_extents(args.m, args.n, args.k));
    CK_RETURN_IF_ERROR(check_choice("activation", args.activation, CK_ACTIVATION_SWIGLU));
    CK_RETURN_IF_ERROR(check_ld("ldx", args.ldx, args.activation == CK_ACTIVATION_SWIGLU ? "2k" : "k",
                                activation_width(args.activation, args.k)));
    CK_RETURN_IF_ERROR(check_ld("ldy", args.ldy, "n", args.n));
    CK_RETURN_IF_ERROR(check_rotate_group("rotate_group", args.rotate_group, args.k, true));
    return check_optional_dtype("bias_dtype", args.bias_dtype, args.bias, kFloats);
}

// Memory: x first, then the weight, then bias and y.
template <typename Args>
void linear_input(const Args& args, Regions& regions) {
    regions.input("x", args.x, args.m, activation_width(args.activation, args.k), args.ldx,
                  dtype_size(args.x_dtype));
}

template <typename Args>
void linear_output(const Args& args, Regions& regions) {
    regions.optional_input("bias", args.bias, 1, args.n, 0, dtype_size(args.bias_dtype));
    regions.output("y", args.y, args.m, args.n, args.ldy, dtype_size(args.out_dtype));
}

inline Status prepare_quantizer(ck_context& context, const ck_int8_quantize_args& part) {
    const Variant* quantizer = nullptr;
    CK_RETURN_IF_ERROR(Call<Int8Quantize>::choose_part(context, part, quantizer));
    return Int8Quantize::prepare(context, part, *quantizer);
}

// `tiled`: in the order in which a matrix unit takes it.
inline Status run_quantizer(ck_context& context, const ck_int8_quantize_args& part, bool tiled,
                            void* stream) {
    const Variant* quantizer = nullptr;
    CK_RETURN_IF_ERROR(Call<Int8Quantize>::choose_part(context, part, quantizer));
    return tiled ? Int8Quantize::run_tiled(context, part, *quantizer, stream)
                 : Int8Quantize::run(context, part, *quantizer, stream);
}

}  // namespace ckitchen::ops

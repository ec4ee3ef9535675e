#include "ops/int8_linear.hpp"

#include "cpu/int8_linear.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/int8_gemm.hpp"

namespace ckitchen::ops {

Status Int8Linear::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("x_dtype", args.x_dtype, kFloats));
    CK_RETURN_IF_ERROR(check_dtype("out_dtype", args.out_dtype, kFloats));
    CK_RETURN_IF_ERROR(check_gemm_extents(args.m, args.n, args.k));
    CK_RETURN_IF_ERROR(check_choice("activation", args.activation, CK_ACTIVATION_SWIGLU));
    CK_RETURN_IF_ERROR(check_ld("ldx", args.ldx, args.activation == CK_ACTIVATION_SWIGLU ? "2k" : "k",
                                activation_width(args.activation, args.k)));
    CK_RETURN_IF_ERROR(check_ld("ldw", args.ldw, "k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldy", args.ldy, "n", args.n));
    CK_RETURN_IF_ERROR(check_choice("w_scale_mode", args.w_scale_mode, CK_SCALE_SCALAR));
    CK_RETURN_IF_ERROR(check_rotate_group("rotate_group", args.rotate_group, args.k, true));
    return check_optional_dtype("bias_dtype", args.bias_dtype, args.bias, kFloats);
}

bool Int8Linear::empty(const Args& args) {
    return args.m == 0 || args.n == 0;
}

void Int8Linear::regions(const Args& args, Regions& regions) {
    regions.input("x", args.x, args.m, activation_width(args.activation, args.k), args.ldx,
                  dtype_size(args.x_dtype));
    regions.input("w", args.w, args.n, args.k, args.ldw, 1);
    regions.input("w_scale", args.w_scale, 1, args.w_scale_mode == CK_SCALE_SCALAR ? 1 : args.n, 0, 4);
    regions.optional_input("bias", args.bias, 1, args.n, 0, dtype_size(args.bias_dtype));
    regions.output("y", args.y, args.m, args.n, args.ldy, dtype_size(args.out_dtype));
}

uint64_t Int8Linear::workspace(const ck_context&, const Args& args, const Variant&) {
    return cpu::int8_linear_workspace(args);
}

Status Int8Linear::run(ck_context& context, const Args& args, const Variant&, void*) {
    cpu::int8_linear(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops

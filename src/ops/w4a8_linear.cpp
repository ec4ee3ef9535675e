#include "ops/w4a8_linear.hpp"

#include "core/codebook.hpp"
#include "cpu/w4a8_linear.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/int8_gemm.hpp"
#include "ops/w4a8_weight.hpp"

namespace ckitchen::ops {

Status W4a8Linear::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("x_dtype", args.x_dtype, kFloats));
    CK_RETURN_IF_ERROR(check_dtype("out_dtype", args.out_dtype, kFloats));
    CK_RETURN_IF_ERROR(check_gemm_extents(args.m, args.n, args.k));
    CK_RETURN_IF_ERROR(check_choice("activation", args.activation, CK_ACTIVATION_SWIGLU));
    CK_RETURN_IF_ERROR(check_ld("ldx", args.ldx, args.activation == CK_ACTIVATION_SWIGLU ? "2k" : "k",
                                activation_width(args.activation, args.k)));
    CK_RETURN_IF_ERROR(check_ld("ldy", args.ldy, "n", args.n));
    CK_RETURN_IF_ERROR(check_rotate_group("rotate_group", args.rotate_group, args.k, true));
    CK_RETURN_IF_ERROR(normalise_weight(args));
    CK_RETURN_IF_ERROR(
        check_optional_dtype("correction_dtype", args.correction_dtype, args.correction, kFloats));
    return check_optional_dtype("bias_dtype", args.bias_dtype, args.bias, kFloats);
}

bool W4a8Linear::empty(const Args& args) {
    return args.m == 0 || args.n == 0;
}

void W4a8Linear::regions(const Args& args, Regions& regions) {
    const int64_t groups = args.k / args.group;
    regions.input("x", args.x, args.m, activation_width(args.activation, args.k), args.ldx,
                  dtype_size(args.x_dtype));
    regions.input("packed", args.packed, args.n, args.k / 2, args.ld_packed, 1);
    regions.input("s_rel", args.s_rel, args.n, groups, args.ld_s_rel, dtype_size(args.s_rel_dtype));
    regions.input("s_channel", args.s_channel, 1, args.n, 0, 4);
    regions.optional_input("codebook", args.codebook, 1, 16, 0, 4);
    if (args.layout == CK_W4A8_ASYMMETRIC)
        regions.input("correction", args.correction, groups, args.n, args.ld_correction,
                      args.correction ? dtype_size(args.correction_dtype) : 1);
    regions.optional_input("bias", args.bias, 1, args.n, 0, dtype_size(args.bias_dtype));
    regions.output("y", args.y, args.m, args.n, args.ldy, dtype_size(args.out_dtype));
}

uint64_t W4a8Linear::workspace(const ck_context&, const Args& args, const Variant&) {
    return cpu::w4a8_linear_workspace(args);
}

Status W4a8Linear::run(ck_context& context, const Args& args, const Variant&, void*) {
    Args full = args;
    if (!full.codebook) full.codebook = kDefaultCodebook;
    cpu::w4a8_linear(cpu_threads(context), full);
    return {};
}

}  // namespace ckitchen::ops

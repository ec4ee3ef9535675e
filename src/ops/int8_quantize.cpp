#include "ops/int8_quantize.hpp"

#include "cpu/int8_quantize.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"

namespace ckitchen::ops {

Status Int8Quantize::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("dtype", args.dtype, kFloats));
    CK_RETURN_IF_ERROR(check_extent("rows", args.rows));
    CK_RETURN_IF_ERROR(check_extent("k", args.k));
    CK_RETURN_IF_ERROR(check_choice("activation", args.activation, CK_ACTIVATION_SWIGLU));
    CK_RETURN_IF_ERROR(check_ld("ldx", args.ldx, args.activation == CK_ACTIVATION_SWIGLU ? "2k" : "k",
                                activation_width(args.activation, args.k)));
    CK_RETURN_IF_ERROR(check_ld("ldq", args.ldq, "k", args.k));
    return check_rotate_group("rotate_group", args.rotate_group, args.k, true);
}

// k == 0 still writes the scales.
bool Int8Quantize::empty(const Args& args) {
    return args.rows == 0;
}

void Int8Quantize::regions(const Args& args, Regions& regions) {
    regions.input("x", args.x, args.rows, activation_width(args.activation, args.k), args.ldx,
                  dtype_size(args.dtype));
    regions.output("q", args.q, args.rows, args.k, args.ldq, 1);
    regions.output("scale", args.scale, 1, args.rows, 0, 4);
}

uint64_t Int8Quantize::workspace(const ck_context&, const Args& args, const Variant&) {
    return cpu::int8_quantize_workspace(args);
}

Status Int8Quantize::run(ck_context& context, const Args& args, const Variant&, void*) {
    cpu::int8_quantize(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops

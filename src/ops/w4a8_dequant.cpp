#include "ops/w4a8_dequant.hpp"

#include "core/codebook.hpp"
#include "cpu/w4a8_dequant.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/w4a8_weight.hpp"

namespace ckitchen::ops {

Status W4a8Dequant::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("out_dtype", args.out_dtype, {CK_I8, CK_F32, CK_F16, CK_BF16}));
    CK_RETURN_IF_ERROR(check_extent("n", args.n));
    CK_RETURN_IF_ERROR(check_extent("k", args.k));
    CK_RETURN_IF_ERROR(check_rotate_group("rotate_group", args.rotate_group, args.k, true));
    if (args.rotate_group != 0 && args.out_dtype == CK_I8)
        return invalid_argument(
            "rotate_group is {}, must be 0 with out_dtype CK_I8: the grid has no rotation",
            args.rotate_group);
    CK_RETURN_IF_ERROR(normalise_weight(args));
    CK_RETURN_IF_ERROR(check_ld("ldo", args.ldo, "k", args.k));
    return check_optional_dtype("correction_dtype", args.correction_dtype, args.correction, kFloats);
}

bool W4a8Dequant::empty(const Args& args) {
    return args.n == 0 || args.k == 0;
}

void W4a8Dequant::regions(const Args& args, Regions& regions) {
    const int64_t groups = args.k / args.group;
    regions.input("packed", args.packed, args.n, args.k / 2, args.ld_packed, 1);
    regions.input("s_rel", args.s_rel, args.n, groups, args.ld_s_rel, dtype_size(args.s_rel_dtype));
    regions.optional_input("codebook", args.codebook, 1, 16, 0, 4);
    regions.output("out", args.out, args.n, args.k, args.ldo, dtype_size(args.out_dtype));
    if (args.out_dtype == CK_I8) return;
    regions.input("s_channel", args.s_channel, 1, args.n, 0, 4);
    if (args.layout == CK_W4A8_ASYMMETRIC)
        regions.input("correction", args.correction, groups, args.n, args.ld_correction,
                      args.correction ? dtype_size(args.correction_dtype) : 1);
}

Status W4a8Dequant::run(ck_context& context, const Args& args, const Variant&, void*) {
    Args full = args;
    if (!full.codebook) full.codebook = kDefaultCodebook;
    cpu::w4a8_dequant(cpu_threads(context), full);
    return {};
}

}  // namespace ckitchen::ops

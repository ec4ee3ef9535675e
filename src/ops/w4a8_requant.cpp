#include "ops/w4a8_requant.hpp"

#include "core/codebook.hpp"
#include "cpu/w4a8_requant.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/w4a8_weight.hpp"

namespace ckitchen::ops {

Status W4a8Requant::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("dtype", args.dtype, kFloats));
    CK_RETURN_IF_ERROR(check_extent("n", args.n));
    CK_RETURN_IF_ERROR(check_extent("k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldw", args.ldw, "k", args.k));
    CK_RETURN_IF_ERROR(check_rotate_group("rotate_group", args.rotate_group, args.k, true));
    return normalise_weight(args);
}

bool W4a8Requant::empty(const Args& args) {
    return args.n == 0 || args.k == 0;
}

void W4a8Requant::regions(const Args& args, Regions& regions) {
    const int64_t groups = args.k / args.group;
    regions.input("weight", args.weight, args.n, args.k, args.ldw, dtype_size(args.dtype));
    regions.optional_input("codebook", args.codebook, 1, 16, 0, 4);
    regions.output("packed", args.packed, args.n, args.k / 2, args.ld_packed, 1);
    regions.output("s_rel", args.s_rel, args.n, groups, args.ld_s_rel, dtype_size(args.s_rel_dtype));
    regions.output("s_channel", args.s_channel, 1, args.n, 0, 4);
    if (args.layout == CK_W4A8_ASYMMETRIC)
        regions.output("correction", args.correction, groups, args.n, args.ld_correction,
                       dtype_size(args.dtype));
    regions.optional_output("nonfinite", args.nonfinite, 1, 1, 0, 8);
}

uint64_t W4a8Requant::workspace(const ck_context&, const Args& args, const Variant&) {
    return cpu::w4a8_requant_workspace(args);
}

Status W4a8Requant::run(ck_context& context, const Args& args, const Variant&, void*) {
    Args full = args;
    if (!full.codebook) full.codebook = kDefaultCodebook;
    cpu::w4a8_requant(cpu_threads(context), full);
    return {};
}

}  // namespace ckitchen::ops

#include "ops/w4a8_choose_codebook.hpp"

#include <cstring>

#include "cpu/w4a8_choose_codebook.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"

namespace ckitchen::ops {

Status W4a8ChooseCodebook::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("dtype", args.dtype, kFloats));
    CK_RETURN_IF_ERROR(check_extent("n", args.n));
    CK_RETURN_IF_ERROR(check_extent("k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldw", args.ldw, "k", args.k));
    return check_weight_group(args.group, args.k);
}

// Never: with nothing to fit the default table is written.
bool W4a8ChooseCodebook::empty(const Args&) {
    return false;
}

void W4a8ChooseCodebook::regions(const Args& args, Regions& regions) {
    regions.input("weight", args.weight, args.n, args.k, args.ldw, dtype_size(args.dtype));
    regions.output("codebook", args.codebook, 1, 16, 0, 4);
}

uint64_t W4a8ChooseCodebook::workspace(const ck_context&, const Args& args, const Variant&) {
    return cpu::w4a8_choose_codebook_workspace(args);
}

Status W4a8ChooseCodebook::run(ck_context& context, const Args& args, const Variant&, void*) {
    cpu::w4a8_choose_codebook(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops

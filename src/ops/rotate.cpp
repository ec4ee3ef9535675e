#include "ops/rotate.hpp"

#include "cpu/rotate.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"

namespace ckitchen::ops {

Status Rotate::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("dtype", args.dtype, kFloats));
    CK_RETURN_IF_ERROR(check_extent("rows", args.rows));
    CK_RETURN_IF_ERROR(check_extent("k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldx", args.ldx, "k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldy", args.ldy, "k", args.k));
    return check_rotate_group("group", args.group, args.k, false);
}

bool Rotate::empty(const Args& args) {
    return args.rows == 0 || args.k == 0;
}

void Rotate::regions(const Args& args, Regions& regions) {
    regions.input("x", args.x, args.rows, args.k, args.ldx, dtype_size(args.dtype));
    regions.output("y", args.y, args.rows, args.k, args.ldy, dtype_size(args.dtype));
}

Status Rotate::run(ck_context& context, const Args& args, const Variant&, void*) {
    cpu::rotate(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops

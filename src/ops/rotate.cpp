#include "ops/rotate.hpp"

#include "cpu/rotate.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/device_rows.hpp"
#include "ops/device_types.hpp"
#include "ops/gpu.hpp"
#include "rotate/rotate_rows.hpp"

namespace ckitchen::ops {
namespace {

constexpr auto kRows = device_rows_of(kRotateRows);

const RotateRow& row_of(const Variant& variant) {
    return *static_cast<const RotateRow*>(variant.row);
}

// The same rotation with as few and as long rows as its memory allows: rows without a gap are one long row,
// which leaves no step part empty and no stride to be aligned.
ck_rotate_args joined(ck_rotate_args args) {
    int64_t elements = 0;
    const bool fits = !__builtin_mul_overflow(args.rows, args.k, &elements);
    if (fits && args.ldx == args.k && args.ldy == args.k) {
        args.k = elements;
        args.rows = 1;
    }
    if (args.rows == 1) args.ldx = args.ldy = 0;
    return args;
}

Status launch(ck_context& context, const ck_rotate_args& args, const Variant& variant, void* stream) {
    const RotateRow& row = row_of(variant);
    const ck_rotate_args view = joined(args);
    RotateArgs device{};
    device.x = address(view.x);
    device.y = address(view.y);
    device.rows = view.rows;
    device.k = view.k;
    device.ldx = view.ldx;
    device.ldy = view.ldy;
    const WaveGrid grid = rotate_grid(row, device.rows, device.k);
    device.steps = grid.steps;
    device.type = element_type(args.dtype);
    device.group = static_cast<uint32_t>(args.group);
    device.factor = rotation_factor(args.group);
    device.width_log2 = grid.width_log2;
    device.groups = grid.groups;
    return gpu(context).launch(row.kernel, grid.groups, grid.threads, &device, stream);
}

}  // namespace

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

std::span<const DeviceRow> Rotate::device_rows() {
    return kRows;
}

Metrics Rotate::metrics(const Args& args) {
    return {args.rows, args.k};
}

Refusal Rotate::refusal(const Args& args, const Variant& variant) {
    if (empty(args)) return {};
    const ck_rotate_args view = joined(args);
    const int64_t size = dtype_size(args.dtype);
    const bool misaligned = rotate_misaligned(row_of(variant), address(args.x), address(args.y),
                                              view.ldx * size, view.ldy * size);
    if (!misaligned) return {};
    return refuse_misaligned(
        row_of(variant).alignment,
        {{"x", args.x}, {"y", args.y}, {"ldx", view.ldx, size}, {"ldy", view.ldy, size}});
}

Status Rotate::prepare(ck_context& context, const Args&, const Variant& variant) {
    return gpu(context).prepare(row_of(variant).kernel);
}

Status Rotate::run(ck_context& context, const Args& args, const Variant& variant, void* stream) {
    if (variant.row) return launch(context, args, variant, stream);
    cpu::rotate(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops

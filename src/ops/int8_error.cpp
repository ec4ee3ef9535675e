#include "ops/int8_error.hpp"

#include "cpu/int8_error.hpp"
#include "int8_error/int8_error_rows.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/device_rows.hpp"
#include "ops/device_types.hpp"
#include "ops/gpu.hpp"

namespace ckitchen::ops {
namespace {

constexpr auto kRows = device_rows_of(kInt8ErrorRows);

const Int8ErrorRow& row_of(const Variant& variant) {
    return *static_cast<const Int8ErrorRow*>(variant.row);
}

Status launch(ck_context& context, const ck_int8_error_args& args, const Variant& variant, void* stream) {
    const Int8ErrorRow& row = row_of(variant);
    const Int8ErrorGrid grid = int8_error_grid(args.rows, args.k);
    Int8ErrorArgs device{};
    device.x = address(args.x);
    device.q = address(args.q);
    device.scale = address(args.scale);
    device.difference = address(args.difference);
    device.original = address(args.original);
    device.rows = args.rows;
    device.k = args.k;
    device.ldx = args.ldx;
    device.ldq = args.ldq;
    device.type = element_type(args.dtype);
    device.scale_stride = args.scale_mode == CK_SCALE_SCALAR ? 0 : 1;
    device.rotate_group = static_cast<uint32_t>(args.rotate_group);
    device.rotate_factor = rotation_factor(args.rotate_group);
    device.width_log2 = grid.width_log2;
    device.row_waves_log2 = grid.row_waves_log2;
    device.groups = grid.groups;
    return gpu(context).launch(row.kernel, grid.groups, row.threads, &device, stream);
}

}  // namespace

Status Int8Error::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("dtype", args.dtype, kFloats));
    CK_RETURN_IF_ERROR(check_extent("rows", args.rows));
    CK_RETURN_IF_ERROR(check_extent("k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldx", args.ldx, "k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldq", args.ldq, "k", args.k));
    CK_RETURN_IF_ERROR(check_choice("scale_mode", args.scale_mode, CK_SCALE_SCALAR));
    return check_rotate_group("rotate_group", args.rotate_group, args.k, true);
}

// k == 0 still writes the sums.
bool Int8Error::empty(const Args& args) {
    return args.rows == 0;
}

void Int8Error::regions(const Args& args, Regions& regions) {
    const int64_t scales = args.scale_mode == CK_SCALE_SCALAR ? 1 : args.rows;
    regions.input("x", args.x, args.rows, args.k, args.ldx, dtype_size(args.dtype));
    regions.input("q", args.q, args.rows, args.k, args.ldq, 1);
    regions.input("scale", args.scale, 1, args.rows == 0 || args.k == 0 ? 0 : scales, 0, 4);
    regions.output("difference", args.difference, 1, args.rows, 0, 8);
    regions.output("original", args.original, 1, args.rows, 0, 8);
}

std::span<const DeviceRow> Int8Error::device_rows() {
    return kRows;
}

Metrics Int8Error::metrics(const Args& args) {
    return {args.rows, args.k};
}

Refusal Int8Error::refusal(const Args& args, const Variant& variant) {
    if (empty(args)) return {};
    const int64_t size = dtype_size(args.dtype);
    // The stride of a single row is not used.
    const int64_t ldx = args.rows > 1 ? args.ldx : 0;
    const int64_t ldq = args.rows > 1 ? args.ldq : 0;
    const Int8ErrorRow& row = row_of(variant);
    if (!int8_error_misaligned(row, address(args.x), address(args.q), ldx * size, ldq)) return {};
    return refuse_misaligned(row.alignment, {{"x", args.x}, {"q", args.q}, {"ldx", ldx, size}, {"ldq", ldq}});
}

Status Int8Error::prepare(ck_context& context, const Args&, const Variant& variant) {
    return gpu(context).prepare(row_of(variant).kernel);
}

Status Int8Error::run(ck_context& context, const Args& args, const Variant& variant, void* stream) {
    if (variant.row) return launch(context, args, variant, stream);
    cpu::int8_error(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops

#include "ops/int8_quantize.hpp"

#include "cpu/int8_quantize.hpp"
#include "int8_quantize/int8_quantize_rows.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/device_rows.hpp"
#include "ops/device_types.hpp"
#include "ops/gpu.hpp"

namespace ckitchen::ops {
namespace {

constexpr auto kRows = device_rows_of(kInt8QuantizeRows);

const Int8QuantizeRow& row_of(const Variant& variant) {
    return *static_cast<const Int8QuantizeRow*>(variant.row);
}

Status launch(ck_context& context, const ck_int8_quantize_args& args, const Variant& variant, bool tiled,
              void* stream) {
    const Int8QuantizeRow& row = row_of(variant);
    const Int8QuantizeGrid grid = int8_quantize_grid(row, args.rows, args.k, dtype_size(args.dtype));
    Int8QuantizeArgs device{};
    device.x = address(args.x);
    device.q = address(args.q);
    device.scale = address(args.scale);
    device.rows = args.rows;
    device.k = args.k;
    device.ldx = args.ldx;
    device.ldq = args.ldq;
    device.q_block = tiled ? static_cast<uint64_t>(args.ldq) * 16 : 0;
    device.type = element_type(args.dtype);
    device.activation = static_cast<uint32_t>(args.activation);
    device.rotate_group = static_cast<uint32_t>(args.rotate_group);
    device.rotate_factor = rotation_factor(args.rotate_group);
    device.row_share = grid.row_share;
    device.groups = grid.groups;
    return gpu(context).launch(row.kernel, grid.groups, grid.threads, &device, stream);
}

}  // namespace

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

uint64_t Int8Quantize::workspace(const ck_context&, const Args& args, const Variant& variant) {
    return variant.row ? 0 : cpu::int8_quantize_workspace(args);
}

std::span<const DeviceRow> Int8Quantize::device_rows() {
    return kRows;
}

Metrics Int8Quantize::metrics(const Args& args) {
    return {args.rows, args.k};
}

Refusal Int8Quantize::refusal(const Args& args, const Variant& variant) {
    if (empty(args)) return {};
    const Int8QuantizeRow& row = row_of(variant);
    const int64_t size = dtype_size(args.dtype);
    Int8QuantizeShape shape;
    shape.x = address(args.x);
    shape.q = address(args.q);
    shape.k = args.k;
    shape.element_size = size;
    // The stride of a single row is not used.
    shape.x_stride_bytes = args.rows > 1 ? args.ldx * size : 0;
    shape.up_offset_bytes = args.activation == CK_ACTIVATION_SWIGLU ? args.k * size : 0;
    shape.q_stride_bytes = args.rows > 1 ? args.ldq : 0;
    shape.rotate_group = args.rotate_group;
    shape.activation = args.activation != CK_ACTIVATION_NONE;
    switch (int8_quantize_refusal(row, shape)) {
        case Int8QuantizeRefusal::None:
            break;
        case Int8QuantizeRefusal::Vectors:
            if (args.rotate_group != 0) return {"rotate_group is {}, must be 0", args.rotate_group};
            [[fallthrough]];
        case Int8QuantizeRefusal::Rotated:
            if (args.rotate_group == 0 && row.width == Int8QuantizeWidth::Rotated)
                return {"rotate_group is 0, must be 4 to 256"};
            [[fallthrough]];
        case Int8QuantizeRefusal::Pieces:
            if (shape.activation) return {"activation is {}, must be 0", args.activation};
            if (args.rotate_group > 256) return {"rotate_group is {}, at most 256", args.rotate_group};
            return {"k is {}, must be a multiple of 16 from 256 on", args.k};
        case Int8QuantizeRefusal::Width:
            return {"k is {}, at most {}", args.k, int8_quantize_elements(row, size)};
        case Int8QuantizeRefusal::Alignment:
            return refuse_misaligned(row.alignment, {{"x", args.x},
                                                     {"q", args.q},
                                                     {"ldx", args.rows > 1 ? args.ldx : 0, size},
                                                     {"k", shape.up_offset_bytes / size, size},
                                                     {"ldq", shape.q_stride_bytes}});
    }
    return {};
}

Status Int8Quantize::prepare(ck_context& context, const Args&, const Variant& variant) {
    return gpu(context).prepare(row_of(variant).kernel);
}

Status Int8Quantize::run_tiled(ck_context& context, const Args& args, const Variant& variant, void* stream) {
    return launch(context, args, variant, true, stream);
}

Status Int8Quantize::run(ck_context& context, const Args& args, const Variant& variant, void* stream) {
    if (variant.row) return launch(context, args, variant, false, stream);
    cpu::int8_quantize(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops

#include "ops/w4a8_dequant.hpp"

#include <array>

#include "cpu/w4a8_dequant.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/gpu.hpp"
#include "ops/w4a8_device.hpp"
#include "ops/w4a8_weight.hpp"
#include "w4a8_dequant/w4a8_dequant_rows.hpp"

namespace ckitchen::ops {
namespace {

// A kernel is called ckitchen_<variant>.
constexpr std::size_t kPrefixLength = sizeof("ckitchen_") - 1;

constexpr auto kRows = [] {
    std::array<DeviceRow, kW4a8DequantRowCount> rows{};
    for (std::size_t i = 0; i < kW4a8DequantRowCount; ++i)
        rows[i] = {kW4a8DequantRows[i].kernel + kPrefixLength, kW4a8DequantRows[i].feature,
                   &kW4a8DequantRows[i]};
    return rows;
}();

const W4a8DequantRow& row_of(const Variant& variant) {
    return *static_cast<const W4a8DequantRow*>(variant.row);
}

Status launch(ck_context& context, const ck_w4a8_dequant_args& args, const Variant& variant, void* stream,
              runtime::LaunchOrder order) {
    const W4a8DequantRow& row = row_of(variant);
    const bool by_tables = args.out_dtype == CK_I8 && args.s_rel_dtype == CK_F8_E4M3 && args.group % 16 == 0;
    const WaveGrid grid =
        w4a8_dequant_grid(row, args.n, args.k, by_tables, context.backend->properties().compute_units);
    W4a8DequantArgs device{};
    device.packed = address(args.packed);
    device.s_rel = address(args.s_rel);
    device.s_channel = address(args.s_channel);
    device.correction = address(args.correction);
    device.codebook = address(args.codebook);
    device.out = address(args.out);
    device.rows = args.n;
    device.k = args.k;
    device.ld_packed = args.ld_packed;
    device.ld_s_rel = args.ld_s_rel;
    device.ld_correction = args.ld_correction;
    device.ld_out = args.ldo;
    device.steps = grid.steps;
    device.width_log2 = grid.width_log2;
    device.workgroups = grid.groups;
    device.type = by_tables                 ? uint32_t{kW4a8DequantInt8ByTables}
                  : args.out_dtype == CK_I8 ? uint32_t{kW4a8DequantInt8}
                                            : element_type(args.out_dtype);
    device.scale_type = scale_type(args.s_rel_dtype);
    device.correction_type = element_type(args.correction_dtype);
    device.rotate_group = static_cast<uint32_t>(args.rotate_group);
    device.rotate_factor = rotation_factor(args.rotate_group);
    device.groups = w4a8_groups(static_cast<uint32_t>(args.group));
    default_levels(args.layout, device.levels);
    return gpu(context).launch(row.kernel, grid.groups, grid.threads, &device, stream, 0, order);
}

}  // namespace

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

std::span<const DeviceRow> W4a8Dequant::device_rows() {
    return kRows;
}

Metrics W4a8Dequant::metrics(const Args& args) {
    return {args.n, args.k};
}

Refusal W4a8Dequant::refusal(const Args& args, const Variant& variant) {
    if (empty(args)) return {};
    const W4a8DequantRow& row = row_of(variant);
    const int64_t size = dtype_size(args.out_dtype);
    if (!w4a8_dequant_misaligned(row, address(args.packed), address(args.out), args.ld_packed,
                                 args.ldo * size))
        return {};
    if (const Refusal packed =
            refuse_misaligned(row.alignment / 2, {{"packed", args.packed}, {"ld_packed", args.ld_packed}}))
        return packed;
    return refuse_misaligned(row.alignment, {{"out", args.out}, {"ldo", args.ldo, size}});
}

Status W4a8Dequant::prepare(ck_context& context, const Args&, const Variant& variant) {
    return gpu(context).prepare(row_of(variant).kernel);
}

Status W4a8Dequant::run(ck_context& context, const Args& args, const Variant& variant, void* stream,
                        runtime::LaunchOrder order) {
    if (variant.row) return launch(context, args, variant, stream, order);
    Args full = args;
    if (!full.codebook) full.codebook = kDefaultCodebook;
    cpu::w4a8_dequant(cpu_threads(context), full);
    return {};
}

}  // namespace ckitchen::ops

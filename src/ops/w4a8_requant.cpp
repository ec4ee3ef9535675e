#include "ops/w4a8_requant.hpp"

#include <array>
#include <string_view>

#include "cpu/w4a8_requant.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/device_workspace.hpp"
#include "ops/gpu.hpp"
#include "ops/w4a8_device.hpp"
#include "ops/w4a8_weight.hpp"
#include "w4a8_requant/w4a8_requant_rows.hpp"

namespace ckitchen::ops {
namespace {

// A kernel is called ckitchen_<variant>.
constexpr std::size_t kPrefixLength = sizeof("ckitchen_") - 1;

constexpr bool is_variant(const W4a8RequantRow& row) {
    return row.kind != W4a8RequantKind::Count;
}

constexpr std::size_t kVariantCount = [] {
    std::size_t count = 0;
    for (const W4a8RequantRow& row : kW4a8RequantRows) count += is_variant(row) ? 1 : 0;
    return count;
}();

constexpr auto kRows = [] {
    std::array<DeviceRow, kVariantCount> rows{};
    std::size_t next = 0;
    for (const W4a8RequantRow& row : kW4a8RequantRows) {
        if (is_variant(row)) rows[next++] = {row.kernel + kPrefixLength, row.feature, &row};
    }
    return rows;
}();

const W4a8RequantRow& row_of(const Variant& variant) {
    return *static_cast<const W4a8RequantRow*>(variant.row);
}

// The row that counts on the devices that `row` runs on.
const W4a8RequantRow& counting_row(const W4a8RequantRow& row) {
    const W4a8RequantRow* result = &row;
    for (const W4a8RequantRow& other : kW4a8RequantRows) {
        if (!is_variant(other) && std::string_view(other.feature) == row.feature) result = &other;
    }
    return *result;
}

// Every wave's number of non-finite elements, and the scratch memory of the workgroups.
struct RequantWorkspace {
    RequantWorkspace(DeviceWorkspace& workspace, const ck_context& context, const ck_w4a8_requant_args& args,
                     const W4a8RequantRow& row)
        : grid(w4a8_requant_grid(row, args.n, args.k, context.backend->properties().compute_units)) {
        if (args.nonfinite) {
            count_waves = grid.groups * (grid.threads / 32);
            counts = workspace.take(uint64_t{count_waves} * sizeof(uint64_t));
        }
        scratch_floats = w4a8_requant_scratch_floats(row, args.k, static_cast<uint32_t>(args.group));
        if (scratch_floats > 0)
            scratch = workspace.take(grid.groups * static_cast<uint64_t>(scratch_floats) * sizeof(float));
    }

    W4a8RequantGrid grid;
    uint32_t count_waves = 0;
    uint64_t counts = 0;
    uint64_t scratch = 0;
    int64_t scratch_floats = 0;
};

Status launch(ck_context& context, const ck_w4a8_requant_args& args, const Variant& variant, void* stream) {
    const W4a8RequantRow& row = row_of(variant);
    DeviceWorkspace workspace(args.workspace);
    const RequantWorkspace parts(workspace, context, args, row);
    W4a8RequantArgs device{};
    device.weight = address(args.weight);
    device.packed = address(args.packed);
    device.s_rel = address(args.s_rel);
    device.s_channel = address(args.s_channel);
    device.correction = address(args.correction);
    device.codebook = address(args.codebook);
    device.scratch = parts.scratch;
    device.counts = parts.counts;
    device.nonfinite = address(args.nonfinite);
    device.rows = args.n;
    device.k = args.k;
    device.ldw = args.ldw;
    device.ld_packed = args.ld_packed;
    device.ld_s_rel = args.ld_s_rel;
    device.ld_correction = args.ld_correction;
    device.row_groups = args.k / args.group;
    device.scratch_floats = parts.scratch_floats;
    device.type = element_type(args.dtype);
    device.scale_type = scale_type(args.s_rel_dtype);
    device.layout = static_cast<uint32_t>(args.layout);
    device.rotate_group = static_cast<uint32_t>(args.rotate_group);
    device.rotate_factor = rotation_factor(args.rotate_group);
    device.stochastic = args.seed != 0 ? 1 : 0;
    device.seed = static_cast<uint32_t>(args.seed ^ args.seed >> 32);
    device.row_offset = static_cast<uint32_t>(args.row_offset);
    device.row_share = parts.grid.row_share;
    device.workgroups = parts.grid.groups;
    device.count_waves = parts.count_waves;
    device.groups = w4a8_groups(static_cast<uint32_t>(args.group));
    default_levels(args.layout, device.levels);
    CK_RETURN_IF_ERROR(
        gpu(context).launch(row.kernel, parts.grid.groups, parts.grid.threads, &device, stream));
    if (!args.nonfinite) return {};
    const W4a8RequantRow& counting = counting_row(row);
    return gpu(context).launch(counting.kernel, 1, counting.threads, &device, stream);
}

}  // namespace

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

uint64_t W4a8Requant::workspace(const ck_context& context, const Args& args, const Variant& variant) {
    if (!variant.row) return cpu::w4a8_requant_workspace(args);
    DeviceWorkspace workspace(nullptr);
    const RequantWorkspace parts(workspace, context, args, row_of(variant));
    return workspace.needed();
}

std::span<const DeviceRow> W4a8Requant::device_rows() {
    return kRows;
}

Metrics W4a8Requant::metrics(const Args& args) {
    return {args.n, args.k};
}

Refusal W4a8Requant::refusal(const Args& args, const Variant& variant) {
    if (empty(args)) return {};
    const W4a8RequantRow& row = row_of(variant);
    W4a8RequantShape shape;
    shape.weight = address(args.weight);
    shape.packed = address(args.packed);
    shape.k = args.k;
    shape.weight_stride_bytes = args.ldw * dtype_size(args.dtype);
    shape.packed_stride_bytes = args.ld_packed;
    shape.group = args.group;
    shape.rotate_group = args.rotate_group;
    shape.codebook = args.layout == CK_W4A8_CODEBOOK;
    switch (w4a8_requant_refusal(row, shape)) {
        case W4a8RequantRefusal::None:
            break;
        case W4a8RequantRefusal::Layout:
            if (!shape.codebook)
                return {"layout is {}, must be {} (codebook)", args.layout, CK_W4A8_CODEBOOK};
            if (args.rotate_group > 256) return {"rotate_group is {}, at most 256", args.rotate_group};
            return {"group is {}, must be a multiple of 16", args.group};
        case W4a8RequantRefusal::Narrow:
            return {"k is {}, at least 256", args.k};
        case W4a8RequantRefusal::Width:
            return {"k is {}, at most {}", args.k, row.elements};
        case W4a8RequantRefusal::Alignment:
            if (const Refusal weight = refuse_misaligned(
                    row.alignment, {{"weight", args.weight}, {"ldw", args.ldw, dtype_size(args.dtype)}}))
                return weight;
            return refuse_misaligned(row.alignment / 2,
                                     {{"packed", args.packed}, {"ld_packed", args.ld_packed}});
    }
    return {};
}

Status W4a8Requant::prepare(ck_context& context, const Args& args, const Variant& variant) {
    const W4a8RequantRow& row = row_of(variant);
    if (args.nonfinite) CK_RETURN_IF_ERROR(gpu(context).prepare(counting_row(row).kernel));
    return gpu(context).prepare(row.kernel);
}

Status W4a8Requant::run(ck_context& context, const Args& args, const Variant& variant, void* stream) {
    if (variant.row) return launch(context, args, variant, stream);
    Args full = args;
    if (!full.codebook) full.codebook = kDefaultCodebook;
    cpu::w4a8_requant(cpu_threads(context), full);
    return {};
}

}  // namespace ckitchen::ops

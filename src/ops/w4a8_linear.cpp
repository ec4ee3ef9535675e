#include "ops/w4a8_linear.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/codebook.hpp"
#include "cpu/w4a8_linear.hpp"
#include "int8_gemm/int8_gemm_rows.hpp"
#include "ops/cpu.hpp"
#include "ops/device_types.hpp"
#include "ops/device_workspace.hpp"
#include "ops/gpu.hpp"
#include "ops/linear.hpp"
#include "ops/w4a8_dequant.hpp"
#include "ops/w4a8_device.hpp"
#include "ops/w4a8_weight.hpp"
#include "w4a8_gemv/w4a8_gemv_rows.hpp"
#include "w4a8_linear/w4a8_linear_rows.hpp"

namespace ckitchen::ops {
namespace {

using runtime::LaunchOrder;

// The rows that decode the weight in registers, then the INT8 GEMM's, for a decoded weight, under this
// operator's name.
constexpr auto kRows = [] {
    std::array<DeviceRow, kW4a8GemvRowCount + kInt8GemmRowCount> rows{{
#define CK_W4A8_GEMV_ROW(name, feature, ...) {"w4a8_linear_" #name, #feature, nullptr},
#include "w4a8_gemv/w4a8_gemv.inc"
#undef CK_W4A8_GEMV_ROW
#define CK_INT8_GEMM_ROW(name, feature, ...) {"w4a8_linear_" #name, #feature, nullptr},
#include "int8_gemm/int8_gemm.inc"
#undef CK_INT8_GEMM_ROW
    }};
    for (std::size_t i = 0; i < kW4a8GemvRowCount; ++i) rows[i].row = &kW4a8GemvRows[i];
    for (std::size_t i = 0; i < kInt8GemmRowCount; ++i) rows[kW4a8GemvRowCount + i].row = &kInt8GemmRows[i];
    return rows;
}();

// The row of a variant that decodes in registers, nullptr for others.
const W4a8GemvRow* packed_row(const Variant& variant) {
    for (const W4a8GemvRow& row : kW4a8GemvRows) {
        if (variant.row == &row) return &row;
    }
    return nullptr;
}

const W4a8LinearRow& helper(const ck_context& context, W4a8LinearKind kind) {
    const bool cuda = context.kind() == CK_BACKEND_CUDA;
    const W4a8LinearRow* result = kW4a8LinearRows;
    for (const W4a8LinearRow& row : kW4a8LinearRows) {
        if (row.kind == kind && std::string_view(row.feature).starts_with("ptx_") == cuda) result = &row;
    }
    return *result;
}

bool has_correction(const ck_w4a8_linear_args& args) {
    return args.layout == CK_W4A8_ASYMMETRIC && args.k > 0;
}

// Is a part decoded while the one before it is still multiplied? A correction stands between the two.
bool decodes_ahead(const ck_context& context, const ck_w4a8_linear_args& args) {
    return gpu(context).launches_beside() && !has_correction(args);
}

// The quantized activation, parts of the weight's columns decoded (not where that happens in registers), and,
// with a correction, what it needs.
struct LinearWorkspace {
    LinearWorkspace(DeviceWorkspace& workspace, const ck_w4a8_linear_args& args, bool packed, bool ahead)
        : ld((args.k + 15) / 16 * 16) {
        // A float32 output holds the values before their correction itself.
        const bool has_values = has_correction(args) && args.out_dtype != CK_F32;
        constexpr int64_t kFloatBytes = sizeof(float);
        const int64_t value_bytes = has_values ? args.m * kFloatBytes : 0;
        chunk = packed ? w4a8_linear_packed_chunk(args.n, value_bytes)
                       : w4a8_linear_chunk(args.n, ld, value_bytes,
                                           ahead ? kW4a8LinearAheadBytes : kW4a8LinearCachedBytes);
        const auto m = static_cast<uint64_t>(args.m);
        const auto columns = static_cast<uint64_t>(chunk);
        scale = workspace.take(m * sizeof(float));
        q = workspace.take(m * static_cast<uint64_t>(ld));
        if (!packed) {
            const uint64_t bytes = columns * static_cast<uint64_t>(ld);
            decoded[0] = workspace.take(bytes);
            decoded[1] = ahead && chunk < args.n ? workspace.take(bytes) : decoded[0];
        }
        if (has_correction(args)) {
            sums = workspace.take(m * static_cast<uint64_t>(args.k / args.group) * sizeof(float));
            if (has_values) values = workspace.take(m * columns * sizeof(float));
        }
        products = workspace.take(0);
    }

    // Where the part that begins at column `first` is decoded to.
    uint64_t decoded_part(int64_t first) const { return decoded[first / chunk % 2]; }
    // The part before it, if there is one, may still be multiplied.
    bool decodes_beside(int64_t first) const { return first == 0 || decoded[0] != decoded[1]; }

    int64_t ld;     // of q and of the decoded weight
    int64_t chunk;  // columns computed at a time
    uint64_t scale = 0;
    uint64_t q = 0;
    uint64_t decoded[2] = {};
    uint64_t sums = 0;
    uint64_t values = 0;
    uint64_t products = 0;  // from here on, the products' own
};

LinearWorkspace workspace_of(const ck_w4a8_linear_args& args, bool packed, bool ahead) {
    DeviceWorkspace workspace(args.workspace);
    return {workspace, args, packed, ahead};
}

// Element `index` of an array that may be absent.
template <typename T>
T* at(T* pointer, int64_t index, int64_t size) {
    if (!pointer) return nullptr;
    return reinterpret_cast<T*>(address(pointer) + static_cast<uint64_t>(index * size));
}

ck_int8_quantize_args quantize_part(const ck_w4a8_linear_args& args, const LinearWorkspace& workspace) {
    return linear_quantize_args(args, reinterpret_cast<int8_t*>(workspace.q), workspace.ld,
                                reinterpret_cast<float*>(workspace.scale));
}

// Decodes columns [first, first + count) of the product: rows of the weight.
ck_w4a8_dequant_args dequant_part(const ck_w4a8_linear_args& args, const LinearWorkspace& workspace,
                                  int64_t first, int64_t count) {
    ck_w4a8_dequant_args part = CK_INIT(ck_w4a8_dequant_args);
    part.out_dtype = CK_I8;
    part.n = count;
    part.k = args.k;
    part.group = args.group;
    part.layout = args.layout;
    part.s_rel_dtype = args.s_rel_dtype;
    part.packed = at(args.packed, first * args.ld_packed, 1);
    part.ld_packed = args.ld_packed;
    part.s_rel = at(args.s_rel, first * args.ld_s_rel, dtype_size(args.s_rel_dtype));
    part.ld_s_rel = args.ld_s_rel;
    part.codebook = args.codebook;
    part.out = reinterpret_cast<void*>(workspace.decoded_part(first));
    part.ldo = workspace.ld;
    return part;
}

ck_int8_gemm_args gemm_part(const ck_w4a8_linear_args& args, const LinearWorkspace& workspace, int64_t first,
                            int64_t count) {
    ck_int8_gemm_args part = linear_gemm_args(args, reinterpret_cast<const int8_t*>(workspace.q),
                                              workspace.ld, reinterpret_cast<const float*>(workspace.scale));
    part.n = count;
    part.b = reinterpret_cast<const int8_t*>(workspace.decoded_part(first));
    part.ldb = workspace.ld;
    part.scale_b = at(args.s_channel, first, sizeof(float));
    part.scale_b_mode = CK_SCALE_VECTOR;
    part.c = at(args.y, first, dtype_size(args.out_dtype));
    part.bias = at(args.bias, first, dtype_size(args.bias_dtype));
    if (!has_correction(args)) return part;
    // The corrections come before the bias.
    part.bias = nullptr;
    if (args.out_dtype != CK_F32) {
        part.out_dtype = CK_F32;
        part.c = reinterpret_cast<void*>(workspace.values);
        part.ldc = workspace.chunk;
    }
    return part;
}

// The product of columns [first, first + count) with its own workspace, which lies behind all others.
ck_int8_gemm_args gemm_with_workspace(const ck_context& context, const ck_w4a8_linear_args& args,
                                      const LinearWorkspace& workspace, const Variant& variant, int64_t first,
                                      int64_t count) {
    ck_int8_gemm_args part = gemm_part(args, workspace, first, count);
    part.workspace_size = Int8Gemm::workspace(context, part, variant);
    if (part.workspace_size != 0) part.workspace = reinterpret_cast<void*>(workspace.products);
    return part;
}

struct Columns {
    int64_t first;
    int64_t count;
};

// The first part and the last one: the others are as wide as the first.
std::array<Columns, 2> part_widths(const ck_w4a8_linear_args& args, const LinearWorkspace& workspace) {
    const int64_t last = (args.n - 1) / workspace.chunk * workspace.chunk;
    return {{{0, std::min(workspace.chunk, args.n)}, {last, args.n - last}}};
}

W4a8GemvArgs packed_part(const ck_w4a8_linear_args& args, const LinearWorkspace& workspace, int64_t first,
                         int64_t count) {
    const ck_w4a8_dequant_args weight = dequant_part(args, workspace, first, count);
    W4a8GemvArgs part{};
    part.gemm = int8_gemm_device_args(gemm_part(args, workspace, first, count));
    part.packed = address(weight.packed);
    part.s_rel = address(weight.s_rel);
    part.codebook = address(weight.codebook);
    part.ld_packed = weight.ld_packed;
    part.ld_s_rel = weight.ld_s_rel;
    part.groups = w4a8_groups(static_cast<uint32_t>(weight.group));
    default_levels(weight.layout, part.levels);
    return part;
}

W4a8LinearArgs correct_part(const ck_w4a8_linear_args& args, const LinearWorkspace& workspace, int64_t first,
                            int64_t count) {
    const ck_int8_gemm_args gemm = gemm_part(args, workspace, first, count);
    W4a8LinearArgs part{};
    part.q = workspace.q;
    part.scale_a = workspace.scale;
    part.sums = workspace.sums;
    part.values = address(gemm.c);
    part.correction = address(at(args.correction, first, dtype_size(args.correction_dtype)));
    part.bias = address(at(args.bias, first, dtype_size(args.bias_dtype)));
    part.y = address(at(args.y, first, dtype_size(args.out_dtype)));
    part.rows = args.m;
    part.columns = count;
    part.ldq = workspace.ld;
    part.ld_values = gemm.ldc;
    part.ld_correction = args.ld_correction;
    part.ldy = args.ldy;
    part.row_groups = static_cast<uint32_t>(args.k / args.group);
    part.group = static_cast<uint32_t>(args.group);
    part.correction_type = element_type(args.correction_dtype);
    part.bias_type = element_type(args.bias_dtype);
    part.y_type = element_type(args.out_dtype);
    return part;
}

Status launch_helper(ck_context& context, W4a8LinearKind kind, W4a8LinearArgs& part, void* stream) {
    const W4a8LinearRow& row = helper(context, kind);
    part.workgroups = kind == W4a8LinearKind::Sums
                          ? w4a8_linear_workgroups(part.rows, 1, part.row_groups, row.threads)
                          : w4a8_linear_workgroups(part.rows, 32, part.columns, row.threads / 2);
    return gpu(context).launch(row.kernel, part.workgroups, row.threads, &part, stream);
}

// The tensor maps of a weight: tiles of `row.columns` of its rows and of 256 columns, and what scales such a
// tile has at most.
Status describe_weight(ck_context& context, const W4a8GemvArgs& weight, const W4a8GemvRow& row,
                       W4a8MmaArgs& mapped) {
    constexpr uint32_t kTileCodes = 256 / 2;
    constexpr uint32_t kTileScales = 256 / 16;
    const auto rows = static_cast<uint64_t>(weight.gemm.n);
    const runtime::ByteTiles tiles[] = {
        {weight.packed, rows, weight.gemm.k / 2, static_cast<uint64_t>(weight.ld_packed), row.columns,
         kTileCodes},
        {weight.s_rel, rows, weight.gemm.k / weight.groups.size, static_cast<uint64_t>(weight.ld_s_rel),
         row.columns, kTileScales, false}};
    return gpu(context).describe_tiles(tiles, {&mapped.codes, &mapped.scales});
}

// The product of columns [first, first + count).
Status run_product(ck_context& context, const ck_w4a8_linear_args& args, const LinearWorkspace& workspace,
                   const Variant& variant, int64_t first, int64_t count, void* stream) {
    if (const W4a8GemvRow* row = packed_row(variant)) {
        W4a8MmaArgs mapped{};
        W4a8GemvArgs& part = mapped.weight;
        part = packed_part(args, workspace, first, count);
        part.workgroups = w4a8_gemv_workgroups(*row, count, context.backend->properties().compute_units);
        if (row->kind == W4a8GemvKind::Dot)
            return gpu(context).launch(row->kernel, part.workgroups, row->threads, &part, stream);
        CK_RETURN_IF_ERROR(describe_weight(context, part, *row, mapped));
        return gpu(context).launch(row->kernel, part.workgroups, row->threads, &mapped, stream,
                                   row->local_bytes, LaunchOrder::Beside);
    }
    if (args.k > 0) {
        const ck_w4a8_dequant_args dequant = dequant_part(args, workspace, first, count);
        const Variant* decoder = nullptr;
        CK_RETURN_IF_ERROR(Call<W4a8Dequant>::choose_part(context, dequant, decoder));
        const LaunchOrder order = workspace.decodes_beside(first) ? LaunchOrder::Beside : LaunchOrder::After;
        CK_RETURN_IF_ERROR(W4a8Dequant::run(context, dequant, *decoder, stream, order));
    }
    return Int8Gemm::run(context, gemm_with_workspace(context, args, workspace, variant, first, count),
                         variant, stream, LaunchOrder::Beside);
}

Status run_parts(ck_context& context, const ck_w4a8_linear_args& args, const Variant& variant, void* stream) {
    const LinearWorkspace workspace =
        workspace_of(args, packed_row(variant) != nullptr, decodes_ahead(context, args));
    CK_RETURN_IF_ERROR(run_quantizer(context, quantize_part(args, workspace), false, stream));
    if (has_correction(args)) {
        W4a8LinearArgs sums = correct_part(args, workspace, 0, workspace.chunk);
        CK_RETURN_IF_ERROR(launch_helper(context, W4a8LinearKind::Sums, sums, stream));
    }
    for (int64_t first = 0; first < args.n; first += workspace.chunk) {
        const int64_t count = std::min(workspace.chunk, args.n - first);
        CK_RETURN_IF_ERROR(run_product(context, args, workspace, variant, first, count, stream));
        if (has_correction(args)) {
            W4a8LinearArgs correct = correct_part(args, workspace, first, count);
            CK_RETURN_IF_ERROR(launch_helper(context, W4a8LinearKind::Correct, correct, stream));
        }
    }
    return {};
}

// What of the product is the caller's; the rest lies in the workspace.
constexpr Int8GemmNames kNames{.c = "y", .scale_b = "s_channel"};

Refusal packed_refusal(const ck_w4a8_linear_args& args, const W4a8GemvRow& row) {
    const LinearWorkspace workspace = workspace_of(args, true, false);
    W4a8GemvShape shape;
    shape.packed = address(args.packed);
    shape.s_rel = address(args.s_rel);
    shape.ld_packed = args.ld_packed;
    shape.ld_s_rel = args.ld_s_rel;
    shape.m = args.m;
    shape.n = workspace.chunk;
    shape.k = args.k;
    shape.group = args.group;
    shape.e4m3 = args.s_rel_dtype == CK_F8_E4M3;
    const ck_int8_gemm_args gemm = gemm_part(args, workspace, 0, workspace.chunk);
    shape.natural = int8_gemm_is_natural(gemm);
    switch (w4a8_gemv_refusal(row, shape)) {
        case W4a8GemvRefusal::None:
            break;
        case W4a8GemvRefusal::Rows:
            return {"m is {}, at most {}", args.m, row.rows};
        case W4a8GemvRefusal::Scales:
            return {"s_rel_dtype is {}, must be {}", dtype_name(args.s_rel_dtype), dtype_name(CK_F8_E4M3)};
        case W4a8GemvRefusal::Groups:
            if (args.group % 16 != 0) return {"group is {}, must be a multiple of 16", args.group};
            return {"k is {}, at least 16", args.k};
        case W4a8GemvRefusal::Width:
            return {"group is {}, must be 16, 32 or 64", args.group};
        case W4a8GemvRefusal::Alignment:
            return refuse_misaligned(row.alignment / 2,
                                     {{"packed", args.packed}, {"ld_packed", args.ld_packed}});
        case W4a8GemvRefusal::Scale:
            return refuse_misaligned(16, {{"s_rel", args.s_rel}, {"ld_s_rel", args.ld_s_rel}});
        case W4a8GemvRefusal::Element:
            return int8_gemm_unnatural(gemm, kNames);
        case W4a8GemvRefusal::Map:
            if (shape.n > kInt8GemmMapRows) return {"n is {}, at most {}", shape.n, kInt8GemmMapRows};
            if (args.ld_packed > kInt8GemmMapStride)
                return {"ld_packed is {}, at most {}", args.ld_packed, kInt8GemmMapStride};
            return {"ld_s_rel is {}, at most {}", args.ld_s_rel, kInt8GemmMapStride};
    }
    return {};
}

}  // namespace

Status W4a8Linear::normalise(Args& args) {
    CK_RETURN_IF_ERROR(normalise_linear(args));
    CK_RETURN_IF_ERROR(normalise_weight(args));
    return check_optional_dtype("correction_dtype", args.correction_dtype, args.correction, kFloats);
}

bool W4a8Linear::empty(const Args& args) {
    return args.m == 0 || args.n == 0;
}

void W4a8Linear::regions(const Args& args, Regions& regions) {
    const int64_t groups = args.k / args.group;
    linear_input(args, regions);
    regions.input("packed", args.packed, args.n, args.k / 2, args.ld_packed, 1);
    regions.input("s_rel", args.s_rel, args.n, groups, args.ld_s_rel, dtype_size(args.s_rel_dtype));
    regions.input("s_channel", args.s_channel, 1, args.n, 0, 4);
    regions.optional_input("codebook", args.codebook, 1, 16, 0, 4);
    if (args.layout == CK_W4A8_ASYMMETRIC)
        regions.input("correction", args.correction, groups, args.n, args.ld_correction,
                      args.correction ? dtype_size(args.correction_dtype) : 1);
    linear_output(args, regions);
}

uint64_t W4a8Linear::workspace(const ck_context& context, const Args& args, const Variant& variant) {
    if (!variant.row) return cpu::w4a8_linear_workspace(args);
    DeviceWorkspace workspace(nullptr);
    const LinearWorkspace parts(workspace, args, packed_row(variant) != nullptr,
                                decodes_ahead(context, args));
    if (packed_row(variant)) return workspace.needed();
    uint64_t products = 0;
    for (const auto& [first, count] : part_widths(args, parts))
        products =
            std::max(products, Int8Gemm::workspace(context, gemm_part(args, parts, first, count), variant));
    return workspace.needed() + products;
}

std::span<const DeviceRow> W4a8Linear::device_rows() {
    return kRows;
}

// Those of the products that run, of as many columns as are decoded at a time.
Metrics W4a8Linear::metrics(const Args& args, bool ahead) {
    if (empty(args)) return {args.m, args.n, args.k, 0, 0};
    const LinearWorkspace workspace = workspace_of(args, false, ahead);
    return Int8Gemm::metrics(gemm_part(args, workspace, 0, workspace.chunk));
}

Metrics W4a8Linear::metrics(const ck_context& context, const Args& args) {
    return metrics(args, decodes_ahead(context, args));
}

Refusal W4a8Linear::refusal(const Args& args, const Variant& variant) {
    if (empty(args)) return {};
    if (const W4a8GemvRow* row = packed_row(variant)) return packed_refusal(args, *row);
    const LinearWorkspace workspace = workspace_of(args, false, false);
    return Int8Gemm::refusal(gemm_part(args, workspace, 0, workspace.chunk), variant, kNames);
}

Status W4a8Linear::prepare(ck_context& context, const Args& args, const Variant& variant) {
    const W4a8GemvRow* packed = packed_row(variant);
    const LinearWorkspace workspace = workspace_of(args, packed != nullptr, decodes_ahead(context, args));
    CK_RETURN_IF_ERROR(prepare_quantizer(context, quantize_part(args, workspace)));
    if (has_correction(args)) {
        for (const W4a8LinearKind kind : {W4a8LinearKind::Sums, W4a8LinearKind::Correct})
            CK_RETURN_IF_ERROR(gpu(context).prepare(helper(context, kind).kernel));
    }
    if (packed) return gpu(context).prepare(packed->kernel);
    if (args.k > 0) {
        const ck_w4a8_dequant_args dequant = dequant_part(args, workspace, 0, workspace.chunk);
        const Variant* decoder = nullptr;
        CK_RETURN_IF_ERROR(Call<W4a8Dequant>::choose_part(context, dequant, decoder));
        CK_RETURN_IF_ERROR(W4a8Dequant::prepare(context, dequant, *decoder));
    }
    for (const auto& [first, count] : part_widths(args, workspace))
        CK_RETURN_IF_ERROR(Int8Gemm::prepare(context, gemm_part(args, workspace, first, count), variant));
    return {};
}

Status W4a8Linear::run(ck_context& context, const Args& args, const Variant& variant, void* stream) {
    if (variant.row) return run_parts(context, args, variant, stream);
    Args full = args;
    if (!full.codebook) full.codebook = kDefaultCodebook;
    cpu::w4a8_linear(cpu_threads(context), full);
    return {};
}

}  // namespace ckitchen::ops

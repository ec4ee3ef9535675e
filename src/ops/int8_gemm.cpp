#include "ops/int8_gemm.hpp"

#include "cpu/int8_gemm.hpp"
#include "int8_gemm/int8_gemm_rows.hpp"
#include "int8_gemm_align/int8_gemm_align_rows.hpp"
#include "int8_gemm_sum/int8_gemm_sum_rows.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/device_rows.hpp"
#include "ops/device_workspace.hpp"
#include "ops/gpu.hpp"

namespace ckitchen::ops {
namespace {

constexpr auto kRows = device_rows_of(kInt8GemmRows);

const Int8GemmRow& row_of(const Variant& variant) {
    return *static_cast<const Int8GemmRow*>(variant.row);
}

uint32_t device_type(ck_dtype dtype) {
    switch (dtype) {
        case CK_F32:
            return kInt8GemmFloat32;
        case CK_F16:
            return kInt8GemmFloat16;
        case CK_BF16:
            return kInt8GemmBfloat16;
        case CK_I32:
            return kInt8GemmInt32;
        default:
            return kInt8GemmNone;
    }
}

uint64_t address(const void* pointer) {
    return reinterpret_cast<uint64_t>(pointer);
}

Int8GemmSplit split_of(const ck_context& context, const ck_int8_gemm_args& args, const Int8GemmRow& row) {
    return int8_gemm_split(row, args.m, args.n, args.k, context.backend->properties().compute_units);
}

Int8GemmShape shape_of(const ck_int8_gemm_args& args) {
    Int8GemmShape shape;
    shape.a = address(args.a);
    shape.b = address(args.b);
    shape.m = args.m;
    shape.n = args.n;
    shape.k = args.k;
    shape.lda = args.lda;
    shape.ldb = args.ldb;
    shape.natural = int8_gemm_is_natural(args);
    return shape;
}

// Operands that the row does not take as they are, or the sums of the parts of K.
struct GemmWorkspace {
    GemmWorkspace(DeviceWorkspace& workspace, const ck_int8_gemm_args& args, const Int8GemmRow& row,
                  const Int8GemmSplit& split)
        : copies(int8_gemm_copies(row, shape_of(args))), in_parts(split.splits > 1) {
        const auto m = static_cast<uint64_t>(args.m);
        const auto n = static_cast<uint64_t>(args.n);
        const auto ld = static_cast<uint64_t>(int8_gemm_aligned_ld(args.k));
        if (copies.a) a = workspace.take(m * ld);
        if (copies.b) b = workspace.take(n * ld);
        if (in_parts) partials = workspace.take(m * n * split.splits * sizeof(int32_t));
    }

    Int8GemmCopies copies;
    bool in_parts;
    uint64_t a = 0;
    uint64_t b = 0;
    uint64_t partials = 0;
};

// Puts aligned copies in the places of operands.
Status launch_align(ck_context& context, Int8GemmArgs& gemm, const GemmWorkspace& workspace, void* stream) {
    const Int8GemmAlignRow& row = kInt8GemmAlignRows[0];
    const int64_t ld = int8_gemm_aligned_ld(gemm.k);
    Int8GemmAlignArgs align{};
    align.columns = gemm.k;
    align.ld_target = static_cast<uint32_t>(ld);
    std::size_t count = 0;
    const auto add = [&](bool copied, uint64_t target, uint64_t& operand, int64_t rows, int64_t& ld_operand) {
        if (!copied) return;
        align.matrix[count++] = {operand, target, rows, ld_operand};
        align.groups += int8_gemm_align_groups(row, rows);
        if (count == 1) align.first_groups = align.groups;
        operand = target;
        ld_operand = ld;
    };
    add(workspace.copies.a, workspace.a, gemm.a, gemm.m, gemm.lda);
    add(workspace.copies.b, workspace.b, gemm.b, gemm.n, gemm.ldb);
    return gpu(context).launch(row.kernel, align.groups, row.threads, &align, stream);
}

Status launch_sum(ck_context& context, const Int8GemmArgs& gemm, uint64_t partials, uint32_t splits,
                  void* stream) {
    const Int8GemmSumRow& row = kInt8GemmSumRows[0];
    Int8GemmSumArgs sum{};
    sum.gemm = gemm;
    sum.partials = partials;
    sum.splits = splits;
    sum.quads = static_cast<uint32_t>(int8_gemm_sum_quads(gemm.n));
    return gpu(context).launch(row.kernel, int8_gemm_sum_groups(row, gemm.m, gemm.n), row.threads, &sum,
                               stream);
}

Status launch_mapped(ck_context& context, const Int8GemmRow& row, const Int8GemmGrid& grid,
                     const Int8GemmArgs& gemm, void* stream, runtime::LaunchOrder order) {
    Int8GemmMappedArgs mapped{};
    mapped.gemm = gemm;
    const auto tiles_of = [&](uint64_t operand, int64_t rows, int64_t ld, uint32_t tile_rows) {
        return runtime::ByteTiles{
            operand, static_cast<uint64_t>(rows), gemm.k, static_cast<uint64_t>(ld), tile_rows, row.tile_k};
    };
    const runtime::ByteTiles operands[] = {tiles_of(gemm.a, gemm.m, gemm.lda, row.tile_m),
                                           tiles_of(gemm.b, gemm.n, gemm.ldb, row.tile_n)};
    CK_RETURN_IF_ERROR(gpu(context).describe_tiles(operands, {&mapped.a, &mapped.b}));
    return gpu(context).launch(row.kernel, grid.groups, grid.threads, &mapped, stream, row.local_bytes,
                               order);
}

Status launch(ck_context& context, const ck_int8_gemm_args& args, const Variant& variant, void* stream,
              runtime::LaunchOrder order) {
    const Int8GemmRow& row = row_of(variant);
    const Int8GemmGrid grid =
        int8_gemm_grid(row, args.m, args.n, context.backend->properties().compute_units);
    Int8GemmArgs device = int8_gemm_device_args(args);
    device.tiles_m = grid.tiles_m;
    device.tiles_n = grid.tiles_n;
    device.group_m = grid.group_m;
    const Int8GemmSplit split = args.workspace ? split_of(context, args, row) : Int8GemmSplit{};
    device.splits = split.splits;
    device.split_k = split.split_k;
    DeviceWorkspace memory(args.workspace);
    const GemmWorkspace workspace(memory, args, row, split);
    if (int8_gemm_mapped(row.kind)) {
        if (!workspace.copies.a && !workspace.copies.b)
            return launch_mapped(context, row, grid, device, stream, order);
        CK_RETURN_IF_ERROR(launch_align(context, device, workspace, stream));
        return launch_mapped(context, row, grid, device, stream, runtime::LaunchOrder::After);
    }
    if (split.splits == 1)
        return gpu(context).launch(row.kernel, grid.groups, grid.threads, &device, stream, 0, order);
    Int8GemmArgs parts = device;
    parts.c = workspace.partials;
    parts.ldc = args.n;
    parts.output_type = kInt8GemmInt32;
    CK_RETURN_IF_ERROR(
        gpu(context).launch(row.kernel, grid.groups * split.splits, grid.threads, &parts, stream, 0, order));
    return launch_sum(context, device, parts.c, split.splits, stream);
}

}  // namespace

Refusal int8_gemm_unnatural(const ck_int8_gemm_args& args, const Int8GemmNames& names) {
    const auto size = [](ck_dtype dtype) { return static_cast<uint64_t>(dtype_size(dtype)); };
    if (const Refusal c = refuse_misaligned(size(args.out_dtype), {{names.c, args.c}})) return c;
    if (args.out_dtype == CK_I32) return {};
    if (const Refusal scale =
            refuse_misaligned(sizeof(float), {{names.scale_a, args.scale_a}, {names.scale_b, args.scale_b}}))
        return scale;
    if (!args.bias) return {};
    return refuse_misaligned(size(args.bias_dtype), {{"bias", args.bias}});
}

bool int8_gemm_is_natural(const ck_int8_gemm_args& args) {
    return !int8_gemm_unnatural(args);
}

Int8GemmArgs int8_gemm_device_args(const ck_int8_gemm_args& args) {
    Int8GemmArgs device{};
    device.a = address(args.a);
    device.b = address(args.b);
    device.c = address(args.c);
    device.scale_a = address(args.scale_a);
    device.scale_b = address(args.scale_b);
    device.bias = address(args.bias);
    device.m = args.m;
    device.n = args.n;
    device.lda = args.lda;
    device.ldb = args.ldb;
    device.ldc = args.ldc;
    device.k = static_cast<uint32_t>(args.k);
    device.output_type = device_type(args.out_dtype);
    device.bias_type = args.bias ? device_type(args.bias_dtype) : kInt8GemmNone;
    device.scale_a_stride = args.scale_a_mode == CK_SCALE_VECTOR ? 1 : 0;
    device.scale_b_stride = args.scale_b_mode == CK_SCALE_VECTOR ? 1 : 0;
    return device;
}

Status check_gemm_extents(int64_t m, int64_t n, int64_t k) {
    CK_RETURN_IF_ERROR(check_extent("m", m));
    CK_RETURN_IF_ERROR(check_extent("n", n));
    return check_extent("k", k, kMaxGemmK);
}

Status Int8Gemm::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("out_dtype", args.out_dtype, {CK_F32, CK_F16, CK_BF16, CK_I32}));
    CK_RETURN_IF_ERROR(check_gemm_extents(args.m, args.n, args.k));
    CK_RETURN_IF_ERROR(check_ld("lda", args.lda, "k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldb", args.ldb, "k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldc", args.ldc, "n", args.n));
    CK_RETURN_IF_ERROR(check_choice("scale_a_mode", args.scale_a_mode, CK_SCALE_SCALAR));
    CK_RETURN_IF_ERROR(check_choice("scale_b_mode", args.scale_b_mode, CK_SCALE_SCALAR));
    return check_optional_dtype("bias_dtype", args.bias_dtype, args.bias, kFloats);
}

bool Int8Gemm::empty(const Args& args) {
    return args.m == 0 || args.n == 0;
}

void Int8Gemm::regions(const Args& args, Regions& regions) {
    const bool scaled = args.out_dtype != CK_I32;
    regions.input("a", args.a, args.m, args.k, args.lda, 1);
    regions.input("b", args.b, args.n, args.k, args.ldb, 1);
    regions.output("c", args.c, args.m, args.n, args.ldc, dtype_size(args.out_dtype));
    if (!scaled) return;
    regions.input("scale_a", args.scale_a, 1, args.scale_a_mode == CK_SCALE_SCALAR ? 1 : args.m, 0, 4);
    regions.input("scale_b", args.scale_b, 1, args.scale_b_mode == CK_SCALE_SCALAR ? 1 : args.n, 0, 4);
    regions.optional_input("bias", args.bias, 1, args.n, 0, dtype_size(args.bias_dtype));
}

uint64_t Int8Gemm::workspace(const ck_context& context, const Args& args, const Variant& variant) {
    if (!variant.row) return cpu::int8_gemm_workspace(args);
    DeviceWorkspace memory(nullptr);
    const GemmWorkspace parts(memory, args, row_of(variant), split_of(context, args, row_of(variant)));
    return memory.needed();
}

std::span<const DeviceRow> Int8Gemm::device_rows() {
    return kRows;
}

Metrics Int8Gemm::metrics(const Args& args) {
    constexpr int64_t kTileRows = 128;
    const int64_t tiles = args.m / kTileRows + (args.m % kTileRows != 0 ? 1 : 0);
    int64_t outputs = 0;
    int64_t columns = 0;
    if (__builtin_mul_overflow(args.m, args.n, &outputs)) outputs = INT64_MAX;
    if (__builtin_mul_overflow(tiles, args.n, &columns)) columns = INT64_MAX;
    return {args.m, args.n, args.k, outputs, columns};
}

Refusal Int8Gemm::refusal(const Args& args, const Variant& variant, const Int8GemmNames& names) {
    if (empty(args)) return {};
    const Int8GemmRow& row = row_of(variant);
    switch (int8_gemm_refusal(row, shape_of(args))) {
        case Int8GemmRefusal::None:
            break;
        case Int8GemmRefusal::Rows:
            return {"m is {}, at most {}", args.m, row.tile_m};
        case Int8GemmRefusal::Alignment:
            if (args.k == 0) return "k is 0";
            return refuse_misaligned(row.alignment, {{names.a, args.a},
                                                     {names.b, args.b},
                                                     {"k", int8_gemm_mapped(row.kind) ? 0 : args.k},
                                                     {names.lda, args.lda},
                                                     {names.ldb, args.ldb}});
        case Int8GemmRefusal::Element:
            return int8_gemm_unnatural(args, names);
        case Int8GemmRefusal::LeadingDimension: {
            const int64_t most = int8_gemm_most_ld(row.tile_m);
            if (args.lda > most) return {"{} is {}, at most {}", names.lda, args.lda, most};
            return {"{} is {}, at most {}", names.ldb, args.ldb, int8_gemm_most_ld(row.tile_n)};
        }
        case Int8GemmRefusal::Map:
            if (args.m > kInt8GemmMapRows) return {"m is {}, at most {}", args.m, kInt8GemmMapRows};
            if (args.n > kInt8GemmMapRows) return {"n is {}, at most {}", args.n, kInt8GemmMapRows};
            if (args.lda > kInt8GemmMapStride)
                return {"{} is {}, at most {}", names.lda, args.lda, kInt8GemmMapStride};
            return {"{} is {}, at most {}", names.ldb, args.ldb, kInt8GemmMapStride};
        case Int8GemmRefusal::Grid:
            return {"m is {}, n is {}: more than {} tiles of {} x {}",
                    args.m,
                    args.n,
                    int8_gemm_most_tiles(row),
                    row.tile_m,
                    row.tile_n};
    }
    return {};
}

Status Int8Gemm::prepare(ck_context& context, const Args& args, const Variant& variant) {
    const Int8GemmRow& row = row_of(variant);
    DeviceWorkspace memory(nullptr);
    const GemmWorkspace parts(memory, args, row, split_of(context, args, row));
    if (parts.copies.a || parts.copies.b)
        CK_RETURN_IF_ERROR(gpu(context).prepare(kInt8GemmAlignRows[0].kernel));
    if (parts.in_parts) CK_RETURN_IF_ERROR(gpu(context).prepare(kInt8GemmSumRows[0].kernel));
    return gpu(context).prepare(row.kernel);
}

Status Int8Gemm::run(ck_context& context, const Args& args, const Variant& variant, void* stream,
                     runtime::LaunchOrder order) {
    if (variant.row) return launch(context, args, variant, stream, order);
    cpu::int8_gemm(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops

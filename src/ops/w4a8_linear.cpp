#include "ops/w4a8_linear.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/codebook.hpp"
#include "cpu/w4a8_linear.hpp"
#include "int8_gemm/int8_gemm_rows.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/device_types.hpp"
#include "ops/device_workspace.hpp"
#include "ops/gpu.hpp"
#include "ops/int8_gemm.hpp"
#include "ops/int8_quantize.hpp"
#include "ops/w4a8_dequant.hpp"
#include "ops/w4a8_weight.hpp"
#include "w4a8_linear/w4a8_linear_rows.hpp"

namespace ckitchen::ops {
namespace {

// The INT8 GEMM's rows under this operator's name.
constexpr auto kRows = [] {
    std::array<DeviceRow, kInt8GemmRowCount> rows{{
#define CK_INT8_GEMM_ROW(name, feature, ...) {"w4a8_linear_" #name, #feature, nullptr},
#include "int8_gemm/int8_gemm.inc"
#undef CK_INT8_GEMM_ROW
    }};
    for (std::size_t i = 0; i < kInt8GemmRowCount; ++i) rows[i].row = &kInt8GemmRows[i];
    return rows;
}();

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

// The quantized activation, a part of the weight's columns decoded, and, with a correction, what it needs.
struct LinearWorkspace {
    LinearWorkspace(DeviceWorkspace& workspace, const ck_w4a8_linear_args& args)
        : ld((args.k + 15) / 16 * 16) {
        // A float32 output holds the values before their correction itself.
        const bool has_values = has_correction(args) && args.out_dtype != CK_F32;
        constexpr int64_t kFloatBytes = sizeof(float);
        chunk = w4a8_linear_chunk(args.m, args.n, ld, has_values ? args.m * kFloatBytes : 0);
        const auto m = static_cast<uint64_t>(args.m);
        const auto columns = static_cast<uint64_t>(chunk);
        scale = workspace.take(m * sizeof(float));
        q = workspace.take(m * static_cast<uint64_t>(ld));
        decoded = workspace.take(columns * static_cast<uint64_t>(ld));
        if (!has_correction(args)) return;
        sums = workspace.take(m * static_cast<uint64_t>(args.k / args.group) * sizeof(float));
        if (has_values) values = workspace.take(m * columns * sizeof(float));
    }

    int64_t ld;     // of q and of the decoded weight
    int64_t chunk;  // columns computed at a time
    uint64_t scale = 0;
    uint64_t q = 0;
    uint64_t decoded = 0;
    uint64_t sums = 0;
    uint64_t values = 0;
};

LinearWorkspace workspace_of(const ck_w4a8_linear_args& args) {
    DeviceWorkspace workspace(args.workspace);
    return {workspace, args};
}

// Element `index` of an array that may be absent.
template <typename T>
T* at(T* pointer, int64_t index, int64_t size) {
    if (!pointer) return nullptr;
    return reinterpret_cast<T*>(address(pointer) + static_cast<uint64_t>(index * size));
}

ck_int8_quantize_args quantize_part(const ck_w4a8_linear_args& args, const LinearWorkspace& workspace) {
    ck_int8_quantize_args part = CK_INIT(ck_int8_quantize_args);
    part.dtype = args.x_dtype;
    part.rows = args.m;
    part.k = args.k;
    part.x = args.x;
    part.ldx = args.ldx;
    part.q = reinterpret_cast<int8_t*>(workspace.q);
    part.ldq = workspace.ld;
    part.scale = reinterpret_cast<float*>(workspace.scale);
    part.activation = args.activation;
    part.rotate_group = args.rotate_group;
    return part;
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
    part.out = reinterpret_cast<void*>(workspace.decoded);
    part.ldo = workspace.ld;
    return part;
}

ck_int8_gemm_args gemm_part(const ck_w4a8_linear_args& args, const LinearWorkspace& workspace, int64_t first,
                            int64_t count) {
    ck_int8_gemm_args part = CK_INIT(ck_int8_gemm_args);
    part.m = args.m;
    part.n = count;
    part.k = args.k;
    part.a = reinterpret_cast<const int8_t*>(workspace.q);
    part.lda = workspace.ld;
    part.b = reinterpret_cast<const int8_t*>(workspace.decoded);
    part.ldb = workspace.ld;
    part.scale_a = reinterpret_cast<const float*>(workspace.scale);
    part.scale_b = at(args.s_channel, first, sizeof(float));
    part.scale_a_mode = CK_SCALE_VECTOR;
    part.scale_b_mode = CK_SCALE_VECTOR;
    if (has_correction(args) && args.out_dtype != CK_F32) {
        part.out_dtype = CK_F32;
        part.c = reinterpret_cast<void*>(workspace.values);
        part.ldc = workspace.chunk;
    } else {
        part.out_dtype = args.out_dtype;
        part.c = at(args.y, first, dtype_size(args.out_dtype));
        part.ldc = args.ldy;
    }
    if (!has_correction(args)) {
        part.bias = at(args.bias, first, dtype_size(args.bias_dtype));
        part.bias_dtype = args.bias_dtype;
    }
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

Status run_parts(ck_context& context, const ck_w4a8_linear_args& args, const Variant& variant, void* stream) {
    const LinearWorkspace workspace = workspace_of(args);
    const ck_int8_quantize_args quantize = quantize_part(args, workspace);
    const Variant* quantizer = nullptr;
    CK_RETURN_IF_ERROR(Call<Int8Quantize>::choose_part(context, quantize, quantizer));
    CK_RETURN_IF_ERROR(Int8Quantize::run(context, quantize, *quantizer, stream));
    if (has_correction(args)) {
        W4a8LinearArgs sums = correct_part(args, workspace, 0, workspace.chunk);
        CK_RETURN_IF_ERROR(launch_helper(context, W4a8LinearKind::Sums, sums, stream));
    }
    for (int64_t first = 0; first < args.n; first += workspace.chunk) {
        const int64_t count = std::min(workspace.chunk, args.n - first);
        if (args.k > 0) {
            const ck_w4a8_dequant_args dequant = dequant_part(args, workspace, first, count);
            const Variant* decoder = nullptr;
            CK_RETURN_IF_ERROR(Call<W4a8Dequant>::choose_part(context, dequant, decoder));
            CK_RETURN_IF_ERROR(W4a8Dequant::run(context, dequant, *decoder, stream));
        }
        CK_RETURN_IF_ERROR(Int8Gemm::run(context, gemm_part(args, workspace, first, count), variant, stream));
        if (has_correction(args)) {
            W4a8LinearArgs correct = correct_part(args, workspace, first, count);
            CK_RETURN_IF_ERROR(launch_helper(context, W4a8LinearKind::Correct, correct, stream));
        }
    }
    return {};
}

}  // namespace

Status W4a8Linear::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("x_dtype", args.x_dtype, kFloats));
    CK_RETURN_IF_ERROR(check_dtype("out_dtype", args.out_dtype, kFloats));
    CK_RETURN_IF_ERROR(check_gemm_extents(args.m, args.n, args.k));
    CK_RETURN_IF_ERROR(check_choice("activation", args.activation, CK_ACTIVATION_SWIGLU));
    CK_RETURN_IF_ERROR(check_ld("ldx", args.ldx, args.activation == CK_ACTIVATION_SWIGLU ? "2k" : "k",
                                activation_width(args.activation, args.k)));
    CK_RETURN_IF_ERROR(check_ld("ldy", args.ldy, "n", args.n));
    CK_RETURN_IF_ERROR(check_rotate_group("rotate_group", args.rotate_group, args.k, true));
    CK_RETURN_IF_ERROR(normalise_weight(args));
    CK_RETURN_IF_ERROR(
        check_optional_dtype("correction_dtype", args.correction_dtype, args.correction, kFloats));
    return check_optional_dtype("bias_dtype", args.bias_dtype, args.bias, kFloats);
}

bool W4a8Linear::empty(const Args& args) {
    return args.m == 0 || args.n == 0;
}

void W4a8Linear::regions(const Args& args, Regions& regions) {
    const int64_t groups = args.k / args.group;
    regions.input("x", args.x, args.m, activation_width(args.activation, args.k), args.ldx,
                  dtype_size(args.x_dtype));
    regions.input("packed", args.packed, args.n, args.k / 2, args.ld_packed, 1);
    regions.input("s_rel", args.s_rel, args.n, groups, args.ld_s_rel, dtype_size(args.s_rel_dtype));
    regions.input("s_channel", args.s_channel, 1, args.n, 0, 4);
    regions.optional_input("codebook", args.codebook, 1, 16, 0, 4);
    if (args.layout == CK_W4A8_ASYMMETRIC)
        regions.input("correction", args.correction, groups, args.n, args.ld_correction,
                      args.correction ? dtype_size(args.correction_dtype) : 1);
    regions.optional_input("bias", args.bias, 1, args.n, 0, dtype_size(args.bias_dtype));
    regions.output("y", args.y, args.m, args.n, args.ldy, dtype_size(args.out_dtype));
}

uint64_t W4a8Linear::workspace(const ck_context&, const Args& args, const Variant& variant) {
    if (!variant.row) return cpu::w4a8_linear_workspace(args);
    DeviceWorkspace workspace(nullptr);
    const LinearWorkspace parts(workspace, args);
    return workspace.needed();
}

std::span<const DeviceRow> W4a8Linear::device_rows() {
    return kRows;
}

// Those of the products that run, of as many columns as are decoded at a time.
Metrics W4a8Linear::metrics(const Args& args) {
    if (empty(args)) return {args.m, args.n, args.k, 0};
    const LinearWorkspace workspace = workspace_of(args);
    return Int8Gemm::metrics(gemm_part(args, workspace, 0, workspace.chunk));
}

const char* W4a8Linear::refusal(const Args& args, const Variant& variant) {
    if (empty(args)) return nullptr;
    const LinearWorkspace workspace = workspace_of(args);
    return Int8Gemm::refusal(gemm_part(args, workspace, 0, workspace.chunk), variant);
}

Status W4a8Linear::prepare(ck_context& context, const Args& args, const Variant& variant) {
    const LinearWorkspace workspace = workspace_of(args);
    const ck_int8_quantize_args quantize = quantize_part(args, workspace);
    const Variant* quantizer = nullptr;
    CK_RETURN_IF_ERROR(Call<Int8Quantize>::choose_part(context, quantize, quantizer));
    CK_RETURN_IF_ERROR(Int8Quantize::prepare(context, quantize, *quantizer));
    if (args.k > 0) {
        const ck_w4a8_dequant_args dequant = dequant_part(args, workspace, 0, workspace.chunk);
        const Variant* decoder = nullptr;
        CK_RETURN_IF_ERROR(Call<W4a8Dequant>::choose_part(context, dequant, decoder));
        CK_RETURN_IF_ERROR(W4a8Dequant::prepare(context, dequant, *decoder));
    }
    if (has_correction(args)) {
        for (const W4a8LinearKind kind : {W4a8LinearKind::Sums, W4a8LinearKind::Correct})
            CK_RETURN_IF_ERROR(gpu(context).prepare(helper(context, kind).kernel));
    }
    return Int8Gemm::prepare(context, gemm_part(args, workspace, 0, workspace.chunk), variant);
}

Status W4a8Linear::run(ck_context& context, const Args& args, const Variant& variant, void* stream) {
    if (variant.row) return run_parts(context, args, variant, stream);
    Args full = args;
    if (!full.codebook) full.codebook = kDefaultCodebook;
    cpu::w4a8_linear(cpu_threads(context), full);
    return {};
}

}  // namespace ckitchen::ops

#include "ops/int8_linear.hpp"

#include <array>

#include "cpu/int8_linear.hpp"
#include "int8_gemm/int8_gemm_rows.hpp"
#include "int8_gemm_tiled/int8_gemm_tiled_rows.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"
#include "ops/int8_gemm.hpp"
#include "ops/int8_quantize.hpp"
#include "ops/quantized_rows.hpp"

namespace ckitchen::ops {
namespace {

ck_int8_quantize_args quantize_part(const ck_int8_linear_args& args, const QuantizedRows& rows) {
    ck_int8_quantize_args part = CK_INIT(ck_int8_quantize_args);
    part.dtype = args.x_dtype;
    part.rows = args.m;
    part.k = args.k;
    part.x = args.x;
    part.ldx = args.ldx;
    part.q = rows.q;
    part.ldq = rows.ld;
    part.scale = rows.scale;
    part.activation = args.activation;
    part.rotate_group = args.rotate_group;
    return part;
}

ck_int8_gemm_args gemm_part(const ck_int8_linear_args& args, const QuantizedRows& rows) {
    ck_int8_gemm_args part = CK_INIT(ck_int8_gemm_args);
    part.out_dtype = args.out_dtype;
    part.m = args.m;
    part.n = args.n;
    part.k = args.k;
    part.a = rows.q;
    part.lda = rows.ld;
    part.b = args.w;
    part.ldb = args.ldw;
    part.c = args.y;
    part.ldc = args.ldy;
    part.scale_a = rows.scale;
    part.scale_b = args.w_scale;
    part.scale_a_mode = CK_SCALE_VECTOR;
    part.scale_b_mode = args.w_scale_mode;
    part.bias = args.bias;
    part.bias_dtype = args.bias_dtype;
    return part;
}

bool is_tiled(const Variant& variant) {
    return variant.row && static_cast<const Int8GemmRow*>(variant.row)->kind == Int8GemmKind::Tiled;
}

// Rows of the quantized activation in memory.
int64_t stored_rows(const ck_int8_linear_args& args, const Variant& variant) {
    return is_tiled(variant) ? int8_gemm_tiled_rows(args.m) : args.m;
}

QuantizedRows rows_of(const ck_int8_linear_args& args, const Variant& variant) {
    return {args.workspace, stored_rows(args, variant), args.k};
}

uint64_t quantized_bytes(const ck_int8_linear_args& args, const Variant& variant) {
    return QuantizedRows::workspace(stored_rows(args, variant), args.k);
}

// The INT8 GEMM's rows under this operator's name, and those that read a tiled activation.
constexpr auto kRows = [] {
    std::array<DeviceRow, kInt8GemmRowCount + kInt8GemmTiledRowCount> rows{{
#define CK_INT8_GEMM_ROW(name, feature, ...) {"int8_linear_" #name, #feature, nullptr},
#include "int8_gemm/int8_gemm.inc"
#undef CK_INT8_GEMM_ROW
#define CK_INT8_GEMM_TILED_ROW(name, feature, ...) {"int8_linear_tiled_" #name, #feature, nullptr, true},
#include "int8_gemm_tiled/int8_gemm_tiled.inc"
#undef CK_INT8_GEMM_TILED_ROW
    }};
    for (std::size_t i = 0; i < kInt8GemmRowCount; ++i) rows[i].row = &kInt8GemmRows[i];
    for (std::size_t i = 0; i < kInt8GemmTiledRowCount; ++i)
        rows[kInt8GemmRowCount + i].row = &kInt8GemmTiledRows[i];
    return rows;
}();

}  // namespace

Status Int8Linear::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("x_dtype", args.x_dtype, kFloats));
    CK_RETURN_IF_ERROR(check_dtype("out_dtype", args.out_dtype, kFloats));
    CK_RETURN_IF_ERROR(check_gemm_extents(args.m, args.n, args.k));
    CK_RETURN_IF_ERROR(check_choice("activation", args.activation, CK_ACTIVATION_SWIGLU));
    CK_RETURN_IF_ERROR(check_ld("ldx", args.ldx, args.activation == CK_ACTIVATION_SWIGLU ? "2k" : "k",
                                activation_width(args.activation, args.k)));
    CK_RETURN_IF_ERROR(check_ld("ldw", args.ldw, "k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldy", args.ldy, "n", args.n));
    CK_RETURN_IF_ERROR(check_choice("w_scale_mode", args.w_scale_mode, CK_SCALE_SCALAR));
    CK_RETURN_IF_ERROR(check_rotate_group("rotate_group", args.rotate_group, args.k, true));
    return check_optional_dtype("bias_dtype", args.bias_dtype, args.bias, kFloats);
}

bool Int8Linear::empty(const Args& args) {
    return args.m == 0 || args.n == 0;
}

void Int8Linear::regions(const Args& args, Regions& regions) {
    regions.input("x", args.x, args.m, activation_width(args.activation, args.k), args.ldx,
                  dtype_size(args.x_dtype));
    regions.input("w", args.w, args.n, args.k, args.ldw, 1);
    regions.input("w_scale", args.w_scale, 1, args.w_scale_mode == CK_SCALE_SCALAR ? 1 : args.n, 0, 4);
    regions.optional_input("bias", args.bias, 1, args.n, 0, dtype_size(args.bias_dtype));
    regions.output("y", args.y, args.m, args.n, args.ldy, dtype_size(args.out_dtype));
}

uint64_t Int8Linear::workspace(const ck_context& context, const Args& args, const Variant& variant) {
    if (!variant.row) return cpu::int8_linear_workspace(args);
    return quantized_bytes(args, variant) +
           Int8Gemm::workspace(context, gemm_part(args, rows_of(args, variant)), variant);
}

std::span<const DeviceRow> Int8Linear::device_rows() {
    return kRows;
}

Metrics Int8Linear::metrics(const Args& args) {
    return Int8Gemm::metrics(gemm_part(args, {args.workspace, args.m, args.k}));
}

const char* Int8Linear::refusal(const Args& args, const Variant& variant) {
    return Int8Gemm::refusal(gemm_part(args, rows_of(args, variant)), variant);
}

Status Int8Linear::prepare(ck_context& context, const Args& args, const Variant& variant) {
    const Variant* quantizer = nullptr;
    const ck_int8_quantize_args part = quantize_part(args, rows_of(args, variant));
    CK_RETURN_IF_ERROR(Call<Int8Quantize>::choose_part(context, part, quantizer));
    CK_RETURN_IF_ERROR(Int8Quantize::prepare(context, part, *quantizer));
    return Int8Gemm::prepare(context, gemm_part(args, rows_of(args, variant)), variant);
}

Status Int8Linear::run(ck_context& context, const Args& args, const Variant& variant, void* stream) {
    if (variant.row) {
        const QuantizedRows rows = rows_of(args, variant);
        const ck_int8_quantize_args quantize = quantize_part(args, rows);
        const Variant* quantizer = nullptr;
        CK_RETURN_IF_ERROR(Call<Int8Quantize>::choose_part(context, quantize, quantizer));
        CK_RETURN_IF_ERROR(is_tiled(variant) ? Int8Quantize::run_tiled(context, quantize, *quantizer, stream)
                                             : Int8Quantize::run(context, quantize, *quantizer, stream));
        // The product's own workspace lies behind the quantized rows.
        ck_int8_gemm_args gemm = gemm_part(args, rows);
        gemm.workspace_size = Int8Gemm::workspace(context, gemm, variant);
        if (gemm.workspace_size != 0)
            gemm.workspace = static_cast<uint8_t*>(args.workspace) + quantized_bytes(args, variant);
        return Int8Gemm::run(context, gemm, variant, stream);
    }
    cpu::int8_linear(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops

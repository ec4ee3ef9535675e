#include "ops/int8_linear.hpp"

#include <array>

#include "cpu/int8_linear.hpp"
#include "int8_gemm/int8_gemm_rows.hpp"
#include "int8_gemm_tiled/int8_gemm_tiled_rows.hpp"
#include "ops/cpu.hpp"
#include "ops/linear.hpp"
#include "ops/quantized_rows.hpp"

namespace ckitchen::ops {
namespace {

ck_int8_quantize_args quantize_part(const ck_int8_linear_args& args, const QuantizedRows& rows) {
    return linear_quantize_args(args, rows.q, rows.ld, rows.scale);
}

ck_int8_gemm_args gemm_part(const ck_int8_linear_args& args, const QuantizedRows& rows) {
    ck_int8_gemm_args part = linear_gemm_args(args, rows.q, rows.ld, rows.scale);
    part.b = args.w;
    part.ldb = args.ldw;
    part.scale_b = args.w_scale;
    part.scale_b_mode = args.w_scale_mode;
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
    CK_RETURN_IF_ERROR(normalise_linear(args));
    CK_RETURN_IF_ERROR(check_ld("ldw", args.ldw, "k", args.k));
    return check_choice("w_scale_mode", args.w_scale_mode, CK_SCALE_SCALAR);
}

bool Int8Linear::empty(const Args& args) {
    return args.m == 0 || args.n == 0;
}

void Int8Linear::regions(const Args& args, Regions& regions) {
    linear_input(args, regions);
    regions.input("w", args.w, args.n, args.k, args.ldw, 1);
    regions.input("w_scale", args.w_scale, 1, args.w_scale_mode == CK_SCALE_SCALAR ? 1 : args.n, 0, 4);
    linear_output(args, regions);
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

Refusal Int8Linear::refusal(const Args& args, const Variant& variant) {
    const Int8GemmNames names{.b = "w", .ldb = "ldw", .c = "y", .scale_b = "w_scale"};
    return Int8Gemm::refusal(gemm_part(args, rows_of(args, variant)), variant, names);
}

Status Int8Linear::prepare(ck_context& context, const Args& args, const Variant& variant) {
    CK_RETURN_IF_ERROR(prepare_quantizer(context, quantize_part(args, rows_of(args, variant))));
    return Int8Gemm::prepare(context, gemm_part(args, rows_of(args, variant)), variant);
}

Status Int8Linear::run(ck_context& context, const Args& args, const Variant& variant, void* stream) {
    if (variant.row) {
        const QuantizedRows rows = rows_of(args, variant);
        CK_RETURN_IF_ERROR(run_quantizer(context, quantize_part(args, rows), is_tiled(variant), stream));
        // The product's own workspace lies behind the quantized rows.
        ck_int8_gemm_args gemm = gemm_part(args, rows);
        gemm.workspace_size = Int8Gemm::workspace(context, gemm, variant);
        if (gemm.workspace_size != 0)
            gemm.workspace = static_cast<uint8_t*>(args.workspace) + quantized_bytes(args, variant);
        return Int8Gemm::run(context, gemm, variant, stream, runtime::LaunchOrder::Beside);
    }
    cpu::int8_linear(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops

/*
 * The binary layout of every public struct, pinned. A client that was compiled against an older header keeps
 * working only while these numbers stay: a struct may grow at its end (a new line here), no line may change.
 * The numbers are those of 64-bit targets, the only ones that the library is built for.
 */
#include <limits.h>
#include <stddef.h>

#include "ckitchen.h"

/* C99 has no _Static_assert: an array type of negative size does not compile. */
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define PIN(condition) typedef char JOIN(pin_, __LINE__)[(condition) ? 1 : -1]
#define SIZE(type, bytes) PIN(sizeof(type) == (bytes))
#define FIELD(type, field, offset, bytes) \
    PIN(offsetof(type, field) == (offset) && sizeof(((type*)0)->field) == (bytes))
/* The last field ends where the struct ends: no padding at the tail that a new field could slip into. */
#define LAST(type, field) PIN(offsetof(type, field) + sizeof(((type*)0)->field) == sizeof(type))

PIN(CHAR_BIT == 8 && sizeof(void*) == 8);
PIN(sizeof(ck_status) == 4 && sizeof(ck_dtype) == 4 && sizeof(ck_backend) == 4 && sizeof(ck_op) == 4);
PIN(sizeof(ck_scale_mode) == 4 && sizeof(ck_activation) == 4 && sizeof(ck_w4a8_layout) == 4);
PIN(sizeof(ck_copy_kind) == 4);

/* ck_device_properties */
SIZE(ck_device_properties, 744);
FIELD(ck_device_properties, struct_size, 0, 4);
FIELD(ck_device_properties, backend, 4, 4);
FIELD(ck_device_properties, ordinal, 8, 4);
FIELD(ck_device_properties, usable, 12, 4);
FIELD(ck_device_properties, flags, 16, 4);
FIELD(ck_device_properties, compute_units, 20, 4);
FIELD(ck_device_properties, memory_bytes, 24, 8);
FIELD(ck_device_properties, shared_memory_bytes, 32, 8);
FIELD(ck_device_properties, name, 40, 128);
FIELD(ck_device_properties, arch, 168, 64);
FIELD(ck_device_properties, features, 232, 256);
FIELD(ck_device_properties, unusable_reason, 488, 256);

/* ck_context_options */
SIZE(ck_context_options, 40);
FIELD(ck_context_options, struct_size, 0, 4);
FIELD(ck_context_options, backend, 4, 4);
FIELD(ck_context_options, ordinal, 8, 4);
FIELD(ck_context_options, threads, 12, 4);
FIELD(ck_context_options, flags, 16, 4);
FIELD(ck_context_options, reserved0, 20, 4);
FIELD(ck_context_options, disable, 24, 8);
FIELD(ck_context_options, runtime_path, 32, 8);

/* ck_support_info */
SIZE(ck_support_info, 328);
FIELD(ck_support_info, struct_size, 0, 4);
FIELD(ck_support_info, status, 4, 4);
FIELD(ck_support_info, variant, 8, 64);
FIELD(ck_support_info, reason, 72, 256);

/* ck_problem */
SIZE(ck_problem, 16);
FIELD(ck_problem, struct_size, 0, 4);
FIELD(ck_problem, op, 4, 4);
FIELD(ck_problem, args, 8, 8);

/* ck_variant_info */
SIZE(ck_variant_info, 80);
FIELD(ck_variant_info, struct_size, 0, 4);
FIELD(ck_variant_info, op, 4, 4);
FIELD(ck_variant_info, calls, 8, 8);
FIELD(ck_variant_info, name, 16, 64);

/* ck_int8_gemm_args */
SIZE(ck_int8_gemm_args, 136);
FIELD(ck_int8_gemm_args, struct_size, 0, 4);
FIELD(ck_int8_gemm_args, out_dtype, 4, 4);
FIELD(ck_int8_gemm_args, m, 8, 8);
FIELD(ck_int8_gemm_args, n, 16, 8);
FIELD(ck_int8_gemm_args, k, 24, 8);
FIELD(ck_int8_gemm_args, a, 32, 8);
FIELD(ck_int8_gemm_args, lda, 40, 8);
FIELD(ck_int8_gemm_args, b, 48, 8);
FIELD(ck_int8_gemm_args, ldb, 56, 8);
FIELD(ck_int8_gemm_args, c, 64, 8);
FIELD(ck_int8_gemm_args, ldc, 72, 8);
FIELD(ck_int8_gemm_args, scale_a, 80, 8);
FIELD(ck_int8_gemm_args, scale_b, 88, 8);
FIELD(ck_int8_gemm_args, scale_a_mode, 96, 4);
FIELD(ck_int8_gemm_args, scale_b_mode, 100, 4);
FIELD(ck_int8_gemm_args, bias, 104, 8);
FIELD(ck_int8_gemm_args, bias_dtype, 112, 4);
FIELD(ck_int8_gemm_args, reserved0, 116, 4);
FIELD(ck_int8_gemm_args, workspace, 120, 8);
FIELD(ck_int8_gemm_args, workspace_size, 128, 8);

/* ck_rotate_args */
SIZE(ck_rotate_args, 64);
FIELD(ck_rotate_args, struct_size, 0, 4);
FIELD(ck_rotate_args, dtype, 4, 4);
FIELD(ck_rotate_args, rows, 8, 8);
FIELD(ck_rotate_args, k, 16, 8);
FIELD(ck_rotate_args, x, 24, 8);
FIELD(ck_rotate_args, ldx, 32, 8);
FIELD(ck_rotate_args, y, 40, 8);
FIELD(ck_rotate_args, ldy, 48, 8);
FIELD(ck_rotate_args, group, 56, 4);
FIELD(ck_rotate_args, reserved0, 60, 4);

/* ck_int8_quantize_args */
SIZE(ck_int8_quantize_args, 88);
FIELD(ck_int8_quantize_args, struct_size, 0, 4);
FIELD(ck_int8_quantize_args, dtype, 4, 4);
FIELD(ck_int8_quantize_args, rows, 8, 8);
FIELD(ck_int8_quantize_args, k, 16, 8);
FIELD(ck_int8_quantize_args, x, 24, 8);
FIELD(ck_int8_quantize_args, ldx, 32, 8);
FIELD(ck_int8_quantize_args, q, 40, 8);
FIELD(ck_int8_quantize_args, ldq, 48, 8);
FIELD(ck_int8_quantize_args, scale, 56, 8);
FIELD(ck_int8_quantize_args, activation, 64, 4);
FIELD(ck_int8_quantize_args, rotate_group, 68, 4);
FIELD(ck_int8_quantize_args, workspace, 72, 8);
FIELD(ck_int8_quantize_args, workspace_size, 80, 8);

/* ck_int8_linear_args */
SIZE(ck_int8_linear_args, 136);
FIELD(ck_int8_linear_args, struct_size, 0, 4);
FIELD(ck_int8_linear_args, x_dtype, 4, 4);
FIELD(ck_int8_linear_args, m, 8, 8);
FIELD(ck_int8_linear_args, n, 16, 8);
FIELD(ck_int8_linear_args, k, 24, 8);
FIELD(ck_int8_linear_args, x, 32, 8);
FIELD(ck_int8_linear_args, ldx, 40, 8);
FIELD(ck_int8_linear_args, w, 48, 8);
FIELD(ck_int8_linear_args, ldw, 56, 8);
FIELD(ck_int8_linear_args, w_scale, 64, 8);
FIELD(ck_int8_linear_args, bias, 72, 8);
FIELD(ck_int8_linear_args, y, 80, 8);
FIELD(ck_int8_linear_args, ldy, 88, 8);
FIELD(ck_int8_linear_args, out_dtype, 96, 4);
FIELD(ck_int8_linear_args, bias_dtype, 100, 4);
FIELD(ck_int8_linear_args, w_scale_mode, 104, 4);
FIELD(ck_int8_linear_args, activation, 108, 4);
FIELD(ck_int8_linear_args, rotate_group, 112, 4);
FIELD(ck_int8_linear_args, reserved0, 116, 4);
FIELD(ck_int8_linear_args, workspace, 120, 8);
FIELD(ck_int8_linear_args, workspace_size, 128, 8);

/* ck_w4a8_requant_args */
SIZE(ck_w4a8_requant_args, 160);
FIELD(ck_w4a8_requant_args, struct_size, 0, 4);
FIELD(ck_w4a8_requant_args, dtype, 4, 4);
FIELD(ck_w4a8_requant_args, n, 8, 8);
FIELD(ck_w4a8_requant_args, k, 16, 8);
FIELD(ck_w4a8_requant_args, weight, 24, 8);
FIELD(ck_w4a8_requant_args, ldw, 32, 8);
FIELD(ck_w4a8_requant_args, group, 40, 4);
FIELD(ck_w4a8_requant_args, layout, 44, 4);
FIELD(ck_w4a8_requant_args, rotate_group, 48, 4);
FIELD(ck_w4a8_requant_args, s_rel_dtype, 52, 4);
FIELD(ck_w4a8_requant_args, seed, 56, 8);
FIELD(ck_w4a8_requant_args, row_offset, 64, 8);
FIELD(ck_w4a8_requant_args, codebook, 72, 8);
FIELD(ck_w4a8_requant_args, packed, 80, 8);
FIELD(ck_w4a8_requant_args, ld_packed, 88, 8);
FIELD(ck_w4a8_requant_args, s_rel, 96, 8);
FIELD(ck_w4a8_requant_args, ld_s_rel, 104, 8);
FIELD(ck_w4a8_requant_args, s_channel, 112, 8);
FIELD(ck_w4a8_requant_args, correction, 120, 8);
FIELD(ck_w4a8_requant_args, ld_correction, 128, 8);
FIELD(ck_w4a8_requant_args, nonfinite, 136, 8);
FIELD(ck_w4a8_requant_args, workspace, 144, 8);
FIELD(ck_w4a8_requant_args, workspace_size, 152, 8);

/* ck_w4a8_choose_codebook_args */
SIZE(ck_w4a8_choose_codebook_args, 72);
FIELD(ck_w4a8_choose_codebook_args, struct_size, 0, 4);
FIELD(ck_w4a8_choose_codebook_args, dtype, 4, 4);
FIELD(ck_w4a8_choose_codebook_args, n, 8, 8);
FIELD(ck_w4a8_choose_codebook_args, k, 16, 8);
FIELD(ck_w4a8_choose_codebook_args, weight, 24, 8);
FIELD(ck_w4a8_choose_codebook_args, ldw, 32, 8);
FIELD(ck_w4a8_choose_codebook_args, group, 40, 4);
FIELD(ck_w4a8_choose_codebook_args, reserved0, 44, 4);
FIELD(ck_w4a8_choose_codebook_args, codebook, 48, 8);
FIELD(ck_w4a8_choose_codebook_args, workspace, 56, 8);
FIELD(ck_w4a8_choose_codebook_args, workspace_size, 64, 8);

/* ck_w4a8_dequant_args */
SIZE(ck_w4a8_dequant_args, 128);
FIELD(ck_w4a8_dequant_args, struct_size, 0, 4);
FIELD(ck_w4a8_dequant_args, out_dtype, 4, 4);
FIELD(ck_w4a8_dequant_args, n, 8, 8);
FIELD(ck_w4a8_dequant_args, k, 16, 8);
FIELD(ck_w4a8_dequant_args, group, 24, 4);
FIELD(ck_w4a8_dequant_args, layout, 28, 4);
FIELD(ck_w4a8_dequant_args, s_rel_dtype, 32, 4);
FIELD(ck_w4a8_dequant_args, rotate_group, 36, 4);
FIELD(ck_w4a8_dequant_args, packed, 40, 8);
FIELD(ck_w4a8_dequant_args, ld_packed, 48, 8);
FIELD(ck_w4a8_dequant_args, s_rel, 56, 8);
FIELD(ck_w4a8_dequant_args, ld_s_rel, 64, 8);
FIELD(ck_w4a8_dequant_args, s_channel, 72, 8);
FIELD(ck_w4a8_dequant_args, codebook, 80, 8);
FIELD(ck_w4a8_dequant_args, correction, 88, 8);
FIELD(ck_w4a8_dequant_args, ld_correction, 96, 8);
FIELD(ck_w4a8_dequant_args, correction_dtype, 104, 4);
FIELD(ck_w4a8_dequant_args, reserved0, 108, 4);
FIELD(ck_w4a8_dequant_args, out, 112, 8);
FIELD(ck_w4a8_dequant_args, ldo, 120, 8);

/* ck_w4a8_linear_args */
SIZE(ck_w4a8_linear_args, 184);
FIELD(ck_w4a8_linear_args, struct_size, 0, 4);
FIELD(ck_w4a8_linear_args, x_dtype, 4, 4);
FIELD(ck_w4a8_linear_args, m, 8, 8);
FIELD(ck_w4a8_linear_args, n, 16, 8);
FIELD(ck_w4a8_linear_args, k, 24, 8);
FIELD(ck_w4a8_linear_args, x, 32, 8);
FIELD(ck_w4a8_linear_args, ldx, 40, 8);
FIELD(ck_w4a8_linear_args, packed, 48, 8);
FIELD(ck_w4a8_linear_args, ld_packed, 56, 8);
FIELD(ck_w4a8_linear_args, s_rel, 64, 8);
FIELD(ck_w4a8_linear_args, ld_s_rel, 72, 8);
FIELD(ck_w4a8_linear_args, s_channel, 80, 8);
FIELD(ck_w4a8_linear_args, codebook, 88, 8);
FIELD(ck_w4a8_linear_args, correction, 96, 8);
FIELD(ck_w4a8_linear_args, ld_correction, 104, 8);
FIELD(ck_w4a8_linear_args, bias, 112, 8);
FIELD(ck_w4a8_linear_args, y, 120, 8);
FIELD(ck_w4a8_linear_args, ldy, 128, 8);
FIELD(ck_w4a8_linear_args, group, 136, 4);
FIELD(ck_w4a8_linear_args, layout, 140, 4);
FIELD(ck_w4a8_linear_args, s_rel_dtype, 144, 4);
FIELD(ck_w4a8_linear_args, correction_dtype, 148, 4);
FIELD(ck_w4a8_linear_args, out_dtype, 152, 4);
FIELD(ck_w4a8_linear_args, bias_dtype, 156, 4);
FIELD(ck_w4a8_linear_args, activation, 160, 4);
FIELD(ck_w4a8_linear_args, rotate_group, 164, 4);
FIELD(ck_w4a8_linear_args, workspace, 168, 8);
FIELD(ck_w4a8_linear_args, workspace_size, 176, 8);

/* ck_na3d_args */
SIZE(ck_na3d_args, 312);
FIELD(ck_na3d_args, struct_size, 0, 4);
FIELD(ck_na3d_args, dtype, 4, 4);
FIELD(ck_na3d_args, batch, 8, 8);
FIELD(ck_na3d_args, t, 16, 8);
FIELD(ck_na3d_args, h, 24, 8);
FIELD(ck_na3d_args, w, 32, 8);
FIELD(ck_na3d_args, heads, 40, 8);
FIELD(ck_na3d_args, head_dim, 48, 8);
FIELD(ck_na3d_args, q, 56, 8);
FIELD(ck_na3d_args, k, 64, 8);
FIELD(ck_na3d_args, v, 72, 8);
FIELD(ck_na3d_args, out, 80, 8);
FIELD(ck_na3d_args, q_stride, 88, 40);
FIELD(ck_na3d_args, k_stride, 128, 40);
FIELD(ck_na3d_args, v_stride, 168, 40);
FIELD(ck_na3d_args, out_stride, 208, 40);
FIELD(ck_na3d_args, kernel, 248, 12);
FIELD(ck_na3d_args, dilation, 260, 12);
FIELD(ck_na3d_args, causal, 272, 12);
FIELD(ck_na3d_args, scale, 284, 4);
FIELD(ck_na3d_args, flags, 288, 4);
FIELD(ck_na3d_args, reserved0, 292, 4);
FIELD(ck_na3d_args, workspace, 296, 8);
FIELD(ck_na3d_args, workspace_size, 304, 8);

/* ck_int8_error_args */
SIZE(ck_int8_error_args, 88);
FIELD(ck_int8_error_args, struct_size, 0, 4);
FIELD(ck_int8_error_args, dtype, 4, 4);
FIELD(ck_int8_error_args, rows, 8, 8);
FIELD(ck_int8_error_args, k, 16, 8);
FIELD(ck_int8_error_args, x, 24, 8);
FIELD(ck_int8_error_args, ldx, 32, 8);
FIELD(ck_int8_error_args, q, 40, 8);
FIELD(ck_int8_error_args, ldq, 48, 8);
FIELD(ck_int8_error_args, scale, 56, 8);
FIELD(ck_int8_error_args, scale_mode, 64, 4);
FIELD(ck_int8_error_args, rotate_group, 68, 4);
FIELD(ck_int8_error_args, difference, 72, 8);
FIELD(ck_int8_error_args, original, 80, 8);

/* Tails */
LAST(ck_device_properties, unusable_reason);
LAST(ck_context_options, runtime_path);
LAST(ck_support_info, reason);
LAST(ck_problem, args);
LAST(ck_variant_info, name);
LAST(ck_int8_gemm_args, workspace_size);
LAST(ck_rotate_args, reserved0);
LAST(ck_int8_quantize_args, workspace_size);
LAST(ck_int8_linear_args, workspace_size);
LAST(ck_w4a8_requant_args, workspace_size);
LAST(ck_w4a8_choose_codebook_args, workspace_size);
LAST(ck_w4a8_dequant_args, ldo);
LAST(ck_w4a8_linear_args, workspace_size);
LAST(ck_na3d_args, workspace_size);
LAST(ck_int8_error_args, original);

/* Numbers that callers compile in */
PIN(CK_OK == 0);
PIN(CK_ERROR_INVALID_ARGUMENT == 10);
PIN(CK_ERROR_VERSION_MISMATCH == 11);
PIN(CK_ERROR_UNSUPPORTED_PROBLEM == 12);
PIN(CK_ERROR_WORKSPACE_TOO_SMALL == 13);
PIN(CK_ERROR_INVALID_CONFIGURATION == 14);
PIN(CK_ERROR_OP_DISABLED == 15);
PIN(CK_ERROR_NO_RUNTIME == 30);
PIN(CK_ERROR_NO_DEVICE == 31);
PIN(CK_ERROR_UNSUPPORTED_ARCH == 32);
PIN(CK_ERROR_OUT_OF_MEMORY == 50);
PIN(CK_ERROR_DRIVER == 51);
PIN(CK_ERROR_DEVICE_LOST == 52);
PIN(CK_ERROR_NOT_PREPARED == 70);
PIN(CK_ERROR_FORKED == 71);
PIN(CK_ERROR_INTERNAL == 90);
PIN(CK_DTYPE_NONE == 0);
PIN(CK_F32 == 1);
PIN(CK_F16 == 2);
PIN(CK_BF16 == 3);
PIN(CK_F8_E4M3 == 4);
PIN(CK_I8 == 10);
PIN(CK_I32 == 11);
PIN(CK_LOG_OFF == 0);
PIN(CK_LOG_ERROR == 1);
PIN(CK_LOG_WARN == 2);
PIN(CK_LOG_INFO == 3);
PIN(CK_LOG_DISPATCH == 4);
PIN(CK_LOG_DEBUG == 5);
PIN(CK_LOG_TRACE == 6);
PIN(CK_BACKEND_AUTO == 0);
PIN(CK_BACKEND_CPU == 1);
PIN(CK_BACKEND_HIP == 2);
PIN(CK_BACKEND_CUDA == 3);
PIN(CK_DEVICE_INTEGRATED == 1);
PIN(CK_DEVICE_OVERRIDDEN == 2);
PIN(CK_DEVICE_COMPILED == 4);
PIN(CK_CONTEXT_ALLOW_CPU_FALLBACK == 1);
PIN(CK_COPY_HOST_TO_DEVICE == 1);
PIN(CK_COPY_DEVICE_TO_HOST == 2);
PIN(CK_COPY_DEVICE_TO_DEVICE == 3);
PIN(CK_OP_INT8_GEMM == 1);
PIN(CK_OP_INT8_QUANTIZE == 2);
PIN(CK_OP_INT8_LINEAR == 3);
PIN(CK_OP_ROTATE == 4);
PIN(CK_OP_W4A8_REQUANT == 5);
PIN(CK_OP_W4A8_CHOOSE_CODEBOOK == 6);
PIN(CK_OP_W4A8_DEQUANT == 7);
PIN(CK_OP_W4A8_LINEAR == 8);
PIN(CK_OP_NA3D == 9);
PIN(CK_OP_INT8_ERROR == 10);
PIN(CK_SCALE_VECTOR == 0);
PIN(CK_SCALE_SCALAR == 1);
PIN(CK_ACTIVATION_NONE == 0);
PIN(CK_ACTIVATION_GELU_TANH == 1);
PIN(CK_ACTIVATION_SWIGLU == 2);
PIN(CK_W4A8_CODEBOOK == 0);
PIN(CK_W4A8_UNIFORM == 1);
PIN(CK_W4A8_ASYMMETRIC == 2);
PIN(CK_NA3D_STRICT_WINDOW == 1);
PIN(CK_NA3D_EXPLICIT_STRIDES == 2);

/*
 * Every operator against every way of calling it wrongly: a status, a line that names the argument, and not
 * one byte written. One table for each operator says what there is to get wrong; the loops below do the rest.
 */
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"
#include "ckitchen.h"

typedef union {
    uint32_t struct_size;
    ck_int8_gemm_args int8_gemm;
    ck_int8_quantize_args int8_quantize;
    ck_int8_linear_args int8_linear;
    ck_rotate_args rotate;
    ck_w4a8_requant_args w4a8_requant;
    ck_w4a8_choose_codebook_args w4a8_choose_codebook;
    ck_w4a8_dequant_args w4a8_dequant;
    ck_w4a8_linear_args w4a8_linear;
    ck_na3d_args na3d;
    ck_int8_error_args int8_error;
    unsigned char bytes[1024]; /* room for a struct of a later version */
} any_args;

/* Pointers to the operator's functions, with args as bytes. */
typedef ck_status (*call_function)(ck_context*, const any_args*, void*);
typedef ck_status (*supported_function)(ck_context*, const any_args*, ck_support_info*);
typedef ck_status (*size_function)(ck_context*, const any_args*, uint64_t*);

enum { INPUT, OUTPUT };
enum { OPTIONAL, REQUIRED };

typedef struct {
    const char* name;
    size_t offset; /* of the pointer in the args */
    int role;
    int required;
    size_t bytes; /* in the valid call */
} tensor;

/* A field that must be refused with each of the values; names the field in the text. */
enum { MAX_VALUES = 8 };
typedef struct {
    const char* name;
    size_t offset;
    int bytes; /* 4 or 8 */
    int count;
    long long values[MAX_VALUES];
} refused_field;

typedef struct {
    const char* name;
    size_t size;
    call_function call;
    supported_function supported;
    size_function workspace_size;
    void (*valid)(any_args*); /* all but the pointers */
    const tensor* tensors;
    const refused_field* refused;
    size_t workspace_offset; /* 0: none */
    const char* may_overlap; /* an output and an input that may be the same memory */
} operator_table;

#define CALLS(op)                                                                                    \
    static ck_status call_##op(ck_context* context, const any_args* args, void* stream) {            \
        return ck_##op(context, args ? &args->op : NULL, stream);                                    \
    }                                                                                                \
    static ck_status supported_##op(ck_context* context, const any_args* args, ck_support_info* i) { \
        return ck_##op##_supported(context, args ? &args->op : NULL, i);                             \
    }                                                                                                \
    static ck_status size_##op(ck_context* context, const any_args* args, uint64_t* bytes) {         \
        return ck_##op##_workspace_size(context, args ? &args->op : NULL, bytes);                    \
    }

CALLS(int8_gemm)
CALLS(int8_quantize)
CALLS(int8_linear)
CALLS(rotate)
CALLS(w4a8_requant)
CALLS(w4a8_choose_codebook)
CALLS(w4a8_dequant)
CALLS(w4a8_linear)
CALLS(na3d)
CALLS(int8_error)

#define AT(op, field) offsetof(ck_##op##_args, field)
#define IN(op, field, bytes) \
    { #field, AT(op, field), INPUT, REQUIRED, bytes }
#define IN_OPTIONAL(op, field, bytes) \
    { #field, AT(op, field), INPUT, OPTIONAL, bytes }
#define OUT(op, field, bytes) \
    { #field, AT(op, field), OUTPUT, REQUIRED, bytes }
#define OUT_OPTIONAL(op, field, bytes) \
    { #field, AT(op, field), OUTPUT, OPTIONAL, bytes }
#define END_OF_TENSORS \
    { NULL, 0, 0, 0, 0 }
#define END_OF_REFUSED   \
    {                    \
        NULL, 0, 0, 0, { \
            0            \
        }                \
    }

/* An extent: never negative, and no size that cannot be addressed. */
#define EXTENT(op, field)              \
    {                                  \
#field, AT(op, field), 8, 3, { \
            -1, LLONG_MIN, LLONG_MAX   \
        }                              \
    }
/* A leading dimension: 0 or at least the width. */
#define LD(op, field, width)                       \
    {                                              \
#field, AT(op, field), 8, 5, {             \
            -1, 1, (width)-1, LLONG_MIN, LLONG_MAX \
        }                                          \
    }
#define DTYPE(op, field)                          \
    {                                             \
#field, AT(op, field), 4, 6, {            \
            -1, CK_F8_E4M3, CK_I8, 9, 12, INT_MAX \
        }                                         \
    }
#define FIELD4(op, field, count, ...)      \
    {                                      \
#field, AT(op, field), 4, count, { \
            __VA_ARGS__                    \
        }                                  \
    }
#define FIELD8(op, field, count, ...)      \
    {                                      \
#field, AT(op, field), 8, count, { \
            __VA_ARGS__                    \
        }                                  \
    }

/* int8_gemm: c [3,5] = a [3,32] * b [5,32]^T */
static void valid_int8_gemm(any_args* any) {
    ck_int8_gemm_args* args = &any->int8_gemm;
    args->out_dtype = CK_BF16;
    args->m = 3;
    args->n = 5;
    args->k = 32;
    args->bias_dtype = CK_F16;
}
static const tensor tensors_int8_gemm[] = {IN(int8_gemm, a, 96),
                                           IN(int8_gemm, b, 160),
                                           OUT(int8_gemm, c, 30),
                                           IN(int8_gemm, scale_a, 12),
                                           IN(int8_gemm, scale_b, 20),
                                           IN_OPTIONAL(int8_gemm, bias, 10),
                                           END_OF_TENSORS};
static const refused_field refused_int8_gemm[] = {
    FIELD4(int8_gemm, out_dtype, 6, 0, -1, CK_F8_E4M3, CK_I8, 12, INT_MAX),
    EXTENT(int8_gemm, m),
    EXTENT(int8_gemm, n),
    FIELD8(int8_gemm, k, 4, -1, 131072, LLONG_MIN, LLONG_MAX),
    LD(int8_gemm, lda, 32),
    LD(int8_gemm, ldb, 32),
    LD(int8_gemm, ldc, 5),
    FIELD4(int8_gemm, scale_a_mode, 3, -1, 2, INT_MAX),
    FIELD4(int8_gemm, scale_b_mode, 3, -1, 2, INT_MIN),
    FIELD4(int8_gemm, bias_dtype, 5, 0, -1, CK_F8_E4M3, CK_I8, CK_I32),
    FIELD4(int8_gemm, reserved0, 2, 1, INT_MIN),
    END_OF_REFUSED};

/* int8_quantize: q [3,16] from x [3,16] */
static void valid_int8_quantize(any_args* any) {
    ck_int8_quantize_args* args = &any->int8_quantize;
    args->dtype = CK_F32;
    args->rows = 3;
    args->k = 16;
    args->activation = CK_ACTIVATION_GELU_TANH;
    args->rotate_group = 4;
}
static const tensor tensors_int8_quantize[] = {IN(int8_quantize, x, 192), OUT(int8_quantize, q, 48),
                                               OUT(int8_quantize, scale, 12), END_OF_TENSORS};
static const refused_field refused_int8_quantize[] = {
    DTYPE(int8_quantize, dtype),
    FIELD4(int8_quantize, dtype, 1, 0),
    EXTENT(int8_quantize, rows),
    EXTENT(int8_quantize, k),
    LD(int8_quantize, ldx, 16),
    LD(int8_quantize, ldq, 16),
    FIELD4(int8_quantize, activation, 3, -1, 3, INT_MAX),
    FIELD4(int8_quantize, rotate_group, 7, -1, 1, 2, 8, 32, 64, 4096), /* 64 does not divide 16 */
    END_OF_REFUSED};

/* int8_linear: y [3,5] from x [3,32], which SwiGLU makes [3,16] */
static void valid_int8_linear(any_args* any) {
    ck_int8_linear_args* args = &any->int8_linear;
    args->x_dtype = CK_BF16;
    args->m = 3;
    args->n = 5;
    args->k = 16;
    args->out_dtype = CK_F16;
    args->bias_dtype = CK_F32;
    args->activation = CK_ACTIVATION_SWIGLU;
    args->rotate_group = 16;
}
static const tensor tensors_int8_linear[] = {IN(int8_linear, x, 192),      IN(int8_linear, w, 80),
                                             IN(int8_linear, w_scale, 20), IN_OPTIONAL(int8_linear, bias, 20),
                                             OUT(int8_linear, y, 30),      END_OF_TENSORS};
static const refused_field refused_int8_linear[] = {
    DTYPE(int8_linear, x_dtype),
    FIELD4(int8_linear, x_dtype, 1, 0),
    EXTENT(int8_linear, m),
    EXTENT(int8_linear, n),
    FIELD8(int8_linear, k, 4, -1, 131072, LLONG_MIN, LLONG_MAX),
    LD(int8_linear, ldx, 32),
    LD(int8_linear, ldw, 16),
    LD(int8_linear, ldy, 5),
    DTYPE(int8_linear, out_dtype),
    FIELD4(int8_linear, out_dtype, 2, 0, CK_I32),
    FIELD4(int8_linear, bias_dtype, 3, 0, -1, CK_I8),
    FIELD4(int8_linear, w_scale_mode, 2, -1, 2),
    FIELD4(int8_linear, activation, 2, -1, 3),
    FIELD4(int8_linear, rotate_group, 5, -1, 1, 8, 32, 64),
    FIELD4(int8_linear, reserved0, 1, 1),
    END_OF_REFUSED};

/* rotate: y [3,16] */
static void valid_rotate(any_args* any) {
    ck_rotate_args* args = &any->rotate;
    args->dtype = CK_F16;
    args->rows = 3;
    args->k = 16;
    args->group = 16;
}
static const tensor tensors_rotate[] = {IN(rotate, x, 96), OUT(rotate, y, 96), END_OF_TENSORS};
static const refused_field refused_rotate[] = {DTYPE(rotate, dtype),
                                               FIELD4(rotate, dtype, 1, 0),
                                               EXTENT(rotate, rows),
                                               EXTENT(rotate, k),
                                               LD(rotate, ldx, 16),
                                               LD(rotate, ldy, 16),
                                               FIELD4(rotate, group, 8, 0, -1, 1, 2, 8, 32, 64, 4096),
                                               FIELD4(rotate, reserved0, 1, 1),
                                               END_OF_REFUSED};

/* w4a8_requant: weight [3,32] in two groups of 16 */
static void valid_w4a8_requant(any_args* any) {
    ck_w4a8_requant_args* args = &any->w4a8_requant;
    args->dtype = CK_F32;
    args->n = 3;
    args->k = 32;
    args->group = 16;
    args->layout = CK_W4A8_ASYMMETRIC;
    args->rotate_group = 4;
    args->seed = 7;
}
static const tensor tensors_w4a8_requant[] = {IN(w4a8_requant, weight, 384),
                                              OUT(w4a8_requant, packed, 48),
                                              OUT(w4a8_requant, s_rel, 6),
                                              OUT(w4a8_requant, s_channel, 12),
                                              OUT(w4a8_requant, correction, 24),
                                              OUT_OPTIONAL(w4a8_requant, nonfinite, 8),
                                              END_OF_TENSORS};
static const refused_field refused_w4a8_requant[] = {
    DTYPE(w4a8_requant, dtype),
    FIELD4(w4a8_requant, dtype, 1, 0),
    EXTENT(w4a8_requant, n),
    EXTENT(w4a8_requant, k),
    FIELD8(w4a8_requant, k, 2, 31, 40), /* no multiple of the group */
    LD(w4a8_requant, ldw, 32),
    FIELD4(w4a8_requant, group, 8, 0, -16, 1, 2, 12, 24, 64, INT_MIN),
    FIELD4(w4a8_requant, layout, 3, -1, 3, INT_MAX),
    FIELD4(w4a8_requant, rotate_group, 5, -1, 1, 8, 64, INT_MAX),
    FIELD4(w4a8_requant, s_rel_dtype, 5, -1, CK_F16, CK_BF16, CK_I8, INT_MAX),
    LD(w4a8_requant, ld_packed, 16),
    FIELD8(w4a8_requant, ld_s_rel, 3, -1, 1, LLONG_MAX),
    LD(w4a8_requant, ld_correction, 3),
    END_OF_REFUSED};

/* The codebook layout has a codebook and no correction. */
static void valid_w4a8_requant_codebook(any_args* any) {
    valid_w4a8_requant(any);
    any->w4a8_requant.layout = CK_W4A8_CODEBOOK;
}
static const tensor tensors_w4a8_requant_codebook[] = {IN(w4a8_requant, weight, 384),
                                                       IN_OPTIONAL(w4a8_requant, codebook, 64),
                                                       OUT(w4a8_requant, packed, 48),
                                                       OUT(w4a8_requant, s_rel, 6),
                                                       OUT(w4a8_requant, s_channel, 12),
                                                       OUT_OPTIONAL(w4a8_requant, nonfinite, 8),
                                                       END_OF_TENSORS};

/* w4a8_choose_codebook: weight [4,32] */
static void valid_w4a8_choose_codebook(any_args* any) {
    ck_w4a8_choose_codebook_args* args = &any->w4a8_choose_codebook;
    args->dtype = CK_BF16;
    args->n = 4;
    args->k = 32;
    args->group = 16;
}
static const tensor tensors_w4a8_choose_codebook[] = {
    IN(w4a8_choose_codebook, weight, 256), OUT(w4a8_choose_codebook, codebook, 64), END_OF_TENSORS};
static const refused_field refused_w4a8_choose_codebook[] = {
    DTYPE(w4a8_choose_codebook, dtype),
    FIELD4(w4a8_choose_codebook, dtype, 1, 0),
    EXTENT(w4a8_choose_codebook, n),
    EXTENT(w4a8_choose_codebook, k),
    LD(w4a8_choose_codebook, ldw, 32),
    FIELD4(w4a8_choose_codebook, group, 7, 0, -4, 1, 2, 12, 24, 64),
    FIELD4(w4a8_choose_codebook, reserved0, 1, 1),
    END_OF_REFUSED};

/* w4a8_dequant: out [3,32] */
static void valid_w4a8_dequant(any_args* any) {
    ck_w4a8_dequant_args* args = &any->w4a8_dequant;
    args->out_dtype = CK_F16;
    args->n = 3;
    args->k = 32;
    args->group = 8;
    args->layout = CK_W4A8_ASYMMETRIC;
    args->s_rel_dtype = CK_F32;
    args->rotate_group = 16;
    args->correction_dtype = CK_BF16;
}
static const tensor tensors_w4a8_dequant[] = {
    IN(w4a8_dequant, packed, 48),     IN(w4a8_dequant, s_rel, 48), IN(w4a8_dequant, s_channel, 12),
    IN(w4a8_dequant, correction, 24), OUT(w4a8_dequant, out, 192), END_OF_TENSORS};
static const refused_field refused_w4a8_dequant[] = {
    FIELD4(w4a8_dequant, out_dtype, 5, 0, -1, CK_F8_E4M3, CK_I32, INT_MAX),
    EXTENT(w4a8_dequant, n),
    EXTENT(w4a8_dequant, k),
    FIELD4(w4a8_dequant, group, 7, 0, -16, 1, 2, 12, 24, 64),
    FIELD4(w4a8_dequant, layout, 2, -1, 3),
    FIELD4(w4a8_dequant, s_rel_dtype, 3, -1, CK_F16, CK_I8),
    FIELD4(w4a8_dequant, rotate_group, 4, -1, 1, 8, 64),
    LD(w4a8_dequant, ld_packed, 16),
    LD(w4a8_dequant, ld_s_rel, 4),
    LD(w4a8_dequant, ld_correction, 3),
    FIELD4(w4a8_dequant, correction_dtype, 4, 0, -1, CK_F8_E4M3, CK_I8),
    FIELD4(w4a8_dequant, reserved0, 1, 1),
    LD(w4a8_dequant, ldo, 32),
    END_OF_REFUSED};

/* w4a8_linear: y [3,5] from x [3,32] */
static void valid_w4a8_linear(any_args* any) {
    ck_w4a8_linear_args* args = &any->w4a8_linear;
    args->x_dtype = CK_F16;
    args->m = 3;
    args->n = 5;
    args->k = 32;
    args->group = 16;
    args->layout = CK_W4A8_ASYMMETRIC;
    args->correction_dtype = CK_F32;
    args->out_dtype = CK_BF16;
    args->bias_dtype = CK_BF16;
    args->rotate_group = 4;
}
static const tensor tensors_w4a8_linear[] = {
    IN(w4a8_linear, x, 192),         IN(w4a8_linear, packed, 80),
    IN(w4a8_linear, s_rel, 10),      IN(w4a8_linear, s_channel, 20),
    IN(w4a8_linear, correction, 40), IN_OPTIONAL(w4a8_linear, bias, 10),
    OUT(w4a8_linear, y, 30),         END_OF_TENSORS};
static const refused_field refused_w4a8_linear[] = {
    DTYPE(w4a8_linear, x_dtype),
    FIELD4(w4a8_linear, x_dtype, 1, 0),
    EXTENT(w4a8_linear, m),
    EXTENT(w4a8_linear, n),
    FIELD8(w4a8_linear, k, 4, -1, 131072, LLONG_MIN, LLONG_MAX),
    LD(w4a8_linear, ldx, 32),
    LD(w4a8_linear, ld_packed, 16),
    FIELD8(w4a8_linear, ld_s_rel, 3, -1, 1, LLONG_MAX),
    LD(w4a8_linear, ld_correction, 5),
    LD(w4a8_linear, ldy, 5),
    FIELD4(w4a8_linear, group, 6, 0, -16, 2, 12, 24, 64),
    FIELD4(w4a8_linear, layout, 2, -1, 3),
    FIELD4(w4a8_linear, s_rel_dtype, 3, -1, CK_F16, CK_I8),
    FIELD4(w4a8_linear, correction_dtype, 3, 0, -1, CK_I8),
    FIELD4(w4a8_linear, out_dtype, 5, 0, -1, CK_F8_E4M3, CK_I8, CK_I32),
    FIELD4(w4a8_linear, bias_dtype, 3, 0, -1, CK_I8),
    FIELD4(w4a8_linear, activation, 2, -1, 3),
    FIELD4(w4a8_linear, rotate_group, 4, -1, 1, 8, 64),
    END_OF_REFUSED};

/* na3d: [1,2,3,5,2,8] */
static void valid_na3d(any_args* any) {
    ck_na3d_args* args = &any->na3d;
    args->dtype = CK_F32;
    args->batch = 1;
    args->t = 2;
    args->h = 3;
    args->w = 5;
    args->heads = 2;
    args->head_dim = 8;
    args->kernel[0] = 1;
    args->kernel[1] = 2;
    args->kernel[2] = 3;
    args->dilation[2] = 2;
    args->causal[1] = 1;
}
static const tensor tensors_na3d[] = {IN(na3d, q, 1920), IN(na3d, k, 1920), IN(na3d, v, 1920),
                                      OUT(na3d, out, 1920), END_OF_TENSORS};
#define NA3D_AXES(field, index, count, ...)                               \
    {                                                                     \
#field "[" #index "]", AT(na3d, field) + 4 * (index), 4, count, { \
            __VA_ARGS__                                                   \
        }                                                                 \
    }
static const refused_field refused_na3d[] = {
    DTYPE(na3d, dtype),
    FIELD4(na3d, dtype, 1, 0),
    EXTENT(na3d, batch),
    EXTENT(na3d, t),
    EXTENT(na3d, h),
    EXTENT(na3d, w),
    EXTENT(na3d, heads),
    FIELD8(na3d, head_dim, 8, -8, 1, 4, 12, 100, 257, 264, LLONG_MAX),
    NA3D_AXES(kernel, 0, 3, 0, -1, INT_MIN),
    NA3D_AXES(kernel, 1, 3, 0, -1, INT_MIN),
    NA3D_AXES(kernel, 2, 3, 0, -1, INT_MIN),
    NA3D_AXES(dilation, 0, 2, -1, INT_MIN),
    NA3D_AXES(dilation, 1, 2, -1, INT_MIN),
    NA3D_AXES(dilation, 2, 2, -1, INT_MIN),
    NA3D_AXES(causal, 0, 3, -1, 2, INT_MAX),
    NA3D_AXES(causal, 1, 3, -1, 2, INT_MAX),
    NA3D_AXES(causal, 2, 3, -1, 2, INT_MAX),
    FIELD4(na3d, flags, 3, 4, 8, INT_MIN),
    FIELD4(na3d, reserved0, 1, 1),
    END_OF_REFUSED};

/* int8_error: sums of [3,16] */
static void valid_int8_error(any_args* any) {
    ck_int8_error_args* args = &any->int8_error;
    args->dtype = CK_F16;
    args->rows = 3;
    args->k = 16;
    args->rotate_group = 16;
}
static const tensor tensors_int8_error[] = {IN(int8_error, x, 96),         IN(int8_error, q, 48),
                                            IN(int8_error, scale, 12),     OUT(int8_error, difference, 24),
                                            OUT(int8_error, original, 24), END_OF_TENSORS};
static const refused_field refused_int8_error[] = {
    DTYPE(int8_error, dtype),
    FIELD4(int8_error, dtype, 1, 0),
    EXTENT(int8_error, rows),
    EXTENT(int8_error, k),
    LD(int8_error, ldx, 16),
    LD(int8_error, ldq, 16),
    FIELD4(int8_error, scale_mode, 2, -1, 2),
    FIELD4(int8_error, rotate_group, 7, -1, 1, 2, 8, 32, 64, 4096), /* 64 does not divide 16 */
    END_OF_REFUSED};

#define TABLE(op, workspace, may_overlap)                                                            \
    {                                                                                                \
#op, sizeof(ck_##op##_args), call_##op, supported_##op, size_##op, valid_##op, tensors_##op, \
            refused_##op, workspace, may_overlap                                                     \
    }
static const operator_table operators[] = {
    TABLE(int8_gemm, AT(int8_gemm, workspace), ""),
    TABLE(int8_quantize, AT(int8_quantize, workspace), ""),
    TABLE(int8_linear, AT(int8_linear, workspace), ""),
    TABLE(rotate, 0, "y x"),
    TABLE(w4a8_requant, AT(w4a8_requant, workspace), ""),
    {"w4a8_requant (codebook)", sizeof(ck_w4a8_requant_args), call_w4a8_requant, supported_w4a8_requant,
     size_w4a8_requant, valid_w4a8_requant_codebook, tensors_w4a8_requant_codebook, refused_w4a8_requant,
     AT(w4a8_requant, workspace), ""},
    TABLE(w4a8_choose_codebook, AT(w4a8_choose_codebook, workspace), ""),
    TABLE(w4a8_dequant, 0, ""),
    TABLE(w4a8_linear, AT(w4a8_linear, workspace), ""),
    TABLE(na3d, AT(na3d, workspace), ""),
    TABLE(int8_error, 0, ""),
};

/* ------------------------------------------------------------------------------------------------- */
/* Memory: every tensor and the workspace in one block, each with room around it, so that a pointer may be
 * moved over its neighbour and whatever is written anywhere shows. */

enum { SLOT = 4096, SLOTS = 10, ARENA = SLOT * SLOTS };
static unsigned char* arena;
static unsigned char before[ARENA];
static ck_context* context;

static void* get_pointer(const any_args* args, size_t offset) {
    void* pointer;
    memcpy(&pointer, args->bytes + offset, sizeof(pointer));
    return pointer;
}
static void set_pointer(any_args* args, size_t offset, void* pointer) {
    memcpy(args->bytes + offset, &pointer, sizeof(pointer));
}
static void set_integer(any_args* args, const refused_field* field, long long value) {
    if (field->bytes == 8) {
        const int64_t wide = value;
        memcpy(args->bytes + field->offset, &wide, sizeof(wide));
    } else {
        const int32_t narrow = (int32_t)value;
        memcpy(args->bytes + field->offset, &narrow, sizeof(narrow));
    }
}

/* The valid call; the workspace is the last slot. Returns the bytes of workspace that it needs. */
static uint64_t prepare(const operator_table* op, any_args* args) {
    uint64_t bytes = 0;
    int slot = 0;
    const tensor* t;
    size_t i;
    memset(args, 0, sizeof(*args));
    args->struct_size = (uint32_t)op->size;
    op->valid(args);
    for (i = 0; i < ARENA; ++i) arena[i] = (unsigned char)(i * 7 % 61);
    for (t = op->tensors; t->name; ++t) set_pointer(args, t->offset, arena + SLOT * slot++ + SLOT / 2);
    CHECK_STATUS(op->workspace_size(context, args, &bytes), CK_OK, "", op->name);
    if (bytes > 0) {
        CHECK_FOR(op->workspace_offset != 0 && bytes <= SLOT / 2, op->name);
        set_pointer(args, op->workspace_offset, arena + SLOT * (SLOTS - 1));
        memcpy(args->bytes + op->workspace_offset + sizeof(void*), &bytes, sizeof(bytes));
    }
    memcpy(before, arena, ARENA);
    return bytes;
}

/* The call is refused with the status, the text contains `text`, and nothing was written. With `in_query`,
 * the operator's query says the same. */
static void refused(const operator_table* op, const any_args* args, ck_status status, const char* text,
                    int in_query, const char* what) {
    char name[200];
    snprintf(name, sizeof(name), "%s: %s", op->name, what);
    CHECK_STATUS(op->call(context, args, NULL), status, text, name);
    CHECK_FOR(memcmp(before, arena, ARENA) == 0, name);
    memcpy(arena, before, ARENA);
    if (in_query) {
        ck_support_info info = CK_INIT(ck_support_info);
        const ck_status result = op->supported(context, args, &info);
        uint64_t bytes = 0;
        CHECK_FOR(result == status || (result == CK_OK && info.status == status), name);
        if (result == CK_OK) {
            CHECK_FOR(strstr(info.reason, text) != NULL, name);
            CHECK_FOR(info.variant[0] == 0, name);
        }
        CHECK_FOR(op->workspace_size(context, args, &bytes) == status, name);
    }
}

static void check_valid(const operator_table* op) {
    any_args args;
    ck_support_info info = CK_INIT(ck_support_info);
    const tensor* t;
    char text[512];
    prepare(op, &args);
    /* A success leaves the last error's text alone. */
    CHECK_STATUS(ck_copy(context, NULL, NULL, 1, CK_COPY_DEVICE_TO_DEVICE, NULL), CK_ERROR_INVALID_ARGUMENT,
                 "destination", op->name);
    snprintf(text, sizeof(text), "%s", ck_last_error());
    CHECK_STATUS(op->supported(context, &args, &info), CK_OK, "", op->name);
    CHECK_FOR(info.status == CK_OK && info.variant[0] != 0 && info.reason[0] == 0, op->name);
    CHECK_STATUS(op->call(context, &args, NULL), CK_OK, "", op->name);
    CHECK_FOR(strcmp(text, ck_last_error()) == 0, op->name);
    CHECK_FOR(strcmp(ck_last_variant(), info.variant) == 0, op->name);
    /* The sentinels can show a write: the valid call wrote every output and no input. */
    for (t = op->tensors; t->name; ++t) {
        const size_t at = (size_t)((unsigned char*)get_pointer(&args, t->offset) - arena);
        const int same = memcmp(before + at, arena + at, t->bytes) == 0;
        const int optional_counter = t->role == OUTPUT && !t->required;
        if (!optional_counter) CHECK_FOR(same == (t->role == INPUT), t->name);
        CHECK_FOR(arena[at - 1] == before[at - 1] && arena[at + t->bytes] == before[at + t->bytes], t->name);
    }
}

static void check_pointers(const operator_table* op) {
    any_args args;
    const tensor* t;
    char what[120];
    prepare(op, &args);
    CHECK_STATUS(op->call(NULL, &args, NULL), CK_ERROR_INVALID_ARGUMENT, "context", op->name);
    CHECK_STATUS(op->call(context, NULL, NULL), CK_ERROR_INVALID_ARGUMENT, "args", op->name);
    CHECK_FOR(memcmp(before, arena, ARENA) == 0, op->name);
    {
        ck_support_info info = CK_INIT(ck_support_info);
        uint64_t bytes = 0;
        CHECK_STATUS(op->supported(NULL, &args, &info), CK_ERROR_INVALID_ARGUMENT, "context", op->name);
        CHECK_STATUS(op->supported(context, NULL, &info), CK_ERROR_INVALID_ARGUMENT, "args", op->name);
        CHECK_STATUS(op->supported(context, &args, NULL), CK_ERROR_INVALID_ARGUMENT, "info", op->name);
        info.struct_size = 0;
        CHECK_STATUS(op->supported(context, &args, &info), CK_ERROR_VERSION_MISMATCH, "struct_size",
                     op->name);
        CHECK_STATUS(op->workspace_size(NULL, &args, &bytes), CK_ERROR_INVALID_ARGUMENT, "context", op->name);
        CHECK_STATUS(op->workspace_size(context, NULL, &bytes), CK_ERROR_INVALID_ARGUMENT, "args", op->name);
        CHECK_STATUS(op->workspace_size(context, &args, NULL), CK_ERROR_INVALID_ARGUMENT, "bytes", op->name);
    }
    for (t = op->tensors; t->name; ++t) {
        prepare(op, &args);
        set_pointer(&args, t->offset, NULL);
        snprintf(what, sizeof(what), "%s NULL", t->name);
        if (t->required) {
            ck_support_info info = CK_INIT(ck_support_info);
            refused(op, &args, CK_ERROR_INVALID_ARGUMENT, t->name, 0, what);
            CHECK_FOR(strstr(ck_last_error(), "NULL") != NULL, what);
            /* A query takes NULL for an aligned pointer. */
            CHECK_STATUS(op->supported(context, &args, &info), CK_OK, "", what);
            CHECK_FOR(info.status == CK_OK, what);
        } else {
            CHECK_STATUS(op->call(context, &args, NULL), CK_OK, "", what);
        }
    }
}

static void check_fields(const operator_table* op) {
    const refused_field* field;
    int i;
    for (field = op->refused; field->name; ++field) {
        for (i = 0; i < field->count; ++i) {
            any_args args;
            char what[120];
            const char* dot = strchr(field->name, '[');
            char name[64];
            prepare(op, &args);
            set_integer(&args, field, field->values[i]);
            /* A leading dimension's row of values ends before 0, which means packed. */
            if (field->bytes == 8 && field->values[i] == 0) continue;
            snprintf(what, sizeof(what), "%s = %lld", field->name, field->values[i]);
            snprintf(name, sizeof(name), "%.*s", dot ? (int)(dot - field->name) : 60, field->name);
            refused(op, &args, CK_ERROR_INVALID_ARGUMENT, name, 1, what);
            /* Of flags and reserved fields the text tells the bits, or nothing. */
            if (strcmp(name, "flags") != 0 && strncmp(name, "reserved", 8) != 0) {
                char value[32];
                snprintf(value, sizeof(value), "%lld", field->values[i]);
                CHECK_FOR(strstr(ck_last_error(), value) != NULL, what);
            }
        }
    }
}

static void check_struct_sizes(const operator_table* op) {
    any_args args;
    uint32_t size;
    prepare(op, &args);
    for (size = 0; size < op->size; size += size < 8 ? 1 : 8) {
        args.struct_size = size;
        refused(op, &args, CK_ERROR_VERSION_MISMATCH, "struct_size", 1, "struct_size too small");
    }
    /* A later version's struct: fine while what this library does not know is zero. */
    prepare(op, &args);
    for (size = (uint32_t)op->size + 1; size <= sizeof(args); size = size * 2) {
        prepare(op, &args);
        args.struct_size = size;
        CHECK_STATUS(op->call(context, &args, NULL), CK_OK, "", op->name);
    }
    for (size = (uint32_t)op->size; size < sizeof(args); size += 61) {
        prepare(op, &args);
        args.struct_size = sizeof(args);
        args.bytes[size] = 1;
        refused(op, &args, CK_ERROR_VERSION_MISMATCH, "args", 1, "a nonzero byte beyond the known struct");
    }
}

static void check_overlaps(const operator_table* op) {
    const tensor* output;
    const tensor* other;
    any_args args;
    char what[120];
    uint64_t workspace = 0;
    for (output = op->tensors; output->name; ++output) {
        if (output->role != OUTPUT) continue;
        for (other = op->tensors; other->name; ++other) {
            unsigned char* place;
            char pair[64];
            if (other == output) continue;
            snprintf(pair, sizeof(pair), "%s %s", output->name, other->name);
            prepare(op, &args);
            place = get_pointer(&args, other->offset);
            /* The same address, the last byte on the first, the first byte on the last. */
            if (strcmp(pair, op->may_overlap) != 0) {
                set_pointer(&args, output->offset, place);
                snprintf(what, sizeof(what), "%s at %s", output->name, other->name);
                refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "overlap", 0, what);
                CHECK_FOR(strstr(ck_last_error(), output->name) != NULL, what);
                CHECK_FOR(strstr(ck_last_error(), other->name) != NULL, what);
            }
            set_pointer(&args, output->offset, place - output->bytes + 1);
            snprintf(what, sizeof(what), "the end of %s on the start of %s", output->name, other->name);
            refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "overlap", 0, what);
            set_pointer(&args, output->offset, place + other->bytes - 1);
            snprintf(what, sizeof(what), "the start of %s on the end of %s", output->name, other->name);
            refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "overlap", 0, what);
            /* Side by side is no overlap. */
            set_pointer(&args, output->offset, place + other->bytes);
            snprintf(what, sizeof(what), "%s right behind %s", output->name, other->name);
            CHECK_STATUS(op->call(context, &args, NULL), CK_OK, "", what);
        }
    }
    /* The workspace is written: it may lie on nothing. */
    for (other = op->tensors; other->name; ++other) {
        workspace = prepare(op, &args);
        if (workspace == 0) break;
        set_pointer(&args, op->workspace_offset, get_pointer(&args, other->offset));
        snprintf(what, sizeof(what), "workspace at %s", other->name);
        refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "overlap", 0, what);
        CHECK_FOR(strstr(ck_last_error(), "workspace") != NULL, what);
    }
}

static void check_workspace(const operator_table* op) {
    any_args args;
    uint64_t bytes = prepare(op, &args);
    if (bytes == 0) return;
    set_pointer(&args, op->workspace_offset, NULL);
    refused(op, &args, CK_ERROR_WORKSPACE_TOO_SMALL, "workspace", 0, "workspace NULL");
    bytes = prepare(op, &args) - 1;
    memcpy(args.bytes + op->workspace_offset + sizeof(void*), &bytes, sizeof(bytes));
    refused(op, &args, CK_ERROR_WORKSPACE_TOO_SMALL, "workspace_size", 0, "workspace one byte short");
    bytes = 0;
    memcpy(args.bytes + op->workspace_offset + sizeof(void*), &bytes, sizeof(bytes));
    refused(op, &args, CK_ERROR_WORKSPACE_TOO_SMALL, "workspace_size", 0, "workspace_size 0");
}

static const operator_table* table_of(const char* name) {
    size_t i;
    for (i = 0; i < sizeof(operators) / sizeof(operators[0]); ++i)
        if (strcmp(operators[i].name, name) == 0) return &operators[i];
    return NULL;
}

/* What depends on more than one field. */
static void check_combinations(void) {
    const operator_table* op = table_of("w4a8_requant");
    const int64_t huge = INT64_C(1) << 40;
    any_args args;
    int i;

    prepare(op, &args); /* a correction belongs to the asymmetric layout */
    args.w4a8_requant.layout = CK_W4A8_UNIFORM;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "correction", 1, "correction with the uniform layout");
    prepare(op, &args);
    args.w4a8_requant.codebook = (const float*)(arena + SLOT * 8);
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "codebook", 1, "codebook with the asymmetric layout");

    op = table_of("w4a8_dequant"); /* the grid has no rotation */
    prepare(op, &args);
    args.w4a8_dequant.out_dtype = CK_I8;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "rotate_group", 1, "rotation of the int8 grid");

    op = table_of("int8_gemm"); /* sizes that cannot be addressed, from extents that can */
    prepare(op, &args);
    args.int8_gemm.m = args.int8_gemm.n = huge;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "c", 1, "a result of 2^80 elements");
    prepare(op, &args);
    args.int8_gemm.m = huge;
    args.int8_gemm.lda = huge;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "a", 1, "a tensor of 2^80 bytes");

    op = table_of("na3d");
    prepare(op, &args);
    args.na3d.scale = NAN;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "scale", 1, "scale NaN");
    prepare(op, &args);
    args.na3d.scale = -INFINITY;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "scale", 1, "scale -infinity");
    /* What a call does not use is checked all the same. */
    prepare(op, &args);
    args.na3d.t = 0;
    args.na3d.kernel[2] = 0;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "kernel[2]", 1, "no kernel, and nothing to compute");
    op = table_of("int8_gemm");
    prepare(op, &args);
    args.int8_gemm.out_dtype = CK_I32;
    args.int8_gemm.scale_b_mode = 7;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "scale_b_mode", 1, "a scale mode that is not read");
    prepare(op, &args);
    args.int8_gemm.bias = NULL;
    args.int8_gemm.bias_dtype = CK_I8;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "bias_dtype", 1, "the type of no bias");
    prepare(op, &args);
    args.int8_gemm.bias_dtype = CK_DTYPE_NONE;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "bias_dtype", 1, "a bias without a type");
    CHECK(strstr(ck_last_error(), "bias_dtype is 0 (CK_DTYPE_NONE), required with bias") != NULL);
    prepare(op, &args);
    args.int8_gemm.out_dtype = CK_DTYPE_NONE;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "out_dtype", 1, "no type of the result");
    CHECK(strstr(ck_last_error(), "out_dtype is 0 (CK_DTYPE_NONE)") != NULL);
    op = table_of("na3d");
    /* A window that does not fit is clamped, unless it was asked to be refused; which axis, and both numbers.
     */
    prepare(op, &args);
    args.na3d.kernel[2] = 3;
    args.na3d.dilation[2] = 2;
    CHECK_STATUS(op->call(context, &args, NULL), CK_OK, "", "a window that does not fit");
    prepare(op, &args);
    args.na3d.flags = CK_NA3D_STRICT_WINDOW;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "kernel[2]", 1, "a strict window that does not fit");
    CHECK(strstr(ck_last_error(), "6") != NULL && strstr(ck_last_error(), "5") != NULL);
    CHECK(strstr(ck_last_error(), "w") != NULL);
    /* Elements of out on each other: in the strides, and by a stride of 0. */
    prepare(op, &args);
    for (i = 0; i < 5; ++i) args.na3d.out_stride[i] = 8;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "out", 0, "out overlaps itself");
    prepare(op, &args);
    args.na3d.flags = CK_NA3D_EXPLICIT_STRIDES;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "out", 0, "out has stride 0 everywhere");
    prepare(op, &args);
    args.na3d.q_stride[1] = INT64_MAX / 2;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "q", 0, "a stride that leaves the address space");

    op = table_of("rotate"); /* y on x is legal as a whole, not with another leading dimension */
    prepare(op, &args);
    args.rotate.y = (void*)(uintptr_t)args.rotate.x;
    CHECK_STATUS(op->call(context, &args, NULL), CK_OK, "", "rotate in place");
    prepare(op, &args);
    args.rotate.y = (void*)(uintptr_t)args.rotate.x;
    args.rotate.ldy = 24;
    refused(op, &args, CK_ERROR_INVALID_ARGUMENT, "overlap", 0, "rotate in place with another ldy");
}

/* A zero extent is a success that writes nothing, with NULL pointers too; results that do not depend on k are
 * written. */
static void check_empty(void) {
    const operator_table* op = table_of("int8_gemm");
    any_args args;
    const float* number;
    prepare(op, &args);
    args.int8_gemm.m = 0;
    CHECK_STATUS(op->call(context, &args, NULL), CK_OK, "", "m = 0");
    CHECK(memcmp(before, arena, ARENA) == 0);
    memset(&args, 0, sizeof(args));
    args.int8_gemm.struct_size = sizeof(ck_int8_gemm_args);
    args.int8_gemm.out_dtype = CK_I32;
    args.int8_gemm.m = 4;
    CHECK_STATUS(op->call(context, &args, NULL), CK_OK, "", "n = k = 0, all NULL");

    op = table_of("int8_quantize");
    prepare(op, &args);
    args.int8_quantize.k = 0;
    args.int8_quantize.x = NULL;
    args.int8_quantize.q = NULL;
    CHECK_STATUS(op->call(context, &args, NULL), CK_OK, "", "quantize k = 0");
    number = args.int8_quantize.scale;
    CHECK(number[0] == 1e-30f && number[2] == 1e-30f);

    op = table_of("w4a8_requant");
    prepare(op, &args);
    args.w4a8_requant.k = 0;
    memcpy(before, arena, ARENA);
    CHECK_STATUS(op->call(context, &args, NULL), CK_OK, "", "requant k = 0");
    CHECK(memcmp(before, arena, ARENA) == 0);

    op = table_of("w4a8_choose_codebook");
    prepare(op, &args);
    args.w4a8_choose_codebook.n = 0;
    args.w4a8_choose_codebook.weight = NULL;
    CHECK_STATUS(op->call(context, &args, NULL), CK_OK, "", "codebook of nothing");
    CHECK(memcmp(args.w4a8_choose_codebook.codebook, ck_w4a8_default_codebook(), 64) == 0);

    op = table_of("na3d");
    prepare(op, &args);
    args.na3d.batch = 0;
    args.na3d.q = args.na3d.k = args.na3d.v = NULL;
    args.na3d.out = NULL;
    CHECK_STATUS(op->call(context, &args, NULL), CK_OK, "", "na3d batch = 0");
    CHECK(memcmp(before, arena, ARENA) == 0);
}

int main(void) {
    ck_context_options options = CK_INIT(ck_context_options);
    void* memory = NULL;
    size_t i;
    options.backend = CK_BACKEND_CPU;
    CHECK_STATUS(ck_context_create(&options, &context), CK_OK, "", "context");
    if (!context) return check_result("misuse");
    CHECK_STATUS(ck_malloc(context, ARENA, &memory), CK_OK, "", "arena");
    arena = memory;
    for (i = 0; i < sizeof(operators) / sizeof(operators[0]); ++i) {
        const operator_table* op = &operators[i];
        check_valid(op);
        check_pointers(op);
        check_fields(op);
        check_struct_sizes(op);
        check_overlaps(op);
        check_workspace(op);
    }
    check_combinations();
    check_empty();
    CHECK_STATUS(ck_free(context, memory), CK_OK, "", "arena");
    ck_context_destroy(context);
    return check_result("misuse");
}

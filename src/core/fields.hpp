// One description of every public struct: its fields in order, with their kinds. From it come the versioned
// reading of structs, the check of reserved fields, the text form of problems and the proof that no struct
// has padding. A field that is added to ckitchen.h is added here and nowhere else.
#pragma once

#include <ckitchen.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace ckitchen {

enum class FieldKind : uint8_t {
    struct_size,
    reserved,
    integer,  // int32_t, uint32_t, int64_t or uint64_t by size and `is_signed`
    dtype,
    scale_mode,
    activation,
    layout,
    real,       // float
    pointer,    // data
    workspace,  // the workspace and its size: not part of a problem
    other       // fields of structs that are no problem
};

struct Field {
    const char* name;
    uint32_t offset;
    uint32_t size;   // of one element
    uint32_t count;  // elements of an array, 1 otherwise
    FieldKind kind;
    bool is_signed;
};

namespace detail {

template <typename T>
struct Element {
    using type = T;
    static constexpr uint32_t count = 1;
};
template <typename T, std::size_t N>
struct Element<T[N]> {
    using type = T;
    static constexpr uint32_t count = N;
};

template <std::size_t N>
constexpr bool covers_all(const Field (&table)[N], std::size_t size) {
    std::size_t end = 0;
    for (const Field& field : table) {
        if (field.offset != end) return false;
        end += std::size_t{field.size} * field.count;
    }
    return end == size;
}

}  // namespace detail

// Specialised for every public struct: `table`, `name`, and `first_size`, the struct's size in the release
// that introduced it.
template <typename T>
struct Fields;

#define CK_FIELD(field, kind)                                                                        \
    Field {                                                                                          \
#field, static_cast < uint32_t>(offsetof(S, field)),                                         \
            static_cast < uint32_t>(sizeof(typename detail::Element <decltype(S::field)>::type)),    \
            detail::Element < decltype(S::field)> ::count, FieldKind::kind,                          \
            static_cast < typename detail::Element < decltype(S::field)> ::type>(-1) < static_cast < \
                typename detail::Element < decltype(S::field)> ::type>(0)                            \
    }
#define CK_POINTER(field, kind)                                                                            \
    Field {                                                                                                \
#field, static_cast < uint32_t>(offsetof(S, field)), static_cast < uint32_t>(sizeof(S::field)), 1, \
            FieldKind::kind, false                                                                         \
    }
#define CK_FIELDS(type, size, ...)                                                                     \
    template <>                                                                                        \
    struct Fields<type> {                                                                              \
        using S = type;                                                                                \
        static constexpr const char* name = #type;                                                     \
        static constexpr std::size_t first_size = size;                                                \
        static constexpr Field table[] = {CK_FIELD(struct_size, struct_size), __VA_ARGS__};            \
        static_assert(detail::covers_all(table, sizeof(S)), "padding, or a field that is not listed"); \
        static_assert(first_size <= sizeof(S) && first_size % alignof(S) == 0);                        \
    }

CK_FIELDS(ck_device_properties, 744, CK_FIELD(backend, other), CK_FIELD(ordinal, other),
          CK_FIELD(usable, other), CK_FIELD(flags, other), CK_FIELD(compute_units, other),
          CK_FIELD(memory_bytes, other), CK_FIELD(shared_memory_bytes, other), CK_FIELD(name, other),
          CK_FIELD(arch, other), CK_FIELD(features, other), CK_FIELD(unusable_reason, other));

CK_FIELDS(ck_context_options, 40, CK_FIELD(backend, other), CK_FIELD(ordinal, other),
          CK_FIELD(threads, other), CK_FIELD(flags, other), CK_FIELD(reserved0, reserved),
          CK_POINTER(disable, other), CK_POINTER(runtime_path, other));

CK_FIELDS(ck_support_info, 328, CK_FIELD(status, other), CK_FIELD(variant, other), CK_FIELD(reason, other));

CK_FIELDS(ck_problem, 16, CK_FIELD(op, other), CK_POINTER(args, other));

CK_FIELDS(ck_variant_info, 80, CK_FIELD(op, other), CK_FIELD(calls, other), CK_FIELD(name, other));

CK_FIELDS(ck_int8_gemm_args, 136, CK_FIELD(out_dtype, dtype), CK_FIELD(m, integer), CK_FIELD(n, integer),
          CK_FIELD(k, integer), CK_POINTER(a, pointer), CK_FIELD(lda, integer), CK_POINTER(b, pointer),
          CK_FIELD(ldb, integer), CK_POINTER(c, pointer), CK_FIELD(ldc, integer),
          CK_POINTER(scale_a, pointer), CK_POINTER(scale_b, pointer), CK_FIELD(scale_a_mode, scale_mode),
          CK_FIELD(scale_b_mode, scale_mode), CK_POINTER(bias, pointer), CK_FIELD(bias_dtype, dtype),
          CK_FIELD(reserved0, reserved), CK_POINTER(workspace, workspace),
          CK_FIELD(workspace_size, workspace));

CK_FIELDS(ck_rotate_args, 64, CK_FIELD(dtype, dtype), CK_FIELD(rows, integer), CK_FIELD(k, integer),
          CK_POINTER(x, pointer), CK_FIELD(ldx, integer), CK_POINTER(y, pointer), CK_FIELD(ldy, integer),
          CK_FIELD(group, integer), CK_FIELD(reserved0, reserved));

CK_FIELDS(ck_int8_quantize_args, 88, CK_FIELD(dtype, dtype), CK_FIELD(rows, integer), CK_FIELD(k, integer),
          CK_POINTER(x, pointer), CK_FIELD(ldx, integer), CK_POINTER(q, pointer), CK_FIELD(ldq, integer),
          CK_POINTER(scale, pointer), CK_FIELD(activation, activation), CK_FIELD(rotate_group, integer),
          CK_POINTER(workspace, workspace), CK_FIELD(workspace_size, workspace));

CK_FIELDS(ck_int8_error_args, 88, CK_FIELD(dtype, dtype), CK_FIELD(rows, integer), CK_FIELD(k, integer),
          CK_POINTER(x, pointer), CK_FIELD(ldx, integer), CK_POINTER(q, pointer), CK_FIELD(ldq, integer),
          CK_POINTER(scale, pointer), CK_FIELD(scale_mode, scale_mode), CK_FIELD(rotate_group, integer),
          CK_POINTER(difference, pointer), CK_POINTER(original, pointer));

CK_FIELDS(ck_int8_linear_args, 136, CK_FIELD(x_dtype, dtype), CK_FIELD(m, integer), CK_FIELD(n, integer),
          CK_FIELD(k, integer), CK_POINTER(x, pointer), CK_FIELD(ldx, integer), CK_POINTER(w, pointer),
          CK_FIELD(ldw, integer), CK_POINTER(w_scale, pointer), CK_POINTER(bias, pointer),
          CK_POINTER(y, pointer), CK_FIELD(ldy, integer), CK_FIELD(out_dtype, dtype),
          CK_FIELD(bias_dtype, dtype), CK_FIELD(w_scale_mode, scale_mode), CK_FIELD(activation, activation),
          CK_FIELD(rotate_group, integer), CK_FIELD(reserved0, reserved), CK_POINTER(workspace, workspace),
          CK_FIELD(workspace_size, workspace));

CK_FIELDS(ck_w4a8_requant_args, 160, CK_FIELD(dtype, dtype), CK_FIELD(n, integer), CK_FIELD(k, integer),
          CK_POINTER(weight, pointer), CK_FIELD(ldw, integer), CK_FIELD(group, integer),
          CK_FIELD(layout, layout), CK_FIELD(rotate_group, integer), CK_FIELD(s_rel_dtype, dtype),
          CK_FIELD(seed, integer), CK_FIELD(row_offset, integer), CK_POINTER(codebook, pointer),
          CK_POINTER(packed, pointer), CK_FIELD(ld_packed, integer), CK_POINTER(s_rel, pointer),
          CK_FIELD(ld_s_rel, integer), CK_POINTER(s_channel, pointer), CK_POINTER(correction, pointer),
          CK_FIELD(ld_correction, integer), CK_POINTER(nonfinite, pointer), CK_POINTER(workspace, workspace),
          CK_FIELD(workspace_size, workspace));

CK_FIELDS(ck_w4a8_choose_codebook_args, 72, CK_FIELD(dtype, dtype), CK_FIELD(n, integer),
          CK_FIELD(k, integer), CK_POINTER(weight, pointer), CK_FIELD(ldw, integer), CK_FIELD(group, integer),
          CK_FIELD(reserved0, reserved), CK_POINTER(codebook, pointer), CK_POINTER(workspace, workspace),
          CK_FIELD(workspace_size, workspace));

CK_FIELDS(ck_w4a8_dequant_args, 128, CK_FIELD(out_dtype, dtype), CK_FIELD(n, integer), CK_FIELD(k, integer),
          CK_FIELD(group, integer), CK_FIELD(layout, layout), CK_FIELD(s_rel_dtype, dtype),
          CK_FIELD(rotate_group, integer), CK_POINTER(packed, pointer), CK_FIELD(ld_packed, integer),
          CK_POINTER(s_rel, pointer), CK_FIELD(ld_s_rel, integer), CK_POINTER(s_channel, pointer),
          CK_POINTER(codebook, pointer), CK_POINTER(correction, pointer), CK_FIELD(ld_correction, integer),
          CK_FIELD(correction_dtype, dtype), CK_FIELD(reserved0, reserved), CK_POINTER(out, pointer),
          CK_FIELD(ldo, integer));

CK_FIELDS(ck_w4a8_linear_args, 184, CK_FIELD(x_dtype, dtype), CK_FIELD(m, integer), CK_FIELD(n, integer),
          CK_FIELD(k, integer), CK_POINTER(x, pointer), CK_FIELD(ldx, integer), CK_POINTER(packed, pointer),
          CK_FIELD(ld_packed, integer), CK_POINTER(s_rel, pointer), CK_FIELD(ld_s_rel, integer),
          CK_POINTER(s_channel, pointer), CK_POINTER(codebook, pointer), CK_POINTER(correction, pointer),
          CK_FIELD(ld_correction, integer), CK_POINTER(bias, pointer), CK_POINTER(y, pointer),
          CK_FIELD(ldy, integer), CK_FIELD(group, integer), CK_FIELD(layout, layout),
          CK_FIELD(s_rel_dtype, dtype), CK_FIELD(correction_dtype, dtype), CK_FIELD(out_dtype, dtype),
          CK_FIELD(bias_dtype, dtype), CK_FIELD(activation, activation), CK_FIELD(rotate_group, integer),
          CK_POINTER(workspace, workspace), CK_FIELD(workspace_size, workspace));

CK_FIELDS(ck_na3d_args, 312, CK_FIELD(dtype, dtype), CK_FIELD(batch, integer), CK_FIELD(t, integer),
          CK_FIELD(h, integer), CK_FIELD(w, integer), CK_FIELD(heads, integer), CK_FIELD(head_dim, integer),
          CK_POINTER(q, pointer), CK_POINTER(k, pointer), CK_POINTER(v, pointer), CK_POINTER(out, pointer),
          CK_FIELD(q_stride, integer), CK_FIELD(k_stride, integer), CK_FIELD(v_stride, integer),
          CK_FIELD(out_stride, integer), CK_FIELD(kernel, integer), CK_FIELD(dilation, integer),
          CK_FIELD(causal, integer), CK_FIELD(scale, real), CK_FIELD(flags, integer),
          CK_FIELD(reserved0, reserved), CK_POINTER(workspace, workspace),
          CK_FIELD(workspace_size, workspace));

#undef CK_FIELDS
#undef CK_POINTER
#undef CK_FIELD

}  // namespace ckitchen

// What happens to an accumulator, the same for every row: v = (float(acc) * scale_a) * scale_b, then + bias
// when there is one, each step one rounded float32 operation in this order, then the cast to the output type.
#pragma once

#include "../device/matrix.h"
#include "int8_gemm_args.h"

namespace ckitchen {

// Narrows `args` to the part of K that this workgroup computes and returns its index among those that compute
// the same part, of which there are `groups`.
CK_DEVICE uint32_t int8_gemm_take_part(Int8GemmArgs& args, uint32_t groups) {
    const uint32_t id = workgroup_id();
    if (args.splits <= 1) return id;
    const uint32_t part = as_scalar(id / groups);
    const uint32_t first = part * args.split_k;
    const uint32_t left = args.k - first;
    args.a += first;
    args.b += first;
    args.c += static_cast<uint64_t>(args.m) * args.n * 4 * part;
    args.k = left < args.split_k ? left : args.split_k;
    return id - part * groups;
}

// Part of C from one element on, with what belongs to its rows and columns. Everything in it is uniform over
// the workgroup; rows and columns count from the part's first element. kPlace: what C, scales and bias may
// assume of their addresses.
template <ElementPlace kPlace>
struct Int8GemmOutput {
    uint64_t c;
    uint64_t ldc;
    GlobalPointer<const float> row_scale;
    GlobalPointer<const float> column_scale;
    uint64_t bias;
    uint32_t row_scale_mask;     // all ones: a scale for every row; 0: one scale
    uint32_t column_scale_mask;  // the same for columns
    uint32_t rows;               // rows that exist
    uint32_t columns;            // columns that exist
    uint32_t type;
    uint32_t bias_type;

    // The part is at most `row_limit` x `column_limit`; (first_row, first_column) lies inside C.
    CK_DEVICE void open(const Int8GemmArgs& args, int64_t first_row, int64_t first_column, uint32_t row_limit,
                        uint32_t column_limit) {
        type = args.output_type;
        bias_type = args.bias_type;
        ldc = args.ldc;
        const uint64_t first = first_row * ldc + first_column;
        c = args.c + first * (type == kInt8GemmFloat16 || type == kInt8GemmBfloat16 ? 2 : 4);
        row_scale = global_pointer<const float>(args.scale_a) + (args.scale_a_stride != 0 ? first_row : 0);
        column_scale =
            global_pointer<const float>(args.scale_b) + (args.scale_b_stride != 0 ? first_column : 0);
        row_scale_mask = args.scale_a_stride != 0 ? ~0u : 0;
        column_scale_mask = args.scale_b_stride != 0 ? ~0u : 0;
        bias = args.bias + first_column * (bias_type == kInt8GemmFloat32 ? 4 : 2);
        const int64_t rows_left = args.m - first_row;
        const int64_t columns_left = args.n - first_column;
        rows = rows_left < row_limit ? static_cast<uint32_t>(rows_left) : row_limit;
        columns = columns_left < column_limit ? static_cast<uint32_t>(columns_left) : column_limit;
    }
};

// Scale and bias of kCount consecutive columns, loaded once for all the rows that a lane writes. Columns that
// do not exist take the values of the last one.
template <int kCount>
struct Int8GemmColumns {
    float scale[kCount];
    float bias[kCount];

    template <ElementPlace kPlace>
    CK_DEVICE void load(const Int8GemmOutput<kPlace>& output, uint32_t first) {
        uint32_t column[kCount];
        CK_UNROLL
        for (int index = 0; index < kCount; ++index) {
            scale[index] = 0.0f;
            bias[index] = 0.0f;
            column[index] = first + index < output.columns ? first + index : output.columns - 1;
        }
        if (output.type == kInt8GemmInt32) return;
        CK_UNROLL
        for (int index = 0; index < kCount; ++index) {
            scale[index] =
                load_element<kPlace>(output.column_scale + (column[index] & output.column_scale_mask));
        }
        if (output.bias_type == kInt8GemmFloat32) {
            const GlobalPointer<const float> source = global_pointer<const float>(output.bias);
            CK_UNROLL
            for (int index = 0; index < kCount; ++index)
                bias[index] = load_element<kPlace>(source + column[index]);
        } else if (output.bias_type != kInt8GemmNone) {
            const GlobalPointer<const uint16_t> source = global_pointer<const uint16_t>(output.bias);
            uint16_t bits[kCount];
            CK_UNROLL
            for (int index = 0; index < kCount; ++index)
                bits[index] = load_element<kPlace>(source + column[index]);
            if (output.bias_type == kInt8GemmFloat16) {
                CK_UNROLL
                for (int index = 0; index < kCount; ++index) bias[index] = float16_to_float(bits[index]);
            } else {
                CK_UNROLL
                for (int index = 0; index < kCount; ++index) bias[index] = bfloat16_to_float(bits[index]);
            }
        }
    }
};

template <ElementPlace kPlace>
CK_DEVICE bool int8_gemm_fits_vector(uint64_t address, uint32_t bytes) {
    // amdgcn takes any alignment in one instruction.
    return kUnalignedAccess || kPlace == ElementPlace::Vector || address % bytes == 0;
}

// Stores the first `count` of kCount consecutive elements, in one access where possible.
template <ElementPlace kPlace, typename Element, int kCount>
CK_DEVICE void int8_gemm_store(uint64_t address, const Element (&value)[kCount], uint32_t count) {
    typedef Element Vector __attribute__((ext_vector_type(kCount)));
#if defined(__AMDGCN__)
    typedef Vector StoredVector __attribute__((aligned(sizeof(Element))));
#else
    typedef Vector StoredVector;
#endif
    const GlobalPointer<Element> target = global_pointer<Element>(address);
    if (kCount > 1 && count == kCount && int8_gemm_fits_vector<kPlace>(address, kCount * sizeof(Element))) {
        Vector vector;
        CK_UNROLL
        for (int index = 0; index < kCount; ++index) vector[index] = value[index];
        *reinterpret_cast<GlobalPointer<StoredVector>>(target) = vector;
        return;
    }
    CK_UNROLL
    for (uint32_t index = 0; index < kCount; ++index) {
        if (index < count) store_element<kPlace>(target + index, value[index]);
    }
}

template <ElementPlace kPlace>
CK_DEVICE float int8_gemm_row_scale(const Int8GemmOutput<kPlace>& output, uint32_t row) {
    return load_element<kPlace>(output.row_scale + (row & output.row_scale_mask));
}

// Writes `count` (1..kCount) results of one row from column `column` on. `scale_of_row()` is asked unless the
// output is int32.
template <ElementPlace kPlace, int kCount, typename RowScale>
CK_DEVICE void int8_gemm_finish_scaled(const Int8GemmOutput<kPlace>& output, uint32_t row, uint32_t column,
                                       uint32_t count, const int32_t (&accumulator)[kCount],
                                       RowScale scale_of_row, const Int8GemmColumns<kCount>& columns) {
    const uint64_t index = row * output.ldc + column;
    if (output.type == kInt8GemmInt32) {
        int8_gemm_store<kPlace>(output.c + index * 4, accumulator, count);
        return;
    }
    const float row_scale = scale_of_row();
    float value[kCount];
    CK_UNROLL
    for (int lane = 0; lane < kCount; ++lane) {
        value[lane] = static_cast<float>(accumulator[lane]) * row_scale;
        value[lane] = value[lane] * columns.scale[lane];
    }
    // Without a bias nothing is added: adding zero would turn -0 into +0.
    if (output.bias_type != kInt8GemmNone) {
        CK_UNROLL
        for (int lane = 0; lane < kCount; ++lane) value[lane] = value[lane] + columns.bias[lane];
    }
    if (output.type == kInt8GemmFloat32) {
        int8_gemm_store<kPlace>(output.c + index * 4, value, count);
        return;
    }
    uint16_t bits[kCount];
    if (output.type == kInt8GemmFloat16) {
        CK_UNROLL
        for (int lane = 0; lane < kCount; ++lane) bits[lane] = float_to_float16(value[lane]);
    } else {
        CK_UNROLL
        for (int lane = 0; lane < kCount; ++lane) bits[lane] = float_to_bfloat16(value[lane]);
    }
    int8_gemm_store<kPlace>(output.c + index * 2, bits, count);
}

// The bits of one result. A bias of -0 changes nothing.
template <ElementPlace kPlace>
CK_DEVICE uint32_t int8_gemm_result(const Int8GemmOutput<kPlace>& output, int32_t accumulator,
                                    float row_scale, float column_scale, float bias) {
    if (output.type == kInt8GemmInt32) return static_cast<uint32_t>(accumulator);
    float value = static_cast<float>(accumulator) * row_scale;
    value = value * column_scale;
    value = value + bias;
    if (output.type == kInt8GemmFloat16) return float_to_float16(value);
    if (output.type == kInt8GemmBfloat16) return float_to_bfloat16(value);
    return __builtin_bit_cast(uint32_t, value);
}

template <ElementPlace kPlace>
CK_DEVICE void int8_gemm_store_result(const Int8GemmOutput<kPlace>& output, uint64_t address, uint32_t bits) {
    if (output.type == kInt8GemmFloat16 || output.type == kInt8GemmBfloat16) {
        store_element<kPlace>(global_pointer<uint16_t>(address), static_cast<uint16_t>(bits));
    } else {
        store_element<kPlace>(global_pointer<uint32_t>(address), bits);
    }
}

template <ElementPlace kPlace, int kCount>
CK_DEVICE void int8_gemm_finish(const Int8GemmOutput<kPlace>& output, uint32_t row, uint32_t column,
                                uint32_t count, const int32_t (&accumulator)[kCount],
                                const Int8GemmColumns<kCount>& columns) {
    const auto scale_of_row = [&]() CK_INLINE_LAMBDA { return int8_gemm_row_scale(output, row); };
    int8_gemm_finish_scaled(output, row, column, count, accumulator, scale_of_row, columns);
}

}  // namespace ckitchen

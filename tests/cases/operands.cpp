#include "cases/operands.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace ckitchen::cases {
namespace {

using Extents = std::array<int64_t, kRank>;

class Builder {
  public:
    explicit Builder(const Problem& problem) : problem_(problem) {}

    void matrix(const char* name, size_t field, Role role, Content content, ck_dtype dtype, bool required,
                int64_t rows, int64_t width, int64_t ld) {
        add(name, field, role, content, dtype, required, {1, 1, 1, 1, rows, width},
            {0, 0, 0, 0, ld == 0 ? width : ld, 1});
    }
    void vector(const char* name, size_t field, Role role, Content content, ck_dtype dtype, bool required,
                int64_t width) {
        add(name, field, role, content, dtype, required, {1, 1, 1, 1, 1, width}, {0, 0, 0, 0, 0, 1});
    }
    void add(const char* name, size_t field, Role role, Content content, ck_dtype dtype, bool required,
             const Extents& extent, const Extents& stride) {
        Operand operand{};
        operand.name = name;
        operand.field = field;
        operand.role = role;
        operand.content = content;
        operand.dtype = dtype;
        operand.element_size =
            content == Content::kCounter || content == Content::kSums ? 8 : element_size(dtype);
        operand.required = required;
        std::memcpy(&operand.alignment, reinterpret_cast<const char*>(&problem_.args) + field,
                    sizeof(operand.alignment));
        operand.extent = extent;
        operand.stride = stride;
        operands_.push_back(operand);
    }
    std::vector<Operand> take() { return std::move(operands_); }

  private:
    const Problem& problem_;
    std::vector<Operand> operands_;
};

// Wraps around: args that people write are described before the library has looked at them.
int64_t wrapping_product(int64_t a, int64_t b) {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

int64_t input_width(ck_activation activation, int64_t k) {
    return activation == CK_ACTIVATION_SWIGLU ? wrapping_product(2, k) : k;
}

int64_t groups(int64_t k, int32_t group) {
    return group > 0 ? k / group : 0;
}

ck_dtype s_rel_dtype(ck_dtype dtype) {
    return dtype == CK_DTYPE_NONE ? ck_dtype{CK_F8_E4M3} : dtype;
}

Extents na3d_strides(const ck_na3d_args& args, const int64_t (&stride)[5], const Extents& extent) {
    const bool all_zero = std::all_of(stride, stride + 5, [](int64_t s) { return s == 0; });
    Extents result{};
    result[kRank - 1] = 1;
    if (all_zero && (args.flags & CK_NA3D_EXPLICIT_STRIDES) == 0) {
        for (int axis = kRank - 2; axis >= 0; --axis)
            result[axis] = wrapping_product(result[axis + 1], extent[axis + 1]);
    } else {
        std::copy(stride, stride + 5, result.begin());
    }
    return result;
}

}  // namespace

int64_t element_size(ck_dtype dtype) {
    switch (dtype) {
        case CK_F32:
        case CK_I32:
            return 4;
        case CK_F16:
        case CK_BF16:
            return 2;
        default:
            return 1;
    }
}

int64_t Operand::elements() const {
    int64_t product = 1;
    for (int64_t length : extent) product *= length;
    return product;
}

int64_t Operand::rows() const {
    return width() == 0 ? 0 : elements() / width();
}

int64_t Operand::row_offset(int64_t row) const {
    int64_t offset = 0;
    for (int axis = kRank - 2; axis >= 0; --axis) {
        offset += row % extent[axis] * stride[axis];
        row /= extent[axis];
    }
    return offset;
}

void Operand::range(int64_t* lowest, int64_t* end) const {
    *lowest = 0;
    *end = 0;
    if (elements() == 0) return;
    *end = 1;
    for (int axis = 0; axis < kRank; ++axis) {
        const int64_t reach = (extent[axis] - 1) * stride[axis];
        (reach < 0 ? *lowest : *end) += reach;
    }
}

#define FIELD(member) offsetof(std::remove_cvref_t<decltype(args)>, member)

std::vector<Operand> describe(const Problem& problem) {
    Builder build(problem);
    switch (problem.op) {
        case CK_OP_INT8_GEMM: {
            const auto& args = problem.args.int8_gemm;
            const bool scaled = args.out_dtype != CK_I32;
            build.matrix("a", FIELD(a), Role::kInput, Content::kInt8, CK_I8, true, args.m, args.k, args.lda);
            build.matrix("b", FIELD(b), Role::kInput, Content::kInt8, CK_I8, true, args.n, args.k, args.ldb);
            build.matrix("c", FIELD(c), Role::kOutput, Content::kValues, args.out_dtype, true, args.m, args.n,
                         args.ldc);
            build.vector("scale_a", FIELD(scale_a), Role::kInput, Content::kScales, CK_F32, scaled,
                         args.scale_a_mode == CK_SCALE_SCALAR ? 1 : args.m);
            build.vector("scale_b", FIELD(scale_b), Role::kInput, Content::kScales, CK_F32, scaled,
                         args.scale_b_mode == CK_SCALE_SCALAR ? 1 : args.n);
            build.vector("bias", FIELD(bias), Role::kInput, Content::kBias, args.bias_dtype, false, args.n);
            break;
        }
        case CK_OP_INT8_QUANTIZE: {
            const auto& args = problem.args.int8_quantize;
            build.matrix("x", FIELD(x), Role::kInput, Content::kValues, args.dtype, true, args.rows,
                         input_width(args.activation, args.k), args.ldx);
            build.matrix("q", FIELD(q), Role::kOutput, Content::kInt8, CK_I8, true, args.rows, args.k,
                         args.ldq);
            build.vector("scale", FIELD(scale), Role::kOutput, Content::kScales, CK_F32, true, args.rows);
            break;
        }
        case CK_OP_INT8_LINEAR: {
            const auto& args = problem.args.int8_linear;
            build.matrix("x", FIELD(x), Role::kInput, Content::kValues, args.x_dtype, true, args.m,
                         input_width(args.activation, args.k), args.ldx);
            build.matrix("w", FIELD(w), Role::kInput, Content::kInt8, CK_I8, true, args.n, args.k, args.ldw);
            build.vector("w_scale", FIELD(w_scale), Role::kInput, Content::kScales, CK_F32, true,
                         args.w_scale_mode == CK_SCALE_SCALAR ? 1 : args.n);
            build.vector("bias", FIELD(bias), Role::kInput, Content::kBias, args.bias_dtype, false, args.n);
            build.matrix("y", FIELD(y), Role::kOutput, Content::kValues, args.out_dtype, true, args.m, args.n,
                         args.ldy);
            break;
        }
        case CK_OP_ROTATE: {
            const auto& args = problem.args.rotate;
            build.matrix("x", FIELD(x), Role::kInput, Content::kValues, args.dtype, true, args.rows, args.k,
                         args.ldx);
            build.matrix("y", FIELD(y), Role::kOutput, Content::kValues, args.dtype, true, args.rows, args.k,
                         args.ldy);
            break;
        }
        case CK_OP_W4A8_REQUANT: {
            const auto& args = problem.args.w4a8_requant;
            const int64_t count = groups(args.k, args.group);
            build.matrix("weight", FIELD(weight), Role::kInput, Content::kValues, args.dtype, true, args.n,
                         args.k, args.ldw);
            build.vector("codebook", FIELD(codebook), Role::kInput, Content::kCodebook, CK_F32, false, 16);
            build.matrix("packed", FIELD(packed), Role::kOutput, Content::kCodes, CK_I8, true, args.n,
                         args.k / 2, args.ld_packed);
            build.matrix("s_rel", FIELD(s_rel), Role::kOutput, Content::kRelative,
                         s_rel_dtype(args.s_rel_dtype), true, args.n, count, args.ld_s_rel);
            build.vector("s_channel", FIELD(s_channel), Role::kOutput, Content::kScales, CK_F32, true,
                         args.k == 0 ? 0 : args.n);  // a weight without columns is empty: nothing is written
            build.matrix("correction", FIELD(correction), Role::kOutput, Content::kBias, args.dtype,
                         args.layout == CK_W4A8_ASYMMETRIC, count, args.n, args.ld_correction);
            build.vector("nonfinite", FIELD(nonfinite), Role::kAccumulate, Content::kCounter, CK_DTYPE_NONE,
                         false, 1);
            break;
        }
        case CK_OP_W4A8_CHOOSE_CODEBOOK: {
            const auto& args = problem.args.w4a8_choose_codebook;
            build.matrix("weight", FIELD(weight), Role::kInput, Content::kValues, args.dtype, true, args.n,
                         args.k, args.ldw);
            build.vector("codebook", FIELD(codebook), Role::kOutput, Content::kCodebook, CK_F32, true, 16);
            break;
        }
        case CK_OP_W4A8_DEQUANT: {
            const auto& args = problem.args.w4a8_dequant;
            const int64_t count = groups(args.k, args.group);
            const bool floats = args.out_dtype != CK_I8;
            build.matrix("packed", FIELD(packed), Role::kInput, Content::kCodes, CK_I8, true, args.n,
                         args.k / 2, args.ld_packed);
            build.matrix("s_rel", FIELD(s_rel), Role::kInput, Content::kRelative,
                         s_rel_dtype(args.s_rel_dtype), true, args.n, count, args.ld_s_rel);
            build.vector("s_channel", FIELD(s_channel), Role::kInput, Content::kScales, CK_F32, floats,
                         args.n);
            build.vector("codebook", FIELD(codebook), Role::kInput, Content::kCodebook, CK_F32, false, 16);
            build.matrix("correction", FIELD(correction), Role::kInput, Content::kBias, args.correction_dtype,
                         floats && args.layout == CK_W4A8_ASYMMETRIC, count, args.n, args.ld_correction);
            build.matrix("out", FIELD(out), Role::kOutput, Content::kValues, args.out_dtype, true, args.n,
                         args.k, args.ldo);
            break;
        }
        case CK_OP_W4A8_LINEAR: {
            const auto& args = problem.args.w4a8_linear;
            const int64_t count = groups(args.k, args.group);
            build.matrix("x", FIELD(x), Role::kInput, Content::kValues, args.x_dtype, true, args.m,
                         input_width(args.activation, args.k), args.ldx);
            build.matrix("packed", FIELD(packed), Role::kInput, Content::kCodes, CK_I8, true, args.n,
                         args.k / 2, args.ld_packed);
            build.matrix("s_rel", FIELD(s_rel), Role::kInput, Content::kRelative,
                         s_rel_dtype(args.s_rel_dtype), true, args.n, count, args.ld_s_rel);
            build.vector("s_channel", FIELD(s_channel), Role::kInput, Content::kScales, CK_F32, true, args.n);
            build.vector("codebook", FIELD(codebook), Role::kInput, Content::kCodebook, CK_F32, false, 16);
            build.matrix("correction", FIELD(correction), Role::kInput, Content::kBias, args.correction_dtype,
                         args.layout == CK_W4A8_ASYMMETRIC, count, args.n, args.ld_correction);
            build.vector("bias", FIELD(bias), Role::kInput, Content::kBias, args.bias_dtype, false, args.n);
            build.matrix("y", FIELD(y), Role::kOutput, Content::kValues, args.out_dtype, true, args.m, args.n,
                         args.ldy);
            break;
        }
        case CK_OP_INT8_ERROR: {
            const auto& args = problem.args.int8_error;
            const int64_t scales = args.scale_mode == CK_SCALE_SCALAR ? 1 : args.rows;
            build.matrix("x", FIELD(x), Role::kInput, Content::kValues, args.dtype, true, args.rows, args.k,
                         args.ldx);
            build.matrix("q", FIELD(q), Role::kInput, Content::kInt8, CK_I8, true, args.rows, args.k,
                         args.ldq);
            build.vector("scale", FIELD(scale), Role::kInput, Content::kScales, CK_F32, true,
                         args.rows == 0 || args.k == 0 ? 0 : scales);
            build.vector("difference", FIELD(difference), Role::kOutput, Content::kSums, CK_DTYPE_NONE, true,
                         args.rows);
            build.vector("original", FIELD(original), Role::kOutput, Content::kSums, CK_DTYPE_NONE, true,
                         args.rows);
            break;
        }
        case CK_OP_NA3D: {
            const auto& args = problem.args.na3d;
            const Extents extent = {args.batch, args.t, args.h, args.w, args.heads, args.head_dim};
            const auto add = [&](const char* name, size_t field, Role role, const int64_t(&stride)[5]) {
                build.add(name, field, role, Content::kValues, args.dtype, true, extent,
                          na3d_strides(args, stride, extent));
            };
            add("q", FIELD(q), Role::kInput, args.q_stride);
            add("k", FIELD(k), Role::kInput, args.k_stride);
            add("v", FIELD(v), Role::kInput, args.v_stride);
            add("out", FIELD(out), Role::kOutput, args.out_stride);
            break;
        }
        default:
            break;
    }
    return build.take();
}

double cost(const Problem& problem) {
    const auto product = [](auto... values) { return (1.0 * ... * static_cast<double>(values)); };
    switch (problem.op) {
        case CK_OP_INT8_GEMM: {
            const auto& args = problem.args.int8_gemm;
            return product(args.m, args.n, args.k);
        }
        case CK_OP_INT8_LINEAR: {
            const auto& args = problem.args.int8_linear;
            return product(args.m, args.n, args.k);
        }
        case CK_OP_W4A8_LINEAR: {
            const auto& args = problem.args.w4a8_linear;
            return product(args.m, args.n, args.k);
        }
        case CK_OP_NA3D: {
            const auto& args = problem.args.na3d;
            const int64_t extent[3] = {args.t, args.h, args.w};
            double keys = 1;
            for (int axis = 0; axis < 3; ++axis) {
                const int64_t dilation = std::max<int64_t>(args.dilation[axis], 1);
                const int64_t in_class = (extent[axis] + dilation - 1) / dilation;
                keys *= static_cast<double>(std::min<int64_t>(args.kernel[axis], in_class));
            }
            return 2 * keys * product(args.batch, args.t, args.h, args.w, args.heads, args.head_dim);
        }
        case CK_OP_INT8_QUANTIZE:
            return product(problem.args.int8_quantize.rows, problem.args.int8_quantize.k);
        case CK_OP_INT8_ERROR:
            return product(problem.args.int8_error.rows, problem.args.int8_error.k);
        case CK_OP_ROTATE:
            return product(problem.args.rotate.rows, problem.args.rotate.k);
        case CK_OP_W4A8_REQUANT:
            return product(problem.args.w4a8_requant.n, problem.args.w4a8_requant.k);
        case CK_OP_W4A8_CHOOSE_CODEBOOK:
            return product(problem.args.w4a8_choose_codebook.n, problem.args.w4a8_choose_codebook.k);
        case CK_OP_W4A8_DEQUANT:
            return product(problem.args.w4a8_dequant.n, problem.args.w4a8_dequant.k);
        default:
            return 0;
    }
}

Problem packed(const Problem& problem) {
    Problem result = problem;
    for (const Operand& operand : describe(problem))
        std::memset(reinterpret_cast<char*>(&result.args) + operand.field, 0, sizeof(void*));
    switch (result.op) {
        case CK_OP_INT8_GEMM: {
            auto& args = result.args.int8_gemm;
            args.lda = args.ldb = args.ldc = 0;
            break;
        }
        case CK_OP_INT8_QUANTIZE: {
            auto& args = result.args.int8_quantize;
            args.ldx = args.ldq = 0;
            break;
        }
        case CK_OP_INT8_LINEAR: {
            auto& args = result.args.int8_linear;
            args.ldx = args.ldw = args.ldy = 0;
            break;
        }
        case CK_OP_INT8_ERROR: {
            auto& args = result.args.int8_error;
            args.ldx = args.ldq = 0;
            break;
        }
        case CK_OP_ROTATE: {
            auto& args = result.args.rotate;
            args.ldx = args.ldy = 0;
            break;
        }
        case CK_OP_W4A8_REQUANT: {
            auto& args = result.args.w4a8_requant;
            args.ldw = args.ld_packed = args.ld_s_rel = args.ld_correction = 0;
            break;
        }
        case CK_OP_W4A8_CHOOSE_CODEBOOK:
            result.args.w4a8_choose_codebook.ldw = 0;
            break;
        case CK_OP_W4A8_DEQUANT: {
            auto& args = result.args.w4a8_dequant;
            args.ld_packed = args.ld_s_rel = args.ld_correction = args.ldo = 0;
            break;
        }
        case CK_OP_W4A8_LINEAR: {
            auto& args = result.args.w4a8_linear;
            args.ldx = args.ld_packed = args.ld_s_rel = args.ld_correction = args.ldy = 0;
            break;
        }
        case CK_OP_NA3D: {
            auto& args = result.args.na3d;
            for (auto* stride : {&args.q_stride, &args.k_stride, &args.v_stride, &args.out_stride})
                std::fill(std::begin(*stride), std::end(*stride), 0);
            args.flags &= ~static_cast<uint32_t>(CK_NA3D_EXPLICIT_STRIDES);
            break;
        }
        default:
            break;
    }
    return result;
}

}  // namespace ckitchen::cases

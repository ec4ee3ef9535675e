#include "cases/generate.hpp"

#include <algorithm>
#include <cmath>

namespace ckitchen::cases {
namespace {

constexpr ck_dtype kFloats[] = {CK_F32, CK_F16, CK_BF16};
constexpr ck_dtype kBiases[] = {CK_DTYPE_NONE, CK_F32, CK_F16, CK_BF16};
constexpr int32_t kRotations[] = {0, 4, 16, 64, 256, 1024};
constexpr int32_t kWeightGroups[] = {4, 8, 16, 32, 48, 64, 112, 128, 256, 1024};

// Takes one choice after the other out of a combination's number.
class Combination {
  public:
    explicit Combination(int64_t index) : rest_(index) {}

    int64_t take(int64_t count) {
        const int64_t choice = rest_ % count;
        rest_ /= count;
        return choice;
    }
    template <typename T, size_t N>
    T take(const T (&choices)[N]) {
        return choices[take(static_cast<int64_t>(N))];
    }

  private:
    int64_t rest_;
};

class Maker {
  public:
    Maker(ck_op op, int64_t index, uint64_t seed, const Budget& budget, bool on_cpu)
        : combination_(index), random_(mix(seed) + static_cast<uint64_t>(index)), budget_(budget) {
        case_.problem = make_problem(op);
        case_.seed = random_.bits() >> 40;
        case_.fill = random_.one_in(3) ? Fill::kNormal : static_cast<Fill>(random_.below(kFillCount));
        if (on_cpu && random_.one_in(3))
            case_.placement = random_.one_in(3) ? Placement::kPageBegin : Placement::kPageEnd;
    }

    Case make() {
        Args& args = case_.problem.args;
        switch (case_.problem.op) {
            case CK_OP_INT8_GEMM:
                make(args.int8_gemm);
                break;
            case CK_OP_INT8_QUANTIZE:
                make(args.int8_quantize);
                break;
            case CK_OP_INT8_LINEAR:
                make(args.int8_linear);
                break;
            case CK_OP_ROTATE:
                make(args.rotate);
                break;
            case CK_OP_W4A8_REQUANT:
                make(args.w4a8_requant);
                break;
            case CK_OP_W4A8_CHOOSE_CODEBOOK:
                make(args.w4a8_choose_codebook);
                break;
            case CK_OP_W4A8_DEQUANT:
                make(args.w4a8_dequant);
                break;
            case CK_OP_W4A8_LINEAR:
                make(args.w4a8_linear);
                break;
            case CK_OP_INT8_ERROR:
                make(args.int8_error);
                break;
            default:
                make(args.na3d);
                break;
        }
        align();
        return case_;
    }

  private:
    // An extent at or beside a tile's edge, at most `limit`; now and then any other, 0 or 1.
    int64_t extent(int64_t limit) {
        limit = std::max<int64_t>(limit, 1);
        if (random_.one_in(40)) return 0;
        if (random_.one_in(20)) return 1;
        if (random_.one_in(3)) return random_.between(1, std::min<int64_t>(limit, 300));
        const std::vector<int64_t>& edges = tile_edges();
        const auto end = std::upper_bound(edges.begin(), edges.end(), limit);
        return edges[static_cast<size_t>(random_.below(end - edges.begin()))];
    }
    // A multiple of `step`, near a multiple of a tile, at most `limit` (at least `step`).
    int64_t multiple(int64_t step, int64_t limit) {
        if (random_.one_in(40)) return 0;
        const int64_t most = std::max<int64_t>(limit / step, 1);
        return step *
               std::min(random_.one_in(2) ? random_.between(1, std::min<int64_t>(most, 8)) : extent(most),
                        most);
    }
    int64_t ld(int64_t width) {
        switch (random_.below(5)) {
            case 0:
            case 1:
                return 0;
            case 2:
                return width;
            case 3:
                return width + random_.between(1, 9);
            default:
                return (width + 31) / 16 * 16;
        }
    }
    int64_t left(int64_t used, double limit) const {
        return static_cast<int64_t>(limit / static_cast<double>(std::max<int64_t>(used, 1)));
    }
    void* optional(bool present) { return present ? at_alignment(1) : nullptr; }

    // Three dimensions of a product within the budget, in a random order of who gets the room.
    void product(int64_t* m, int64_t* n, int64_t* k, int64_t step) {
        if (random_.one_in(4)) {
            *k = multiple(step, std::min<int64_t>(budget_.elements / 2, 4096));
            *m = extent(left(*k, std::min<double>(budget_.cost / 4, static_cast<double>(budget_.elements))));
            *n = extent(left(*k * std::max<int64_t>(*m, 1), budget_.cost));
        } else {
            *m = extent(std::min<int64_t>(budget_.elements / 16, 260));
            *n = extent(left(*m * step, budget_.cost));
            *n = std::min<int64_t>(*n, 260);
            *k = multiple(step, std::min<int64_t>(left(*m * *n, budget_.cost), 2048));
        }
        // A large step (a rotation group) leaves room for few rows.
        while (static_cast<double>(*m) * static_cast<double>(*n) * static_cast<double>(*k) > budget_.cost)
            (*m > *n ? *m : *n) = (std::max(*m, *n) + 1) / 2;
    }

    // Columns and group of a quantized weight: both groups divide k.
    int64_t weight_step(int32_t* group, int32_t rotate_group) {
        *group = kWeightGroups[random_.one_in(2) ? 2 : random_.below(std::size(kWeightGroups))];
        int64_t a = *group;
        const int64_t b = std::max<int64_t>(rotate_group, 1);
        int64_t step = a;
        while (step % b != 0) step += a;
        if (static_cast<double>(step) <= budget_.cost / 4) return step;
        *group = 16;
        return std::max<int64_t>(16, rotate_group);
    }

    void make(ck_int8_gemm_args& args) {
        constexpr ck_dtype kOut[] = {CK_BF16, CK_F16, CK_F32, CK_I32};
        args.out_dtype = combination_.take(kOut);
        args.bias_dtype = combination_.take(kBiases);
        args.scale_a_mode = static_cast<ck_scale_mode>(combination_.take(2));
        args.scale_b_mode = static_cast<ck_scale_mode>(combination_.take(2));
        product(&args.m, &args.n, &args.k, random_.pick<int64_t>({1, 1, 4, 16}));
        args.lda = ld(args.k);
        args.ldb = ld(args.k);
        args.ldc = ld(args.n);
        args.bias = optional(args.bias_dtype != CK_DTYPE_NONE);
        // int32 results read no scales: given or not is the same.
        if (args.out_dtype == CK_I32 && random_.one_in(2)) args.scale_a = static_cast<float*>(optional(true));
    }
    void make(ck_int8_quantize_args& args) {
        args.dtype = combination_.take(kFloats);
        args.activation = static_cast<ck_activation>(combination_.take(3));
        args.rotate_group = combination_.take(kRotations);
        rows_and_columns(&args.rows, &args.k, std::max(args.rotate_group, 1));
        args.ldx = ld(args.activation == CK_ACTIVATION_SWIGLU ? 2 * args.k : args.k);
        args.ldq = ld(args.k);
    }
    void make(ck_int8_linear_args& args) {
        args.x_dtype = combination_.take(kFloats);
        args.out_dtype = combination_.take(kFloats);
        args.bias_dtype = combination_.take(kBiases);
        args.activation = static_cast<ck_activation>(combination_.take(3));
        args.w_scale_mode = static_cast<ck_scale_mode>(combination_.take(2));
        args.rotate_group = kRotations[random_.below(std::size(kRotations))];
        product(&args.m, &args.n, &args.k, std::max(args.rotate_group, 1));
        args.ldx = ld(args.activation == CK_ACTIVATION_SWIGLU ? 2 * args.k : args.k);
        args.ldw = ld(args.k);
        args.ldy = ld(args.n);
        args.bias = optional(args.bias_dtype != CK_DTYPE_NONE);
    }
    void make(ck_rotate_args& args) {
        args.dtype = combination_.take(kFloats);
        args.group = kRotations[1 + combination_.take(5)];
        case_.in_place = combination_.take(4) == 0;
        rows_and_columns(&args.rows, &args.k, args.group);
        args.ldx = ld(args.k);
        args.ldy = case_.in_place ? args.ldx : ld(args.k);
    }
    void make(ck_int8_error_args& args) {
        args.dtype = combination_.take(kFloats);
        args.scale_mode = static_cast<ck_scale_mode>(combination_.take(2));
        args.rotate_group = combination_.take(kRotations);
        rows_and_columns(&args.rows, &args.k, std::max(args.rotate_group, 1));
        args.ldx = ld(args.k);
        args.ldq = ld(args.k);
    }
    void make(ck_w4a8_requant_args& args) {
        args.dtype = combination_.take(kFloats);
        args.layout = static_cast<ck_w4a8_layout>(combination_.take(3));
        args.s_rel_dtype =
            combination_.take(2) == 0 ? CK_F32 : random_.pick<ck_dtype>({CK_DTYPE_NONE, CK_F8_E4M3});
        const bool stochastic = combination_.take(2) == 1;
        args.rotate_group = combination_.take(kRotations);
        rows_and_columns(&args.n, &args.k, weight_step(&args.group, args.rotate_group));
        args.ldw = ld(args.k);
        args.ld_packed = ld(args.k / 2);
        args.ld_s_rel = ld(args.k / args.group);
        args.ld_correction = ld(args.n);
        if (stochastic) args.seed = random_.one_in(2) ? random_.bits() : random_.bits() >> 40;
        if (random_.one_in(2)) args.row_offset = random_.one_in(2) ? random_.bits() : random_.bits() >> 50;
        args.codebook = static_cast<float*>(optional(args.layout == CK_W4A8_CODEBOOK && random_.one_in(2)));
        args.nonfinite = static_cast<uint64_t*>(optional(random_.one_in(2)));
    }
    void make(ck_w4a8_choose_codebook_args& args) {
        args.dtype = combination_.take(kFloats);
        rows_and_columns(&args.n, &args.k, weight_step(&args.group, 0));
        args.ldw = ld(args.k);
    }
    void make(ck_w4a8_dequant_args& args) {
        constexpr ck_dtype kOut[] = {CK_BF16, CK_F16, CK_F32, CK_I8};
        args.out_dtype = combination_.take(kOut);
        args.layout = static_cast<ck_w4a8_layout>(combination_.take(3));
        args.s_rel_dtype =
            combination_.take(2) == 0 ? CK_F32 : random_.pick<ck_dtype>({CK_DTYPE_NONE, CK_F8_E4M3});
        args.correction_dtype = combination_.take(kFloats);
        args.rotate_group = combination_.take(kRotations);
        if (args.out_dtype == CK_I8) args.rotate_group = 0;
        if (args.layout != CK_W4A8_ASYMMETRIC) args.correction_dtype = CK_DTYPE_NONE;
        rows_and_columns(&args.n, &args.k, weight_step(&args.group, args.rotate_group));
        args.ld_packed = ld(args.k / 2);
        args.ld_s_rel = ld(args.k / args.group);
        args.ld_correction = ld(args.n);
        args.ldo = ld(args.k);
        args.codebook = static_cast<float*>(optional(args.layout == CK_W4A8_CODEBOOK && random_.one_in(2)));
    }
    void make(ck_w4a8_linear_args& args) {
        args.x_dtype = combination_.take(kFloats);
        args.out_dtype = combination_.take(kFloats);
        args.layout = static_cast<ck_w4a8_layout>(combination_.take(3));
        args.bias_dtype = combination_.take(kBiases);
        args.s_rel_dtype =
            combination_.take(2) == 0 ? CK_F32 : random_.pick<ck_dtype>({CK_DTYPE_NONE, CK_F8_E4M3});
        args.activation = static_cast<ck_activation>(combination_.take(3));
        if (args.layout == CK_W4A8_ASYMMETRIC) args.correction_dtype = kFloats[random_.below(3)];
        args.rotate_group = kRotations[random_.below(std::size(kRotations))];
        product(&args.m, &args.n, &args.k, weight_step(&args.group, args.rotate_group));
        args.ldx = ld(args.activation == CK_ACTIVATION_SWIGLU ? 2 * args.k : args.k);
        args.ld_packed = ld(args.k / 2);
        args.ld_s_rel = ld(args.k / args.group);
        args.ld_correction = ld(args.n);
        args.ldy = ld(args.n);
        args.bias = optional(args.bias_dtype != CK_DTYPE_NONE);
        args.codebook = static_cast<float*>(optional(args.layout == CK_W4A8_CODEBOOK && random_.one_in(2)));
    }

    void make(ck_na3d_args& args) {
        // The bounds are relative to the result: where it is subnormal, the one rounding of the output type
        // already exceeds them.
        if (case_.fill == Fill::kTiny) case_.fill = Fill::kNormal;
        args.dtype = combination_.take(kFloats);
        args.head_dim = 8 * (1 + combination_.take(32));
        int64_t* extents[] = {&args.batch, &args.t, &args.h, &args.w, &args.heads};
        constexpr int64_t kMost[] = {2, 6, 9, 40, 3};
        for (int axis = 0; axis < 5; ++axis)
            *extents[axis] = random_.one_in(3) ? 1 : random_.between(1, kMost[axis]);
        for (int axis = 0; axis < 3; ++axis) {
            args.kernel[axis] = static_cast<int32_t>(random_.between(1, 7));
            args.dilation[axis] = static_cast<int32_t>(random_.one_in(3) ? random_.between(0, 4) : 1);
            args.causal[axis] = random_.one_in(4) ? 1 : 0;
        }
        // Shrinks until it fits.
        while (cost(case_.problem) > budget_.cost ||
               static_cast<double>(args.batch * args.t * args.h * args.w * args.heads * args.head_dim) >
                   static_cast<double>(budget_.elements) * 4) {
            const int axis = static_cast<int>(random_.below(5));
            *extents[axis] = (*extents[axis] + 1) / 2;
            if (axis < 3 && args.kernel[axis] > 3) args.kernel[axis] -= 2;
            if (std::all_of(extents, extents + 5, [](const int64_t* e) { return *e == 1; })) break;
        }
        if (random_.one_in(40)) *extents[random_.below(5)] = 0;
        if (random_.one_in(3)) args.scale = random_.pick({1.0f, -0.25f, 0.5f, 3.0f, 0.01f});
        strides(args, args.q_stride, true);
        strides(args, args.k_stride, true);
        strides(args, args.v_stride, true);
        strides(args, args.out_stride, false);
        for (const auto* stride : {&args.q_stride, &args.k_stride, &args.v_stride, &args.out_stride})
            if (std::all_of(*stride, *stride + 5, [](int64_t s) { return s == 0; }) && random_.one_in(4))
                explicit_zero_ = true;
        if (explicit_zero_) make_explicit(args);
    }

    // Any order of the axes, gaps between them, negative directions; for inputs, axes of stride 0.
    void strides(const ck_na3d_args& args, int64_t (&stride)[5], bool input) {
        if (random_.one_in(3)) return;  // packed
        const int64_t extent[5] = {args.batch, args.t, args.h, args.w, args.heads};
        int order[5] = {4, 3, 2, 1, 0};
        if (random_.one_in(2))
            for (int i = 4; i > 0; --i) std::swap(order[i], order[random_.below(i + 1)]);
        int64_t step = args.head_dim + (random_.one_in(2) ? 0 : random_.between(1, 9));
        for (int axis : order) {
            stride[axis] = step;
            step *= std::max<int64_t>(extent[axis], 1);
            if (random_.one_in(4)) step += random_.between(1, 17);
            if (random_.one_in(5)) stride[axis] = -stride[axis];
            if (input && random_.one_in(8)) stride[axis] = 0;
            // The stride of an axis of extent 1 is not read, so it may be anything.
            if (extent[axis] <= 1 && random_.one_in(2))
                stride[axis] = random_.pick<int64_t>({0, 1, 3, INT64_MIN, INT64_MAX});
        }
    }
    // All-zero strides of inputs taken as they are; then packed ones must be written out.
    void make_explicit(ck_na3d_args& args) {
        args.flags |= CK_NA3D_EXPLICIT_STRIDES;
        const int64_t extent[5] = {args.batch, args.t, args.h, args.w, args.heads};
        bool keep = true;
        for (auto* stride : {&args.q_stride, &args.k_stride, &args.v_stride, &args.out_stride}) {
            if (!std::all_of(*stride, *stride + 5, [](int64_t s) { return s == 0; })) continue;
            // One broadcast input is enough of a test; `out` is never one.
            if (keep && stride != &args.out_stride) {
                keep = false;
                continue;
            }
            int64_t step = args.head_dim;
            for (int axis = 4; axis >= 0; --axis) {
                (*stride)[axis] = step;
                step *= std::max<int64_t>(extent[axis], 1);
            }
        }
    }

    void rows_and_columns(int64_t* rows, int64_t* columns, int64_t step) {
        if (random_.one_in(3)) {
            *columns = multiple(step, budget_.elements / 2);
            *rows = extent(left(*columns, static_cast<double>(budget_.elements)));
        } else {
            *rows = extent(std::min<int64_t>(left(step, static_cast<double>(budget_.elements)), 260));
            *columns = multiple(step, left(*rows, static_cast<double>(budget_.elements)));
        }
        *rows = std::min(*rows, std::max<int64_t>(left(*columns, static_cast<double>(budget_.elements)), 1));
    }

    void align() {
        const int style = static_cast<int>(random_.below(4));
        for (const Operand& operand : describe(case_.problem)) {
            if (!operand.present()) continue;
            uintptr_t alignment = 256;
            if (style == 1) alignment = 16;
            if (style == 2) alignment = static_cast<uintptr_t>(operand.element_size);
            if (style == 3) alignment = uintptr_t{1} << random_.below(6);
            *reinterpret_cast<uintptr_t*>(reinterpret_cast<char*>(&case_.problem.args) + operand.field) =
                alignment;
        }
        if (case_.in_place) {
            ck_rotate_args& args = case_.problem.args.rotate;
            args.y = const_cast<void*>(args.x);
        }
    }

    Combination combination_;
    Random random_;
    Budget budget_;
    Case case_;
    bool explicit_zero_ = false;
};

}  // namespace

int64_t combination_count(ck_op op) {
    switch (op) {
        case CK_OP_INT8_GEMM:
            return 4 * 4 * 2 * 2;
        case CK_OP_INT8_QUANTIZE:
            return 3 * 3 * 6;
        case CK_OP_INT8_LINEAR:
            return 3 * 3 * 4 * 3 * 2;
        case CK_OP_ROTATE:
            return 3 * 5 * 4;
        case CK_OP_W4A8_REQUANT:
            return 3 * 3 * 2 * 2 * 6;
        case CK_OP_W4A8_CHOOSE_CODEBOOK:
            return 3;
        case CK_OP_W4A8_DEQUANT:
            return 4 * 3 * 2 * 3 * 6;
        case CK_OP_INT8_ERROR:
            return 3 * 2 * 6;
        case CK_OP_W4A8_LINEAR:
            return 3 * 3 * 3 * 4 * 2 * 3;
        default:
            return 3 * 32;
    }
}

Case random_case(ck_op op, int64_t index, uint64_t seed, const Budget& budget, bool on_cpu) {
    return Maker(op, index, seed, budget, on_cpu).make();
}

const std::vector<int64_t>& tile_edges() {
    static const std::vector<int64_t> edges = {1,  7,  8,  9,   15,  16,  17,  31,  32, 33,
                                               63, 64, 65, 127, 128, 129, 255, 256, 257};
    return edges;
}

}  // namespace ckitchen::cases

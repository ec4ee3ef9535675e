#include "cases/reference.hpp"

#include <vector>

#include "cpu/reference/int8_error.hpp"
#include "cpu/reference/int8_gemm.hpp"
#include "cpu/reference/int8_linear.hpp"
#include "cpu/reference/int8_quantize.hpp"
#include "cpu/reference/rotate.hpp"
#include "cpu/reference/w4a8_codebook.hpp"
#include "cpu/reference/w4a8_dequant.hpp"
#include "cpu/reference/w4a8_linear.hpp"
#include "cpu/reference/w4a8_requant.hpp"

namespace ckitchen::cases {
namespace {

constexpr float kDefaultCodebook[16] = {
    -0.980602f, -0.794529f, -0.638165f, -0.500986f, -0.377321f, -0.263187f, -0.155210f, -0.050720f,
    0.052541f,  0.156985f,  0.265284f,  0.379533f,  0.502636f,  0.638953f,  0.794876f,  0.980671f};

int64_t input_width(ck_activation activation, int64_t k) {
    return activation == CK_ACTIVATION_SWIGLU ? 2 * k : k;
}

template <typename T>
void fill_in_weight(T& args) {
    if (args.s_rel_dtype == CK_DTYPE_NONE) args.s_rel_dtype = CK_F8_E4M3;
    if (args.codebook == nullptr) args.codebook = kDefaultCodebook;
    args.ld_packed = args.k / 2;
    args.ld_s_rel = args.k / args.group;
    args.ld_correction = args.n;
}

// Intermediates of the linears.
struct Quantized {
    std::vector<int8_t> q;
    std::vector<float> scale;

    Quantized(int64_t m, int64_t k) : q(static_cast<size_t>(m * k)), scale(static_cast<size_t>(m)) {}
};

}  // namespace

void run_reference(const Problem& problem) {
    switch (problem.op) {
        case CK_OP_INT8_GEMM: {
            ck_int8_gemm_args args = problem.args.int8_gemm;
            args.lda = args.ldb = args.k;
            args.ldc = args.n;
            reference::int8_gemm(args, 0, args.m, 0, args.n);
            break;
        }
        case CK_OP_INT8_QUANTIZE: {
            ck_int8_quantize_args args = problem.args.int8_quantize;
            args.ldx = input_width(args.activation, args.k);
            args.ldq = args.k;
            reference::int8_quantize(args, 0, args.rows);
            break;
        }
        case CK_OP_INT8_LINEAR: {
            ck_int8_linear_args args = problem.args.int8_linear;
            args.ldx = input_width(args.activation, args.k);
            args.ldw = args.k;
            args.ldy = args.n;
            Quantized x(args.m, args.k);
            reference::int8_linear(args, x.q.data(), x.scale.data());
            break;
        }
        case CK_OP_INT8_ERROR: {
            ck_int8_error_args args = problem.args.int8_error;
            args.ldx = args.ldq = args.k;
            reference::int8_error(args, 0, args.rows);
            break;
        }
        case CK_OP_ROTATE: {
            ck_rotate_args args = problem.args.rotate;
            args.ldx = args.ldy = args.k;
            reference::rotate(args, 0, args.rows);
            break;
        }
        case CK_OP_W4A8_REQUANT: {
            ck_w4a8_requant_args args = problem.args.w4a8_requant;
            if (args.n == 0 || args.k == 0) break;
            fill_in_weight(args);
            args.ldw = args.k;
            std::vector<float> scratch(static_cast<size_t>(reference::w4a8_requant_scratch(args)));
            const uint64_t nonfinite = reference::w4a8_requant(args, 0, args.n, scratch.data());
            if (args.nonfinite != nullptr) *args.nonfinite += nonfinite;
            break;
        }
        case CK_OP_W4A8_CHOOSE_CODEBOOK: {
            ck_w4a8_choose_codebook_args args = problem.args.w4a8_choose_codebook;
            args.ldw = args.k;
            if (args.n == 0 || args.k == 0) {
                for (int j = 0; j < 16; ++j) args.codebook[j] = kDefaultCodebook[j];
                break;
            }
            const int64_t rows = reference::codebook_sample_rows(args);
            std::vector<float> values(static_cast<size_t>(rows * args.k));
            reference::codebook_gather(args, 0, rows, values.data());
            reference::codebook_fit(values.data(), rows * args.k, args.codebook);
            break;
        }
        case CK_OP_W4A8_DEQUANT: {
            ck_w4a8_dequant_args args = problem.args.w4a8_dequant;
            fill_in_weight(args);
            args.ldo = args.k;
            reference::w4a8_dequant(args, 0, args.n);
            break;
        }
        case CK_OP_W4A8_LINEAR: {
            ck_w4a8_linear_args args = problem.args.w4a8_linear;
            fill_in_weight(args);
            args.ldx = input_width(args.activation, args.k);
            args.ldy = args.n;
            Quantized x(args.m, args.k);
            reference::w4a8_linear(args, x.q.data(), x.scale.data());
            break;
        }
        default:
            break;
    }
}

}  // namespace ckitchen::cases

// Tensors beyond 2^31 elements, in little memory: few rows, very far apart. And row counts beyond what one
// dimension of a launch grid takes.
#include "suite.hpp"

namespace ckitchen::conformance {
namespace {

constexpr int64_t kFar = (int64_t{1} << 31) + 12;  // elements

// On the CPU the memory between the rows is never touched, so it costs nothing; a device needs all of it.

bool has_room(const Case& which) {
    if (device().is_cpu()) return true;
    uint64_t bytes = 0;
    for (const Operand& operand : describe(which.problem)) {
        int64_t lowest = 0;
        int64_t end = 0;
        operand.range(&lowest, &end);
        bytes += static_cast<uint64_t>((end - lowest) * operand.element_size);
    }
    return bytes < static_cast<uint64_t>(device().properties().memory_bytes) * 8 / 10;
}

void check_large(const Case& which) {
    INFO(format_case(which));
    if (!has_room(which)) {
        skip("the device has too little memory");
        return;
    }
    check(which);
}

TEST_CASE("int8_gemm beyond 2^31 elements of c, of a and of b", "[large][int8_gemm]") {
    for (const ck_dtype out_dtype : {CK_BF16, CK_I32}) {
        const auto gemm = [&](int64_t lda, int64_t ldb, int64_t ldc) {
            check_large(make_case(CK_OP_INT8_GEMM, [&](Args& all) {
                all.int8_gemm.out_dtype = out_dtype;
                all.int8_gemm.m = 3;
                all.int8_gemm.n = 17;
                all.int8_gemm.k = 33;
                all.int8_gemm.lda = lda;
                all.int8_gemm.ldb = ldb;
                all.int8_gemm.ldc = ldc;
            }));
        };
        gemm(0, 0, kFar);
        gemm(kFar, 0, 0);
        gemm(0, kFar / 8, 0);
        gemm(kFar / 2 + 1, kFar / 16 + 1, kFar / 2 + 1);
    }
}

// 32769 rows of a distance of 65536: the last row begins beyond element 2^31.
TEST_CASE("int8_gemm whose rows add up to 2^31 elements", "[large][int8_gemm][full]") {
    check_large(make_case(CK_OP_INT8_GEMM, [](Args& all) {
        all.int8_gemm.out_dtype = CK_BF16;
        all.int8_gemm.m = 32800;
        all.int8_gemm.n = 16;
        all.int8_gemm.k = 16;
        all.int8_gemm.ldc = 65536;
    }));
}

TEST_CASE("row operators beyond 2^31 elements", "[large][int8_quantize][rotate]") {
    for (const ck_dtype dtype : {CK_F32, CK_BF16}) {
        check_large(make_case(CK_OP_INT8_QUANTIZE, [&](Args& all) {
            all.int8_quantize.dtype = dtype;
            all.int8_quantize.rows = 3;
            all.int8_quantize.k = 48;
            all.int8_quantize.ldx = kFar;
            all.int8_quantize.ldq = kFar;
            all.int8_quantize.rotate_group = 16;
        }));
        check_large(make_case(CK_OP_ROTATE, [&](Args& all) {
            all.rotate.dtype = dtype;
            all.rotate.rows = 3;
            all.rotate.k = 64;
            all.rotate.group = 64;
            all.rotate.ldx = kFar / 2 + 1;
            all.rotate.ldy = kFar;
        }));
    }
}

TEST_CASE("linears beyond 2^31 elements", "[large][int8_linear][w4a8_linear]") {
    check_large(make_case(CK_OP_INT8_LINEAR, [](Args& all) {
        all.int8_linear.x_dtype = CK_BF16;
        all.int8_linear.out_dtype = CK_F16;
        all.int8_linear.m = 3;
        all.int8_linear.n = 5;
        all.int8_linear.k = 32;
        all.int8_linear.ldx = kFar;
        all.int8_linear.ldw = kFar / 2 + 1;
        all.int8_linear.ldy = kFar;
    }));
    check_large(make_case(CK_OP_W4A8_LINEAR, [](Args& all) {
        all.w4a8_linear.x_dtype = CK_F16;
        all.w4a8_linear.out_dtype = CK_F32;
        all.w4a8_linear.m = 3;
        all.w4a8_linear.n = 5;
        all.w4a8_linear.k = 48;
        all.w4a8_linear.group = 16;
        all.w4a8_linear.layout = CK_W4A8_ASYMMETRIC;
        all.w4a8_linear.correction_dtype = CK_F16;
        all.w4a8_linear.ldx = kFar;
        all.w4a8_linear.ld_packed = kFar;
        all.w4a8_linear.ld_s_rel = kFar;
        all.w4a8_linear.ld_correction = kFar;
        all.w4a8_linear.ldy = kFar;
    }));
}

TEST_CASE("w4a8 weights beyond 2^31 elements", "[large][w4a8_requant][w4a8_dequant][w4a8_choose_codebook]") {
    for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_ASYMMETRIC}) {
        check_large(make_case(CK_OP_W4A8_REQUANT, [&](Args& all) {
            all.w4a8_requant.dtype = CK_BF16;
            all.w4a8_requant.n = 3;
            all.w4a8_requant.k = 48;
            all.w4a8_requant.group = 16;
            all.w4a8_requant.layout = layout;
            all.w4a8_requant.seed = 5;
            all.w4a8_requant.ldw = kFar;
            all.w4a8_requant.ld_packed = kFar;
            all.w4a8_requant.ld_s_rel = kFar;
            all.w4a8_requant.ld_correction = kFar;
        }));
        check_large(make_case(CK_OP_W4A8_DEQUANT, [&](Args& all) {
            all.w4a8_dequant.out_dtype = CK_F32;
            all.w4a8_dequant.n = 3;
            all.w4a8_dequant.k = 48;
            all.w4a8_dequant.group = 16;
            all.w4a8_dequant.layout = layout;
            if (layout == CK_W4A8_ASYMMETRIC) all.w4a8_dequant.correction_dtype = CK_F32;
            all.w4a8_dequant.ld_packed = kFar;
            all.w4a8_dequant.ld_s_rel = kFar;
            all.w4a8_dequant.ld_correction = kFar;
            all.w4a8_dequant.ldo = kFar;
        }));
    }
    check_large(make_case(CK_OP_W4A8_CHOOSE_CODEBOOK, [](Args& all) {
        all.w4a8_choose_codebook.dtype = CK_F16;
        all.w4a8_choose_codebook.n = 3;
        all.w4a8_choose_codebook.k = 48;
        all.w4a8_choose_codebook.group = 16;
        all.w4a8_choose_codebook.ldw = kFar;
    }));
}

// Each axis by itself so far apart that the last token lies past element 2^31.
TEST_CASE("na3d with strides beyond 2^31 elements", "[large][na3d]") {
    for (int axis = 0; axis < 5; ++axis) {
        check_large(make_case(CK_OP_NA3D, [&](Args& all) {
            ck_na3d_args& args = all.na3d;
            args.dtype = axis % 2 == 0 ? CK_F16 : CK_F32;
            args.batch = args.t = args.h = args.w = args.heads = 2;
            args.head_dim = 16;
            args.kernel[0] = args.kernel[1] = args.kernel[2] = 2;
            int64_t stride[5] = {256, 128, 64, 32, 16};
            stride[axis] = axis == 2 ? -kFar : kFar;
            for (auto* s : {&args.q_stride, &args.k_stride, &args.v_stride, &args.out_stride})
                std::copy(stride, stride + 5, *s);
        }));
    }
}

// Equal rows make the first and the last one equal; the reference has computed both.
TEST_CASE("row counts beyond 65535", "[large][int8_quantize][rotate][full]") {
    for (const int64_t rows : {65535, 65536, 131073}) {
        const int64_t k = device().is_simulated() ? 16 : 256;
        const int32_t group = device().is_simulated() ? 16 : 256;
        check(make_case(
            CK_OP_INT8_QUANTIZE,
            [&](Args& all) {
                all.int8_quantize.dtype = CK_BF16;
                all.int8_quantize.rows = rows;
                all.int8_quantize.k = k;
            },
            Fill::kSameRows));
        check(make_case(
            CK_OP_INT8_QUANTIZE,
            [&](Args& all) {
                all.int8_quantize.dtype = CK_F16;
                all.int8_quantize.rows = rows;
                all.int8_quantize.k = k;
                all.int8_quantize.rotate_group = group;
            },
            Fill::kNormal));
        check(make_case(
            CK_OP_ROTATE,
            [&](Args& all) {
                all.rotate.dtype = CK_BF16;
                all.rotate.rows = rows;
                all.rotate.k = k;
                all.rotate.group = group;
            },
            Fill::kSameRows));
    }
}

// A launch has a limited number of workgroups; beyond it each goes on to further rows.
TEST_CASE("more rows than workgroups", "[large][int8_quantize][rotate][full]") {
    check(make_case(CK_OP_INT8_QUANTIZE, [](Args& all) {
        all.int8_quantize.dtype = CK_BF16;
        all.int8_quantize.rows = 4099;
        all.int8_quantize.k = 4100;
    }));
    for (const auto& [rows, k] : {std::pair<int64_t, int64_t>{(1 << 21) + 65, 4}, {(1 << 14) + 3, 1028}})
        check(make_case(CK_OP_ROTATE, [&, rows = rows, k = k](Args& all) {
            all.rotate.dtype = CK_BF16;
            all.rotate.rows = rows;
            all.rotate.k = k;
            all.rotate.ldx = k + 1;
            all.rotate.group = 4;
        }));
}

TEST_CASE("weights of more than 65535 rows", "[large][w4a8_requant][w4a8_dequant][full]") {
    for (const int64_t rows : {65535, 65536, 131073}) {
        check(make_case(CK_OP_W4A8_REQUANT, [&](Args& all) {
            all.w4a8_requant.dtype = CK_BF16;
            all.w4a8_requant.n = rows;
            all.w4a8_requant.k = device().is_simulated() ? 16 : 64;
            all.w4a8_requant.group = 16;
            all.w4a8_requant.seed = 3;
        }));
        check(make_case(CK_OP_W4A8_DEQUANT, [&](Args& all) {
            all.w4a8_dequant.out_dtype = CK_BF16;
            all.w4a8_dequant.n = rows;
            all.w4a8_dequant.k = 64;
            all.w4a8_dequant.group = 16;
            all.w4a8_dequant.rotate_group = 64;
        }));
    }
}

// A product's longer side goes over 65535, as rows and as columns.
template <typename Fill>
void check_long_products(ck_op op, Fill fill) {
    for (const int64_t many : {65535, 65536, 131073})
        for (const bool tall : {false, true})
            check(make_case(op, [&](Args& all) { fill(all, tall ? many : 3, tall ? 3 : many); }));
}

TEST_CASE("int8_gemm of more than 65535 rows and columns", "[large][int8_gemm][full]") {
    check_long_products(CK_OP_INT8_GEMM, [](Args& all, int64_t m, int64_t n) {
        all.int8_gemm.out_dtype = CK_BF16;
        all.int8_gemm.m = m;
        all.int8_gemm.n = n;
        all.int8_gemm.k = 16;
    });
}

TEST_CASE("int8_linear of more than 65535 rows and columns", "[large][int8_linear][full]") {
    check_long_products(CK_OP_INT8_LINEAR, [](Args& all, int64_t m, int64_t n) {
        all.int8_linear.x_dtype = CK_BF16;
        all.int8_linear.out_dtype = CK_BF16;
        all.int8_linear.m = m;
        all.int8_linear.n = n;
        all.int8_linear.k = 16;
    });
}

TEST_CASE("w4a8_linear of more than 65535 rows and columns", "[large][w4a8_linear][full]") {
    check_long_products(CK_OP_W4A8_LINEAR, [](Args& all, int64_t m, int64_t n) {
        all.w4a8_linear.x_dtype = CK_BF16;
        all.w4a8_linear.out_dtype = CK_BF16;
        all.w4a8_linear.m = m;
        all.w4a8_linear.n = n;
        all.w4a8_linear.k = 16;
        all.w4a8_linear.group = 16;
    });
}

TEST_CASE("na3d with more than 65535 queries", "[large][na3d][full]") {
    check(make_case(CK_OP_NA3D, [](Args& all) {
        ck_na3d_args& args = all.na3d;
        args.dtype = CK_F16;
        args.batch = args.t = args.h = args.heads = 1;
        args.w = 65537;
        args.head_dim = 8;
        args.kernel[0] = args.kernel[1] = 1;
        args.kernel[2] = 3;
    }));
    check(make_case(CK_OP_NA3D, [](Args& all) {
        ck_na3d_args& args = all.na3d;
        args.dtype = CK_F32;
        args.batch = 65537;
        args.t = args.h = args.heads = 1;
        args.w = 2;
        args.head_dim = 8;
        args.kernel[0] = args.kernel[1] = 1;
        args.kernel[2] = 2;
    }));
}

}  // namespace
}  // namespace ckitchen::conformance

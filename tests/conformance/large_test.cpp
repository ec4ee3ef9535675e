// Tensors beyond 2^31 elements, in little memory: few rows, very far apart. And row counts beyond what one
// dimension of a launch grid takes.
#include "suite.hpp"

namespace ckitchen::conformance {
namespace {

constexpr int64_t kFar = (int64_t{1} << 31) + 12;  // elements

// The most that one dimension of a launch grid takes everywhere, and more.
constexpr int64_t kBeyondOneDimension[] = {65535, 65536, 131073};

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
            check_large(make_case([&](ck_int8_gemm_args& args) {
                args.out_dtype = out_dtype;
                args.m = 3;
                args.n = 17;
                args.k = 33;
                args.lda = lda;
                args.ldb = ldb;
                args.ldc = ldc;
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
    check_large(make_case([](ck_int8_gemm_args& args) {
        args.out_dtype = CK_BF16;
        args.m = 32800;
        args.n = 16;
        args.k = 16;
        args.ldc = 65536;
    }));
}

TEST_CASE("row operators beyond 2^31 elements", "[large][int8_quantize][rotate][int8_error]") {
    for (const ck_dtype dtype : {CK_F32, CK_BF16}) {
        check_large(make_case([&](ck_int8_quantize_args& args) {
            args.dtype = dtype;
            args.rows = 3;
            args.k = 48;
            args.ldx = kFar;
            args.ldq = kFar;
            args.rotate_group = 16;
        }));
        check_large(make_case([&](ck_int8_error_args& args) {
            args.dtype = dtype;
            args.rows = 3;
            args.k = 48;
            args.ldx = kFar / 2 + 1;
            args.ldq = kFar;
            args.rotate_group = 16;
        }));
        check_large(make_case([&](ck_rotate_args& args) {
            args.dtype = dtype;
            args.rows = 3;
            args.k = 64;
            args.group = 64;
            args.ldx = kFar / 2 + 1;
            args.ldy = kFar;
        }));
    }
}

TEST_CASE("linears beyond 2^31 elements", "[large][int8_linear][w4a8_linear]") {
    check_large(make_case([](ck_int8_linear_args& args) {
        args.x_dtype = CK_BF16;
        args.out_dtype = CK_F16;
        args.m = 3;
        args.n = 5;
        args.k = 32;
        args.ldx = kFar;
        args.ldw = kFar / 2 + 1;
        args.ldy = kFar;
    }));
    check_large(make_case([](ck_w4a8_linear_args& args) {
        args.x_dtype = CK_F16;
        args.out_dtype = CK_F32;
        args.m = 3;
        args.n = 5;
        args.k = 48;
        args.group = 16;
        args.layout = CK_W4A8_ASYMMETRIC;
        args.correction_dtype = CK_F16;
        args.ldx = kFar;
        args.ld_packed = kFar;
        args.ld_s_rel = kFar;
        args.ld_correction = kFar;
        args.ldy = kFar;
    }));
}

TEST_CASE("w4a8 weights beyond 2^31 elements", "[large][w4a8_requant][w4a8_dequant][w4a8_choose_codebook]") {
    for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_ASYMMETRIC}) {
        check_large(make_case([&](ck_w4a8_requant_args& args) {
            args.dtype = CK_BF16;
            args.n = 3;
            args.k = 48;
            args.group = 16;
            args.layout = layout;
            args.seed = 5;
            args.ldw = kFar;
            args.ld_packed = kFar;
            args.ld_s_rel = kFar;
            args.ld_correction = kFar;
        }));
        check_large(make_case([&](ck_w4a8_dequant_args& args) {
            args.out_dtype = CK_F32;
            args.n = 3;
            args.k = 48;
            args.group = 16;
            args.layout = layout;
            if (layout == CK_W4A8_ASYMMETRIC) args.correction_dtype = CK_F32;
            args.ld_packed = kFar;
            args.ld_s_rel = kFar;
            args.ld_correction = kFar;
            args.ldo = kFar;
        }));
    }
    check_large(make_case([](ck_w4a8_choose_codebook_args& args) {
        args.dtype = CK_F16;
        args.n = 3;
        args.k = 48;
        args.group = 16;
        args.ldw = kFar;
    }));
}

// Each axis by itself so far apart that the last token lies past element 2^31.
TEST_CASE("na3d with strides beyond 2^31 elements", "[large][na3d]") {
    for (int axis = 0; axis < 5; ++axis) {
        check_large(make_case([&](ck_na3d_args& args) {
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
    for (const int64_t rows : kBeyondOneDimension) {
        const int64_t k = device().is_simulated() ? 16 : 256;
        const int32_t group = device().is_simulated() ? 16 : 256;
        check(make_case(
            [&](ck_int8_quantize_args& args) {
                args.dtype = CK_BF16;
                args.rows = rows;
                args.k = k;
            },
            Fill::kSameRows));
        check(make_case(
            [&](ck_int8_quantize_args& args) {
                args.dtype = CK_F16;
                args.rows = rows;
                args.k = k;
                args.rotate_group = group;
            },
            Fill::kNormal));
        check(make_case(
            [&](ck_rotate_args& args) {
                args.dtype = CK_BF16;
                args.rows = rows;
                args.k = k;
                args.group = group;
            },
            Fill::kSameRows));
    }
}

// A launch has a limited number of workgroups; beyond it each goes on to further rows.
TEST_CASE("more rows than workgroups", "[large][int8_quantize][rotate][int8_error][full]") {
    for (const int64_t k : {16, 1024, 2048}) {
        const int64_t held = k == 16 ? 512 : k == 1024 ? 8 : 4;
        if (device().is_simulated() && k == 16) continue;  // two million rows
        check(make_case([&](ck_int8_error_args& args) {
            args.dtype = CK_F16;
            args.rows = 4096 * held + held + 1;
            args.k = k;
        }));
    }
    check(make_case([](ck_int8_quantize_args& args) {
        args.dtype = CK_BF16;
        args.rows = 4099;
        args.k = 4100;
    }));
    for (const auto& [rows, k] : {std::pair<int64_t, int64_t>{(1 << 21) + 65, 4}, {(1 << 14) + 3, 1028}})
        check(make_case([&, rows = rows, k = k](ck_rotate_args& args) {
            args.dtype = CK_BF16;
            args.rows = rows;
            args.k = k;
            args.ldx = k + 1;
            args.group = 4;
        }));
}

TEST_CASE("weights of more than 65535 rows", "[large][w4a8_requant][w4a8_dequant][full]") {
    for (const int64_t rows : kBeyondOneDimension) {
        check(make_case([&](ck_w4a8_requant_args& args) {
            args.dtype = CK_BF16;
            args.n = rows;
            args.k = device().is_simulated() ? 16 : 64;
            args.group = 16;
            args.seed = 3;
        }));
        check(make_case([&](ck_w4a8_dequant_args& args) {
            args.out_dtype = CK_BF16;
            args.n = rows;
            args.k = 64;
            args.group = 16;
            args.rotate_group = 64;
        }));
    }
}

// A product's longer side goes over 65535, as rows and as columns.
template <typename Problem, typename Set>
void check_long_products(Set set) {
    for (const int64_t many : kBeyondOneDimension)
        for (const bool tall : {false, true})
            check(make_case([&](Problem& args) {
                args.m = tall ? many : 3;
                args.n = tall ? 3 : many;
                args.k = 16;
                args.out_dtype = CK_BF16;
                set(args);
            }));
}

TEST_CASE("int8_gemm of more than 65535 rows and columns", "[large][int8_gemm][full]") {
    check_long_products<ck_int8_gemm_args>([](auto&) {});
}

TEST_CASE("int8_linear of more than 65535 rows and columns", "[large][int8_linear][full]") {
    check_long_products<ck_int8_linear_args>([](auto& args) { args.x_dtype = CK_BF16; });
}

TEST_CASE("w4a8_linear of more than 65535 rows and columns", "[large][w4a8_linear][full]") {
    check_long_products<ck_w4a8_linear_args>([](auto& args) {
        args.x_dtype = CK_BF16;
        args.group = 16;
    });
}

TEST_CASE("na3d with more than 65535 queries", "[large][na3d][full]") {
    check(make_case([](ck_na3d_args& args) {
        args.dtype = CK_F16;
        args.batch = args.t = args.h = args.heads = 1;
        args.w = 65537;
        args.head_dim = 8;
        args.kernel[0] = args.kernel[1] = 1;
        args.kernel[2] = 3;
    }));
    check(make_case([](ck_na3d_args& args) {
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

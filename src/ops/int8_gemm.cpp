#include "ops/int8_gemm.hpp"

#include "cpu/int8_gemm.hpp"
#include "ops/checks.hpp"
#include "ops/cpu.hpp"

namespace ckitchen::ops {

Status check_gemm_extents(int64_t m, int64_t n, int64_t k) {
    CK_RETURN_IF_ERROR(check_extent("m", m));
    CK_RETURN_IF_ERROR(check_extent("n", n));
    return check_extent("k", k, kMaxGemmK);
}

Status Int8Gemm::normalise(Args& args) {
    CK_RETURN_IF_ERROR(check_dtype("out_dtype", args.out_dtype, {CK_F32, CK_F16, CK_BF16, CK_I32}));
    CK_RETURN_IF_ERROR(check_gemm_extents(args.m, args.n, args.k));
    CK_RETURN_IF_ERROR(check_ld("lda", args.lda, "k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldb", args.ldb, "k", args.k));
    CK_RETURN_IF_ERROR(check_ld("ldc", args.ldc, "n", args.n));
    CK_RETURN_IF_ERROR(check_choice("scale_a_mode", args.scale_a_mode, CK_SCALE_SCALAR));
    CK_RETURN_IF_ERROR(check_choice("scale_b_mode", args.scale_b_mode, CK_SCALE_SCALAR));
    return check_optional_dtype("bias_dtype", args.bias_dtype, args.bias, kFloats);
}

bool Int8Gemm::empty(const Args& args) {
    return args.m == 0 || args.n == 0;
}

void Int8Gemm::regions(const Args& args, Regions& regions) {
    const bool scaled = args.out_dtype != CK_I32;
    regions.input("a", args.a, args.m, args.k, args.lda, 1);
    regions.input("b", args.b, args.n, args.k, args.ldb, 1);
    regions.output("c", args.c, args.m, args.n, args.ldc, dtype_size(args.out_dtype));
    if (!scaled) return;
    regions.input("scale_a", args.scale_a, 1, args.scale_a_mode == CK_SCALE_SCALAR ? 1 : args.m, 0, 4);
    regions.input("scale_b", args.scale_b, 1, args.scale_b_mode == CK_SCALE_SCALAR ? 1 : args.n, 0, 4);
    regions.optional_input("bias", args.bias, 1, args.n, 0, dtype_size(args.bias_dtype));
}

uint64_t Int8Gemm::workspace(const ck_context&, const Args& args, const Variant&) {
    return cpu::int8_gemm_workspace(args);
}

Status Int8Gemm::run(ck_context& context, const Args& args, const Variant&, void*) {
    cpu::int8_gemm(cpu_threads(context), args);
    return {};
}

}  // namespace ckitchen::ops

// Problems as text: what is written is read back.
#include <cstring>

#include "catch.hpp"
#include "core/problem_text.hpp"

using namespace ckitchen;

TEST_CASE("a problem survives its text") {
    ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
    args.out_dtype = CK_BF16;
    args.m = 5;
    args.n = 7;
    args.k = 16;
    args.a = reinterpret_cast<void*>(0x1001);
    args.lda = 20;
    args.b = reinterpret_cast<void*>(0x2000);
    args.scale_b_mode = CK_SCALE_SCALAR;
    args.bias = reinterpret_cast<void*>(0x3008);
    args.bias_dtype = CK_F16;
    const std::string text = problem_text(CK_OP_INT8_GEMM, &args);
    CHECK(text ==
          "op=int8_gemm out_dtype=bf16 m=5 n=7 k=16 a=@1 lda=20 b=@256 scale_b_mode=scalar bias=@8 "
          "bias_dtype=f16");
    ParsedProblem parsed;
    REQUIRE(parse_problem("  " + text + " | device=0 variant=x", parsed).ok());
    CHECK(parsed.op == CK_OP_INT8_GEMM);
    CHECK(problem_text(parsed.op, parsed.args.data()) == text);
}

TEST_CASE("arrays, floats and 64-bit seeds survive") {
    ck_na3d_args args = CK_INIT(ck_na3d_args);
    args.dtype = CK_F16;
    args.batch = 1;
    args.kernel[0] = 3;
    args.kernel[2] = 7;
    args.q_stride[4] = -64;
    args.scale = 0.1f;
    const std::string text = problem_text(CK_OP_NA3D, &args);
    CHECK(text == "op=na3d dtype=f16 batch=1 q_stride=0,0,0,0,-64 kernel=3,0,7 scale=0.1");
    ParsedProblem parsed;
    REQUIRE(parse_problem(text, parsed).ok());
    CHECK(std::memcmp(parsed.args.data(), &args, sizeof(args)) == 0);

    ck_w4a8_requant_args requant = CK_INIT(ck_w4a8_requant_args);
    requant.seed = ~uint64_t{0};
    requant.layout = CK_W4A8_ASYMMETRIC;
    REQUIRE(parse_problem(problem_text(CK_OP_W4A8_REQUANT, &requant), parsed).ok());
    CHECK(std::memcmp(parsed.args.data(), &requant, sizeof(requant)) == 0);
}

TEST_CASE("text that is no problem is told why") {
    const std::pair<const char*, const char*> wrong[] = {
        {"", "empty"},
        {"m=3", "must start with op="},
        {"op=conv", "unknown operator 'conv'"},
        {"op=int8_gemm q=3", "no field 'q'"},
        {"op=int8_gemm m", "not name=value"},
        {"op=int8_gemm m=3x", "m=3x is not understood"},
        {"op=int8_gemm out_dtype=f8", "out_dtype=f8"},
        {"op=int8_gemm a=@3", "a=@3"},
        {"op=int8_gemm a=16", "a=16"},
        {"op=int8_gemm workspace=@1", "no field"},
        {"op=int8_gemm m=1 k=2 m=1", "m is given twice"},
        {"op=na3d kernel=1,2", "kernel=1,2"},
        {"op=na3d kernel=1,2,3,4", "kernel=1,2,3,4"},
    };
    for (const auto& [text, reason] : wrong) {
        ParsedProblem parsed;
        const Status status = parse_problem(text, parsed);
        INFO(text);
        CHECK(status.code() == CK_ERROR_INVALID_ARGUMENT);
        CHECK(status.message().find(reason) != std::string::npos);
    }
}

TEST_CASE("operators are listed once, in the order of their numbers") {
    ck_op last = 0;
    for (const OpName& op : op_names()) {
        CHECK(op.op == last + 1);
        last = op.op;
        CHECK(find_op(op.op) == &op);
        CHECK(find_op(std::string_view(op.name)) == &op);
    }
    CHECK(last == CK_OP_INT8_ERROR);
    CHECK(find_op(ck_op{0}) == nullptr);
    CHECK(find_op("ck_na3d") == nullptr);
}

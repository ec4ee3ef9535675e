// Random comparison with the plain reference: every parameter of every operator.
#include "suite.hpp"

namespace ckitchen::conformance {
namespace {

// A number of random cases that covers every combination of dtypes and modes at least once in the full tier.
void check_random(ck_op op, int64_t smoke, int64_t full) {
    const int64_t count = suite().count(smoke, full);
    // A smoke run that is shorter than the list of combinations takes them at regular distances.
    const int64_t combinations = combination_count(op);
    const int64_t step = count < combinations ? combinations / count : 1;
    for (int64_t i = 0; i < count; ++i)
        check(random_case(op, i * step, suite().seed, suite().budget(), device().is_cpu()));
}

TEST_CASE("random problems of int8_gemm", "[random][int8_gemm]") {
    check_random(CK_OP_INT8_GEMM, 256, 3000);
}
TEST_CASE("random problems of int8_quantize", "[random][int8_quantize]") {
    check_random(CK_OP_INT8_QUANTIZE, 216, 2000);
}
TEST_CASE("random problems of int8_linear", "[random][int8_linear]") {
    check_random(CK_OP_INT8_LINEAR, 216, 1500);
}
TEST_CASE("random problems of rotate", "[random][rotate]") {
    check_random(CK_OP_ROTATE, 120, 1200);
}
TEST_CASE("random problems of w4a8_requant", "[random][w4a8_requant]") {
    check_random(CK_OP_W4A8_REQUANT, 216, 1500);
}
TEST_CASE("random problems of w4a8_choose_codebook", "[random][w4a8_choose_codebook]") {
    check_random(CK_OP_W4A8_CHOOSE_CODEBOOK, 40, 300);
}
TEST_CASE("random problems of w4a8_dequant", "[random][w4a8_dequant]") {
    check_random(CK_OP_W4A8_DEQUANT, 216, 2000);
}
TEST_CASE("random problems of w4a8_linear", "[random][w4a8_linear]") {
    check_random(CK_OP_W4A8_LINEAR, 216, 1500);
}
TEST_CASE("random problems of na3d", "[random][na3d]") {
    check_random(CK_OP_NA3D, 192, 1500);
}
TEST_CASE("random problems of int8_error", "[random][int8_error]") {
    check_random(CK_OP_INT8_ERROR, 216, 2000);
}

}  // namespace
}  // namespace ckitchen::conformance

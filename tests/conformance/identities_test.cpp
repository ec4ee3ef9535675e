// One operator against a chain of others. The reference is not asked here: what two ways of computing a thing
// must have in common holds whatever the reference says.
#include <cmath>
#include <cstring>

#include "suite.hpp"

namespace ckitchen::conformance {
namespace {

// Random cases of an operator whose outputs exist.
template <typename Test>
void for_random(ck_op op, int64_t smoke, int64_t full, Test test) {
    const int64_t count = suite().count(smoke, full);
    const int64_t step = std::max<int64_t>(combination_count(op) / count, 1);
    for (int64_t i = 0; i < count; ++i) {
        Case which = random_case(op, i * step, suite().seed + 77, suite().budget(), false);
        const Outcome outcome = check(which);
        if (outcome.ok()) test(which, outcome);
    }
}

// The bytes an operand had: what the fill wrote.
Bytes input(const Case& which, const char* name) {
    for (const Operand& operand : describe(which.problem)) {
        if (std::strcmp(operand.name, name) != 0) continue;
        const auto row_bytes = static_cast<size_t>(operand.width() * operand.element_size);
        Bytes rows(static_cast<size_t>(operand.rows()) * row_bytes);
        for (int64_t row = 0; row < operand.rows(); ++row)
            fill_row(operand, which.fill, which.seed, row,
                     rows.data() + static_cast<size_t>(row) * row_bytes);
        return rows;
    }
    throw std::logic_error("no such operand");
}

Case quantize_case(ck_dtype dtype, int64_t rows, int64_t k, ck_activation activation, int32_t rotate_group,
                   const Bytes& x) {
    Case which = make_case(CK_OP_INT8_QUANTIZE, [&](Args& all) {
        all.int8_quantize.dtype = dtype;
        all.int8_quantize.rows = rows;
        all.int8_quantize.k = k;
        all.int8_quantize.activation = activation;
        all.int8_quantize.rotate_group = rotate_group;
    });
    which.given["x"] = x;
    return which;
}

TEST_CASE("int8_linear is int8_quantize and int8_gemm", "[identities][int8_linear]") {
    for_random(CK_OP_INT8_LINEAR, 48, 400, [](const Case& which, const Outcome& whole) {
        const ck_int8_linear_args& args = which.problem.args.int8_linear;
        if (args.m == 0 || args.n == 0) return;
        const Outcome x = check(quantize_case(args.x_dtype, args.m, args.k, args.activation,
                                              args.rotate_group, input(which, "x")));
        Case gemm = make_case(CK_OP_INT8_GEMM, [&](Args& all) {
            all.int8_gemm.out_dtype = args.out_dtype;
            all.int8_gemm.m = args.m;
            all.int8_gemm.n = args.n;
            all.int8_gemm.k = args.k;
            all.int8_gemm.scale_b_mode = args.w_scale_mode;
            all.int8_gemm.bias_dtype = args.bias_dtype;
            all.int8_gemm.bias = args.bias;
        });
        gemm.given["a"] = x.outputs.at("q");
        gemm.given["scale_a"] = x.outputs.at("scale");
        gemm.given["b"] = input(which, "w");
        gemm.given["scale_b"] = input(which, "w_scale");
        if (args.bias != nullptr) gemm.given["bias"] = input(which, "bias");
        CHECK(same_values(check(gemm).outputs.at("c"), whole.outputs.at("y"), args.out_dtype));
    });
}

TEST_CASE("w4a8_linear without a correction is int8_quantize, w4a8_dequant and int8_gemm",
          "[identities][w4a8_linear]") {
    for_random(CK_OP_W4A8_LINEAR, 48, 400, [](const Case& which, const Outcome& whole) {
        const ck_w4a8_linear_args& args = which.problem.args.w4a8_linear;
        if (args.m == 0 || args.n == 0 || args.layout == CK_W4A8_ASYMMETRIC) return;
        const Outcome x = check(quantize_case(args.x_dtype, args.m, args.k, args.activation,
                                              args.rotate_group, input(which, "x")));
        Case decode = make_case(CK_OP_W4A8_DEQUANT, [&](Args& all) {
            all.w4a8_dequant.out_dtype = CK_I8;
            all.w4a8_dequant.n = args.n;
            all.w4a8_dequant.k = args.k;
            all.w4a8_dequant.group = args.group;
            all.w4a8_dequant.layout = args.layout;
            all.w4a8_dequant.s_rel_dtype = args.s_rel_dtype;
            all.w4a8_dequant.codebook = args.codebook;
        });
        decode.given["packed"] = input(which, "packed");
        decode.given["s_rel"] = input(which, "s_rel");
        if (args.codebook != nullptr) decode.given["codebook"] = input(which, "codebook");
        Case gemm = make_case(CK_OP_INT8_GEMM, [&](Args& all) {
            all.int8_gemm.out_dtype = args.out_dtype;
            all.int8_gemm.m = args.m;
            all.int8_gemm.n = args.n;
            all.int8_gemm.k = args.k;
            all.int8_gemm.bias_dtype = args.bias_dtype;
            all.int8_gemm.bias = args.bias;
        });
        gemm.given["a"] = x.outputs.at("q");
        gemm.given["scale_a"] = x.outputs.at("scale");
        gemm.given["b"] = check(decode).outputs.at("out");
        gemm.given["scale_b"] = input(which, "s_channel");
        if (args.bias != nullptr) gemm.given["bias"] = input(which, "bias");
        CHECK(same_values(check(gemm).outputs.at("c"), whole.outputs.at("y"), args.out_dtype));
    });
}

TEST_CASE("a rotation inside int8_quantize is ck_rotate in front of it",
          "[identities][int8_quantize][rotate]") {
    for_random(CK_OP_INT8_QUANTIZE, 54, 400, [](const Case& which, const Outcome& whole) {
        const ck_int8_quantize_args& args = which.problem.args.int8_quantize;
        if (args.rotate_group == 0 || args.activation != CK_ACTIVATION_NONE || args.rows == 0) return;
        Case rotate = make_case(CK_OP_ROTATE, [&](Args& all) {
            all.rotate.dtype = args.dtype;
            all.rotate.rows = args.rows;
            all.rotate.k = args.k;
            all.rotate.group = args.rotate_group;
        });
        rotate.given["x"] = input(which, "x");
        const Outcome parts = check(quantize_case(args.dtype, args.rows, args.k, CK_ACTIVATION_NONE, 0,
                                                  check(rotate).outputs.at("y")));
        CHECK(parts.outputs.at("q") == whole.outputs.at("q"));
        CHECK(parts.outputs.at("scale") == whole.outputs.at("scale"));
    });
}

TEST_CASE("a rotation inside w4a8_requant is ck_rotate in front of it",
          "[identities][w4a8_requant][rotate]") {
    for_random(CK_OP_W4A8_REQUANT, 72, 400, [](const Case& which, const Outcome& whole) {
        const ck_w4a8_requant_args& args = which.problem.args.w4a8_requant;
        // Non-finite weights count as 0 before the rotation, which ck_rotate does not know about.
        if (args.rotate_group == 0 || which.fill == Fill::kNonFinite || args.n == 0 || args.k == 0) return;
        Case rotate = make_case(CK_OP_ROTATE, [&](Args& all) {
            all.rotate.dtype = args.dtype;
            all.rotate.rows = args.n;
            all.rotate.k = args.k;
            all.rotate.group = args.rotate_group;
        });
        rotate.given["x"] = input(which, "weight");
        Case plain = which;
        plain.problem.args.w4a8_requant.rotate_group = 0;
        plain.problem.args.w4a8_requant.nonfinite = nullptr;
        plain.given["weight"] = check(rotate).outputs.at("y");
        if (args.codebook != nullptr) plain.given["codebook"] = input(which, "codebook");
        const Outcome parts = check(plain);
        for (const auto& [name, bytes] : parts.outputs) {
            INFO(name);
            CHECK(bytes == whole.outputs.at(name));
        }
    });
}

// The error of a W4A8 weight without a correction is that of its grid: the same values as its floats.
TEST_CASE("int8_error of a W4A8 grid sees the values of w4a8_dequant",
          "[identities][w4a8_dequant][int8_error]") {
    for_random(CK_OP_W4A8_DEQUANT, 72, 400, [](const Case& which, const Outcome& whole) {
        const ck_w4a8_dequant_args& args = which.problem.args.w4a8_dequant;
        if (args.out_dtype != CK_F32 || args.layout == CK_W4A8_ASYMMETRIC || args.n == 0 || args.k == 0)
            return;
        Case grid = which;
        grid.problem.args.w4a8_dequant.out_dtype = CK_I8;
        grid.problem.args.w4a8_dequant.rotate_group = 0;
        grid.problem.args.w4a8_dequant.s_channel = nullptr;
        for (const char* name : {"packed", "s_rel"}) grid.given[name] = input(which, name);
        if (args.codebook != nullptr) grid.given["codebook"] = input(which, "codebook");
        Case error = make_case([&](ck_int8_error_args& all) {
            all.dtype = CK_F32;
            all.rows = args.n;
            all.k = args.k;
            all.rotate_group = args.rotate_group;
        });
        // Compared with themselves they are no distance apart, and NaN from each other where they are not
        // finite.
        error.given["x"] = whole.outputs.at("out");
        error.given["q"] = check(grid).outputs.at("out");
        error.given["scale"] = input(which, "s_channel");
        const Bytes difference = check(error).outputs.at("difference");
        for (size_t row = 0; row < static_cast<size_t>(args.n); ++row) {
            double sum = 0;
            std::memcpy(&sum, difference.data() + 8 * row, sizeof(sum));
            CHECK((sum == 0 || std::isnan(sum)));
        }
    });
}

// Rotating twice gives back the values, but for roundings to the dtype: exactly, where nothing is rounded
// away.
TEST_CASE("rotating twice is the identity on small integers", "[identities][rotate]") {
    for (const int32_t group : {4, 16, 64, 256, 1024})
        for (const ck_dtype dtype : {CK_F32, CK_F16}) {
            const auto count = static_cast<size_t>(group);
            std::vector<float> x(count);
            Random random(static_cast<uint64_t>(group));
            for (float& value : x) value = static_cast<float>(random.between(-1, 1));
            Case which = make_case(CK_OP_ROTATE, [&](Args& all) {
                all.rotate.dtype = dtype;
                all.rotate.rows = 1;
                all.rotate.k = group;
                all.rotate.group = group;
            });
            which.given["x"] = to_bytes(x, dtype);
            which.given["x"] = check(which).outputs.at("y");
            CHECK(to_floats(check(which).outputs.at("y"), dtype) == x);
        }
}

// H = kron(H4, ..., H4) / sqrt(group), column by column: the images of the unit vectors, exact in every type.
TEST_CASE("the rotation's matrix", "[identities][rotate]") {
    constexpr float kH4[4][4] = {{1, 1, 1, -1}, {1, 1, -1, 1}, {1, -1, 1, 1}, {-1, 1, 1, 1}};
    for (const int32_t group : {4, 16, 64, 256}) {
        const auto n = static_cast<size_t>(group);
        std::vector<float> unit(n * n, 0.0f);
        std::vector<float> matrix(n * n);
        for (size_t i = 0; i < n; ++i) {
            unit[i * n + i] = 1;
            for (size_t j = 0; j < n; ++j) {
                float product = 1;
                for (size_t a = i, b = j, s = n; s > 1; a /= 4, b /= 4, s /= 4) product *= kH4[a % 4][b % 4];
                matrix[i * n + j] = product / std::sqrt(static_cast<float>(group));
            }
        }
        if (device().is_simulated() && group > 64) {
            skip("too long for a simulator");
            continue;
        }
        for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16}) {
            Case which = make_case(CK_OP_ROTATE, [&](Args& all) {
                all.rotate.dtype = dtype;
                all.rotate.rows = group;
                all.rotate.k = group;
                all.rotate.group = group;
            });
            which.given["x"] = to_bytes(unit, dtype);
            which.given["y"] = to_bytes(matrix, dtype);
            check(which);
        }
    }
}

// A requantized weight decodes to within half a step of the weight, for every layout: the parts fit together.
TEST_CASE("requantized weights decode to about the weight", "[identities][w4a8_requant][w4a8_dequant]") {
    const int64_t n = suite().full ? 64 : 8;
    const int64_t k = suite().full ? 4096 : 512;
    std::vector<float> weight(static_cast<size_t>(n * k));
    Random random(suite().seed);
    for (float& value : weight) {
        float sum = 0;
        for (int i = 0; i < 12; ++i) sum += random.unit();
        value = sum - 6.0f;
    }
    for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_UNIFORM, CK_W4A8_ASYMMETRIC})
        for (const int32_t rotate_group : {0, 64}) {
            Case requant = make_case(CK_OP_W4A8_REQUANT, [&](Args& all) {
                all.w4a8_requant.dtype = CK_F32;
                all.w4a8_requant.n = n;
                all.w4a8_requant.k = k;
                all.w4a8_requant.group = 16;
                all.w4a8_requant.layout = layout;
                all.w4a8_requant.rotate_group = rotate_group;
            });
            requant.given["weight"] = to_bytes(weight);
            const Outcome quantized = check(requant);
            Case dequant = make_case(CK_OP_W4A8_DEQUANT, [&](Args& all) {
                all.w4a8_dequant.out_dtype = CK_F32;
                all.w4a8_dequant.n = n;
                all.w4a8_dequant.k = k;
                all.w4a8_dequant.group = 16;
                all.w4a8_dequant.layout = layout;
                all.w4a8_dequant.rotate_group = rotate_group;
                if (layout == CK_W4A8_ASYMMETRIC) all.w4a8_dequant.correction_dtype = CK_F32;
            });
            for (const auto& [name, bytes] : quantized.outputs) dequant.given[name] = bytes;
            const std::vector<float> decoded = to_floats(check(dequant).outputs.at("out"), CK_F32);
            double error = 0;
            double norm = 0;
            for (size_t i = 0; i < weight.size(); ++i) {
                const double difference = static_cast<double>(decoded[i]) - static_cast<double>(weight[i]);
                error += difference * difference;
                norm += static_cast<double>(weight[i]) * static_cast<double>(weight[i]);
            }
            const double relative = std::sqrt(error / norm);
            INFO("layout " << layout << ", rotation " << rotate_group);
            // A bell-shaped weight, groups of 16, e4m3 scales: 0.073 with the codebook, known beforehand; the
            // other layouts' grids are even, which costs a little.
            if (layout == CK_W4A8_CODEBOOK && suite().full)
                CHECK((relative > 0.0720 && relative < 0.0740));
            else
                CHECK((relative > 0.05 && relative < 0.12));
        }
}

// A linear layer is close to the float product it stands for: nothing is transposed, shifted or left out.
TEST_CASE("linears are close to the float product", "[identities][int8_linear][w4a8_linear]") {
    const int64_t m = 4;
    const int64_t n = 24;
    const std::vector<int64_t> depths =
        suite().full ? std::vector<int64_t>{2560, 6144} : std::vector<int64_t>{256};
    for (const int64_t k : depths) {
        std::vector<float> x(static_cast<size_t>(m * k));
        std::vector<float> w(static_cast<size_t>(n * k));
        Random random(suite().seed + 5);
        for (float& value : x) value = from_bf16(to_bf16(random.normal()));
        for (float& value : w) value = from_bf16(to_bf16(random.normal() * 0.05f));
        std::vector<double> exact(static_cast<size_t>(m * n));
        double norm = 0;
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (int64_t c = 0; c < k; ++c)
                    sum += static_cast<double>(x[static_cast<size_t>(i * k + c)]) *
                           static_cast<double>(w[static_cast<size_t>(j * k + c)]);
                exact[static_cast<size_t>(i * n + j)] = sum;
                norm += sum * sum;
            }
        const auto distance = [&](const Bytes& y) {
            const std::vector<float> values = to_floats(y, CK_BF16);
            double error = 0;
            for (size_t i = 0; i < values.size(); ++i) {
                const double difference = static_cast<double>(values[i]) - exact[i];
                error += difference * difference;
            }
            return std::sqrt(error / norm);
        };
        const Bytes x_bytes = to_bytes(x, CK_BF16);
        const Bytes w_bytes = to_bytes(w, CK_BF16);

        const Outcome weight = check(quantize_case(CK_BF16, n, k, CK_ACTIVATION_NONE, 256, w_bytes));
        Case linear = make_case(CK_OP_INT8_LINEAR, [&](Args& all) {
            all.int8_linear.x_dtype = CK_BF16;
            all.int8_linear.out_dtype = CK_BF16;
            all.int8_linear.m = m;
            all.int8_linear.n = n;
            all.int8_linear.k = k;
            all.int8_linear.rotate_group = 256;
        });
        linear.given["x"] = x_bytes;
        linear.given["w"] = weight.outputs.at("q");
        linear.given["w_scale"] = weight.outputs.at("scale");
        CHECK(distance(check(linear).outputs.at("y")) < 0.02);

        for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_UNIFORM, CK_W4A8_ASYMMETRIC}) {
            Case requant = make_case(CK_OP_W4A8_REQUANT, [&](Args& all) {
                all.w4a8_requant.dtype = CK_BF16;
                all.w4a8_requant.n = n;
                all.w4a8_requant.k = k;
                all.w4a8_requant.group = 16;
                all.w4a8_requant.layout = layout;
                all.w4a8_requant.rotate_group = 256;
            });
            requant.given["weight"] = w_bytes;
            const Outcome quantized = check(requant);
            Case w4a8 = make_case(CK_OP_W4A8_LINEAR, [&](Args& all) {
                all.w4a8_linear.x_dtype = CK_BF16;
                all.w4a8_linear.out_dtype = CK_BF16;
                all.w4a8_linear.m = m;
                all.w4a8_linear.n = n;
                all.w4a8_linear.k = k;
                all.w4a8_linear.group = 16;
                all.w4a8_linear.layout = layout;
                all.w4a8_linear.rotate_group = 256;
                if (layout == CK_W4A8_ASYMMETRIC) all.w4a8_linear.correction_dtype = CK_BF16;
            });
            for (const auto& [name, bytes] : quantized.outputs) w4a8.given[name] = bytes;
            w4a8.given["x"] = x_bytes;
            INFO("k " << k << ", layout " << layout);
            CHECK(distance(check(w4a8).outputs.at("y")) < 0.12);
        }
    }
}

}  // namespace
}  // namespace ckitchen::conformance

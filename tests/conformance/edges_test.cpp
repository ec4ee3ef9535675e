// Shapes at which tiled and vectorized code goes wrong, one dimension at a time, and the combinations that
// random problems meet too rarely.
#include <cmath>
#include <cstddef>
#include <cstring>

#include "suite.hpp"

namespace ckitchen::conformance {
namespace {

// On a simulator a case of this size takes long enough.
bool fits(const Case& which) {
    if (cost(which.problem) <= 4 * suite().budget().cost) return true;
    skip("too long for this tier");
    return false;
}

void gemm(int64_t m, int64_t n, int64_t k, ck_dtype out_dtype, Fill fill = Fill::kNormal) {
    const Case which = make_case(
        CK_OP_INT8_GEMM,
        [&](Args& all) {
            all.int8_gemm.m = m;
            all.int8_gemm.n = n;
            all.int8_gemm.k = k;
            all.int8_gemm.out_dtype = out_dtype;
        },
        fill);
    if (fits(which)) check(which);
}

TEST_CASE("int8_gemm at the edges of tiles", "[edges][int8_gemm]") {
    for (const int64_t edge : tile_edges()) {
        gemm(edge, 33, 40, CK_I32);
        gemm(5, edge, 40, CK_BF16);
        gemm(33, 17, edge, CK_I32);
        gemm(edge, 1, 64, CK_F16);
        gemm(1, edge, 64, CK_F32);
        if (suite().full) gemm(edge, edge, 64, CK_BF16);
    }
    for (const int64_t zero : {0, 1}) {
        gemm(zero, 5, 7, CK_F32);
        gemm(5, zero, 7, CK_F32);
        gemm(5, 7, zero, CK_F32);
        gemm(zero, zero, zero, CK_I32);
    }
}

TEST_CASE("int8_gemm with a depth that no tile divides: exact sums", "[edges][int8_gemm]") {
    for (int64_t k = 16; k <= 512; k += suite().full ? 16 : 48) gemm(33, 33, k, CK_I32, Fill::kExtreme);
    for (const int64_t k : {133, 4097, 4096 + 16, 10240})
        gemm(33, suite().full ? 33 : 2, k, CK_I32, Fill::kExtreme);
}

// The largest sums that int32 must hold: 131071 products of (-128)*(-128), and of (-128)*127.
TEST_CASE("int8_gemm at the largest depth does not overflow", "[edges][int8_gemm]") {
    Case which = make_case(CK_OP_INT8_GEMM, [](Args& all) {
        all.int8_gemm.m = 1;
        all.int8_gemm.n = 2;
        all.int8_gemm.k = 131071;
        all.int8_gemm.out_dtype = CK_I32;
    });
    if (!fits(which)) return;
    which.given["a"] = Bytes(131071, 0x80);
    which.given["b"] = Bytes(2 * 131071, 0x80);
    std::fill(which.given["b"].begin() + 131071, which.given["b"].end(), uint8_t{0x7f});
    which.given["c"] = to_bytes(std::vector<int32_t>{2147467264, -2130690176});
    check(which);
}

TEST_CASE("int8_gemm and exact buffers: no byte beyond the last row is read", "[edges][int8_gemm]") {
    for (const int64_t k : {1, 15, 16, 17, 31, 33})
        for (const Placement placement : {Placement::kPageEnd, Placement::kPageBegin, Placement::kGuarded}) {
            if (!device().is_cpu() && placement != Placement::kGuarded) {
                skip("only the CPU's memory can end at the edge of a page");
                continue;
            }
            Case which = make_case(CK_OP_INT8_GEMM, [&](Args& all) {
                all.int8_gemm.m = 3;
                all.int8_gemm.n = 5;
                all.int8_gemm.k = k;
                all.int8_gemm.out_dtype = CK_F32;
            });
            which.placement = placement;
            check(which);
        }
}

TEST_CASE("int8_gemm with few columns and a width that no vector divides", "[edges][int8_gemm]") {
    const int64_t shapes[][3] = {{5, 7, 16}, {1, 3, 32}, {17, 1, 16}, {3, 5, 17}, {3, 5, 15}, {1, 1, 1}};
    for (const auto& shape : shapes)
        for (const int64_t gap : {0, 1, 3})
            check(make_case(CK_OP_INT8_GEMM, [&](Args& all) {
                all.int8_gemm.m = shape[0];
                all.int8_gemm.n = shape[1];
                all.int8_gemm.k = shape[2];
                all.int8_gemm.ldc = shape[1] + gap;
                all.int8_gemm.lda = shape[2] + gap;
                all.int8_gemm.ldb = shape[2] + 2 * gap;
                all.int8_gemm.out_dtype = CK_BF16;
            }));
}

// Too few tiles for a GPU: its units share K. The sums of the parts lie in the workspace.
TEST_CASE("int8_gemm with few results and a deep K", "[edges][int8_gemm][int8_linear][w4a8_linear]") {
    const int64_t shapes[][3] = {{64, 64, 4096}, {65, 130, 2053}, {33, 7, 5000}, {1, 40, 9001},
                                 {8, 33, 8192},  {16, 256, 1024}, {9, 1, 4112},  {2, 2, 65536}};
    const ck_dtype dtypes[] = {CK_BF16, CK_I32, CK_F32, CK_F16};
    int turn = 0;
    for (const auto& [m, n, k] : shapes) {
        const ck_dtype dtype = dtypes[turn++ % 4];
        const Case which = make_case(CK_OP_INT8_GEMM, [&, m = m, n = n, k = k](Args& all) {
            all.int8_gemm.m = m;
            all.int8_gemm.n = n;
            all.int8_gemm.k = k;
            all.int8_gemm.out_dtype = dtype;
            all.int8_gemm.ldc = n + turn % 3;
            all.int8_gemm.bias_dtype = turn % 2 == 0 ? CK_F16 : CK_F32;
            if (dtype != CK_I32) all.int8_gemm.bias = at_alignment(256);
        });
        check(which);
        check(make_case(CK_OP_INT8_LINEAR, [&, m = m, n = n, k = k](Args& all) {
            all.int8_linear.m = m;
            all.int8_linear.n = n;
            all.int8_linear.k = k;
            all.int8_linear.x_dtype = CK_BF16;
            all.int8_linear.out_dtype = dtype == CK_I32 ? CK_BF16 : dtype;
        }));
        check(make_case(CK_OP_W4A8_LINEAR, [&, m = m, n = n, k = k](Args& all) {
            all.w4a8_linear.m = m;
            all.w4a8_linear.n = n;
            all.w4a8_linear.k = (k + 63) / 64 * 64;
            all.w4a8_linear.x_dtype = CK_BF16;
            all.w4a8_linear.group = 64;
            all.w4a8_linear.layout = turn % 2 == 0 ? CK_W4A8_ASYMMETRIC : CK_W4A8_CODEBOOK;
            if (turn % 2 == 0) all.w4a8_linear.correction_dtype = CK_F32;
            all.w4a8_linear.out_dtype = dtype == CK_I32 ? CK_BF16 : dtype;
        }));
        if (!device().is_simulated()) continue;
        // No problem but these needs memory for sums, and none where one unit is all there is.
        ck_device_properties facts = CK_INIT(ck_device_properties);
        REQUIRE(ck_context_info(device().context(), &facts) == CK_OK);
        if (facts.compute_units == 1) continue;
        ck_int8_gemm_args query = which.problem.args.int8_gemm;
        uint64_t bytes = 0;
        REQUIRE(ck_int8_gemm_workspace_size(device().context(), &query, &bytes) == CK_OK);
        CHECK(bytes >= 2 * static_cast<uint64_t>(m * n) * 4);
        CHECK(bytes % 4 == 3);  // parts, and what an odd address costs
        query.k = 64;
        query.lda = query.ldb = 0;
        REQUIRE(ck_int8_gemm_workspace_size(device().context(), &query, &bytes) == CK_OK);
        CHECK(bytes == 0);
    }
}

TEST_CASE("int8_gemm with few rows, long and wide", "[edges][int8_gemm][full]") {
    for (const int64_t m : {1, 2, 3, 4, 8, 9}) gemm(m, 2048, 6144, CK_BF16);
    gemm(1024, 1024, 64, CK_F32);
    gemm(513, 300, 1000, CK_F16);
}

// Several tiles, whole ones among them: rows of A and B at any address, rows of C off every vector's border.
TEST_CASE("int8_gemm with tiles beside the borders of vectors", "[edges][int8_gemm][full]") {
    gemm(385, 257, 48, CK_BF16);
    gemm(129, 515, 90, CK_F32);
    gemm(130, 259, 131, CK_F16);
    gemm(257, 193, 113, CK_I32);
    gemm(140, 388, 96, CK_BF16);
    gemm(140, 386, 96, CK_F32);
}

// Each tensor by itself at a misaligned address, then all.
TEST_CASE("int8_gemm with misaligned pointers", "[edges][int8_gemm]") {
    const size_t fields[] = {offsetof(ck_int8_gemm_args, a),       offsetof(ck_int8_gemm_args, b),
                             offsetof(ck_int8_gemm_args, c),       offsetof(ck_int8_gemm_args, scale_a),
                             offsetof(ck_int8_gemm_args, scale_b), offsetof(ck_int8_gemm_args, bias)};
    for (size_t misaligned = 0; misaligned <= std::size(fields); ++misaligned)
        for (const uintptr_t alignment : {1, 2, 4, 8, 16})
            check(make_case(CK_OP_INT8_GEMM, [&](Args& all) {
                all.int8_gemm.m = 18;
                all.int8_gemm.n = 20;
                all.int8_gemm.k = 64;
                all.int8_gemm.out_dtype = CK_BF16;
                all.int8_gemm.bias_dtype = CK_F16;
                for (size_t i = 0; i < std::size(fields); ++i) {
                    void* const pointer =
                        at_alignment(i == misaligned || misaligned == std::size(fields) ? alignment : 256);
                    std::memcpy(reinterpret_cast<char*>(&all) + fields[i], &pointer, sizeof(pointer));
                }
            }));
}

TEST_CASE("row operators at the edges of tiles", "[edges][int8_quantize][rotate]") {
    for (const int64_t rows : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{5}})
        for (const int64_t edge : tile_edges()) {
            check(make_case(CK_OP_INT8_QUANTIZE, [&](Args& all) {
                all.int8_quantize.dtype = CK_BF16;
                all.int8_quantize.rows = rows;
                all.int8_quantize.k = edge;
            }));
            check(make_case(CK_OP_INT8_QUANTIZE, [&](Args& all) {
                all.int8_quantize.dtype = CK_F16;
                all.int8_quantize.rows = edge;
                all.int8_quantize.k = 4 * rows;
                all.int8_quantize.rotate_group = 4;
            }));
        }
    for (const int64_t zero : {0, 1})
        for (const ck_activation activation :
             {CK_ACTIVATION_NONE, CK_ACTIVATION_GELU_TANH, CK_ACTIVATION_SWIGLU}) {
            check(make_case(CK_OP_INT8_QUANTIZE, [&](Args& all) {
                all.int8_quantize.dtype = CK_F32;
                all.int8_quantize.rows = zero;
                all.int8_quantize.k = 5;
                all.int8_quantize.activation = activation;
            }));
            check(make_case(CK_OP_INT8_QUANTIZE, [&](Args& all) {
                all.int8_quantize.dtype = CK_F32;
                all.int8_quantize.rows = 5;
                all.int8_quantize.k = zero;
                all.int8_quantize.activation = activation;
            }));
        }
}

// Rows beyond what an on-chip buffer holds, around powers of two.
TEST_CASE("row operators on long rows", "[edges][int8_quantize][rotate][w4a8_requant]") {
    const std::vector<int64_t> lengths = suite().full
                                             ? std::vector<int64_t>{8192, 10240, 16384, 20480, 65536, 131072}
                                             : std::vector<int64_t>{8192, 10240};
    for (const int64_t k : lengths)
        for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16})
            for (const int32_t group : {16, 64, 256}) {
                if (!suite().full && group == 64) continue;
                for (const int64_t more : {0, 1}) {
                    const int64_t width = k + more * group;
                    check(make_case(CK_OP_INT8_QUANTIZE, [&](Args& all) {
                        all.int8_quantize.dtype = dtype;
                        all.int8_quantize.rows = 1;
                        all.int8_quantize.k = width;
                        all.int8_quantize.rotate_group = group;
                    }));
                    if (group != 16) continue;
                    check(make_case(CK_OP_W4A8_REQUANT, [&](Args& all) {
                        all.w4a8_requant.dtype = dtype;
                        all.w4a8_requant.n = 1;
                        all.w4a8_requant.k = width;
                        all.w4a8_requant.group = 16;
                        all.w4a8_requant.rotate_group = more == 0 ? 256 : 16;
                    }));
                }
            }
}

// The order of the sums changes with the width: parts of a wave, a wave, several waves, and steps that waves
// take in turn. With NaN and infinities that may not get into a neighbouring row.
TEST_CASE("int8_error at the edges of pieces, steps and turns", "[edges][int8_error]") {
    const std::vector<int64_t> widths = {0,    1,    15,   16,   17,   31,   32,   33,   64,    65,
                                         511,  512,  513,  1023, 1024, 1025, 2047, 2048, 2049,  3072,
                                         4096, 4097, 5120, 7168, 8191, 8192, 8193, 9216, 16384, 17408};
    for (const int64_t k : widths)
        for (const int64_t rows : {int64_t{1}, int64_t{3}, 8192 / std::max<int64_t>(k, 16) + 1})
            for (const Fill fill : {Fill::kNormal, Fill::kNonFinite}) {
                if (!suite().full && rows * k > 30000) continue;
                check(make_case(
                    CK_OP_INT8_ERROR,
                    [&](Args& all) {
                        all.int8_error.dtype = k % 3 == 0 ? CK_F32 : k % 3 == 1 ? CK_F16 : CK_BF16;
                        all.int8_error.rows = rows;
                        all.int8_error.k = k;
                        all.int8_error.scale_mode = rows == 3 ? CK_SCALE_SCALAR : CK_SCALE_VECTOR;
                    },
                    fill));
            }
    for (const int32_t group : {4, 16, 64, 256, 1024})
        for (const int64_t groups : {1, 3, 5, 9})
            check(make_case(CK_OP_INT8_ERROR, [&](Args& all) {
                all.int8_error.dtype = CK_BF16;
                all.int8_error.rows = 5;
                all.int8_error.k = groups * group;
                all.int8_error.rotate_group = group;
            }));
    check(make_case(CK_OP_INT8_ERROR, [](Args& all) { all.int8_error.dtype = CK_F32; }));
}

// Every group size on its own: the shape of the sums is part of the result.
TEST_CASE("w4a8_requant with every kind of group", "[edges][w4a8_requant][w4a8_dequant]") {
    for (const int32_t group : {4, 8, 16, 32, 48, 64, 80, 96, 112, 128, 144, 256, 272, 512, 1024})
        for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_UNIFORM, CK_W4A8_ASYMMETRIC})
            for (const uint64_t seed : {uint64_t{0}, uint64_t{0x123456789abcdef}}) {
                check(make_case(
                    CK_OP_W4A8_REQUANT,
                    [&](Args& all) {
                        all.w4a8_requant.dtype = CK_F32;
                        all.w4a8_requant.n = 3;
                        all.w4a8_requant.k = 3 * group;
                        all.w4a8_requant.group = group;
                        all.w4a8_requant.layout = layout;
                        all.w4a8_requant.seed = seed;
                    },
                    group % 32 == 0 ? Fill::kTies : Fill::kNormal));
            }
}

// Rows of several waves, which have kernels of their own: every fill with every kind of choice.
TEST_CASE("w4a8_requant with a codebook on rows of several waves", "[edges][w4a8_requant]") {
    for (int fill = 0; fill < kFillCount; ++fill)
        for (const int32_t group : {16, 48, 256})
            for (const uint64_t seed : {uint64_t{0}, uint64_t{7}})
                for (const int32_t rotate_group : {0, 16, 256}) {
                    if (rotate_group == 16 && !suite().full) continue;
                    check(make_case(
                        CK_OP_W4A8_REQUANT,
                        [&](Args& all) {
                            all.w4a8_requant.dtype = fill % 2 == 0 ? CK_BF16 : CK_F32;
                            all.w4a8_requant.n = 3;
                            all.w4a8_requant.k = 768;
                            all.w4a8_requant.group = group;
                            all.w4a8_requant.rotate_group = rotate_group;
                            all.w4a8_requant.s_rel_dtype = group == 48 ? CK_F32 : CK_F8_E4M3;
                            all.w4a8_requant.seed = seed;
                            all.w4a8_requant.nonfinite = static_cast<uint64_t*>(at_alignment(8));
                        },
                        static_cast<Fill>(fill)));
                }
}

// Where a shortcut that is exact almost everywhere would not be: quotients on, and some ulps beside, the
// middle between two levels or an end of the cells that lead to it, with codebooks of even, close, equal,
// mirrored, very large and very small levels.
TEST_CASE("w4a8_requant at and beside the thresholds of a codebook", "[edges][w4a8_requant]") {
    std::vector<std::vector<float>> codebooks(7, std::vector<float>(16));
    for (int code = 0; code < 16; ++code) {
        const auto place = static_cast<float>(2 * code - 15);
        codebooks[0][static_cast<size_t>(code)] = place / 16;
        codebooks[1][static_cast<size_t>(code)] = place * std::fabs(place) / 225;
        codebooks[2][static_cast<size_t>(code)] =
            code < 8 ? place / 15 : place / 15 - 0.13f;                                     // 7 and 8 close
        codebooks[3][static_cast<size_t>(code)] = static_cast<float>(code / 2) / 7 - 0.4f;  // pairs are equal
        codebooks[4][static_cast<size_t>(code)] = std::sin(place / 10);
        codebooks[5][static_cast<size_t>(code)] = std::ldexp(std::sin(place / 10), 30);
        codebooks[6][static_cast<size_t>(code)] = std::ldexp(std::sin(place / 10), -30);
    }
    const int64_t n = suite().full ? 32 : 4;
    const int64_t k = 768;
    Random random(suite().seed);
    for (const std::vector<float>& codebook : codebooks) {
        std::vector<float> weight(static_cast<size_t>(n * k));
        float largest = 1;
        for (size_t i = 0; i < weight.size(); ++i) {
            // The first of a group is its scale, which the others are relative to.
            if (i % 16 == 0) {
                largest = std::ldexp(1.0f + random.unit(), static_cast<int>(random.between(-3, 1)));
                weight[i] = random.one_in(2) ? largest : -largest;
                continue;
            }
            const auto code = static_cast<size_t>(random.between(0, 14));
            float value = (codebook[code] + codebook[code + 1]) / 2 * largest;
            if (random.one_in(8)) value = 0;
            if (random.one_in(4))
                value = (static_cast<float>(random.between(-12, 11)) + 0.5f) / 12 * codebook[15] * largest;
            for (int64_t steps = random.between(-3, 3); steps != 0; steps += steps < 0 ? 1 : -1)
                value = std::nextafterf(value, steps < 0 ? -HUGE_VALF : HUGE_VALF);
            weight[i] = std::fabs(value) <= largest ? value : largest;
        }
        for (const int32_t group : {16, 64})
            for (const uint64_t seed : {uint64_t{0}, uint64_t{7}}) {
                Case which = make_case(CK_OP_W4A8_REQUANT, [&](Args& all) {
                    all.w4a8_requant.dtype = CK_F32;
                    all.w4a8_requant.n = n;
                    all.w4a8_requant.k = k;
                    all.w4a8_requant.group = group;
                    all.w4a8_requant.seed = seed;
                    all.w4a8_requant.codebook = static_cast<const float*>(at_alignment(4));
                });
                which.given["weight"] = to_bytes(weight);
                which.given["codebook"] = to_bytes(codebook);
                check(which);
            }
    }
}

// The same for the final codes. The first group of each row has the levels themselves, which makes s_channel
// factor / 128; the other weights are halves of it some ulps aside, as the middles of scaled levels are. None
// are exactly there: one of those would have its whole wave computed exactly.
TEST_CASE("w4a8_requant beside the middles of scaled levels", "[edges][w4a8_requant]") {
    const std::vector<float> units = {-127, -110, -92, -75, -58, -42, -25, -8,
                                      8,    25,   42,  58,  75,  92,  110, 127};
    std::vector<float> codebook;
    for (const float unit : units) codebook.push_back(unit / 128);
    const auto n = static_cast<size_t>(suite().full ? 32 : 4);
    const size_t k = 768;
    Random random(suite().seed);
    for (const float factor : {1.0f, 1.5f, 1.75f}) {
        std::vector<float> weight(n * k);
        int64_t most = 1;
        for (size_t i = 0; i < weight.size(); ++i) {
            if (i % k < 16) {
                weight[i] = codebook[i % k] * factor;
                continue;
            }
            if (i % 16 == 0) most = random.one_in(4) ? 16 : 200;
            float value = static_cast<float>(random.between(-most, most)) * factor / 256;
            const float towards = random.one_in(2) ? HUGE_VALF : -HUGE_VALF;
            for (int64_t steps = random.between(1, 3); steps != 0; --steps)
                value = std::nextafterf(value, towards);
            weight[i] = value;
        }
        for (const ck_dtype s_rel_dtype : {CK_F8_E4M3, CK_F32}) {
            Case which = make_case(CK_OP_W4A8_REQUANT, [&](Args& all) {
                all.w4a8_requant.dtype = CK_F32;
                all.w4a8_requant.n = static_cast<int64_t>(n);
                all.w4a8_requant.k = static_cast<int64_t>(k);
                all.w4a8_requant.group = 16;
                all.w4a8_requant.s_rel_dtype = s_rel_dtype;
                all.w4a8_requant.codebook = static_cast<const float*>(at_alignment(4));
            });
            which.given["weight"] = to_bytes(weight);
            which.given["codebook"] = to_bytes(codebook);
            const Outcome outcome = check(which);
            if (outcome.ok()) CHECK(to_floats(outcome.outputs.at("s_channel"), CK_F32)[0] == factor / 128);
        }
    }
}

// The same for the rounding of a row: values on, and ulps beside, the middle of two integers.
TEST_CASE("int8_quantize of every fill on rows of several waves", "[edges][int8_quantize]") {
    for (int fill = 0; fill < kFillCount; ++fill)
        for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16})
            for (const int32_t rotate_group : {0, 64, 256})
                check(make_case(
                    CK_OP_INT8_QUANTIZE,
                    [&](Args& all) {
                        all.int8_quantize.dtype = dtype;
                        all.int8_quantize.rows = 7;
                        all.int8_quantize.k = 768;
                        all.int8_quantize.rotate_group = rotate_group;
                    },
                    static_cast<Fill>(fill)));
}

// Many rows take other kernels than few: widths around what a wave and a workgroup of them hold.
TEST_CASE("int8_quantize of many rows", "[edges][int8_quantize]") {
    const ck_dtype dtypes[] = {CK_BF16, CK_F16, CK_F32};
    int turn = 0;
    for (const int64_t k : {256, 272, 1520, 1536, 1552, 3072, 3088, 6400})
        for (const int32_t rotate_group : {0, 16, 256}) {
            if (rotate_group != 0 && k % rotate_group != 0) continue;
            check(make_case(
                CK_OP_INT8_QUANTIZE,
                [&](Args& all) {
                    all.int8_quantize.dtype = dtypes[turn % 3];
                    all.int8_quantize.rows = 521;
                    all.int8_quantize.k = k;
                    all.int8_quantize.ldx = k + turn % 2 * 16;
                    all.int8_quantize.ldq = k + turn % 2 * 16;
                    all.int8_quantize.rotate_group = rotate_group;
                },
                static_cast<Fill>(turn % kFillCount)));
            ++turn;
        }
}

TEST_CASE("w4a8 operators with zero extents",
          "[edges][w4a8_requant][w4a8_dequant][w4a8_choose_codebook][w4a8_linear]") {
    for (const int64_t n : {0, 3})
        for (const int64_t k : {0, 32}) {
            for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_UNIFORM, CK_W4A8_ASYMMETRIC}) {
                check(make_case(CK_OP_W4A8_REQUANT, [&](Args& all) {
                    all.w4a8_requant.dtype = CK_BF16;
                    all.w4a8_requant.n = n;
                    all.w4a8_requant.k = k;
                    all.w4a8_requant.group = 16;
                    all.w4a8_requant.layout = layout;
                    all.w4a8_requant.nonfinite = static_cast<uint64_t*>(at_alignment(1));
                }));
                check(make_case(CK_OP_W4A8_LINEAR, [&](Args& all) {
                    all.w4a8_linear.x_dtype = CK_BF16;
                    all.w4a8_linear.out_dtype = CK_F32;
                    all.w4a8_linear.m = 2;
                    all.w4a8_linear.n = n;
                    all.w4a8_linear.k = k;
                    all.w4a8_linear.group = 16;
                    all.w4a8_linear.layout = layout;
                    if (layout == CK_W4A8_ASYMMETRIC) all.w4a8_linear.correction_dtype = CK_F32;
                    all.w4a8_linear.bias_dtype = CK_F32;
                    all.w4a8_linear.bias = at_alignment(4);
                }));
            }
            check(make_case(CK_OP_W4A8_DEQUANT, [&](Args& all) {
                all.w4a8_dequant.out_dtype = CK_F16;
                all.w4a8_dequant.n = n;
                all.w4a8_dequant.k = k;
                all.w4a8_dequant.group = 16;
            }));
            check(make_case(CK_OP_W4A8_CHOOSE_CODEBOOK, [&](Args& all) {
                all.w4a8_choose_codebook.dtype = CK_F32;
                all.w4a8_choose_codebook.n = n;
                all.w4a8_choose_codebook.k = k;
                all.w4a8_choose_codebook.group = 16;
            }));
        }
    for (const int64_t k : {0, 16})
        check(make_case(CK_OP_INT8_LINEAR, [&](Args& all) {
            all.int8_linear.x_dtype = CK_BF16;
            all.int8_linear.out_dtype = CK_F32;
            all.int8_linear.m = k == 0 ? 3 : 0;
            all.int8_linear.n = 5;
            all.int8_linear.k = k;
        }));
}

// Rows and columns beside the tiles of matrix units, groups that a step of K has few and many of, K that
// takes a part of a step, several steps, or more than local memory holds. Everything is aligned, so that no
// kernel is left out.
TEST_CASE("w4a8_linear of few rows", "[edges][w4a8_linear]") {
    struct Sizes {
        int64_t m;
        int64_t n;
        int64_t k;
        int64_t group;
        bool full;
    };
    constexpr Sizes kSizes[] = {
        {1, 37, 256, 16, false},   {2, 16, 16, 16, false},     {3, 15, 48, 16, false},
        {5, 100, 1280, 16, false}, {8, 65, 512, 64, false},    {9, 50, 1088, 64, false},
        {16, 48, 416, 32, false},  {17, 33, 2304, 16, false},  {32, 20, 1024, 32, false},
        {40, 20, 256, 128, false}, {64, 17, 4096, 16, false},  {8, 34001, 512, 16, true},
        {7, 259, 21504, 16, true}, {64, 2200, 2560, 16, true},
    };
    constexpr ck_dtype kOutputs[] = {CK_BF16, CK_F16, CK_F32};
    int turn = 0;
    for (const Sizes& sizes : kSizes)
        for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_UNIFORM, CK_W4A8_ASYMMETRIC}) {
            if (sizes.full && !suite().full) continue;
            const Case which = make_case(CK_OP_W4A8_LINEAR, [&](Args& all) {
                ck_w4a8_linear_args& args = all.w4a8_linear;
                args.x_dtype = CK_BF16;
                args.out_dtype = kOutputs[turn++ % 3];
                args.m = sizes.m;
                args.n = sizes.n;
                args.k = sizes.k;
                args.group = static_cast<int32_t>(sizes.group);
                args.layout = layout;
                args.ld_packed = (sizes.k / 2 + 15) / 16 * 16;
                args.ld_s_rel = (sizes.k / sizes.group + 15) / 16 * 16;
                if (layout == CK_W4A8_ASYMMETRIC) args.correction_dtype = CK_BF16;
                if (turn % 2 == 0) {
                    args.bias_dtype = CK_BF16;
                    args.bias = at_alignment(256);
                }
            });
            if (device().is_simulated() && cost(which.problem) > 2e8)
                skip("too long for a simulator");
            else
                check(which);
        }
}

// A weight that a backend does not decode at once: its columns take turns in the workspace.
TEST_CASE("w4a8_linear with a weight of many megabytes", "[edges][w4a8_linear][full]") {
    for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_ASYMMETRIC})
        check(make_case(CK_OP_W4A8_LINEAR, [&](Args& all) {
            all.w4a8_linear.x_dtype = CK_F16;
            all.w4a8_linear.out_dtype = CK_BF16;
            all.w4a8_linear.m = 2;
            all.w4a8_linear.n = 259;
            all.w4a8_linear.k = 131056;
            all.w4a8_linear.group = 16;
            all.w4a8_linear.layout = layout;
            if (layout == CK_W4A8_ASYMMETRIC) all.w4a8_linear.correction_dtype = CK_F16;
            all.w4a8_linear.bias_dtype = CK_F32;
            all.w4a8_linear.bias = at_alignment(4);
        }));
}

// The fit looks at no more than 4194304 / k rows, evenly spread: more rows than that, and heavy tails, for
// which the default levels are not taken.
TEST_CASE("w4a8_choose_codebook samples rows of a tall weight", "[edges][w4a8_choose_codebook][full]") {
    for (const int64_t n : {70000, 65536, 65537})
        check(make_case(
            CK_OP_W4A8_CHOOSE_CODEBOOK,
            [&](Args& all) {
                all.w4a8_choose_codebook.dtype = CK_BF16;
                all.w4a8_choose_codebook.n = n;
                all.w4a8_choose_codebook.k = 64;
                all.w4a8_choose_codebook.group = 16;
            },
            n == 65536 ? Fill::kExtreme : Fill::kNormal));
}

}  // namespace
}  // namespace ckitchen::conformance

// Matrix instructions: operands are placed by AMD's published layout formulas, products are computed in plain
// integers. Values are small integers, exact in every format and in every order of summation.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "wave_fixture.hpp"
#include "wmma_math.hpp"

using namespace gfxsim_test;
using u32 = uint32_t;

namespace {

struct Place {
    int reg, lane, bit;
};

/// A[i][k]; B[k][j] lies the same way with j for i.
Place operand_place(bool gfx12, int width, int depth, int i, int k) {
    const int per = 32 / width;
    if (!gfx12) return {k / per, i, width * (k % per)};
    if (width == 16) return {2 * (k / 8) + k / 2 % 2, 16 * (k / 4 % 2) + i, 16 * (k % 2)};
    if (width == 8) return {k / 4 % 2, 16 * (k / 8) + i, 8 * (k % 4)};
    if (depth == 16) return {0, 16 * (k / 8) + i, 4 * (k % 8)};
    return {k / 8 % 2, 16 * (k / 16) + i, 4 * (k % 8)};
}

Place result_place(bool gfx12, int i, int j) {
    return gfx12 ? Place{i % 8, 16 * (i / 8) + j, 0} : Place{i / 2, 16 * (i % 2) + j, 0};
}

u32 f16_bits(int v) {
    if (v == 0) return 0;
    const u32 b = std::bit_cast<u32>(static_cast<float>(v));
    return (b >> 16 & 0x8000) | ((b >> 23 & 255) - 112) << 10 | (b >> 13 & 1023);
}
u32 bf16_bits(int v) {
    return std::bit_cast<u32>(static_cast<float>(v)) >> 16;
}
/// Integers up to 15 fit E4M3 exactly, up to 7 (and 8) E5M2.
u32 fp8_bits(int v) {
    if (v == 0) return 0;
    const u32 b = std::bit_cast<u32>(static_cast<float>(v));
    return (b >> 24 & 128) | ((b >> 23 & 255) - 120) << 3 | (b >> 20 & 7);
}
u32 bf8_bits(int v) {
    if (v == 0) return 0;
    const u32 b = std::bit_cast<u32>(static_cast<float>(v));
    return (b >> 24 & 128) | ((b >> 23 & 255) - 112) << 2 | (b >> 21 & 3);
}

struct Format {
    int width;
    int low, high;  // values to draw
    u32 (*encode)(int);
};
u32 plain(int v) {
    return static_cast<u32>(v);
}
const Format kF16{16, -15, 15, f16_bits}, kBf16{16, -15, 15, bf16_bits}, kFp8{8, -15, 15, fp8_bits},
    kBf8{8, -7, 7, bf8_bits}, kI8{8, -128, 127, plain}, kU8{8, 0, 255, plain}, kI4{4, -8, 7, plain},
    kU4{4, 0, 15, plain};

struct Matrices {
    int a[16][32], b[32][16], c[16][16];
};

/// Fills v16.. with A, v32.. with B and returns the values.
void place(WaveFixture& m, Matrices& x, const Format& fa, const Format& fb, int depth, Random& random) {
    const bool gfx12 = m.target_.generation == Generation::kGfx12;
    for (int r = 0; r < 16; ++r) {
        m.wave.v[16 + r].fill(0);
        m.wave.v[32 + r].fill(0);
    }
    const auto draw = [&](const Format& f) {
        return f.low + static_cast<int>(random.next() % static_cast<u32>(f.high - f.low + 1));
    };
    const auto put = [&](int base, const Format& f, int i, int k, int value) {
        const Place p = operand_place(gfx12, f.width, depth, i, k);
        const u32 bits = (f.encode(value) & (f.width == 16 ? 0xffffu : (1u << f.width) - 1)) << p.bit;
        m.wave.v[base + p.reg][p.lane] |= bits;
        if (!gfx12) m.wave.v[base + p.reg][p.lane + 16] |= bits;
    };
    for (int i = 0; i < 16; ++i)
        for (int k = 0; k < depth; ++k) {
            put(16, fa, i, k, x.a[i][k] = draw(fa));
            put(32, fb, i, k, x.b[k][i] = draw(fb));
        }
    for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 16; ++j) x.c[i][j] = static_cast<int>(random.next() % 2001) - 1000;
}

int product(const Matrices& x, int depth, int i, int j) {
    int sum = x.c[i][j];
    for (int k = 0; k < depth; ++k) sum += x.a[i][k] * x.b[k][j];
    return sum;
}

std::string registers(int base, int count) {
    return count == 1 ? "v" + std::to_string(base)
                      : "v[" + std::to_string(base) + ":" + std::to_string(base + count - 1) + "]";
}

}  // namespace

TEST_CASE("matrix layouts with 32-bit accumulators", "[wmma]") {
    struct Case {
        const char* name;
        Format a, b;
        int depth;
        const char* modifiers;
        bool integer, gfx12_only;
    };
    const Case cases[] = {
        {"v_wmma_i32_16x16x16_iu8", kI8, kI8, 16, " neg_lo:[1,1,0]", true, false},
        {"v_wmma_i32_16x16x16_iu8", kU8, kI8, 16, " neg_lo:[0,1,0]", true, false},
        {"v_wmma_i32_16x16x16_iu8", kI8, kU8, 16, " neg_lo:[1,0,0]", true, false},
        {"v_wmma_i32_16x16x16_iu8", kU8, kU8, 16, "", true, false},
        {"v_wmma_i32_16x16x16_iu4", kI4, kI4, 16, " neg_lo:[1,1,0]", true, false},
        {"v_wmma_i32_16x16x16_iu4", kU4, kI4, 16, " neg_lo:[0,1,0]", true, false},
        {"v_wmma_i32_16x16x32_iu4", kI4, kU4, 32, " neg_lo:[1,0,0]", true, true},
        {"v_wmma_f32_16x16x16_f16", kF16, kF16, 16, "", false, false},
        {"v_wmma_f32_16x16x16_bf16", kBf16, kBf16, 16, "", false, false},
        {"v_wmma_f32_16x16x16_fp8_fp8", kFp8, kFp8, 16, "", false, true},
        {"v_wmma_f32_16x16x16_fp8_bf8", kFp8, kBf8, 16, "", false, true},
        {"v_wmma_f32_16x16x16_bf8_fp8", kBf8, kFp8, 16, "", false, true},
        {"v_wmma_f32_16x16x16_bf8_bf8", kBf8, kBf8, 16, "", false, true},
    };
    Random random;
    for (const char* target : {"gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201"}) {
        const bool gfx12 = target[4] == '2';
        for (const Case& c : cases) {
            if (c.gfx12_only && !gfx12) continue;
            INFO(target << " " << c.name << c.modifiers);
            const int words = c.depth * c.a.width / 32 / (gfx12 ? 2 : 1);
            const std::string text =
                std::string(c.name) + " v[0:7], " + registers(16, words) + ", " + registers(32, words);
            for (const bool constant : {false, true}) {
                WaveFixture m(target);
                Matrices x;
                place(m, x, c.a, c.b, c.depth, random);
                for (int i = 0; i < 16; ++i)
                    for (int j = 0; j < 16; ++j) {
                        if (constant) x.c[i][j] = 1;
                        const Place p = result_place(gfx12, i, j);
                        m.wave.v[p.reg][p.lane] = c.integer
                                                      ? static_cast<u32>(x.c[i][j])
                                                      : std::bit_cast<u32>(static_cast<float>(x.c[i][j]));
                    }
                m.run(text + ", " + (constant ? c.integer ? "1" : "1.0" : "v[0:7]") + c.modifiers);
                for (int i = 0; i < 16; ++i)
                    for (int j = 0; j < 16; ++j) {
                        const Place p = result_place(gfx12, i, j);
                        const u32 got = m.wave.v[p.reg][p.lane];
                        const int want = product(x, c.depth, i, j);
                        REQUIRE(got == (c.integer ? static_cast<u32>(want)
                                                  : std::bit_cast<u32>(static_cast<float>(want))));
                    }
            }
        }
    }
}

TEST_CASE("matrix layouts with 16-bit accumulators", "[wmma]") {
    Random random;
    for (const char* target : {"gfx1100", "gfx1151", "gfx1201"})
        for (const bool bf16 : {false, true})
            for (const bool high : {false, true}) {
                const bool gfx12 = target[4] == '2';
                if (gfx12 && high) continue;  // no half to pick: rows are packed
                INFO(target << " bf16 " << bf16 << " high " << high);
                // Products up to 15 stay exact in bfloat16's 8 bits.
                Format f = bf16 ? kBf16 : kF16;
                f.low = bf16 ? -2 : -5;
                f.high = bf16 ? 2 : 5;
                WaveFixture m(target);
                Matrices x;
                place(m, x, f, f, 16, random);
                const auto accumulator = [&](int i, int j) -> Place {
                    if (gfx12) return {i / 2 % 4, 16 * (i / 8) + j, 16 * (i % 2)};
                    return {i / 2, 16 * (i % 2) + j, high ? 16 : 0};
                };
                for (int r = 0; r < 8; ++r) m.wave.v[r].fill(0x55aa55aa);
                for (int i = 0; i < 16; ++i)
                    for (int j = 0; j < 16; ++j) {
                        x.c[i][j] = x.c[i][j] % 50;
                        const Place p = accumulator(i, j);
                        u32& w = m.wave.v[p.reg][p.lane];
                        w = (w & ~(0xffffu << p.bit)) | f.encode(x.c[i][j]) << p.bit;
                    }
                const std::string name = bf16 ? "v_wmma_bf16_16x16x16_bf16" : "v_wmma_f16_16x16x16_f16";
                const int words = gfx12 ? 4 : 8, c_words = gfx12 ? 4 : 8;
                m.run(name + " " + registers(0, c_words) + ", " + registers(16, words) + ", " +
                      registers(32, words) + ", " + registers(0, c_words) + (high ? " op_sel:[0,0,1]" : ""));
                for (int i = 0; i < 16; ++i)
                    for (int j = 0; j < 16; ++j) {
                        const Place p = accumulator(i, j);
                        REQUIRE((m.wave.v[p.reg][p.lane] >> p.bit & 0xffff) ==
                                f.encode(product(x, 16, i, j)));
                        if (!gfx12) REQUIRE((m.wave.v[p.reg][p.lane] >> (16 - p.bit) & 0xffff) == 0x55aa);
                    }
            }
}

TEST_CASE("matrix clamp saturates", "[wmma]") {
    for (const char* target : {"gfx1100", "gfx1201"})
        for (const bool clamp : {false, true}) {
            WaveFixture m(target);
            for (int r = 0; r < 8; ++r) {
                m.wave.v[r].fill(0x7fffff00);
                m.wave.v[16 + r].fill(0x7f7f7f7f);
                m.wave.v[32 + r].fill(0x7f7f7f7f);
            }
            const bool gfx12 = target[4] == '2';
            m.run("v_wmma_i32_16x16x16_iu8 v[0:7], " + registers(16, gfx12 ? 2 : 4) + ", " +
                  registers(32, gfx12 ? 2 : 4) + ", v[0:7] neg_lo:[1,1,0]" + (clamp ? " clamp" : ""));
            CHECK(m.wave.v[3][17] == (clamp ? 0x7fffffffu : 0x7fffff00u + 16 * 127 * 127));
        }
}

TEST_CASE("gfx11 asserts the repeated half", "[wmma]") {
    for (const int base : {16, 32}) {
        WaveFixture m("gfx1100");
        m.wave.v[base + 2][21] = 1;
        CHECK_THROWS_AS(m.run("v_wmma_i32_16x16x16_iu8 v[0:7], v[16:19], v[32:35], v[0:7]"), Fault);
    }
    WaveFixture m("gfx1201");
    m.wave.v[16][21] = 1;
    CHECK_NOTHROW(m.run("v_wmma_i32_16x16x16_iu8 v[0:7], v[16:17], v[32:33], v[0:7]"));
    m.wave.s[kExecLo] = 0xfffffffe;
    CHECK_THROWS_AS(m.run("v_wmma_i32_16x16x16_iu8 v[0:7], v[16:17], v[32:33], v[0:7]"), Fault);
}

TEST_CASE("a result may lie over A or B", "[wmma]") {
    Random random;
    const HostVectors found = host_vectors();
    for (const HostVectors way : {HostVectors::kBaseline, found})
        for (const auto& [name, words] : {std::pair<const char*, int>{"v_wmma_i32_16x16x16_iu8", 2},
                                          {"v_wmma_i32_16x16x16_iu4", 1},
                                          {"v_wmma_f32_16x16x16_f16", 4},
                                          {"v_wmma_f32_16x16x16_bf16", 4},
                                          {"v_wmma_f32_16x16x16_fp8_fp8", 2}}) {
            INFO(name);
            host_vectors() = way;
            const std::string operands =
                ", " + registers(16, words) + ", " + registers(32, words) + ", v[0:7]";
            WaveFixture apart("gfx1201");
            for (int r = 0; r < 48; ++r)
                for (u32& v : apart.wave.v[r]) v = random.next() & 0xb7b7b7b7;  // no infinity, no NaN
            for (const int base : {16, 32}) {
                WaveFixture over("gfx1201");
                over.wave.v = apart.wave.v;
                over.run(name + (" " + registers(base, 8)) + operands);
                apart.run(name + (" " + registers(40, 8)) + operands);
                for (int r = 0; r < 8; ++r) CHECK(over.wave.v[base + r] == apart.wave.v[40 + r]);
            }
        }
    host_vectors() = found;
}

TEST_CASE("both ways to multiply integers agree", "[wmma]") {
    if (host_vectors() == HostVectors::kBaseline) {
        WARN("the host has no AVX-512: one way only");
        return;
    }
    Random random;
    for (const char* target : {"gfx1100", "gfx1201"}) {
        const bool gfx12 = std::string(target) == "gfx1201";
        for (const auto& [name, dwords] : {std::pair{"v_wmma_i32_16x16x16_iu8", 4},
                                           {"v_wmma_i32_16x16x16_iu4", 2},
                                           {"v_wmma_i32_16x16x32_iu4", 4}}) {
            if (!gfx12 && std::string(name).find("x32_") != std::string::npos) continue;
            for (const char* signs : {"", " neg_lo:[1,0,0]", " neg_lo:[0,1,0]", " neg_lo:[1,1,0]"})
                for (const char* clamp : {"", " clamp"}) {
                    const int words = gfx12 ? dwords / 2 : dwords;
                    const auto range = [&](int first) {
                        return words == 1 ? "v" + std::to_string(first)
                                          : "v[" + std::to_string(first) + ":" +
                                                std::to_string(first + words - 1) + "]";
                    };
                    const std::string text = std::string(name) + " v[0:7], " + range(16) + ", " + range(32) +
                                             ", v[0:7]" + signs + clamp;
                    INFO(target << " " << text);
                    const std::vector<uint8_t> code = assemble(target, {text})[0];
                    WaveFixture one(target);
                    for (int round = 0; round < 20; ++round) {
                        for (int r = 0; r < 40; ++r)
                            for (int l = 0; l < kLanes; ++l) {
                                u32 v = random.next();
                                // The ends of the range, which overflow first.
                                if (round % 4 == 1) v = v & 1 ? 0x80808080 : 0x7f7f7f7f;
                                if (round % 4 == 2) v = v & 1 ? 0xffffffff : 0;
                                if (r >= 16 && !gfx12 && l >= 16) v = one.wave.v[r][l - 16];
                                one.wave.v[r][l] = v;
                            }
                        WaveFixture two(target);
                        two.wave.v = one.wave.v;
                        one.run(code);
                        host_vectors() = HostVectors::kBaseline;
                        two.run(code);
                        host_vectors() = HostVectors::kAvx512;
                        CHECK(one.wave.v == two.wave.v);
                    }
                }
        }
    }
}

TEST_CASE("both ways to multiply floats agree", "[wmma]") {
    if (host_vectors() == HostVectors::kBaseline) {
        WARN("the host has no AVX-512: one way only");
        return;
    }
    Random random;
    for (const char* name :
         {"v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16", "v_wmma_f16_16x16x16_f16"}) {
        INFO(name);
        const int words = std::string(name).find("_f16_16x") != std::string::npos ? 4 : 8;
        const std::vector<uint8_t> code =
            assemble("gfx1201", {std::string(name) + " " + registers(0, words) + ", v[16:19], v[32:35], " +
                                 registers(0, words)})[0];
        WaveFixture one("gfx1201");
        for (int round = 0; round < 20; ++round) {
            for (int r = 0; r < 40; ++r)
                for (int l = 0; l < kLanes; ++l) one.wave.v[r][l] = random.next();
            // Rounds without infinities and NaN in A and B.
            if (round % 2)
                for (int r = 16; r < 40; ++r)
                    for (u32& v : one.wave.v[r]) v &= 0xbfffbfff;
            WaveFixture two("gfx1201");
            two.wave.v = one.wave.v;
            one.run(code);
            host_vectors() = HostVectors::kBaseline;
            two.run(code);
            host_vectors() = HostVectors::kAvx512;
            for (int r = 0; r < words; ++r)
                for (int l = 0; l < kLanes; ++l) {
                    const u32 x = one.wave.v[r][l], y = two.wave.v[r][l];
                    // Payloads of NaN are nobody's promise.
                    const auto same16 = [](u32 p, u32 q) {
                        const auto nan = [](u32 h) { return (h & 0x7fff) > 0x7c00; };
                        return (p & 0xffff) == (q & 0xffff) || (nan(p) && nan(q));
                    };
                    const bool both_nan =
                        std::isnan(std::bit_cast<float>(x)) && std::isnan(std::bit_cast<float>(y));
                    CHECK((words == 8 ? x == y || both_nan : same16(x, y) && same16(x >> 16, y >> 16)));
                }
        }
    }
}

TEST_CASE("sparse matrix products", "[wmma]") {
    struct Case {
        const char* name;
        Format a, b;
        int depth;
        const char* modifiers;
        enum { kI32, kF32, kF16Result, kBf16Result } result;
    };
    const Case cases[] = {
        {"v_swmmac_i32_16x16x32_iu8", kI8, kI8, 32, " neg_lo:[1,1,0]", Case::kI32},
        {"v_swmmac_i32_16x16x32_iu8", kU8, kI8, 32, " neg_lo:[0,1,0]", Case::kI32},
        {"v_swmmac_i32_16x16x32_iu8", kU8, kU8, 32, "", Case::kI32},
        {"v_swmmac_i32_16x16x32_iu4", kI4, kU4, 32, " neg_lo:[1,0,0]", Case::kI32},
        {"v_swmmac_i32_16x16x64_iu4", kI4, kI4, 64, " neg_lo:[1,1,0]", Case::kI32},
        {"v_swmmac_f32_16x16x32_f16", kF16, kF16, 32, "", Case::kF32},
        {"v_swmmac_f32_16x16x32_bf16", kBf16, kBf16, 32, "", Case::kF32},
        {"v_swmmac_f16_16x16x32_f16", kF16, kF16, 32, "", Case::kF16Result},
        {"v_swmmac_bf16_16x16x32_bf16", kBf16, kBf16, 32, "", Case::kBf16Result},
        {"v_swmmac_f32_16x16x32_fp8_fp8", kFp8, kFp8, 32, "", Case::kF32},
        {"v_swmmac_f32_16x16x32_fp8_bf8", kFp8, kBf8, 32, "", Case::kF32},
        {"v_swmmac_f32_16x16x32_bf8_fp8", kBf8, kFp8, 32, "", Case::kF32},
        {"v_swmmac_f32_16x16x32_bf8_bf8", kBf8, kBf8, 32, "", Case::kF32},
    };
    Random random;
    for (const char* target : {"gfx1200", "gfx1201"})
        for (const Case& c : cases)
            for (const int key : {0, 1}) {
                if (key && c.depth == 64) continue;  // 32 bits of index: no halves to pick from
                INFO(target << " " << c.name << c.modifiers << " key " << key);
                const bool narrow = c.result == Case::kF16Result || c.result == Case::kBf16Result;
                const int width = c.a.width, words = c.depth / 2 * width / 32 / 2,
                          result_words = narrow ? 4 : 8;
                // Sums that 16-bit results hold exactly.
                const int limit = c.result == Case::kBf16Result ? 1 : narrow ? 4 : 0;
                WaveFixture m(target);
                for (int r = 0; r < 60; ++r) m.wave.v[r].fill(0);
                int a[16][64] = {}, b[64][16], d[16][16];
                const auto draw = [&](const Format& f) {
                    const int low = limit ? -limit : f.low, high = limit ? limit : f.high;
                    return low + static_cast<int>(random.next() % static_cast<u32>(high - low + 1));
                };
                const auto put = [&](int reg, int lane, int bit, const Format& f, int value) {
                    m.wave.v[reg][lane] |= (f.encode(value) & (width == 16 ? 0xffffu : (1u << width) - 1))
                                           << bit;
                };
                const int per = 32 / width, half = c.depth / 2;
                for (int k = 0; k < c.depth; ++k)
                    for (int j = 0; j < 16; ++j)
                        put(32 + k % half / per, 16 * (k / half) + j, width * (k % per), c.b,
                            b[k][j] = draw(c.b));
                for (int i = 0; i < 16; ++i)
                    for (int group = 0; group < c.depth / 4; ++group) {
                        // Now and then both elements name one position: their products add up.
                        const u32 p0 = random.next() % 4, p1 = random.next() % 4;
                        const int in_half = group % (half / 4), lane = 16 * (group / (half / 4)) + i;
                        const int shift = c.depth == 64 ? 4 * in_half : 4 * in_half + 16 * key;
                        m.wave.v[48][lane] |= (p0 | p1 << 2) << shift;
                        for (int e = 0; e < 2; ++e) {
                            const int value = draw(c.a), n = 2 * in_half + e;
                            a[i][4 * group + static_cast<int>(e ? p1 : p0)] += value;
                            put(16 + n / per, lane, width * (n % per), c.a, value);
                        }
                    }
                const auto at = [&](int i, int j) -> Place {
                    if (narrow) return {i / 2 % 4, 16 * (i / 8) + j, 16 * (i % 2)};
                    return result_place(true, i, j);
                };
                const auto encode = [&](int v) {
                    return c.result == Case::kI32         ? static_cast<u32>(v)
                           : c.result == Case::kF32       ? std::bit_cast<u32>(static_cast<float>(v))
                           : c.result == Case::kF16Result ? f16_bits(v)
                                                          : bf16_bits(v);
                };
                for (int i = 0; i < 16; ++i)
                    for (int j = 0; j < 16; ++j) {
                        d[i][j] = static_cast<int>(random.next() % 21) - 10;
                        const Place p = at(i, j);
                        m.wave.v[p.reg][p.lane] |= encode(d[i][j]) << p.bit;
                        for (int k = 0; k < c.depth; ++k) d[i][j] += a[i][k] * b[k][j];
                    }
                m.run(std::string(c.name) + " " + registers(0, result_words) + ", " + registers(16, words) +
                      ", " + registers(32, 2 * words) + ", v48" + (key ? " index_key:1" : "") + c.modifiers);
                for (int i = 0; i < 16; ++i)
                    for (int j = 0; j < 16; ++j) {
                        const Place p = at(i, j);
                        const u32 mask = narrow ? 0xffffu : ~0u;
                        REQUIRE((m.wave.v[p.reg][p.lane] >> p.bit & mask) == encode(d[i][j]));
                    }
            }
    // Clamp saturates the whole sum.
    WaveFixture m("gfx1201");
    for (int r = 0; r < 40; ++r) m.wave.v[r].fill(r < 8 ? 0x7fffff00 : 0x7f7f7f7f);
    m.wave.v[48].fill(0x4444);
    m.run("v_swmmac_i32_16x16x32_iu8 v[0:7], v[16:17], v[32:35], v48 neg_lo:[1,1,0] clamp");
    CHECK(m.wave.v[3][17] == 0x7fffffff);
}

// Rounding and denormals by the MODE register, one mode for float32 and another for float16 and float64.
#include <cfenv>

#include "rows.hpp"

using namespace gfxsim_test;

namespace {

// Host directions of the GPU's codes: nearest even, up, down, towards zero.
const int kDirections[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

struct Direction {
    explicit Direction(u32 code) { std::fesetround(kDirections[code]); }
    ~Direction() { std::fesetround(FE_TONEAREST); }
};

u64 pair(const WaveFixture& m, int reg, int lane) {
    return u64{m.wave.v[reg + 1][lane]} << 32 | m.wave.v[reg][lane];
}

/// A half by search: the neighbour of `v` in the direction.
u32 half_rounded(double v, u32 code) {
    if (std::isnan(v)) return 0x7e00;
    const u32 sign = std::signbit(v) ? 0x8000 : 0;
    const double a = std::fabs(v);
    if (std::isinf(a)) return sign | 0x7c00;
    u32 below = 0;
    for (u32 step = 0x4000; step; step /= 2)
        if (below + step <= 0x7bff && half(below + step) <= a) below += step;
    if (half(below) == a) return sign | below;
    const bool away = code == 1 ? !sign : code == 2 ? sign != 0 : false;
    if (code) return sign | (away ? below + 1 : below);
    return nearest_half(v);
}

}  // namespace

TEST_CASE("rounding of float32 and of float16 and float64", "[mode]") {
    Random random;
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"}) {
        const bool halves = std::string(target) != "gfx1030";
        const auto code = assemble(
            target,
            {"v_add_f32 v10, v1, v2\nv_mul_f32 v11, v1, v2\nv_fma_f32 v12, v1, v2, v3\nv_cvt_f32_u32 v13, "
             "v4\n"
             "v_rndne_f32 v14, v1\n"
             "v_add_f64 v[16:17], v[4:5], v[6:7]\nv_mul_f64 v[18:19], v[4:5], v[6:7]\nv_cvt_f32_f64 v20, "
             "v[4:5]\n" +
             std::string(halves ? "v_add_f16 v21.l, v8.l, v9.l\nv_mul_f16 v22.l, v8.l, v9.l\n"
                                  "v_fma_f16 v23.l, v8.l, v9.l, v3.l\nv_cvt_f16_f32 v24.l, v1"
                                : "v_add_f16 v21, v8, v9\nv_mul_f16 v22, v8, v9\nv_fma_f16 v23, v8, v9, v3\n"
                                  "v_cvt_f16_f32 v24, v1")})[0];
        for (u32 single = 0; single < 4; ++single)
            for (u32 wide = 0; wide < 4; ++wide) {
                INFO(target << " rounding " << single << " and " << wide);
                WaveFixture m(target);
                m.wave.mode = 0xf0 | single | wide << 2;
                for (int l = 0; l < kLanes; ++l) {
                    for (const int r : {1, 2, 3})
                        m.wave.v[r][l] = b(std::ldexp(static_cast<float>(static_cast<i32>(random.next())),
                                                      -static_cast<int>(20 + random.next() % 20)));
                    for (const int r : {4, 6}) {
                        const u64 v = std::bit_cast<u64>(std::ldexp(
                            static_cast<double>(static_cast<i64>(u64{random.next()} << 32 | random.next())),
                            -60));
                        m.wave.v[r][l] = static_cast<u32>(v);
                        m.wave.v[r + 1][l] = static_cast<u32>(v >> 32);
                    }
                    for (const int r : {8, 9})
                        m.wave.v[r][l] = random.next() & 0xbfff;  // finite, overflow happens
                }
                m.run(code);
                const auto& v = m.wave.v;
                for (int l = 0; l < kLanes; ++l) {
                    {
                        const Direction d(single);
                        volatile float x = f(v[1][l]), y = f(v[2][l]), z = f(v[3][l]);
                        volatile float sum = x + y, product = x * y, fused = std::fmaf(x, y, z);
                        volatile float integer = static_cast<float>(v[4][l]);
                        CHECK(v[10][l] == b(sum));
                        CHECK(v[11][l] == b(product));
                        CHECK(v[12][l] == b(fused));
                        CHECK(v[13][l] == b(integer));
                        volatile float narrow = static_cast<float>(std::bit_cast<double>(pair(m, 4, l)));
                        CHECK(v[20][l] == b(narrow));
                    }
                    CHECK(v[14][l] == b(std::nearbyintf(f(v[1][l]))));  // to nearest even in every mode
                    {
                        const Direction d(wide);
                        volatile double x = std::bit_cast<double>(pair(m, 4, l)),
                                        y = std::bit_cast<double>(pair(m, 6, l));
                        volatile double sum = x + y, product = x * y;
                        CHECK(pair(m, 16, l) == std::bit_cast<u64>(double{sum}));
                        CHECK(pair(m, 18, l) == std::bit_cast<u64>(double{product}));
                    }
                    const double p = half(v[8][l] & 0xffff), q = half(v[9][l] & 0xffff);
                    const auto same = [](u32 got, u32 want) {
                        return (got & 0xffff) == want ||
                               (got & 0x7fff) + (want & 0x7fff) == 0;  // signs of zero
                    };
                    CHECK(same(v[21][l], half_rounded(p + q, wide)));
                    CHECK(same(v[22][l], half_rounded(p * q, wide)));
                    CHECK(same(v[24][l], half_rounded(static_cast<double>(f(v[1][l])), wide)));
                }
            }
    }
}

TEST_CASE("denormals of each kind by their own bits", "[mode]") {
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"})
        for (u32 single = 0; single < 4; ++single)
            for (u32 wide = 0; wide < 4; ++wide) {
                INFO(target << " denormals " << single << " and " << wide);
                const bool halves = std::string(target) != "gfx1030";
                WaveFixture m(target);
                m.wave.mode = single << 4 | wide << 6;
                m.wave.v[1].fill(0x00400000);  // a denormal input
                m.wave.v[2].fill(0x00800000);  // the least normal, halved below
                m.wave.v[4].fill(0);
                m.wave.v[5].fill(0x00080000);
                m.wave.v[6].fill(0);
                m.wave.v[7].fill(0x00100000);
                m.wave.v[8].fill(0x0200);
                m.wave.v[9].fill(0x0400);
                m.wave.v[25].fill(0x04000400);
                m.run(
                    "v_mul_f32 v10, 4.0, v1\nv_mul_f32 v11, 0.5, v2\nv_mul_f64 v[12:13], v[4:5], 4.0\n"
                    "v_mul_f64 v[14:15], v[6:7], 0.5\n" +
                    std::string(
                        halves ? "v_mul_f16 v16.l, 4.0, v8.l\nv_mul_f16 v17.l, 0.5, v9.l\n"
                                 "v_cmp_gt_f16 s4, v8.l, 0\n"
                               : "v_mul_f16 v16, 4.0, v8\nv_mul_f16 v17, 0.5, v9\nv_cmp_lt_f16 s4, 0, v8\n") +
                    "v_pk_mul_f16 v18, v25, 0.5 op_sel_hi:[1,0]");
                CHECK(m.wave.v[10][3] == (single & 1 ? 0x01000000u : 0u));
                CHECK(m.wave.v[11][3] == (single & 2 ? 0x00400000u : 0u));
                CHECK(pair(m, 12, 3) == (wide & 1 ? 0x0020000000000000u : 0u));
                CHECK(pair(m, 14, 3) == (wide & 2 ? 0x0008000000000000u : 0u));
                CHECK((m.wave.v[16][3] & 0xffff) == (wide & 1 ? 0x0800u : 0u));
                CHECK((m.wave.v[17][3] & 0xffff) == (wide & 2 ? 0x0200u : 0u));
                CHECK(m.wave.v[18][3] == (wide & 2 ? 0x02000200u : 0u));
                CHECK(m.wave.s[4] == (wide & 1 ? ~0u : 0u));
            }
}

TEST_CASE("matrix products round to nearest even in every mode", "[mode]") {
    Random random;
    std::array<std::array<u32, kLanes>, 8> first{};
    for (u32 mode = 0; mode < 4; ++mode) {
        WaveFixture m("gfx1201");
        m.wave.mode = 0xf0 | mode | mode << 2;
        Random same;
        for (int r = 0; r < 40; ++r)
            for (u32& v : m.wave.v[r]) v = (same.next() & 0x83ff83ff) | 0x34003400;
        m.run("v_wmma_f32_16x16x16_f16 v[0:7], v[16:19], v[32:35], v[0:7]\nv_add_f32 v50, 1.0, v0");
        for (int r = 0; r < 8; ++r) {
            if (mode == 0) first[static_cast<size_t>(r)] = m.wave.v[r];
            CHECK(first[static_cast<size_t>(r)] == m.wave.v[r]);
        }
    }
}

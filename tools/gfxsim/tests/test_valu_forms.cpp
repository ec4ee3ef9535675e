// Vector instructions that compilers seldom emit, against formulas written here, on every generation that has
// them.
#include "rows.hpp"

using namespace gfxsim_test;

namespace {

u32 byte(u32 v, int i) {
    return v >> 8 * i & 255;
}
u32 word(u32 v, int i) {
    return v >> 16 * i & 65535;
}
u32 distance(u32 a, u32 b) {
    return a > b ? a - b : b - a;
}
int s16(u32 v) {
    return static_cast<int16_t>(v);
}

u32 sum_bytes(u32 x, u32 y, bool masked) {
    u32 sum = 0;
    for (int i = 0; i < 4; ++i) sum += masked && byte(y, i) == 0 ? 0 : distance(byte(x, i), byte(y, i));
    return sum;
}

u32 normal(double v, bool is_signed) {
    if (std::isnan(v)) return 0;
    const double top = is_signed ? 32767 : 65535;
    return static_cast<u32>(
               static_cast<int>(std::nearbyint(std::min(std::max(v, is_signed ? -1.0 : 0.0), 1.0) * top))) &
           65535;
}

/// Minimum or maximum in which a NaN wins; -0 lies below +0.
u32 ieee(u32 x, u32 y, bool max) {
    if (nan(x)) return x;
    if (nan(y)) return y;
    return minimum(x, y, max);
}

/// Order of halves as integers, so that comparing needs no arithmetic.
int rank(u32 v) {
    return v & 0x8000 ? -static_cast<int>(v & 0x7fff) - 1 : static_cast<int>(v & 0x7fff);
}
bool nan16(u32 v) {
    return (v & 0x7fff) > 0x7c00;
}
u32 ieee16(u32 x, u32 y, bool max) {
    x &= 65535;
    y &= 65535;
    if (nan16(x)) return x;
    if (nan16(y)) return y;
    return (rank(x) < rank(y)) != max ? x : y;
}

double bf16(u32 v) {
    const u32 bits = v << 16;
    return (bits & 0x7f800000) == 0 ? std::copysign(0.0, static_cast<double>(f(bits)))
                                    : static_cast<double>(f(bits));
}

/// Value of an 8-bit float by its definition.
double small(u32 code, int mantissa, int bias, bool ieee_top) {
    const int e = static_cast<int>(code >> mantissa & ((1u << (7 - mantissa)) - 1));
    const int m = static_cast<int>(code & ((1u << mantissa) - 1)), top = (1 << (7 - mantissa)) - 1;
    double v;
    if (ieee_top && e == top)
        v = m ? NAN : INFINITY;
    else if (!ieee_top && (code & 127) == 127)
        v = NAN;
    else
        v = e ? std::ldexp((1 << mantissa) + m, e - bias - mantissa) : std::ldexp(m, 1 - bias - mantissa);
    return code & 128 ? -v : v;
}
double fp8(u32 code) {
    return small(code, 3, 7, false);
}
double bf8(u32 code) {
    return small(code, 2, 15, true);
}

using F3 = std::function<u32(u32, u32, u32)>;

}  // namespace

TEST_CASE("sums of absolute differences and byte averages", "[valu]") {
    const auto capped = [](u64 v) { return static_cast<u32>(std::min<u64>(v, 0xffffffff)); };
    check_rows({
        {"v_sad_u8 v0, v1, v2, v3", [](u32 x, u32 y, u32 z) { return sum_bytes(x, y, false) + z; }},
        {"v_sad_u8 v0, v1, v2, v3 clamp",
         [&](u32 x, u32 y, u32 z) { return capped(u64{sum_bytes(x, y, false)} + z); }},
        {"v_sad_hi_u8 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) { return sum_bytes(x, y, false) * 65536 + z; }},
        {"v_msad_u8 v0, v1, v2, v3", [](u32 x, u32 y, u32 z) { return sum_bytes(x, y, true) + z; }},
        {"v_sad_u16 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             return distance(word(x, 0), word(y, 0)) + distance(word(x, 1), word(y, 1)) + z;
         }},
        {"v_sad_u32 v0, v1, v2, v3", [](u32 x, u32 y, u32 z) { return distance(x, y) + z; }},
        {"v_lerp_u8 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             u32 r = 0;
             for (int i = 0; i < 4; ++i) r |= (byte(x, i) + byte(y, i) + (byte(z, i) & 1)) / 2 << 8 * i;
             return r;
         }},
    });
    // The quad forms: bytes from 0, 1, 2 and 3 on of a 64-bit source.
    Random random;
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"}) {
        const auto code = assemble(target, {"v_qsad_pk_u16_u8 v[8:9], v[2:3], v4, v[6:7]",
                                            "v_mqsad_pk_u16_u8 v[8:9], v[2:3], v4, v[6:7]",
                                            "v_mqsad_u32_u8 v[12:15], v[2:3], v4, v[16:19]"});
        WaveFixture m(target);
        for (int n = 0; n < 20; ++n) {
            for (int r = 0; r < 20; ++r)
                for (u32& v : m.wave.v[r]) v = random.next() & (r == 4 ? 0xffff00ff : ~0u);
            const auto v = m.wave.v;
            for (const auto& c : code) m.run(c);
            for (int l = 0; l < kLanes; ++l)
                for (int i = 0; i < 4; ++i) {
                    const u64 pair = u64{v[3][l]} << 32 | v[2][l];
                    const u32 window = static_cast<u32>(pair >> 8 * i);
                    REQUIRE(m.wave.v[12 + i][l] == sum_bytes(window, v[4][l], true) + v[16 + i][l]);
                    const u32 own = word(v[6 + i / 2][l], i % 2);
                    REQUIRE(word(m.wave.v[8 + i / 2][l], i % 2) ==
                            ((sum_bytes(window, v[4][l], true) + own) & 65535));
                }
            m.run(code[0]);
            for (int l = 0; l < kLanes; ++l)
                for (int i = 0; i < 4; ++i) {
                    const u64 pair = u64{v[3][l]} << 32 | v[2][l];
                    REQUIRE(word(m.wave.v[8 + i / 2][l], i % 2) ==
                            ((sum_bytes(static_cast<u32>(pair >> 8 * i), v[4][l], false) +
                              word(v[6 + i / 2][l], i % 2)) &
                             65535));
                }
        }
    }
}

TEST_CASE("normalized and packed conversions", "[valu]") {
    const F3 i16_f32 = [](u32 x, u32 y, u32) {
        return normal(static_cast<double>(f(x)), true) | normal(static_cast<double>(f(y)), true) << 16;
    };
    const F3 u16_f32 = [](u32 x, u32 y, u32) {
        return normal(static_cast<double>(f(x)), false) | normal(static_cast<double>(f(y)), false) << 16;
    };
    const F3 i16_f16 = [](u32 x, u32 y, u32) {
        return normal(half(x & 65535), true) | normal(half(y & 65535), true) << 16;
    };
    const F3 u16_f16 = [](u32 x, u32 y, u32) {
        return normal(half(x & 65535), false) | normal(half(y & 65535), false) << 16;
    };
    const auto saturate = [](double v, double low, double high) {
        return std::isnan(v)
                   ? 0u
                   : static_cast<u32>(static_cast<i64>(std::min(std::max(std::trunc(v), low), high)));
    };
    check_rows({
        {"v_cvt_pknorm_i16_f32 v0, v1, v2", i16_f32, Row::kBits, "10"},
        {"v_cvt_pk_norm_i16_f32 v0, v1, v2", i16_f32, Row::kBits, "11 12"},
        {"v_cvt_pknorm_u16_f32 v0, v1, v2", u16_f32, Row::kBits, "10"},
        {"v_cvt_pk_norm_u16_f32 v0, v1, v2", u16_f32, Row::kBits, "11 12"},
        {"v_cvt_pknorm_i16_f16 v0, v1, v2", i16_f16, Row::kBits, "10"},
        {"v_cvt_pk_norm_i16_f16 v0, v1.l, v2.l", i16_f16, Row::kBits, "11 12"},
        {"v_cvt_pknorm_u16_f16 v0, v1, v2", u16_f16, Row::kBits, "10"},
        {"v_cvt_pk_norm_u16_f16 v0, v1.l, v2.l", u16_f16, Row::kBits, "11 12"},
        {"v_cvt_norm_i16_f16 v0, v1",
         [](u32 x, u32, u32) { return 0x5a5a0000 | normal(half(x & 65535), true); }, Row::kBits, "10"},
        {"v_cvt_norm_u16_f16 v0.h, v1.h",
         [](u32 x, u32, u32) { return 0x5a5a | normal(half(x >> 16), false) << 16; }, Row::kBits, "11 12"},
        {"v_cvt_norm_i16_f16 v0.l, v1.l",
         [](u32 x, u32, u32) { return 0x5a5a0000 | normal(half(x & 65535), true); }, Row::kBits, "11 12"},
        {"v_cvt_off_f32_i4 v0, v1",
         [](u32 x, u32, u32) {
             const int n = static_cast<int>(x & 15);
             return b(static_cast<float>(n < 8 ? n : n - 16) / 16.0f);
         },
         Row::kFloat},
        {"v_sat_pk_u8_i16 v0, v1",
         [](u32 x, u32, u32) {
             const auto one = [](int v) { return static_cast<u32>(std::min(std::max(v, 0), 255)); };
             return 0x5a5a0000 | one(s16(x)) | one(s16(x >> 16)) << 8;
         },
         Row::kBits, "10"},
        {"v_sat_pk_u8_i16 v0.l, v1",
         [](u32 x, u32, u32) {
             const auto one = [](int v) { return static_cast<u32>(std::min(std::max(v, 0), 255)); };
             return 0x5a5a0000 | one(s16(x)) | one(s16(x >> 16)) << 8;
         },
         Row::kBits, "11 12"},
        {"v_cvt_pk_i16_i32 v0, v1, v2",
         [](u32 x, u32 y, u32) {
             const auto one = [](u32 v) {
                 return static_cast<u32>(std::min(std::max(static_cast<i32>(v), -32768), 32767)) & 65535;
             };
             return one(x) | one(y) << 16;
         }},
        {"v_cvt_pk_u16_u32 v0, v1, v2",
         [](u32 x, u32 y, u32) { return std::min(x, 65535u) | std::min(y, 65535u) << 16; }},
        {"v_cvt_pk_i16_f32 v0, v1, v2",
         [&](u32 x, u32 y, u32) {
             return (saturate(static_cast<double>(f(x)), -32768, 32767) & 65535) |
                    saturate(static_cast<double>(f(y)), -32768, 32767) << 16;
         },
         Row::kBits, "11 12"},
        {"v_cvt_pk_u16_f32 v0, v1, v2",
         [&](u32 x, u32 y, u32) {
             return saturate(static_cast<double>(f(x)), 0, 65535) |
                    saturate(static_cast<double>(f(y)), 0, 65535) << 16;
         },
         Row::kBits, "11 12"},
        {"v_cvt_f32_fp8 v0, v1 byte_sel:3",
         [](u32 x, u32, u32) { return b(static_cast<float>(fp8(byte(x, 3)))); }, Row::kFloat, "12"},
        {"v_cvt_f32_fp8 v0, v1", [](u32 x, u32, u32) { return b(static_cast<float>(fp8(byte(x, 0)))); },
         Row::kFloat, "12"},
        {"v_cvt_f32_bf8 v0, v1 byte_sel:1",
         [](u32 x, u32, u32) { return b(static_cast<float>(bf8(byte(x, 1)))); }, Row::kFloat, "12"},
        {"v_cvt_pk_f32_fp8 v[4:5], v1.h\nv_mov_b32 v0, v5",
         [](u32 x, u32, u32) { return b(static_cast<float>(fp8(byte(x, 3)))); }, Row::kFloat, "12"},
        {"v_cvt_pk_f32_bf8 v[4:5], v1.l\nv_mov_b32 v0, v4",
         [](u32 x, u32, u32) { return b(static_cast<float>(bf8(byte(x, 0)))); }, Row::kFloat, "12"},
    });
}

TEST_CASE("minimum and maximum with NaN winning", "[valu]") {
    check_rows({
        {"v_minimum_f32 v0, v1, v2", [](u32 x, u32 y, u32) { return ieee(x, y, false); }, Row::kFloat, "12"},
        {"v_maximum_f32 v0, v1, v2", [](u32 x, u32 y, u32) { return ieee(x, y, true); }, Row::kFloat, "12"},
        {"v_minimum3_f32 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) { return ieee(ieee(x, y, false), z, false); }, Row::kFloat, "12"},
        {"v_maximum3_f32 v0, v1, v2, v3", [](u32 x, u32 y, u32 z) { return ieee(ieee(x, y, true), z, true); },
         Row::kFloat, "12"},
        {"v_minimummaximum_f32 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) { return ieee(ieee(x, y, false), z, true); }, Row::kFloat, "12"},
        {"v_maximumminimum_f32 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) { return ieee(ieee(x, y, true), z, false); }, Row::kFloat, "12"},
        {"v_minimum_f16 v0.l, v1.l, v2.h", [](u32 x, u32 y, u32) { return ieee16(x, y >> 16, false); },
         Row::kHalf, "12"},
        {"v_maximum_f16 v0.l, v1.l, v2.l", [](u32 x, u32 y, u32) { return ieee16(x, y, true); }, Row::kHalf,
         "12"},
        {"v_minimum3_f16 v0.l, v1.l, v2.l, v3.l",
         [](u32 x, u32 y, u32 z) { return ieee16(ieee16(x, y, false), z, false); }, Row::kHalf, "12"},
        {"v_maximum3_f16 v0.l, v1.l, v2.l, v3.l",
         [](u32 x, u32 y, u32 z) { return ieee16(ieee16(x, y, true), z, true); }, Row::kHalf, "12"},
        {"v_minimummaximum_f16 v0.l, v1.l, v2.l, v3.l",
         [](u32 x, u32 y, u32 z) { return ieee16(ieee16(x, y, false), z, true); }, Row::kHalf, "12"},
        {"v_maximumminimum_f16 v0.l, v1.l, v2.l, v3.l",
         [](u32 x, u32 y, u32 z) { return ieee16(ieee16(x, y, true), z, false); }, Row::kHalf, "12"},
        {"v_pk_minimum_f16 v0, v1, v2", [](u32 x, u32 y, u32) { return ieee16(x, y, false); }, Row::kHalf,
         "12"},
        {"v_pk_maximum_f16 v0, v1, v2\nv_lshrrev_b32 v0, 16, v0",
         [](u32 x, u32 y, u32) { return ieee16(x >> 16, y >> 16, true); }, Row::kHalf, "12"},
    });
    // The float64 pair, on values whose upper dwords differ.
    WaveFixture m("gfx1201");
    const u64 values[] = {0,
                          u64{1} << 63,
                          0x3ff0000000000000,
                          0xbff0000000000000,
                          0x7ff0000000000000,
                          0xfff0000000000000,
                          0x7ff8000000000001,
                          1};
    for (const u64 x : values)
        for (const u64 y : values) {
            m.wave.v[2].fill(static_cast<u32>(x));
            m.wave.v[3].fill(static_cast<u32>(x >> 32));
            m.wave.v[4].fill(static_cast<u32>(y));
            m.wave.v[5].fill(static_cast<u32>(y >> 32));
            m.run(
                "v_minimum_f64 v[8:9], v[2:3], v[4:5]\nv_maximum_f64 v[10:11], v[2:3], v[4:5]\n"
                "v_min_num_f64 v[12:13], v[2:3], v[4:5]\nv_max_num_f64 v[14:15], v[2:3], v[4:5]");
            const auto got = [&](int r) { return u64{m.wave.v[r + 1][0]} << 32 | m.wave.v[r][0]; };
            const auto is_nan = [](u64 v) { return (v & ~(u64{1} << 63)) > 0x7ff0000000000000; };
            const auto order = [](u64 v) {
                return v >> 63 ? -static_cast<i64>(v & ~(u64{1} << 63)) - 1 : static_cast<i64>(v);
            };
            const u64 low = order(x) < order(y) ? x : y, high = order(x) < order(y) ? y : x;
            INFO(std::hex << x << " " << y);
            if (is_nan(x) || is_nan(y)) {
                CHECK(is_nan(got(8)));
                CHECK(is_nan(got(10)));
                const u64 number = is_nan(x) ? y : x;
                CHECK((is_nan(number) ? is_nan(got(12)) : got(12) == number));
                CHECK((is_nan(number) ? is_nan(got(14)) : got(14) == number));
            } else {
                CHECK(got(8) == low);
                CHECK(got(10) == high);
                CHECK(got(12) == low);
                CHECK(got(14) == high);
            }
        }
}

TEST_CASE("graphics arithmetic", "[valu]") {
    const auto axis = [](u32 x, u32 y, u32 z) {
        const float ax = std::fabs(f(x)), ay = std::fabs(f(y)), az = std::fabs(f(z));
        return az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
    };
    const F3 legacy = [](u32 x, u32 y, u32) { return f(x) == 0 || f(y) == 0 ? 0u : b(f(x) * f(y)); };
    const F3 fmac = [](u32 x, u32 y, u32 z) {
        return f(x) == 0 || f(y) == 0 ? z : b(std::fmaf(f(x), f(y), f(z)));
    };
    check_rows({
        {"v_cubeid_f32 v0, v1, v2, v3",
         [&](u32 x, u32 y, u32 z) {
             const int a = axis(x, y, z);
             const float major = a == 2 ? f(z) : a == 1 ? f(y) : f(x);
             return b(static_cast<float>(2 * a + (major < 0 ? 1 : 0)));
         },
         Row::kFloat},
        {"v_cubesc_f32 v0, v1, v2, v3",
         [&](u32 x, u32 y, u32 z) {
             const int a = axis(x, y, z);
             if (a == 2) return f(z) < 0 ? x ^ 0x80000000 : x;
             if (a == 1) return x;
             return f(x) < 0 ? z : z ^ 0x80000000;
         },
         Row::kFloat},
        {"v_cubetc_f32 v0, v1, v2, v3",
         [&](u32 x, u32 y, u32 z) {
             if (axis(x, y, z) != 1) return y ^ 0x80000000;
             return f(y) < 0 ? z ^ 0x80000000 : z;
         },
         Row::kFloat},
        {"v_cubema_f32 v0, v1, v2, v3",
         [&](u32 x, u32 y, u32 z) {
             const int a = axis(x, y, z);
             return b(2.0f * f(a == 2 ? z : a == 1 ? y : x));
         },
         Row::kFloat},
        {"v_mullit_f32 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             if (nan(y) || nan(z) || !(f(z) > 0) || y == 0xff7fffff || y == 0xff800000) return 0xff7fffffu;
             return f(x) == 0 || f(y) == 0 ? 0u : b(f(x) * f(y));
         },
         Row::kFloat},
        {"v_mul_legacy_f32 v0, v1, v2", legacy, Row::kFloat, "10"},
        {"v_mul_dx9_zero_f32 v0, v1, v2", legacy, Row::kFloat, "11 12"},
        {"v_mov_b32 v0, v3\nv_fmac_legacy_f32 v0, v1, v2", fmac, Row::kFloat, "10"},
        {"v_mov_b32 v0, v3\nv_fmac_dx9_zero_f32 v0, v1, v2", fmac, Row::kFloat, "11"},
        {"v_fma_legacy_f32 v0, v1, v2, v3", fmac, Row::kFloat, "10"},
        {"v_fma_dx9_zero_f32 v0, v1, v2, v3", fmac, Row::kFloat, "11 12"},
    });
}

TEST_CASE("constant comparisons", "[valu]") {
    for (const char* target : {"gfx1030", "gfx1100"}) {
        const bool gfx10 = std::string(target) == "gfx1030";
        for (const char* type : {"f16", "f32", "f64", "i32", "i64", "u32", "u64"}) {
            const bool is_float = type[0] == 'f', wide = std::string(type).find("64") != std::string::npos;
            const std::string true_name = gfx10 && is_float ? "tru" : "t";
            const bool half_named = !gfx10 && std::string(type) == "f16";
            const std::string operands = wide ? "v[2:3], v[4:5]" : half_named ? "v2.l, v4.l" : "v2, v4";
            INFO(target << " " << type);
            WaveFixture m(target);
            m.wave.s[kExecLo] = 0x0ff0f00f;
            m.wave.s[kVccLo] = m.wave.s[6] = 0x12345678;
            m.run(std::string("v_cmp_f_") + type + " vcc_lo, " + operands + "\nv_cmp_" + true_name + "_" +
                  type + " s6, " + operands);
            CHECK(m.wave.s[kVccLo] == 0);
            CHECK(m.wave.s[6] == 0x0ff0f00f);
            m.run("v_cmpx_" + true_name + "_" + type + " " + operands);
            CHECK(m.wave.s[kExecLo] == 0x0ff0f00f);
            m.run(std::string("v_cmpx_f_") + type + " " + operands);
            CHECK(m.wave.s[kExecLo] == 0);
        }
    }
}

TEST_CASE("every comparison", "[valu]") {
    // Three outcomes of two numbers and a fourth with a NaN: which of them each condition holds for.
    struct Condition {
        const char* name;
        int outcomes;  // 1 less, 2 equal, 4 greater, 8 unordered
    };
    const Condition floats[] = {{"lt", 1},   {"eq", 2},   {"le", 3},   {"gt", 4},  {"lg", 5},
                                {"ge", 6},   {"o", 7},    {"u", 8},    {"nge", 9}, {"nlg", 10},
                                {"ngt", 11}, {"nle", 12}, {"neq", 13}, {"nlt", 14}};
    const Condition integers[] = {{"lt", 1}, {"eq", 2}, {"le", 3}, {"gt", 4}, {"ne", 5}, {"ge", 6}};
    Random random;
    const auto pick = [&] {
        return random.next() % 4 ? edge_values()[random.next() % edge_values().size()] : random.next();
    };
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"})
        for (const std::string type : {"f16", "f32", "f64", "i16", "u16", "i32", "u32", "i64", "u64"}) {
            const bool is_float = type[0] == 'f', wide = type.substr(1) == "64",
                       narrow = type.substr(1) == "16";
            const bool halves = narrow && std::string(target) != "gfx1030";
            const std::string operands = wide ? "v[2:3], v[4:5]" : halves ? "v2.l, v4.l" : "v2, v4";
            std::vector<std::string> texts;
            std::vector<int> outcomes;
            const auto add = [&](const Condition& c) {
                for (const char* x : {"", "x"}) {
                    const std::string name = std::string("v_cmp") + x + "_" + c.name + "_" + type;
                    texts.push_back(name + (*x ? " " : " s6, ") + operands);
                    outcomes.push_back(c.outcomes);
                }
            };
            if (is_float)
                for (const Condition& c : floats) add(c);
            else
                for (const Condition& c : integers) add(c);
            const auto code = assemble(target, texts);
            for (int round = 0; round < 6; ++round) {
                WaveFixture m(target);
                int outcome[kLanes];
                for (int l = 0; l < kLanes; ++l) {
                    for (const int r : {2, 3, 4, 5}) m.wave.v[r][l] = pick();
                    if (random.next() % 3 == 0)
                        for (const int r : {2, 3}) m.wave.v[r + 2][l] = m.wave.v[r][l];
                    const u64 x = u64{m.wave.v[3][l]} << 32 | m.wave.v[2][l];
                    const u64 y = u64{m.wave.v[5][l]} << 32 | m.wave.v[4][l];
                    const auto number = [&](u64 v) -> long double {
                        if (type == "f16") return half(static_cast<u32>(v & 65535));
                        if (type == "f32") return f(static_cast<u32>(v));
                        if (type == "f64") return std::bit_cast<double>(v);
                        if (type == "i16") return static_cast<int16_t>(v);
                        if (type == "u16") return static_cast<uint16_t>(v);
                        if (type == "i32") return static_cast<i32>(v);
                        if (type == "u32") return static_cast<u32>(v);
                        if (type == "i64") return static_cast<long double>(static_cast<i64>(v));
                        return static_cast<long double>(v);
                    };
                    const long double p = number(x), q = number(y);
                    outcome[l] = p < q ? 1 : p == q ? 2 : p > q ? 4 : 8;
                }
                for (size_t i = 0; i < code.size(); ++i) {
                    const u32 exec = round % 2 ? ~0u : 0x0f5af00f;
                    m.wave.s[kExecLo] = exec;
                    m.run(code[i]);
                    u32 want = 0;
                    for (int l = 0; l < kLanes; ++l)
                        if (outcomes[i] & outcome[l]) want |= 1u << l;
                    INFO(target << " " << texts[i]);
                    REQUIRE((i % 2 ? m.wave.s[kExecLo] : m.wave.s[6]) == (want & exec));
                }
            }
        }
}

TEST_CASE("dot products", "[valu]") {
    const auto nibble = [](u32 v, int i, bool is_signed) {
        const int n = static_cast<int>(v >> 4 * i & 15);
        return is_signed && n > 7 ? n - 16 : n;
    };
    const auto dot8 = [&](u32 x, u32 y, bool sx, bool sy) {
        i64 sum = 0;
        for (int i = 0; i < 8; ++i) sum += nibble(x, i, sx) * nibble(y, i, sy);
        return sum;
    };
    const auto dot4u = [](u32 x, u32 y) {
        u64 sum = 0;
        for (int i = 0; i < 4; ++i) sum += byte(x, i) * byte(y, i);
        return sum;
    };
    const auto clamp_signed = [](i64 v) {
        return static_cast<u32>(static_cast<i32>(std::min<i64>(std::max<i64>(v, INT32_MIN), INT32_MAX)));
    };
    const F3 dot2_f32 = [](u32 x, u32 y, u32 z) {
        return b(static_cast<float>(half(word(x, 0)) * half(word(y, 0)) +
                                    half(word(x, 1)) * half(word(y, 1)) + static_cast<double>(f(z))));
    };
    const F3 dot2_f16 = [](u32 x, u32 y, u32 z) {
        return nearest_half(half(word(x, 0)) * half(word(y, 0)) + half(word(x, 1)) * half(word(y, 1)) +
                            half(z & 65535));
    };
    check_rows({
        {"v_dot8_i32_i4 v0, v1, v2, v3",
         [&](u32 x, u32 y, u32 z) { return static_cast<u32>(dot8(x, y, true, true)) + z; }, Row::kBits, "10"},
        {"v_dot8_u32_u4 v0, v1, v2, v3",
         [&](u32 x, u32 y, u32 z) { return static_cast<u32>(dot8(x, y, false, false)) + z; }},
        {"v_dot8_i32_iu4 v0, v1, v2, v3 neg_lo:[0,1,0]",
         [&](u32 x, u32 y, u32 z) { return static_cast<u32>(dot8(x, y, false, true)) + z; }, Row::kBits,
         "11 12"},
        {"v_dot8_i32_iu4 v0, v1, v2, v3 neg_lo:[1,1,0] clamp",
         [&](u32 x, u32 y, u32 z) { return clamp_signed(dot8(x, y, true, true) + static_cast<i32>(z)); },
         Row::kBits, "11 12"},
        {"v_dot4_u32_u8 v0, v1, v2, v3 clamp",
         [&](u32 x, u32 y, u32 z) { return static_cast<u32>(std::min<u64>(dot4u(x, y) + z, 0xffffffff)); }},
        {"v_dot2_i32_i16 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             return static_cast<u32>(i64{s16(x)} * s16(y) + i64{s16(x >> 16)} * s16(y >> 16)) + z;
         },
         Row::kBits, "10"},
        {"v_dot2_u32_u16 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) { return word(x, 0) * word(y, 0) + word(x, 1) * word(y, 1) + z; },
         Row::kBits, "10"},
        {"v_mov_b32 v0, v3\nv_dot2c_f32_f16 v0, v1, v2", dot2_f32, Row::kUlp, "10"},
        {"v_mov_b32 v0, v3\nv_mov_b32 v4, v1\nv_mov_b32 v5, v2\nv_mov_b32 v7, v2\nv_dual_dot2acc_f32_f16 v0, "
         "v4, v5 :: "
         "v_dual_mov_b32 v9, v7",
         dot2_f32, Row::kUlp, "11 12"},
        {"v_dot2_f32_bf16 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             const auto value = [](u32 v) { return static_cast<double>(f(v << 16)); };
             return b(static_cast<float>(value(x) * value(y) + value(x >> 16) * value(y >> 16) +
                                         static_cast<double>(f(z))));
         },
         Row::kUlp, "11 12"},
        {"v_dot2_f16_f16 v0.l, v1, v2, v3.l", dot2_f16, Row::kHalf, "11 12"},
        {"v_dot2_f16_f16 v0.h, v1, v2, v3.h\nv_lshrrev_b32 v0, 16, v0",
         [&](u32 x, u32 y, u32 z) { return dot2_f16(x, y, z >> 16); }, Row::kHalf, "11 12"},
        {"v_pk_fmac_f16 v0, v1, v2\nv_lshrrev_b32 v0, 16, v0",
         [](u32 x, u32 y, u32) {
             return nearest_half(std::fma(half(word(x, 1)), half(word(y, 1)), half(0x5a5a)));
         },
         Row::kHalf},
        {"v_dot2_bf16_bf16 v0.l, v1, v2, v3.l\nv_lshlrev_b32 v0, 16, v0",
         [](u32 x, u32 y, u32 z) {
             const double sum =
                 bf16(word(x, 0)) * bf16(word(y, 0)) + bf16(word(x, 1)) * bf16(word(y, 1)) + bf16(z & 65535);
             const u32 bits = b(static_cast<float>(sum));
             if (nan(bits)) return bits;
             if ((bits & 0x7f800000) == 0) return bits & 0x80000000;
             return (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
         },
         Row::kFloat, "11 12"},
    });
}

TEST_CASE("dot products of 8-bit floats", "[valu]") {
    const auto dot = [](double (*p)(u32), double (*q)(u32)) {
        return [=](u32 x, u32 y, u32 z) {
            double sum = 0;
            for (int i = 0; i < 4; ++i) sum += p(byte(x, i)) * q(byte(y, i));
            return b(static_cast<float>(sum + static_cast<double>(f(z))));
        };
    };
    const F3 plain = dot(fp8, fp8);
    check_rows({
        {"v_dot4_f32_fp8_fp8 v0, v1, v2, v3", plain, Row::kFloat, "12"},
        {"v_dot4_f32_fp8_bf8 v0, v1, v2, v3", dot(fp8, bf8), Row::kFloat, "12"},
        {"v_dot4_f32_bf8_fp8 v0, v1, v2, v3", dot(bf8, fp8), Row::kFloat, "12"},
        {"v_dot4_f32_bf8_bf8 v0, v1, v2, v3", dot(bf8, bf8), Row::kFloat, "12"},
        {"v_dot4_f32_fp8_fp8 v0, v1, v2, v3 neg_lo:[0,0,1] neg_hi:[0,0,1]",
         [=](u32 x, u32 y, u32 z) { return plain(x, y, z | 0x80000000); }, Row::kFloat, "12"},
    });
}

TEST_CASE("registers picked by M0", "[lane]") {
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"}) {
        INFO(target);
        WaveFixture m(target);
        for (int r = 0; r < 40; ++r) m.wave.v[r].fill(1000u + static_cast<u32>(r));
        m.wave.s[kM0] = 3;
        m.run("v_movrels_b32 v20, v1\nv_movreld_b32 v21, v2\nv_movrelsd_b32 v25, v5");
        CHECK(m.wave.v[20][7] == 1004);
        CHECK(m.wave.v[24][7] == 1002);
        CHECK(m.wave.v[28][7] == 1008);
        m.wave.s[kM0] = 2 | 5 << 16;
        m.run("v_movrelsd_2_b32 v30, v1\nv_swaprel_b32 v31, v6");
        CHECK(m.wave.v[35][7] == 1003);
        CHECK(m.wave.v[36][7] == 1008);
        CHECK(m.wave.v[8][7] == 1036);
        m.wave.s[kM0] = 300;
        CHECK_THROWS_AS(m.run("v_movrels_b32 v20, v1"), Fault);
    }
    WaveFixture m("gfx1201");
    m.wave.v[0].fill(0x11112222);
    m.wave.v[1].fill(0x33334444);
    m.wave.s[kExecLo] = 1;
    m.run("v_swap_b16 v0.l, v1.h");
    CHECK(m.wave.v[0][0] == 0x11113333);
    CHECK(m.wave.v[1][0] == 0x22224444);
    CHECK(m.wave.v[0][1] == 0x11112222);
}

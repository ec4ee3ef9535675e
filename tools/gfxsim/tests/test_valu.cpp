// Vector instructions against formulas written here, over edge values and random bits, on every generation
// that has the instruction. Inputs lie in v1 (or v[2:3]), v2 (v[4:5]) and v3 (v[6:7]); the result is v0
// (v[8:9]).
#include "rows.hpp"

using namespace gfxsim_test;

TEST_CASE("integer arithmetic", "[valu]") {
    check_rows({
        {"v_add_nc_u32 v0, v1, v2", [](u32 x, u32 y, u32) { return static_cast<u32>(u64{x} + y); }},
        {"v_add_nc_u32 v0, v1, v2 clamp",
         [](u32 x, u32 y, u32) { return static_cast<u32>(std::min<u64>(u64{x} + y, 0xffffffff)); }},
        {"v_sub_nc_u32 v0, v1, v2", [](u32 x, u32 y, u32) { return static_cast<u32>(u64{x} - y); }},
        {"v_sub_nc_u32 v0, v1, v2 clamp", [](u32 x, u32 y, u32) { return x > y ? x - y : 0u; }},
        {"v_subrev_nc_u32 v0, v1, v2", [](u32 x, u32 y, u32) { return static_cast<u32>(u64{y} - x); }},
        {"v_add_nc_i32 v0, v1, v2 clamp",
         [](u32 x, u32 y, u32) {
             const i64 s = i64{static_cast<i32>(x)} + static_cast<i32>(y);
             return static_cast<u32>(static_cast<i32>(std::min<i64>(std::max<i64>(s, INT32_MIN), INT32_MAX)));
         }},
        {"v_add3_u32 v0, v1, v2, v3", [](u32 x, u32 y, u32 z) { return x + y + z; }},
        {"v_lshl_add_u32 v0, v1, v2, v3", [](u32 x, u32 y, u32 z) { return (x << y % 32) + z; }},
        {"v_add_lshl_u32 v0, v1, v2, v3", [](u32 x, u32 y, u32 z) { return (x + y) << z % 32; }},
        {"v_mul_lo_u32 v0, v1, v2", [](u32 x, u32 y, u32) { return static_cast<u32>(u64{x} * y); }},
        {"v_mul_hi_u32 v0, v1, v2", [](u32 x, u32 y, u32) { return static_cast<u32>(u64{x} * y >> 32); }},
        {"v_mul_hi_i32 v0, v1, v2",
         [](u32 x, u32 y, u32) {
             return static_cast<u32>(static_cast<u64>(i64{static_cast<i32>(x)} * static_cast<i32>(y)) >> 32);
         }},
        {"v_mul_u32_u24 v0, v1, v2",
         [](u32 x, u32 y, u32) { return static_cast<u32>(u64{x % 16777216} * (y % 16777216)); }},
        {"v_mad_u32_u24 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) { return static_cast<u32>(u64{x % 16777216} * (y % 16777216) + z); }},
        {"v_mul_i32_i24 v0, v1, v2",
         [](u32 x, u32 y, u32) {
             const auto s = [](u32 v) { return i64{static_cast<i32>(v << 8)} / 256; };
             return static_cast<u32>(s(x) * s(y));
         }},
        {"v_min_i32 v0, v1, v2",
         [](u32 x, u32 y, u32) { return (x ^ 0x80000000) < (y ^ 0x80000000) ? x : y; }},
        {"v_max_u32 v0, v1, v2", [](u32 x, u32 y, u32) { return x > y ? x : y; }},
        {"v_med3_i32 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             i32 a[] = {static_cast<i32>(x), static_cast<i32>(y), static_cast<i32>(z)};
             std::sort(a, a + 3);
             return static_cast<u32>(a[1]);
         }},
        {"v_and_or_b32 v0, v1, v2, v3", [](u32 x, u32 y, u32 z) { return (x & y) | z; }},
        {"v_or3_b32 v0, v1, v2, v3", [](u32 x, u32 y, u32 z) { return x | y | z; }},
        {"v_xnor_b32 v0, v1, v2", [](u32 x, u32 y, u32) { return ~(x ^ y); }},
        {"v_bfi_b32 v0, v1, v2, v3", [](u32 x, u32 y, u32 z) { return z ^ (x & (y ^ z)); }},
        {"v_lshl_or_b32 v0, v1, v2, v3", [](u32 x, u32 y, u32 z) { return x << y % 32 | z; }},
        {"v_lshlrev_b32 v0, v1, v2", [](u32 x, u32 y, u32) { return static_cast<u32>(u64{y} << x % 32); }},
        {"v_lshrrev_b32 v0, v1, v2", [](u32 x, u32 y, u32) { return y >> x % 32; }},
        {"v_ashrrev_i32 v0, v1, v2",
         [](u32 x, u32 y, u32) { return static_cast<u32>(i64{static_cast<i32>(y)} >> x % 32); }},
        {"v_bfe_u32 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) { return static_cast<u32>((u64{x} >> y % 32) % (u64{1} << z % 32)); }},
        {"v_bfe_i32 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             const u32 o = y % 32, n = z % 32;
             if (n == 0) return 0u;
             u64 v = static_cast<u64>(i64{static_cast<i32>(x)}) >> o;
             v %= u64{1} << n;
             return static_cast<u32>(v >> (n - 1) ? v - (u64{1} << n) : v);
         }},
        {"v_alignbit_b32 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) { return static_cast<u32>((u64{x} << 32 | y) >> z % 32); }},
        {"v_bcnt_u32_b32 v0, v1, v2",
         [](u32 x, u32 y, u32) {
             for (int i = 0; i < 32; ++i) y += x >> i & 1;
             return y;
         }},
        {"v_bfrev_b32 v0, v1",
         [](u32 x, u32, u32) {
             u32 r = 0;
             for (int i = 0; i < 32; ++i) r |= (x >> i & 1) << (31 - i);
             return r;
         }},
        {"v_perm_b32 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             u32 r = 0;
             for (int i = 0; i < 4; ++i) {
                 const u32 k = z >> 8 * i & 255;
                 u32 v = 0xff;
                 if (k < 4)
                     v = y >> 8 * k & 255;
                 else if (k < 8)
                     v = x >> 8 * (k - 4) & 255;
                 else if (k == 8)
                     v = y & 0x8000 ? 255 : 0;
                 else if (k == 9)
                     v = y & 0x80000000 ? 255 : 0;
                 else if (k == 10)
                     v = x & 0x8000 ? 255 : 0;
                 else if (k == 11)
                     v = x & 0x80000000 ? 255 : 0;
                 else if (k == 12)
                     v = 0;
                 r |= v << 8 * i;
             }
             return r;
         }},
        {"v_dot4_i32_i8 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             for (int i = 0; i < 4; ++i)
                 z += static_cast<u32>(static_cast<int8_t>(x >> 8 * i) * static_cast<int8_t>(y >> 8 * i));
             return z;
         },
         Row::kBits, "10"},
        {"v_mov_b32 v0, v3\nv_dot4c_i32_i8 v0, v1, v2",
         [](u32 x, u32 y, u32 z) {
             for (int i = 0; i < 4; ++i)
                 z += static_cast<u32>(static_cast<int8_t>(x >> 8 * i) * static_cast<int8_t>(y >> 8 * i));
             return z;
         },
         Row::kBits, "10"},
        {"v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,0,0]",
         [](u32 x, u32 y, u32 z) {
             for (int i = 0; i < 4; ++i)
                 z += static_cast<u32>(static_cast<int8_t>(x >> 8 * i) * static_cast<int>(y >> 8 * i & 255));
             return z;
         },
         Row::kBits, "11 12"},
        {"v_dot4_i32_iu8 v0, v1, v2, v3 neg_lo:[1,1,0] clamp",
         [](u32 x, u32 y, u32 z) {
             i64 s = static_cast<i32>(z);
             for (int i = 0; i < 4; ++i)
                 s += static_cast<int8_t>(x >> 8 * i) * static_cast<int8_t>(y >> 8 * i);
             return static_cast<u32>(static_cast<i32>(std::min<i64>(std::max<i64>(s, INT32_MIN), INT32_MAX)));
         },
         Row::kBits, "11 12"},
        {"v_dot4_u32_u8 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             for (int i = 0; i < 4; ++i) z += (x >> 8 * i & 255) * (y >> 8 * i & 255);
             return z;
         }},
        {"v_cvt_f32_ubyte2 v0, v1", [](u32 x, u32, u32) { return b(static_cast<float>(x / 65536 % 256)); }},
    });
}

TEST_CASE("sixteen-bit arithmetic keeps the other half", "[valu]") {
    check_rows({
        {"v_add_nc_u16 v0, v1, v2", [](u32 x, u32 y, u32) { return 0x5a5a0000 | ((x + y) & 0xffff); },
         Row::kBits, "10"},
        {"v_add_nc_u16 v0.l, v1.l, v2.l", [](u32 x, u32 y, u32) { return 0x5a5a0000 | ((x + y) & 0xffff); },
         Row::kBits, "11 12"},
        {"v_add_nc_u16 v0.h, v1.h, v2.l", [](u32 x, u32 y, u32) { return 0x5a5a | ((x >> 16) + y) << 16; },
         Row::kBits, "11 12"},
        {"v_lshlrev_b16 v0.l, v1.l, v2.h",
         [](u32 x, u32 y, u32) { return 0x5a5a0000 | ((y >> 16) << x % 16 & 0xffff); }, Row::kBits, "11 12"},
        {"v_mov_b16 v0.h, v1.l", [](u32 x, u32, u32) { return 0x5a5a | x << 16; }, Row::kBits, "11 12"},
        {"v_pk_add_u16 v0, v1, v2",
         [](u32 x, u32 y, u32) { return ((x + y) & 0xffff) | ((x >> 16) + (y >> 16)) << 16; }},
        {"v_pk_add_u16 v0, v1, v2 op_sel:[0,1] op_sel_hi:[1,0]",
         [](u32 x, u32 y, u32) { return ((x + (y >> 16)) & 0xffff) | ((x >> 16) + y) << 16; }},
        {"v_pk_max_i16 v0, v1, v2",
         [](u32 x, u32 y, u32) {
             const auto m = [](u32 p, u32 q) {
                 return static_cast<u32>(std::max<int>(static_cast<int16_t>(p), static_cast<int16_t>(q))) &
                        0xffff;
             };
             return m(x, y) | m(x >> 16, y >> 16) << 16;
         }},
        {"v_pack_b32_f16 v0, v1, v2", [](u32 x, u32 y, u32) { return (x & 0xffff) | y << 16; }, Row::kBits,
         "10"},
    });
}

TEST_CASE("float32 arithmetic", "[valu]") {
    check_rows({
        {"v_add_f32 v0, v1, v2",
         [](u32 x, u32 y, u32) { return b(static_cast<float>(static_cast<double>(f(x)) + f(y))); },
         Row::kFloat},
        {"v_sub_f32 v0, v1, v2",
         [](u32 x, u32 y, u32) { return b(static_cast<float>(static_cast<double>(f(x)) - f(y))); },
         Row::kFloat},
        {"v_mul_f32 v0, v1, v2",
         [](u32 x, u32 y, u32) { return b(static_cast<float>(static_cast<double>(f(x)) * f(y))); },
         Row::kFloat},
        {"v_mul_f32 v0, -v1, |v2|",
         [](u32 x, u32 y, u32) {
             return b(static_cast<float>(-static_cast<double>(f(x)) * std::fabs(f(y))));
         },
         Row::kFloat},
        {"v_add_f32 v0, v1, v2 clamp",
         [](u32 x, u32 y, u32) {
             const double s = static_cast<double>(f(x)) + f(y);
             return b(s > 0 ? static_cast<float>(std::min(s, 1.0)) : 0.0f);
         },
         Row::kFloat},
        {"v_fma_f32 v0, v1, v2, v3", [](u32 x, u32 y, u32 z) { return b(std::fmaf(f(x), f(y), f(z))); },
         Row::kFloat},
        {"v_mov_b32 v0, v3\nv_fmac_f32 v0, v1, v2",
         [](u32 x, u32 y, u32 z) { return b(std::fmaf(f(x), f(y), f(z))); }, Row::kFloat},
        {"v_fmaak_f32 v0, v1, v2, 0x3fb8aa3b",
         [](u32 x, u32 y, u32) { return b(std::fmaf(f(x), f(y), f(0x3fb8aa3b))); }, Row::kFloat},
        {"v_fmamk_f32 v0, v1, 0x3fb8aa3b, v2",
         [](u32 x, u32 y, u32) { return b(std::fmaf(f(x), f(0x3fb8aa3b), f(y))); }, Row::kFloat},
        {"v_min_f32 v0, v1, v2", [](u32 x, u32 y, u32) { return minimum(x, y, false); }, Row::kFloat,
         "10 11"},
        {"v_max_f32 v0, v1, v2", [](u32 x, u32 y, u32) { return minimum(x, y, true); }, Row::kFloat, "10 11"},
        {"v_min_num_f32 v0, v1, v2", [](u32 x, u32 y, u32) { return minimum(x, y, false); }, Row::kFloat,
         "12"},
        {"v_max_num_f32 v0, v1, v2", [](u32 x, u32 y, u32) { return minimum(x, y, true); }, Row::kFloat,
         "12"},
        {"v_rndne_f32 v0, v1", [](u32 x, u32, u32) { return b(std::nearbyintf(f(x))); }, Row::kFloat},
        {"v_floor_f32 v0, v1", [](u32 x, u32, u32) { return b(std::floor(f(x))); }, Row::kFloat},
        {"v_ceil_f32 v0, v1", [](u32 x, u32, u32) { return b(std::ceil(f(x))); }, Row::kFloat},
        {"v_trunc_f32 v0, v1", [](u32 x, u32, u32) { return b(std::trunc(f(x))); }, Row::kFloat},
        {"v_ldexp_f32 v0, v1, v2",
         [](u32 x, u32 y, u32) {
             return b(std::ldexp(f(x), std::max(-10000, std::min(10000, static_cast<i32>(y)))));
         },
         Row::kFloat},
        {"v_cvt_i32_f32 v0, v1", [](u32 x, u32, u32) { return to_int(x, true); }},
        {"v_cvt_u32_f32 v0, v1", [](u32 x, u32, u32) { return to_int(x, false); }},
        {"v_cvt_f32_i32 v0, v1",
         [](u32 x, u32, u32) { return b(static_cast<float>(static_cast<double>(static_cast<i32>(x)))); }},
        {"v_cvt_f32_u32 v0, v1",
         [](u32 x, u32, u32) { return b(static_cast<float>(static_cast<double>(x))); }},
        {"v_rcp_f32 v0, v1", [](u32 x, u32, u32) { return flush(b(static_cast<float>(1.0 / f(flush(x))))); },
         Row::kUlp},
        {"v_rsq_f32 v0, v1",
         [](u32 x, u32, u32) {
             return flush(b(static_cast<float>(1.0 / std::sqrt(static_cast<double>(f(flush(x)))))));
         },
         Row::kUlp},
        {"v_sqrt_f32 v0, v1",
         [](u32 x, u32, u32) {
             return flush(b(static_cast<float>(std::sqrt(static_cast<double>(f(flush(x)))))));
         },
         Row::kUlp},
        {"v_exp_f32 v0, v1",
         [](u32 x, u32, u32) {
             return flush(b(static_cast<float>(std::pow(2.0, static_cast<double>(f(flush(x)))))));
         },
         Row::kUlp},
        {"v_log_f32 v0, v1",
         [](u32 x, u32, u32) {
             return flush(b(static_cast<float>(std::log2(static_cast<long double>(f(flush(x)))))));
         },
         Row::kUlp},
    });
}

TEST_CASE("float16 arithmetic", "[valu]") {
    check_rows({
        {"v_cvt_f16_f32 v0, v1", [](u32 x, u32, u32) { return nearest_half(f(x)); }, Row::kHalf, "10"},
        {"v_cvt_f16_f32 v0.l, v1", [](u32 x, u32, u32) { return nearest_half(f(x)); }, Row::kHalf, "11 12"},
        {"v_cvt_f32_f16 v0, v1", [](u32 x, u32, u32) { return b(static_cast<float>(half(x & 0xffff))); },
         Row::kFloat, "10"},
        {"v_cvt_f32_f16 v0, v1.h", [](u32 x, u32, u32) { return b(static_cast<float>(half(x >> 16))); },
         Row::kFloat, "11 12"},
        {"v_add_f16 v0.l, v1.l, v2.h",
         [](u32 x, u32 y, u32) { return nearest_half(half(x & 0xffff) + half(y >> 16)); }, Row::kHalf,
         "11 12"},
        {"v_mul_f16 v0, v1, v2",
         [](u32 x, u32 y, u32) { return nearest_half(half(x & 0xffff) * half(y & 0xffff)); }, Row::kHalf,
         "10"},
        {"v_fma_f16 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             return nearest_half(std::fma(half(x & 0xffff), half(y & 0xffff), half(z & 0xffff)));
         },
         Row::kHalf, "10"},
        {"v_fma_mix_f32 v0, v1, v2, v3 op_sel:[0,1,0] op_sel_hi:[1,1,0]",
         [](u32 x, u32 y, u32 z) {
             return b(
                 std::fmaf(static_cast<float>(half(x & 0xffff)), static_cast<float>(half(y >> 16)), f(z)));
         },
         Row::kFloat},
        {"v_fma_mixlo_f16 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) { return nearest_half(std::fmaf(f(x), f(y), f(z))); }, Row::kHalf},
        {"v_dot2_f32_f16 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             return b(static_cast<float>(half(x & 0xffff) * half(y & 0xffff) + half(x >> 16) * half(y >> 16) +
                                         static_cast<double>(f(z))));
         },
         Row::kUlp},
        {"v_pk_mul_f16 v0, v1, v2",
         [](u32 x, u32 y, u32) { return nearest_half(half(x & 0xffff) * half(y & 0xffff)); }, Row::kHalf},
        {"v_cvt_pkrtz_f16_f32 v0, v1, v2\nv_and_b32 v0, 0x7fff7fff, v0",
         [](u32 x, u32 y, u32) {
             const auto toward_zero = [](u32 v) {
                 if (nan(v)) return 0x7e00u;
                 const double a = std::fabs(static_cast<double>(f(v)));
                 if (std::isinf(a)) return 0x7c00u;
                 u32 lo = 0, hi = 0x7bff;
                 while (lo < hi) {
                     const u32 mid = (lo + hi + 1) / 2;
                     if (half(mid) <= a)
                         lo = mid;
                     else
                         hi = mid - 1;
                 }
                 return lo;
             };
             // NaN payloads are not compared: both halves of such a result are replaced.
             return toward_zero(x) | toward_zero(y) << 16;
         },
         Row::kHalf, "10"},
    });
}

TEST_CASE("wide integers and carries", "[valu]") {
    struct Wide {
        const char* text;
        std::function<u64(u64, u64, u64)> expected;
        const char* targets;
    };
    const std::vector<Wide> rows = {
        {"v_lshlrev_b64 v[8:9], v2, v[4:5]", [](u64 x, u64 y, u64) { return y << x % 64; }, "10 11 12"},
        {"v_lshrrev_b64 v[8:9], v2, v[4:5]", [](u64 x, u64 y, u64) { return y >> x % 64; }, "10 11 12"},
        {"v_ashrrev_i64 v[8:9], v2, v[4:5]",
         [](u64 x, u64 y, u64) { return static_cast<u64>(static_cast<i64>(y) >> x % 64); }, "10 11 12"},
        {"v_mad_u64_u32 v[8:9], s0, v2, v4, v[6:7]",
         [](u64 x, u64 y, u64 z) { return (x & 0xffffffff) * (y & 0xffffffff) + z; }, "10 11"},
        {"v_mad_co_u64_u32 v[8:9], s0, v2, v4, v[6:7]",
         [](u64 x, u64 y, u64 z) { return (x & 0xffffffff) * (y & 0xffffffff) + z; }, "12"},
        {"v_mad_i64_i32 v[8:9], s0, v2, v4, v[6:7]",
         [](u64 x, u64 y, u64 z) {
             return static_cast<u64>(i64{static_cast<i32>(x)} * static_cast<i32>(y)) + z;
         },
         "10 11"},
        {"v_add_co_u32 v8, vcc_lo, v2, v4\nv_add_co_ci_u32 v9, vcc_lo, v3, v5, vcc_lo",
         [](u64 x, u64 y, u64) { return x + y; }, "10 11 12"},
        {"v_sub_co_u32 v8, vcc_lo, v2, v4\nv_sub_co_ci_u32 v9, vcc_lo, v3, v5, vcc_lo",
         [](u64 x, u64 y, u64) { return x - y; }, "10 11 12"},
        {"v_subrev_co_u32 v8, vcc_lo, v2, v4\nv_subrev_co_ci_u32 v9, vcc_lo, v3, v5, vcc_lo",
         [](u64 x, u64 y, u64) { return y - x; }, "10 11 12"},
        {"v_fma_f64 v[8:9], v[2:3], v[4:5], v[6:7]\nv_add_f64 v[8:9], v[8:9], 1.0",
         [](u64 x, u64 y, u64 z) {
             const double r =
                 std::fma(std::bit_cast<double>(x), std::bit_cast<double>(y), std::bit_cast<double>(z)) + 1.0;
             return std::isnan(r) ? ~u64{0} : std::bit_cast<u64>(r);
         },
         "10 11 12"},
    };
    for (const std::string generation : {"10", "11", "12"})
        for (const Wide& row : rows) {
            if (std::string(row.targets).find(generation) == std::string::npos) continue;
            const auto code = assemble(target_of(generation), {row.text})[0];
            WaveFixture m(target_of(generation));
            Random random;
            int failures = 0;
            for (int n = 0; n < 64; ++n) {
                u64 in[3][kLanes];
                for (int l = 0; l < kLanes; ++l)
                    for (int k = 0; k < 3; ++k) {
                        const auto pick = [&] {
                            const u32 r = random.next();
                            return r % 3 ? random.next() : edge_values()[r / 3 % edge_values().size()];
                        };
                        in[k][l] = u64{pick()} << 32 | pick();
                        m.wave.v[2 + 2 * k][l] = static_cast<u32>(in[k][l]);
                        m.wave.v[3 + 2 * k][l] = static_cast<u32>(in[k][l] >> 32);
                    }
                m.run(code);
                for (int l = 0; l < kLanes; ++l) {
                    const u64 got = u64{m.wave.v[9][l]} << 32 | m.wave.v[8][l];
                    const u64 want = row.expected(in[0][l], in[1][l], in[2][l]);
                    if (got == want || (want == ~u64{0} && std::isnan(std::bit_cast<double>(got)))) continue;
                    if (failures++ == 0)
                        FAIL_CHECK(target_of(generation)
                                   << ": " << row.text << std::hex << " a=" << in[0][l] << " b=" << in[1][l]
                                   << " c=" << in[2][l] << " got " << got << ", expected " << want);
                }
            }
            CHECK(failures == 0);
        }
}

TEST_CASE("EXEC masks writes and comparisons", "[valu]") {
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"}) {
        WaveFixture m(target);
        m.wave.s[kExecLo] = 0x0f0ff00f;
        for (int l = 0; l < kLanes; ++l) {
            m.wave.v[0][l] = 1000;
            m.wave.v[1][l] = static_cast<u32>(l);
        }
        m.run("v_add_nc_u32 v0, 5, v1\nv_cmp_gt_u32 vcc_lo, 20, v1\nv_cmp_lt_i32 s4, -1, v1");
        for (int l = 0; l < kLanes; ++l)
            CHECK(m.wave.v[0][l] == (0x0f0ff00f >> l & 1 ? static_cast<u32>(l) + 5 : 1000));
        CHECK(m.wave.s[kVccLo] == (0x0f0ff00f & 0xfffff));
        CHECK(m.wave.s[4] == 0x0f0ff00f);
        m.run("v_cmpx_le_u32 16, v1");
        CHECK(m.wave.s[kExecLo] == 0x0f0f0000);
    }
}

TEST_CASE("every DPP control picks its lanes", "[dpp]") {
    struct Control {
        std::string text;
        std::function<int(int)> source;  // -1: no source
    };
    std::vector<Control> controls = {
        {"row_mirror", [](int l) { return l / 16 * 16 + 15 - l % 16; }},
        {"row_half_mirror", [](int l) { return l / 8 * 8 + 7 - l % 8; }},
    };
    for (int n = 0; n < 256; ++n) {
        const int p[] = {n & 3, n >> 2 & 3, n >> 4 & 3, n >> 6 & 3};
        std::string list;
        for (const int v : p) list += (list.empty() ? "" : ",") + std::to_string(v);
        controls.push_back(
            {"quad_perm:[" + list + "]", [n](int l) { return l / 4 * 4 + (n >> (2 * (l % 4)) & 3); }});
    }
    for (int n = 0; n < 16; ++n) {
        const std::string count = std::to_string(n);
        controls.push_back({"row_share:" + count, [n](int l) { return l / 16 * 16 + n; }});
        controls.push_back({"row_xmask:" + count, [n](int l) { return l / 16 * 16 + (l % 16 ^ n); }});
        if (n == 0) continue;
        controls.push_back({"row_shl:" + count, [n](int l) { return l % 16 + n < 16 ? l + n : -1; }});
        controls.push_back({"row_shr:" + count, [n](int l) { return l % 16 >= n ? l - n : -1; }});
        controls.push_back({"row_ror:" + count, [n](int l) { return l / 16 * 16 + (l % 16 + 16 - n) % 16; }});
    }
    for (const char* target : {"gfx1030", "gfx1100", "gfx1150", "gfx1201"})
        for (const bool bound : {false, true})
            for (const bool inactive : {false, true}) {
                std::vector<std::string> texts;
                std::vector<std::pair<u32, u32>> masks;  // of rows and banks
                for (size_t i = 0; i < controls.size(); ++i) {
                    // Every mask of rows and of banks comes up.
                    const u32 rows = i % 4 == 3 ? i / 4 % 4 : 3, banks = i % 5 == 4 ? i / 5 % 16 : 15;
                    masks.emplace_back(rows, banks);
                    texts.push_back("v_mov_b32_dpp v0, v1 " + controls[i].text +
                                    " row_mask:" + hex(rows | 0xc) + " bank_mask:" + hex(banks) +
                                    (bound ? " bound_ctrl:1" : "") + (inactive ? " fi:1" : ""));
                }
                const auto code = assemble(target, texts);
                WaveFixture m(target);
                for (size_t i = 0; i < code.size(); ++i) {
                    const u32 exec = i % 2 ? 0xfff7ff3fu : ~0u;
                    m.wave.s[kExecLo] = exec;
                    for (int l = 0; l < kLanes; ++l) {
                        m.wave.v[0][l] = 500 + static_cast<u32>(l);
                        m.wave.v[1][l] = 100 + static_cast<u32>(l);
                    }
                    m.run(code[i]);
                    std::array<u32, kLanes> want{};
                    for (int l = 0; l < kLanes; ++l) {
                        const int from = controls[i].source(l);
                        const bool valid = from >= 0 && (inactive || (exec >> from & 1));
                        const bool enabled =
                            masks[i].first >> l / 16 & 1 && masks[i].second >> l % 16 / 4 & 1;
                        const bool written = (exec >> l & 1) && enabled && (valid || bound);
                        want[static_cast<size_t>(l)] = !written ? 500 + static_cast<u32>(l)
                                                       : valid  ? 100 + static_cast<u32>(from)
                                                                : 0;
                    }
                    INFO(target << " " << texts[i] << " exec " << std::hex << exec);
                    REQUIRE(m.wave.v[0] == want);
                }
            }
}

TEST_CASE("DPP8 permutes groups of eight and reads zero from inactive lanes", "[dpp]") {
    const int order[] = {7, 0, 6, 1, 5, 2, 4, 3};
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"})
        for (const u32 exec : {~0u, 0xfffff7feu}) {
            WaveFixture m(target);
            m.wave.s[kExecLo] = exec;
            for (int l = 0; l < kLanes; ++l) {
                m.wave.v[0][l] = 9;
                m.wave.v[1][l] = 100 + static_cast<u32>(l);
            }
            m.run("v_mov_b32_dpp v0, v1 dpp8:[7,0,6,1,5,2,4,3]");
            for (int l = 0; l < kLanes; ++l) {
                const int from = l / 8 * 8 + order[l % 8];
                INFO(target << " lane " << l << std::hex << " exec " << exec);
                REQUIRE(m.wave.v[0][l] == (!(exec >> l & 1)   ? 9
                                           : exec >> from & 1 ? 100 + static_cast<u32>(from)
                                                              : 0));
            }
        }
}

TEST_CASE("number classes", "[valu]") {
    // Value and the bit of its class.
    const std::pair<u32, int> classes[] = {{0x7f800001, 0}, {0xffc00000, 1}, {0xff800000, 2}, {0xbf800000, 3},
                                           {0x80000001, 4}, {0x80000000, 5}, {0x00000000, 6}, {0x007fffff, 7},
                                           {0x00800000, 8}, {0x7f800000, 9}};
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"}) {
        WaveFixture m(target);
        const auto code = assemble(target, {"v_cmp_class_f32 vcc_lo, v1, v2"})[0];
        for (const auto& [value, bit] : classes)
            for (int k = 0; k < 10; ++k) {
                m.wave.v[1].fill(value);
                m.wave.v[2].fill(1u << k);
                m.run(code);
                INFO(target << std::hex << " " << value << " bit " << k);
                REQUIRE(m.wave.s[kVccLo] == (k == bit ? ~0u : 0u));
            }
    }
}

TEST_CASE("8-bit floats round to nearest even", "[valu]") {
    // By search among all codes: the nearest value, the even code on a tie.
    const auto value = [](u32 code, int mantissa, int bias) {
        const int e = static_cast<int>(code >> mantissa),
                  f8 = static_cast<int>(code & ((1u << mantissa) - 1));
        return e ? std::ldexp(1.0 + f8 / static_cast<double>(1 << mantissa), e - bias)
                 : std::ldexp(f8 / static_cast<double>(1 << mantissa), 1 - bias);
    };
    WaveFixture m("gfx1201");
    Random random;
    for (const bool bf8 : {false, true}) {
        const int mantissa = bf8 ? 2 : 3, bias = bf8 ? 15 : 7;
        const u32 largest = bf8 ? 0x7b : 0x7e;
        const auto code =
            assemble("gfx1201", {bf8 ? "v_cvt_pk_bf8_f32 v0.l, v1, v2" : "v_cvt_pk_fp8_f32 v0.l, v1, v2"})[0];
        for (int n = 0; n < 200; ++n) {
            for (int l = 0; l < kLanes; ++l) {
                const u32 pick = random.next();
                // Exact values, midpoints between neighbours and anything else in range.
                const u32 at = pick % largest;
                const double lo = value(at, mantissa, bias), hi = value(at + 1, mantissa, bias);
                const double x = pick >> 16 & 1   ? lo
                                 : pick >> 17 & 1 ? (lo + hi) / 2
                                                  : lo + (hi - lo) * (random.next() % 1000) / 1000.0;
                m.wave.v[1][l] = b(static_cast<float>(pick >> 31 ? -x : x));
                m.wave.v[2][l] = b(static_cast<float>(lo));
            }
            m.run(code);
            for (int l = 0; l < kLanes; ++l) {
                const double x = std::fabs(static_cast<double>(f(m.wave.v[1][l])));
                u32 best = 0;
                for (u32 c = 1; c <= largest; ++c) {
                    const double d = std::fabs(value(c, mantissa, bias) - x),
                                 old = std::fabs(value(best, mantissa, bias) - x);
                    if (d < old || (d == old && c % 2 == 0)) best = c;
                }
                INFO("bf8 " << bf8 << " value " << f(m.wave.v[1][l]));
                REQUIRE((m.wave.v[0][l] & 0xff) == (best | (m.wave.v[1][l] >> 31) << 7));
            }
        }
    }
}

TEST_CASE("cross-lane instructions", "[lane]") {
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"}) {
        WaveFixture m(target);
        for (int l = 0; l < kLanes; ++l) {
            m.wave.v[1][l] = 100 + static_cast<u32>(l);
            m.wave.v[2][l] = 4 * (static_cast<u32>(l * 7 + 3) % 32);
        }
        m.wave.s[2] = 0x76543210;
        m.wave.s[3] = 0xfedcba98;
        m.run(
            "ds_bpermute_b32 v3, v2, v1\nv_readlane_b32 s4, v1, 9\nv_permlanex16_b32 v4, v1, s2, s3\n"
            "v_mbcnt_lo_u32_b32 v5, -1, 0\nds_swizzle_b32 v6, v1 offset:swizzle(SWAP,8)\n"
            "v_mov_b32 v7, 0\nv_writelane_b32 v7, s4, 3\nv_readfirstlane_b32 s5, v1");
        CHECK(m.wave.s[4] == 109);
        CHECK(m.wave.s[5] == 100);
        for (int l = 0; l < kLanes; ++l) {
            CHECK(m.wave.v[3][l] == 100 + static_cast<u32>(l * 7 + 3) % 32);
            CHECK(m.wave.v[4][l] == 100 + static_cast<u32>(l ^ 16));
            CHECK(m.wave.v[5][l] == static_cast<u32>(l));
            CHECK(m.wave.v[6][l] == 100 + static_cast<u32>(l ^ 8));
            CHECK(m.wave.v[7][l] == (l == 3 ? 109u : 0u));
        }
    }
}

TEST_CASE("permlane with inactive sources", "[lane]") {
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"})
        for (const bool other_row : {false, true})
            for (const bool vector : {false, true})
                for (const int op_sel : {0, 1, 2, 3}) {
                    if (vector && std::string(target) != "gfx1201") continue;
                    const u32 exec = 0xf3f5ff0f;
                    WaveFixture m(target);
                    Random random;
                    m.wave.s[2] = random.next();
                    m.wave.s[3] = random.next();
                    for (int l = 0; l < kLanes; ++l) {
                        m.wave.v[0][l] = 500 + static_cast<u32>(l);
                        m.wave.v[1][l] = 100 + static_cast<u32>(l);
                        m.wave.v[2][l] = random.next();
                    }
                    m.wave.s[kExecLo] = exec;
                    const std::string text = std::string("v_permlane") + (other_row ? "x" : "") + "16" +
                                             (vector ? "_var_b32 v0, v1, v2" : "_b32 v0, v1, s2, s3") +
                                             " op_sel:[" + (op_sel & 1 ? "1" : "0") + "," +
                                             (op_sel & 2 ? "1" : "0") + "]";
                    m.run(text);
                    for (int l = 0; l < kLanes; ++l) {
                        const u64 selectors = m.wave.s64(2);
                        const int pick = vector ? static_cast<int>(m.wave.v[2][l] & 15)
                                                : static_cast<int>(selectors >> (4 * (l % 16)) & 15);
                        const int from = ((l / 16) ^ (other_row ? 1 : 0)) * 16 + pick;
                        // op_sel[0]: fetch from inactive lanes too; op_sel[1]: zero instead of no write.
                        const bool valid = (op_sel & 1) || (exec >> from & 1);
                        const bool written = (exec >> l & 1) && (valid || (op_sel & 2));
                        INFO(target << " " << text << " lane " << l);
                        REQUIRE(m.wave.v[0][l] == (!written ? 500 + static_cast<u32>(l)
                                                   : valid  ? 100 + static_cast<u32>(from)
                                                            : 0));
                    }
                }
}

TEST_CASE("swizzle patterns", "[lane]") {
    struct Pattern {
        const char* text;
        std::function<int(int)> source;
    };
    const std::vector<Pattern> patterns = {
        {"swizzle(QUAD_PERM,3,0,2,1)",
         [](int l) {
             const int p[] = {3, 0, 2, 1};
             return l / 4 * 4 + p[l % 4];
         }},
        {"swizzle(SWAP,1)", [](int l) { return l ^ 1; }},
        {"swizzle(SWAP,16)", [](int l) { return l ^ 16; }},
        {"swizzle(REVERSE,8)", [](int l) { return l / 8 * 8 + 7 - l % 8; }},
        {"swizzle(REVERSE,32)", [](int l) { return 31 - l; }},
        {"swizzle(BROADCAST,4,2)", [](int l) { return l / 4 * 4 + 2; }},
        {"swizzle(BROADCAST,32,17)", [](int) { return 17; }},
        {"swizzle(BITMASK_PERM,\"p01pi\")", [](int l) { return (l & 0x12) | 4 | ((l & 1) ^ 1); }},
        {"swizzle(ROTATE,0,5)", [](int l) { return (l + 5) % 32; }},
        {"swizzle(ROTATE,1,5)", [](int l) { return (l + 27) % 32; }},
        // Lane bits 0 and 1 stay; the text of this one is that of the line above.
        {"0xc4a3", [](int l) { return (l & 3) | ((l + 27) % 32 & 28); }},
        {"0x1c03", [](int l) { return (l & 3) ^ 7; }},
    };
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"})
        for (const u32 exec : {~0u, 0xf0ff3fffu})
            for (const Pattern& p : patterns) {
                WaveFixture m(target);
                m.wave.s[kExecLo] = exec;
                for (int l = 0; l < kLanes; ++l) {
                    m.wave.v[0][l] = 9;
                    m.wave.v[1][l] = 100 + static_cast<u32>(l);
                }
                m.run(std::string("ds_swizzle_b32 v0, v1 offset:") + p.text);
                for (int l = 0; l < kLanes; ++l) {
                    const int from = p.source(l);
                    INFO(target << " " << p.text << " lane " << l << " exec " << std::hex << exec);
                    REQUIRE(m.wave.v[0][l] == (!(exec >> l & 1)   ? 9
                                               : exec >> from & 1 ? 100 + static_cast<u32>(from)
                                                                  : 0));
                }
            }
}

TEST_CASE("swizzles of which too little is known are refused", "[lane]") {
    WaveFixture m("gfx1201");
    CHECK_THROWS_AS(m.run("ds_swizzle_b32 v0, v1 offset:0xe010"), Fault);
    CHECK_THAT(m.last_text, Catch::Contains("FFT patterns are not implemented"));
}

TEST_CASE("every SDWA selection", "[sdwa]") {
    static const char* const names[] = {"DWORD", "BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1"};
    struct Field {
        int shift, bits;
    };
    static const Field fields[] = {{0, 32}, {0, 8}, {8, 8}, {16, 8}, {24, 8}, {0, 16}, {16, 16}};
    const auto extract = [](u32 v, const Field& f, bool sign) {
        const u64 mask = (u64{1} << f.bits) - 1, field = v >> f.shift & mask;
        return static_cast<u32>(sign && field >> (f.bits - 1) ? field | ~mask : field);
    };
    std::vector<std::string> texts;
    std::vector<std::function<u32(u32, u32)>> expected;
    for (int d = 0; d < 7; ++d)
        for (int s0 = 0; s0 < 7; ++s0)
            for (int s1 = 0; s1 < 7; ++s1)
                for (const int unused : {0, 1, 2})
                    for (const bool sign : {false, true}) {
                        static const char* const kinds[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
                        const std::string a = sign ? "sext(v1)" : "v1";
                        texts.push_back("v_add_nc_u32_sdwa v0, " + a + ", v2 dst_sel:" + names[d] +
                                        " dst_unused:" + kinds[unused] + " src0_sel:" + names[s0] +
                                        " src1_sel:" + names[s1]);
                        expected.emplace_back([=](u32 x, u32 y) {
                            const u32 sum = extract(x, fields[s0], sign) + extract(y, fields[s1], false);
                            const Field& f = fields[d];
                            const u64 mask = (u64{1} << f.bits) - 1;
                            const u32 placed = static_cast<u32>((sum & mask) << f.shift);
                            u32 rest = 0;
                            if (unused == 2) rest = 0x5a5a5a5a & ~static_cast<u32>(mask << f.shift);
                            if (unused == 1 && (sum & mask) >> (f.bits - 1))
                                rest = static_cast<u32>(~u64{0} << (f.shift + f.bits));
                            return placed | rest;
                        });
                    }
    const auto code = assemble("gfx1030", texts);
    WaveFixture m("gfx1030");
    Random random;
    for (size_t i = 0; i < code.size(); ++i) {
        std::array<u32, kLanes> want{};
        for (int l = 0; l < kLanes; ++l) {
            m.wave.v[0][l] = 0x5a5a5a5a;
            m.wave.v[1][l] = random.next();
            m.wave.v[2][l] = random.next();
            want[static_cast<size_t>(l)] = expected[i](m.wave.v[1][l], m.wave.v[2][l]);
        }
        m.run(code[i]);
        INFO(texts[i]);
        REQUIRE(m.wave.v[0] == want);
    }
}

TEST_CASE("SDWA selects and merges bytes and words", "[sdwa]") {
    WaveFixture m("gfx1030");
    for (int l = 0; l < kLanes; ++l) {
        m.wave.v[0][l] = 0x11223344;
        m.wave.v[1][l] = 0x80c0e0f0 + static_cast<u32>(l);
        m.wave.v[2][l] = 0x01020304;
    }
    m.run(
        "v_mov_b32 v3, v0\nv_and_b32_sdwa v3, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
        "src0_sel:BYTE_1 src1_sel:DWORD\n"
        "v_mov_b32 v4, v0\nv_add_nc_u32_sdwa v4, sext(v1), v2 dst_sel:DWORD dst_unused:UNUSED_PAD "
        "src0_sel:BYTE_3 src1_sel:BYTE_0\n"
        "v_mov_b32 v5, v0\nv_or_b32_sdwa v5, v1, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PAD src0_sel:BYTE_2 "
        "src1_sel:WORD_1");
    for (int l = 0; l < kLanes; ++l) {
        const u32 v1 = 0x80c0e0f0 + static_cast<u32>(l);
        CHECK(m.wave.v[3][l] == (0x3344 | (((v1 >> 8 & 255) & 0x01020304) << 16)));
        CHECK(m.wave.v[4][l] == static_cast<u32>(-128 + 4));
        CHECK(m.wave.v[5][l] == (((v1 >> 16 & 255) | 0x0102) & 255) << 16);
    }
}

TEST_CASE("VOPD halves read before either writes", "[vopd]") {
    for (const char* target : {"gfx1100", "gfx1201"}) {
        WaveFixture m(target);
        m.wave.s[kVccLo] = 0xffff0000;
        for (int l = 0; l < kLanes; ++l) {
            m.wave.v[0][l] = b(2.0f);
            m.wave.v[1][l] = b(3.0f + static_cast<float>(l));
            m.wave.v[2][l] = b(5.0f);
            m.wave.v[3][l] = b(7.0f);
        }
        m.run(
            "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0\nv_dual_fmac_f32 v2, v0, v1 :: "
            "v_dual_cndmask_b32 v3, v2, v3");
        for (int l = 0; l < kLanes; ++l) {
            CHECK(f(m.wave.v[0][l]) == 3.0f + static_cast<float>(l));
            CHECK(f(m.wave.v[1][l]) == 2.0f);
            CHECK(f(m.wave.v[2][l]) == 5.0f + 2.0f * (3.0f + static_cast<float>(l)));
            CHECK(f(m.wave.v[3][l]) == (l < 16 ? 5.0f : 7.0f));
        }
    }
}

TEST_CASE("denormals follow the mode", "[mode]") {
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"})
        for (const bool keep : {false, true}) {
            WaveFixture m(target);
            m.wave.mode = keep ? 0xf0 : 0xc0;
            for (int l = 0; l < kLanes; ++l) m.wave.v[1][l] = 0x00400000;
            m.run("v_add_f32 v0, v1, v1\nv_mul_f32 v2, 0.5, v1");
            CHECK(m.wave.v[0][0] == (keep ? 0x00800000u : 0u));
            CHECK(m.wave.v[2][0] == (keep ? 0x00200000u : 0u));
        }
}

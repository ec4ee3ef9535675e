// Scalar instructions that compilers seldom emit, and scalar floating point, against formulas written here.
#include "rows.hpp"

using namespace gfxsim_test;

namespace {

struct Result {
    u64 value;
    int scc;  // -1: unchanged
};

struct Row64 {
    const char* text;  // s[2:3] and s[4:5] in, s[6:7] out; s8 is the third operand
    const char* targets;
    std::function<Result(u64, u64, u64)> expected;
    enum { kBits, kFloat, kHalf } compare = kBits;
    bool wide = false;
};

const char* target_name(const std::string& generation) {
    return generation == "10"     ? "gfx1030"
           : generation == "11"   ? "gfx1100"
           : generation == "11.5" ? "gfx1150"
                                  : "gfx1201";
}

void check(const std::vector<Row64>& rows) {
    Random random;
    for (const std::string generation : {"10", "11", "11.5", "12"})
        for (const Row64& row : rows) {
            if ((" " + std::string(row.targets) + " ").find(" " + generation + " ") == std::string::npos)
                continue;
            const auto code = assemble(target_name(generation), {row.text})[0];
            WaveFixture m(target_name(generation));
            for (int n = 0; n < 300; ++n) {
                const auto word = [&] {
                    return random.next() % 3 ? edge_values()[random.next() % edge_values().size()]
                                             : random.next();
                };
                const u64 x = u64{word()} << 32 | word(), y = u64{word()} << 32 | word(), z = word();
                m.wave.s[2] = static_cast<u32>(x);
                m.wave.s[3] = static_cast<u32>(x >> 32);
                m.wave.s[4] = static_cast<u32>(y);
                m.wave.s[5] = static_cast<u32>(y >> 32);
                m.wave.s[6] = static_cast<u32>(z);
                m.wave.s[7] = 0;
                const bool scc = m.wave.scc = random.next() & 1;
                m.run(code);
                const Result want = row.expected(x, y, z);
                const u64 got = row.wide ? m.wave.s64(6) : m.wave.s[6];
                INFO(target_name(generation) << " " << row.text << std::hex << " a=" << x << " b=" << y
                                             << " c=" << z << " got " << got << " expected " << want.value);
                const bool both_nan = row.compare == Row64::kFloat
                                          ? nan(static_cast<u32>(got)) && nan(static_cast<u32>(want.value))
                                      : row.compare == Row64::kHalf
                                          ? std::isnan(half(static_cast<u32>(got))) &&
                                                std::isnan(half(static_cast<u32>(want.value)))
                                          : false;
                REQUIRE((got == want.value || both_nan));
                REQUIRE(m.wave.scc == (want.scc < 0 ? scc : want.scc != 0));
            }
        }
}

u32 lo(u64 v) {
    return static_cast<u32>(v);
}
double h(u64 v) {
    return half(static_cast<u32>(v & 65535));
}
Result same(u64 v) {
    return {v, -1};
}
Result flag(u64 v) {
    return {v, v != 0};
}

int leading(u64 v, int bits) {
    for (int i = 0; i < bits; ++i)
        if (v >> (bits - 1 - i) & 1) return i;
    return -1;
}
int trailing(u64 v, int bits) {
    for (int i = 0; i < bits; ++i)
        if (v >> i & 1) return i;
    return -1;
}

}  // namespace

TEST_CASE("scalar bit operations", "[salu]") {
    const auto quad = [](u64 v, int bits, bool whole) {
        u64 r = 0;
        for (int i = 0; i < bits; i += 4)
            if (v >> i & 15) r |= whole ? u64{15} << i : u64{1} << i / 4;
        return r;
    };
    const auto index = [](int i) { return same(static_cast<u32>(i)); };
    const auto sign_run = [](u64 v, int bits) {
        const u64 sign = v >> (bits - 1) & 1;
        for (int i = 1; i < bits; ++i)
            if ((v >> (bits - 1 - i) & 1) != sign) return i;
        return -1;
    };
    check({
        {"s_ff0_i32_b32 s6, s2", "10", [&](u64 x, u64, u64) { return index(trailing(~x, 32)); }},
        {"s_ff0_i32_b64 s6, s[2:3]", "10", [&](u64 x, u64, u64) { return index(trailing(~x, 64)); }},
        {"s_ff1_i32_b32 s6, s2", "10", [&](u64 x, u64, u64) { return index(trailing(x, 32)); }},
        {"s_ctz_i32_b64 s6, s[2:3]", "11 11.5 12", [&](u64 x, u64, u64) { return index(trailing(x, 64)); }},
        {"s_flbit_i32_b32 s6, s2", "10", [&](u64 x, u64, u64) { return index(leading(lo(x), 32)); }},
        {"s_clz_i32_u64 s6, s[2:3]", "11 11.5 12", [&](u64 x, u64, u64) { return index(leading(x, 64)); }},
        {"s_flbit_i32 s6, s2", "10", [&](u64 x, u64, u64) { return index(sign_run(lo(x), 32)); }},
        {"s_flbit_i32_i64 s6, s[2:3]", "10", [&](u64 x, u64, u64) { return index(sign_run(x, 64)); }},
        {"s_cls_i32_i64 s6, s[2:3]", "11 11.5 12", [&](u64 x, u64, u64) { return index(sign_run(x, 64)); }},
        {"s_quadmask_b32 s6, s2", "10 11 11.5 12",
         [&](u64 x, u64, u64) { return flag(quad(lo(x), 32, false)); }},
        {"s_quadmask_b64 s[6:7], s[2:3]", "10 11 11.5 12",
         [&](u64 x, u64, u64) { return flag(quad(x, 64, false)); }, Row64::kBits, true},
        {"s_wqm_b32 s6, s2", "10 11 11.5 12", [&](u64 x, u64, u64) { return flag(quad(lo(x), 32, true)); }},
        {"s_wqm_b64 s[6:7], s[2:3]", "10 11 11.5 12",
         [&](u64 x, u64, u64) { return flag(quad(x, 64, true)); }, Row64::kBits, true},
        {"s_bitreplicate_b64_b32 s[6:7], s2", "10 11 11.5 12",
         [](u64 x, u64, u64) {
             u64 r = 0;
             for (int i = 0; i < 64; ++i) r |= (x >> i / 2 & 1) << i;
             return same(r);
         },
         Row64::kBits, true},
        {"s_bcnt0_i32_b64 s6, s[2:3]", "10 11 11.5 12",
         [](u64 x, u64, u64) {
             u32 n = 0;
             for (int i = 0; i < 64; ++i) n += !(x >> i & 1);
             return flag(n);
         }},
        {"s_bcnt0_i32_b32 s6, s2", "10 11 11.5 12",
         [](u64 x, u64, u64) {
             u32 n = 0;
             for (int i = 0; i < 32; ++i) n += !(x >> i & 1);
             return flag(n);
         }},
        {"s_brev_b64 s[6:7], s[2:3]", "10 11 11.5 12",
         [](u64 x, u64, u64) {
             u64 r = 0;
             for (int i = 0; i < 64; ++i) r |= (x >> i & 1) << (63 - i);
             return same(r);
         },
         Row64::kBits, true},
        {"s_bitset1_b32 s6, s2", "10 11 11.5 12",
         [](u64 x, u64, u64 z) { return same(lo(z) | 1u << x % 32); }},
        {"s_bitset0_b32 s6, s2", "10 11 11.5 12",
         [](u64 x, u64, u64 z) { return same(lo(z) & ~(1u << x % 32)); }},
        {"s_pack_lh_b32_b16 s6, s2, s4", "10 11 11.5 12",
         [](u64 x, u64 y, u64) { return same((x & 65535) | (y & 0xffff0000)); }},
        {"s_pack_hl_b32_b16 s6, s2, s4", "11 11.5 12",
         [](u64 x, u64 y, u64) { return same((lo(x) >> 16) | (y & 65535) << 16); }},
        {"s_absdiff_i32 s6, s2, s4", "10 11 11.5 12",
         [](u64 x, u64 y, u64) {
             const u32 d = lo(x) - lo(y);
             return flag(d >> 31 ? 0 - d : d);
         }},
        {"s_bfm_b64 s[6:7], s2, s4", "10 11 11.5 12",
         [](u64 x, u64 y, u64) { return same(((u64{1} << x % 64) - 1) << y % 64); }, Row64::kBits, true},
        {"s_mul_u64 s[6:7], s[2:3], s[4:5]", "12", [](u64 x, u64 y, u64) { return same(x * y); },
         Row64::kBits, true},
        {"s_add_nc_u64 s[6:7], s[2:3], s[4:5]", "12", [](u64 x, u64 y, u64) { return same(x + y); },
         Row64::kBits, true},
        {"s_sub_nc_u64 s[6:7], s[2:3], s[4:5]", "12", [](u64 x, u64 y, u64) { return same(x - y); },
         Row64::kBits, true},
    });
}

TEST_CASE("scalar floating point", "[salu]") {
    const auto f16 = [](double v) { return same(nearest_half(v)); };
    const auto fd = [](u64 v) { return static_cast<double>(f(lo(v))); };
    const auto f32 = [](double v) { return same(b(static_cast<float>(v))); };
    const auto ieee = [](u64 x, u64 y, bool max) -> u32 {
        if (nan(lo(x))) return lo(x);
        if (nan(lo(y))) return lo(y);
        return minimum(lo(x), lo(y), max);
    };
    constexpr auto kFloat = Row64::kFloat;
    constexpr auto kHalf = Row64::kHalf;
    const char* both = "11.5 12";
    std::vector<Row64> rows = {
        {"s_add_f32 s6, s2, s4", both, [=](u64 x, u64 y, u64) { return f32(fd(x) + fd(y)); }, kFloat},
        {"s_sub_f32 s6, s2, s4", both, [=](u64 x, u64 y, u64) { return f32(fd(x) - fd(y)); }, kFloat},
        {"s_mul_f32 s6, s2, s4", both, [=](u64 x, u64 y, u64) { return f32(fd(x) * fd(y)); }, kFloat},
        {"s_fmac_f32 s6, s2, s4", both,
         [=](u64 x, u64 y, u64 z) { return same(b(std::fmaf(f(lo(x)), f(lo(y)), f(lo(z))))); }, kFloat},
        {"s_fmaak_f32 s6, s2, s4, 0x3fb8aa3b", both,
         [=](u64 x, u64 y, u64) { return same(b(std::fmaf(f(lo(x)), f(lo(y)), f(0x3fb8aa3b)))); }, kFloat},
        {"s_fmamk_f32 s6, s2, 0x3fb8aa3b, s4", both,
         [=](u64 x, u64 y, u64) { return same(b(std::fmaf(f(lo(x)), f(0x3fb8aa3b), f(lo(y))))); }, kFloat},
        {"s_ceil_f32 s6, s2", both, [=](u64 x, u64, u64) { return same(b(std::ceil(f(lo(x))))); }, kFloat},
        {"s_floor_f32 s6, s2", both, [=](u64 x, u64, u64) { return same(b(std::floor(f(lo(x))))); }, kFloat},
        {"s_trunc_f32 s6, s2", both, [=](u64 x, u64, u64) { return same(b(std::trunc(f(lo(x))))); }, kFloat},
        {"s_rndne_f32 s6, s2", both, [=](u64 x, u64, u64) { return same(b(std::nearbyint(f(lo(x))))); },
         kFloat},
        {"s_cvt_f32_i32 s6, s2", both,
         [=](u64 x, u64, u64) { return f32(static_cast<double>(static_cast<i32>(x))); }},
        {"s_cvt_f32_u32 s6, s2", both, [=](u64 x, u64, u64) { return f32(static_cast<double>(lo(x))); }},
        {"s_cvt_i32_f32 s6, s2", both, [=](u64 x, u64, u64) { return same(to_int(lo(x), true)); }},
        {"s_cvt_u32_f32 s6, s2", both, [=](u64 x, u64, u64) { return same(to_int(lo(x), false)); }},
        {"s_cvt_f16_f32 s6, s2", both, [=](u64 x, u64, u64) { return f16(fd(x)); }, kHalf},
        {"s_cvt_f32_f16 s6, s2", both, [=](u64 x, u64, u64) { return f32(h(x)); }, kFloat},
        {"s_cvt_hi_f32_f16 s6, s2", both, [=](u64 x, u64, u64) { return f32(h(x >> 16)); }, kFloat},
        {"s_cvt_pk_rtz_f16_f32 s6, s2, s4\ns_and_b32 s6, s6, 0x7fff7fff\ns_cmp_eq_u32 s6, s6", both,
         [=](u64 x, u64 y, u64) {
             const auto one = [&](u64 v) -> u32 {
                 const double a = std::fabs(fd(v));
                 if (std::isnan(a)) return 0x7e00 | (lo(v) >> 13 & 0x1ff);  // quiet, the upper payload
                 if (std::isinf(a)) return 0x7c00;
                 u32 best = 0;
                 for (u32 step = 0x4000; step; step /= 2)
                     if (best + step <= 0x7bff && half(best + step) <= a) best += step;
                 return best;
             };
             return Result{one(x) | u64{one(y)} << 16, 1};
         },
         kHalf},
        {"s_add_f16 s6, s2, s4", both, [=](u64 x, u64 y, u64) { return f16(h(x) + h(y)); }, kHalf},
        {"s_sub_f16 s6, s2, s4", both, [=](u64 x, u64 y, u64) { return f16(h(x) - h(y)); }, kHalf},
        {"s_mul_f16 s6, s2, s4", both, [=](u64 x, u64 y, u64) { return f16(h(x) * h(y)); }, kHalf},
        {"s_fmac_f16 s6, s2, s4", both, [=](u64 x, u64 y, u64 z) { return f16(std::fma(h(x), h(y), h(z))); },
         kHalf},
        {"s_ceil_f16 s6, s2", both, [=](u64 x, u64, u64) { return f16(std::ceil(h(x))); }, kHalf},
        {"s_floor_f16 s6, s2", both, [=](u64 x, u64, u64) { return f16(std::floor(h(x))); }, kHalf},
        {"s_trunc_f16 s6, s2", both, [=](u64 x, u64, u64) { return f16(std::trunc(h(x))); }, kHalf},
        {"s_rndne_f16 s6, s2", both, [=](u64 x, u64, u64) { return f16(std::nearbyint(h(x))); }, kHalf},
        {"s_minimum_f32 s6, s2, s4", "12", [=](u64 x, u64 y, u64) { return same(ieee(x, y, false)); },
         kFloat},
        {"s_maximum_f32 s6, s2, s4", "12", [=](u64 x, u64 y, u64) { return same(ieee(x, y, true)); }, kFloat},
    };
    for (const bool max : {false, true}) {
        static const char* const names[] = {"s_min_f32 s6, s2, s4", "s_max_f32 s6, s2, s4",
                                            "s_min_num_f32 s6, s2, s4", "s_max_num_f32 s6, s2, s4"};
        for (const bool gfx12 : {false, true})
            rows.push_back({names[max + 2 * gfx12], gfx12 ? "12" : "11.5",
                            [=](u64 x, u64 y, u64) { return same(minimum(lo(x), lo(y), max)); }, kFloat});
        static const char* const halves[] = {"s_min_f16 s6, s2, s4",     "s_max_f16 s6, s2, s4",
                                             "s_min_num_f16 s6, s2, s4", "s_max_num_f16 s6, s2, s4",
                                             "s_minimum_f16 s6, s2, s4", "s_maximum_f16 s6, s2, s4"};
        for (const int kind : {0, 2, 4})
            rows.push_back({halves[max + kind], kind ? "12" : "11.5",
                            [=](u64 x, u64 y, u64) {
                                const u32 p = lo(x) & 65535, q = lo(y) & 65535;
                                const auto rank = [](u32 v) {
                                    return v & 0x8000 ? -static_cast<int>(v & 0x7fff) - 1
                                                      : static_cast<int>(v & 0x7fff);
                                };
                                const bool np = std::isnan(half(p)), nq = std::isnan(half(q));
                                if (np || nq) return same(kind == 4 ? (np ? p : q) : (np ? q : p));
                                return same((rank(p) < rank(q)) != max ? p : q);
                            },
                            kHalf});
    }
    check(rows);
    // The scalar transcendentals, within a unit in the last place.
    WaveFixture m("gfx1201");
    for (const float v : {0.25f, 1.0f, 3.0f, 100.0f, 0.0078125f}) {
        m.wave.s[2] = b(v);
        m.wave.s[3] = nearest_half(static_cast<double>(v));
        m.run(
            "v_s_rcp_f32 s10, s2\nv_s_rsq_f32 s11, s2\nv_s_sqrt_f32 s12, s2\nv_s_exp_f32 s13, "
            "s2\nv_s_log_f32 s14, s2\n"
            "v_s_rcp_f16 s15, s3\nv_s_rsq_f16 s16, s3\nv_s_sqrt_f16 s17, s3\nv_s_exp_f16 s18, "
            "s3\nv_s_log_f16 s19, s3");
        const double x = static_cast<double>(v), e = std::exp2(x);
        const double want[] = {1 / x, 1 / std::sqrt(x), std::sqrt(x), e, std::log2(x)};
        for (int i = 0; i < 5; ++i) {
            INFO(v << " function " << i);
            CHECK(static_cast<double>(f(m.wave.s[10 + i])) == Approx(want[i]).epsilon(1e-7));
            const double narrow = half(m.wave.s[15 + i]);
            if (want[i] > 65520)
                CHECK(std::isinf(narrow));
            else
                CHECK(narrow == Approx(want[i]).epsilon(1e-3));
        }
    }
}

TEST_CASE("EXEC by scalar instructions", "[salu]") {
    struct Mask {
        const char *old_name, *new_name;
        u64 (*exec)(u64 s, u64 e);
    };
    const Mask masks[] = {
        {"and", "and", [](u64 s, u64 e) { return s & e; }},
        {"or", "or", [](u64 s, u64 e) { return s | e; }},
        {"xor", "xor", [](u64 s, u64 e) { return s ^ e; }},
        {"nand", "nand", [](u64 s, u64 e) { return ~(s & e); }},
        {"nor", "nor", [](u64 s, u64 e) { return ~(s | e); }},
        {"xnor", "xnor", [](u64 s, u64 e) { return ~(s ^ e); }},
        {"andn2", "and_not1", [](u64 s, u64 e) { return s & ~e; }},
        {"orn2", "or_not1", [](u64 s, u64 e) { return s | ~e; }},
        {"andn1", "and_not0", [](u64 s, u64 e) { return ~s & e; }},
        {"orn1", "or_not0", [](u64 s, u64 e) { return ~s | e; }},
    };
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"})
        for (const Mask& mask : masks)
            for (const bool write : {false, true})
                for (const bool wide : {false, true}) {
                    const std::string name = std::string(target) == "gfx1030" ? mask.old_name : mask.new_name;
                    // Only these two come as wrexec.
                    if (write && name != "andn1" && name != "andn2" && name != "and_not0" &&
                        name != "and_not1")
                        continue;
                    const std::string text = "s_" + name + (write ? "_wrexec_b" : "_saveexec_b") +
                                             (wide ? "64 s[6:7], s[2:3]" : "32 s6, s2");
                    INFO(target << " " << text);
                    WaveFixture m(target);
                    m.wave.s[2] = 0x00ff1234;
                    m.wave.s[3] = 0x80000001;
                    m.wave.s[kExecLo] = 0x0f0ff00f;
                    m.wave.s[kExecHi] = 0x11110000;
                    const u64 bits = wide ? ~u64{0} : 0xffffffff;
                    const u64 s = m.wave.s64(2) & bits, e = m.wave.s64(kExecLo) & bits,
                              want = mask.exec(s, e) & bits;
                    m.run(text);
                    CHECK((m.wave.s64(kExecLo) & bits) == want);
                    CHECK((m.wave.s64(6) & bits) == (write ? want : e));
                    CHECK(m.wave.scc == (want != 0));
                }
}

TEST_CASE("scalar registers picked by M0, clocks", "[salu]") {
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"}) {
        INFO(target);
        WaveFixture m(target);
        for (u32 r = 0; r < 60; ++r) m.wave.s[r] = 1000 + r;
        m.wave.s[kM0] = 4;
        m.run(
            "s_movrels_b32 s20, s1\ns_movrels_b64 s[22:23], s[2:3]\ns_movreld_b32 s24, s3\ns_movreld_b64 "
            "s[30:31], s[4:5]");
        CHECK(m.wave.s[20] == 1005);
        CHECK(m.wave.s64(22) == (u64{1007} << 32 | 1006));
        CHECK(m.wave.s[28] == 1003);
        CHECK(m.wave.s64(34) == (u64{1005} << 32 | 1004));
        m.wave.s[kM0] = 2 | 3 << 16;
        m.run("s_movrelsd_2_b32 s40, s7");
        CHECK(m.wave.s[43] == 1009);
        m.wave.s[kM0] = 100;
        CHECK_THROWS_AS(m.run("s_movrels_b32 s20, s20"), Fault);
        // Clocks do not stand still: they count what the wave has executed.
        m.wave.executed = 77;
        m.run(std::string(target) == "gfx1030" ? "s_memtime s[2:3]"
                                               : "s_sendmsg_rtn_b64 s[2:3], sendmsg(MSG_RTN_GET_REALTIME)");
        CHECK(m.wave.s64(2) == 77);
        m.run(std::string(target) == "gfx1201" ? "s_getreg_b32 s5, hwreg(HW_REG_SHADER_CYCLES_LO)"
                                               : "s_getreg_b32 s5, hwreg(HW_REG_SHADER_CYCLES, 0, 20)");
        CHECK(m.wave.s[5] == 77);
    }
}

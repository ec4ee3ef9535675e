// What compiled kernels use and no other test has: dual-issue pairs, division steps, widths of loads and
// stores, control flow, waits.
#include <cstring>

#include "device_buffer.hpp"
#include "rows.hpp"

using namespace gfxsim_test;

namespace {

const char* const kTargets[] = {"gfx1030", "gfx1100", "gfx1150", "gfx1201"};

bool is(const char* target, const char* prefix) {
    return std::string(target).rfind(prefix, 0) == 0;
}

u32 low16(u32 v) {
    return v & 65535;
}

}  // namespace

TEST_CASE("every instruction as either half of a dual-issue pair", "[vopd]") {
    struct Half {
        const char *name, *operands;  // after the destination; @ is v1 or v11 (source 0), # is v2 or v12
        std::function<u32(u32 x, u32 y, u32 old)> expected;
        bool y_only = false;
        const char* targets = "11 11.5 12";
    };
    const std::vector<Half> halves = {
        {"v_dual_mov_b32", "@", [](u32 x, u32, u32) { return x; }},
        {"v_dual_mul_f32", "@, #", [](u32 x, u32 y, u32) { return b(f(x) * f(y)); }},
        {"v_dual_add_f32", "@, #", [](u32 x, u32 y, u32) { return b(f(x) + f(y)); }},
        {"v_dual_sub_f32", "@, #", [](u32 x, u32 y, u32) { return b(f(x) - f(y)); }},
        {"v_dual_subrev_f32", "@, #", [](u32 x, u32 y, u32) { return b(f(y) - f(x)); }},
        {"v_dual_mul_dx9_zero_f32", "@, #",
         [](u32 x, u32 y, u32) { return f(x) == 0 || f(y) == 0 ? 0 : b(f(x) * f(y)); }},
        {"v_dual_fmac_f32", "@, #", [](u32 x, u32 y, u32 old) { return b(std::fmaf(f(x), f(y), f(old))); }},
        {"v_dual_fmaak_f32", "@, #, 0x40490fdb",
         [](u32 x, u32 y, u32) { return b(std::fmaf(f(x), f(y), f(0x40490fdb))); }},
        {"v_dual_fmamk_f32", "@, 0x40490fdb, #",
         [](u32 x, u32 y, u32) { return b(std::fmaf(f(x), f(0x40490fdb), f(y))); }},
        {"v_dual_cndmask_b32", "@, #", nullptr},
        {"v_dual_max_f32", "@, #", [](u32 x, u32 y, u32) { return minimum(x, y, true); }, false, "11 11.5"},
        {"v_dual_min_f32", "@, #", [](u32 x, u32 y, u32) { return minimum(x, y, false); }, false, "11 11.5"},
        {"v_dual_max_num_f32", "@, #", [](u32 x, u32 y, u32) { return minimum(x, y, true); }, false, "12"},
        {"v_dual_min_num_f32", "@, #", [](u32 x, u32 y, u32) { return minimum(x, y, false); }, false, "12"},
        {"v_dual_dot2acc_f32_f16", "@, #",
         [](u32 x, u32 y, u32 old) {
             return b(static_cast<float>(half(low16(x)) * half(low16(y)) + half(x >> 16) * half(y >> 16) +
                                         static_cast<double>(f(old))));
         }},
        {"v_dual_dot2acc_f32_bf16", "@, #",
         [](u32 x, u32 y, u32 old) {
             return b(static_cast<float>(static_cast<double>(f(x << 16)) * f(y << 16) +
                                         static_cast<double>(f(x & 0xffff0000)) * f(y & 0xffff0000) +
                                         static_cast<double>(f(old))));
         }},
        {"v_dual_add_nc_u32", "@, #", [](u32 x, u32 y, u32) { return x + y; }, true},
        {"v_dual_lshlrev_b32", "@, #", [](u32 x, u32 y, u32) { return y << x % 32; }, true},
        {"v_dual_and_b32", "@, #", [](u32 x, u32 y, u32) { return x & y; }, true},
    };
    Random random;
    for (const std::string target : {"gfx1100", "gfx1150", "gfx1201"}) {
        const std::string generation = target == "gfx1100" ? "11" : target == "gfx1150" ? "11.5" : "12";
        std::vector<const Half*> used;
        for (const Half& h : halves)
            if ((" " + std::string(h.targets) + " ").find(" " + generation + " ") != std::string::npos)
                used.push_back(&h);
        for (const bool as_y : {false, true})
            for (const Half* h : used) {
                if (h->y_only && !as_y) continue;
                // Registers of different banks; the other half moves v7 to its destination.
                std::string operands = h->operands;
                operands.replace(operands.find('@'), 1, "v1");
                if (const size_t at = operands.find('#'); at != std::string::npos)
                    operands.replace(at, 1, "v2");
                const std::string own = std::string(h->name) + (as_y ? " v5, " : " v4, ") + operands;
                const std::string other = as_y ? "v_dual_mov_b32 v6, v7" : "v_dual_mov_b32 v9, v7";
                const std::string text = as_y ? other + " :: " + own : own + " :: " + other;
                INFO(target << " " << text);
                const auto code = assemble(target, {text})[0];
                WaveFixture m(target);
                for (int n = 0; n < 12; ++n) {
                    for (int r = 0; r < 10; ++r)
                        for (u32& v : m.wave.v[r])
                            v = random.next() % 2 ? edge_values()[random.next() % edge_values().size()]
                                                  : random.next();
                    m.wave.s[kVccLo] = random.next();
                    m.wave.s[kExecLo] = n % 2 ? ~0u : 0x0ff0f00f;
                    const auto v = m.wave.v;
                    m.run(code);
                    const int d = as_y ? 5 : 4, moved = as_y ? 6 : 9;
                    for (int l = 0; l < kLanes; ++l) {
                        const bool active = m.wave.s[kExecLo] >> l & 1;
                        u32 want = v[d][l];
                        if (active)
                            want = h->expected                 ? h->expected(v[1][l], v[2][l], v[d][l])
                                   : m.wave.s[kVccLo] >> l & 1 ? v[2][l]
                                                               : v[1][l];
                        const u32 got = m.wave.v[d][l];
                        INFO(std::hex << v[1][l] << " " << v[2][l] << " " << v[d][l] << " got " << got
                                      << " want " << want);
                        REQUIRE((got == want || (active && nan(got) && nan(want) && h->expected)));
                        REQUIRE(m.wave.v[moved][l] == (active ? v[7][l] : v[moved][l]));
                    }
                }
            }
    }
}

TEST_CASE("dual-issue pairs that the register banks forbid", "[vopd]") {
    const auto patch = [](std::vector<uint8_t> code, int srcx0, int vsrcx1, int srcy0, int vsrcy1) {
        u32 w[2];
        std::memcpy(w, code.data(), 8);
        w[0] = (w[0] & ~0x1ffffu) | static_cast<u32>(256 + srcx0) | static_cast<u32>(vsrcx1) << 9;
        w[1] = (w[1] & ~0x1ffffu) | static_cast<u32>(256 + srcy0) | static_cast<u32>(vsrcy1) << 9;
        std::memcpy(code.data(), w, 8);
        return code;
    };
    for (const char* target : {"gfx1100", "gfx1150", "gfx1201"}) {
        const auto code = assemble(target, {"v_dual_mul_f32 v20, v0, v1 :: v_dual_add_f32 v21, v3, v4",
                                            "v_dual_mov_b32 v20, v0 :: v_dual_mov_b32 v21, v3"});
        WaveFixture m(target);
        INFO(target);
        CHECK_NOTHROW(m.run(patch(code[0], 0, 1, 7, 6)));
        CHECK_THROWS_AS(m.run(patch(code[0], 0, 1, 8, 6)), Fault);
        CHECK_THAT(m.last_text, Catch::Contains("first sources share a register bank"));
        CHECK_THROWS_AS(m.run(patch(code[0], 0, 1, 0, 6)), Fault);
        CHECK_THROWS_AS(m.run(patch(code[0], 0, 1, 7, 5)), Fault);
        CHECK_THAT(m.last_text, Catch::Contains("second sources share a register bank"));
        // Two moves of one bank: gfx12 only.
        if (is(target, "gfx12"))
            CHECK_NOTHROW(m.run(patch(code[1], 0, 0, 4, 0)));
        else
            CHECK_THROWS_AS(m.run(patch(code[1], 0, 0, 4, 0)), Fault);
    }
}

TEST_CASE("division as compilers expand it is correctly rounded", "[valu]") {
    check_rows({
        {"v_div_scale_f32 v10, s4, v2, v2, v1\nv_div_scale_f32 v11, vcc_lo, v1, v2, v1\nv_rcp_f32 v12, v10\n"
         "v_fma_f32 v13, -v10, v12, 1.0\nv_fma_f32 v12, v13, v12, v12\nv_mul_f32 v14, v11, v12\n"
         "v_fma_f32 v15, -v10, v14, v11\nv_fma_f32 v14, v15, v12, v14\nv_fma_f32 v15, -v10, v14, v11\n"
         "v_div_fmas_f32 v15, v15, v12, v14\nv_div_fixup_f32 v0, v15, v2, v1",
         [](u32 x, u32 y, u32) { return b(f(x) / f(y)); }, Row::kFloat},
        // The special cases that v_div_fixup puts right, from a quotient that is wrong.
        {"v_div_fixup_f32 v0, 1.0, v2, v1",
         [](u32 x, u32 y, u32) {
             const float n = f(x), d = f(y), q = n / d;
             const bool special =
                 std::isnan(n) || std::isnan(d) || std::isinf(n) || std::isinf(d) || n == 0 || d == 0;
             if (special) return b(q);
             const int e = static_cast<int>(x >> 23 & 255) - static_cast<int>(y >> 23 & 255);
             return b(
                 std::copysign(e < -150 ? 0.0f : 1.0f, (std::signbit(n) != std::signbit(d)) ? -1.0f : 1.0f));
         },
         Row::kFloat},
    });
    // v_div_scale: when it scales, by how much, and what it asks v_div_fmas for.
    struct Case {
        float denominator, numerator, scaled_denominator, scaled_numerator;
        bool vcc;
    };
    const Case cases[] = {
        {3.0f, 7.0f, 3.0f, 7.0f, false},
        {0x1p-100f, 1.0f, 0x1p-36f, 1.0f, true},            // quotient exponent of 96 and more
        {0x1p-140f, 0x1p-100f, 0x1p-76f, 0x1p-36f, false},  // a denormal denominator
        {0x1p127f, 0x1p100f, 0x1p63f, 0x1p36f, false},      // a denormal reciprocal
        {0x1p127f, 0x1p-10f, 0x1p63f, 0x1p-10f, true},      // and quotient
        {0x1p30f, 0x1p-110f, 0x1p30f, 0x1p-46f, true},      // a denormal quotient
        {0x1p-20f, 0x1p-110f, 0x1p44f, 0x1p-46f, false},    // a tiny numerator
    };
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"})
        for (const Case& c : cases) {
            WaveFixture m(target);
            m.wave.v[1].fill(b(c.numerator));
            m.wave.v[2].fill(b(c.denominator));
            m.run("v_div_scale_f32 v10, s4, v2, v2, v1\nv_div_scale_f32 v11, s6, v1, v2, v1");
            INFO(target << " " << c.numerator << " / " << c.denominator);
            CHECK(f(m.wave.v[10][3]) == c.scaled_denominator);
            CHECK(f(m.wave.v[11][3]) == c.scaled_numerator);
            CHECK(m.wave.s[4] == (c.vcc ? ~0u : 0u));
            CHECK(m.wave.s[6] == (c.vcc ? ~0u : 0u));
        }
}

TEST_CASE("the rest of the vector inventory", "[valu]") {
    const auto mx = [](u32 x, u32 y) { return minimum(x, y, true); };
    const auto mn = [](u32 x, u32 y) { return minimum(x, y, false); };
    const auto med = [=](u32 x, u32 y, u32 z) {
        if (nan(x) || nan(y) || nan(z)) return mn(mn(x, y), z);
        return mx(mn(x, y), mn(mx(x, y), z));
    };
    const auto imax = [](u32 x, u32 y) { return static_cast<i32>(x) > static_cast<i32>(y) ? x : y; };
    const auto imin = [](u32 x, u32 y) { return static_cast<i32>(x) < static_cast<i32>(y) ? x : y; };
    check_rows({
        {"v_max3_f32 v0, v1, v2, v3", [=](u32 x, u32 y, u32 z) { return mx(mx(x, y), z); }, Row::kFloat,
         "10 11"},
        {"v_max3_num_f32 v0, v1, v2, v3", [=](u32 x, u32 y, u32 z) { return mx(mx(x, y), z); }, Row::kFloat,
         "12"},
        {"v_min3_f32 v0, v1, v2, v3", [=](u32 x, u32 y, u32 z) { return mn(mn(x, y), z); }, Row::kFloat,
         "10 11"},
        {"v_maxmin_f32 v0, v1, v2, v3", [=](u32 x, u32 y, u32 z) { return mn(mx(x, y), z); }, Row::kFloat,
         "11"},
        {"v_maxmin_num_f32 v0, v1, v2, v3", [=](u32 x, u32 y, u32 z) { return mn(mx(x, y), z); }, Row::kFloat,
         "12"},
        {"v_minmax_num_f32 v0, v1, v2, v3", [=](u32 x, u32 y, u32 z) { return mx(mn(x, y), z); }, Row::kFloat,
         "12"},
        {"v_med3_f32 v0, v1, v2, v3", med, Row::kFloat, "10 11"},
        {"v_med3_num_f32 v0, v1, v2, v3", med, Row::kFloat, "12"},
        {"v_maxmin_i32 v0, v1, v2, v3", [=](u32 x, u32 y, u32 z) { return imin(imax(x, y), z); }, Row::kBits,
         "11 12"},
        {"v_max_i32 v0, v1, v2", [=](u32 x, u32 y, u32) { return imax(x, y); }},
        {"v_min_i32 v0, v1, v2", [=](u32 x, u32 y, u32) { return imin(x, y); }},
        {"v_bfe_i32 v0, v1, v2, v3",
         [](u32 x, u32 y, u32 z) {
             const u32 offset = y % 32, width = z % 32;
             if (!width) return 0u;
             const i64 field = static_cast<i64>(static_cast<i32>(x)) >> offset;
             const u32 v = static_cast<u32>(field) & static_cast<u32>((u64{1} << width) - 1);
             return width + offset < 32 && v >> (width - 1) & 1 ? v | ~0u << width
                    : width + offset >= 32                      ? static_cast<u32>(field)
                                                                : v;
         }},
        {"v_rcp_iflag_f32 v0, v1",
         [](u32 x, u32, u32) { return flush(b(static_cast<float>(1.0 / f(flush(x))))); }, Row::kUlp},
        {"v_cvt_f32_ubyte0 v0, v1", [](u32 x, u32, u32) { return b(static_cast<float>(x & 255)); }},
        {"v_cvt_flr_i32_f32 v0, v1", [](u32 x, u32, u32) { return to_int(b(std::floor(f(x))), true); },
         Row::kBits, "10"},
        {"v_cvt_floor_i32_f32 v0, v1", [](u32 x, u32, u32) { return to_int(b(std::floor(f(x))), true); },
         Row::kBits, "11 12"},
        {"v_sub_nc_u16 v0.l, v1.l, v2.h", [](u32 x, u32 y, u32) { return 0x5a5a0000 | low16(x - (y >> 16)); },
         Row::kBits, "11 12"},
        {"v_sub_nc_u16 v0, v1, v2", [](u32 x, u32 y, u32) { return 0x5a5a0000 | low16(x - y); }, Row::kBits,
         "10"},
        {"v_mul_lo_u16 v0.l, v1.l, v2.l",
         [](u32 x, u32 y, u32) { return 0x5a5a0000 | low16(low16(x) * low16(y)); }, Row::kBits, "11 12"},
        {"v_lshrrev_b16 v0.l, v1.l, v2.h", [](u32 x, u32 y, u32) { return 0x5a5a0000 | (y >> 16 >> x % 16); },
         Row::kBits, "11 12"},
        {"v_and_b16 v0.h, v1.h, v2.l", [](u32 x, u32 y, u32) { return 0x5a5a | ((x >> 16) & y) << 16; },
         Row::kBits, "11 12"},
        {"v_or_b16 v0.h, v1.h, v2.l", [](u32 x, u32 y, u32) { return 0x5a5a | ((x >> 16) | low16(y)) << 16; },
         Row::kBits, "11 12"},
        {"v_xor_b16 v0.l, v1.h, v2.l", [](u32 x, u32 y, u32) { return 0x5a5a0000 | ((x >> 16) ^ low16(y)); },
         Row::kBits, "11 12"},
        {"s_mov_b32 vcc_lo, 0xaaaaaaaa\nv_cndmask_b16 v0.l, v1.l, v1.l, vcc_lo",
         [](u32 x, u32, u32) { return 0x5a5a0000 | low16(x); }, Row::kBits, "11 12"},
        {"v_cmp_gt_i32 vcc_lo, v1, v2\nv_cndmask_b16 v0.h, v1.l, v2.h, vcc_lo",
         [](u32 x, u32 y, u32) {
             return 0x5a5a | (static_cast<i32>(x) > static_cast<i32>(y) ? y >> 16 : low16(x)) << 16;
         },
         Row::kBits, "11 12"},
        {"v_fma_mixhi_f16 v0, v1, v2, v3\nv_lshrrev_b32 v0, 16, v0",
         [](u32 x, u32 y, u32 z) { return nearest_half(std::fmaf(f(x), f(y), f(z))); }, Row::kHalf},
        {"v_mov_b32 v4, v3\nv_mov_b32 v5, v2\nv_mad_co_i64_i32 v[6:7], s4, v1, v2, v[4:5]\nv_mov_b32 v0, v7",
         [](u32 x, u32 y, u32 z) {
             const u64 sum =
                 static_cast<u64>(i64{static_cast<i32>(x)} * static_cast<i32>(y)) + (u64{y} << 32 | z);
             return static_cast<u32>(sum >> 32);
         },
         Row::kBits, "12"},
    });
}

TEST_CASE("the rest of the scalar inventory", "[salu]") {
    Random random;
    for (const char* target : kTargets) {
        const bool gfx10 = is(target, "gfx10");
        struct Row {
            const char *gfx10, *text;  // s2, s4 (or pairs) to s6 or SCC
            std::function<u64(u64, u64)> expected;
            std::function<bool(u64, u64)> scc;
        };
        const auto lo = [](u64 v) { return static_cast<u32>(v); };
        const auto si = [](u64 v) { return static_cast<i32>(v); };
        const auto none = std::function<u64(u64, u64)>();
        const std::vector<Row> rows = {
            {nullptr, "s_and_b32 s6, s2, s4", [=](u64 x, u64 y) { return lo(x & y); },
             [=](u64 x, u64 y) { return lo(x & y) != 0; }},
            {nullptr, "s_or_b32 s6, s2, s4", [=](u64 x, u64 y) { return lo(x | y); },
             [=](u64 x, u64 y) { return lo(x | y) != 0; }},
            {"s_orn2_b32 s6, s2, s4", "s_or_not1_b32 s6, s2, s4", [=](u64 x, u64 y) { return lo(x | ~y); },
             [=](u64 x, u64 y) { return lo(x | ~y) != 0; }},
            {nullptr, "s_lshl_b32 s6, s2, s4", [=](u64 x, u64 y) { return lo(x) << y % 32; },
             [=](u64 x, u64 y) { return lo(x) << y % 32 != 0; }},
            {nullptr, "s_lshr_b32 s6, s2, s4", [=](u64 x, u64 y) { return lo(x) >> y % 32; },
             [=](u64 x, u64 y) { return lo(x) >> y % 32 != 0; }},
            {nullptr, "s_max_i32 s6, s2, s4", [=](u64 x, u64 y) { return lo(si(x) > si(y) ? x : y); },
             [=](u64 x, u64 y) { return si(x) > si(y); }},
            {nullptr, "s_mul_hi_i32 s6, s2, s4",
             [=](u64 x, u64 y) { return lo(static_cast<u64>(i64{si(x)} * si(y)) >> 32); }, nullptr},
            {nullptr, "s_xor_b64 s[6:7], s[2:3], s[4:5]", [](u64 x, u64 y) { return x ^ y; },
             [](u64 x, u64 y) { return (x ^ y) != 0; }},
            {nullptr, "s_cmp_eq_u32 s2, s4", none, [=](u64 x, u64 y) { return lo(x) == lo(y); }},
            {nullptr, "s_cmp_eq_u64 s[2:3], s[4:5]", none, [](u64 x, u64 y) { return x == y; }},
            {nullptr, "s_cmp_lg_u64 s[2:3], s[4:5]", none, [](u64 x, u64 y) { return x != y; }},
            {nullptr, "s_cmp_ge_i32 s2, s4", none, [=](u64 x, u64 y) { return si(x) >= si(y); }},
            {nullptr, "s_cmp_gt_i32 s2, s4", none, [=](u64 x, u64 y) { return si(x) > si(y); }},
            {nullptr, "s_cmp_lt_i32 s2, s4", none, [=](u64 x, u64 y) { return si(x) < si(y); }},
            {nullptr, "s_cmp_le_i32 s2, s4", none, [=](u64 x, u64 y) { return si(x) <= si(y); }},
            {nullptr, "s_cmp_ge_u32 s2, s4", none, [=](u64 x, u64 y) { return lo(x) >= lo(y); }},
            {nullptr, "s_cmp_lt_u32 s2, s4", none, [=](u64 x, u64 y) { return lo(x) < lo(y); }},
            {nullptr, "s_bitcmp1_b32 s2, s4", none, [=](u64 x, u64 y) { return (lo(x) >> y % 32 & 1) == 1; }},
            {nullptr, "s_bitcmp0_b64 s[2:3], s4", none, [](u64 x, u64 y) { return (x >> y % 64 & 1) == 0; }},
        };
        for (const Row& row : rows) {
            const std::string text = gfx10 && row.gfx10 ? row.gfx10 : row.text;
            const auto code = assemble(target, {text})[0];
            WaveFixture m(target);
            for (int n = 0; n < 200; ++n) {
                const auto word = [&] {
                    return random.next() % 3 ? edge_values()[random.next() % edge_values().size()]
                                             : random.next();
                };
                const u64 x = u64{word()} << 32 | word(),
                          y = random.next() % 4 ? u64{word()} << 32 | word() : x;
                m.wave.s[2] = static_cast<u32>(x);
                m.wave.s[3] = static_cast<u32>(x >> 32);
                m.wave.s[4] = static_cast<u32>(y);
                m.wave.s[5] = static_cast<u32>(y >> 32);
                m.wave.s[7] = 0;
                const bool before = m.wave.scc = random.next() & 1;
                m.run(code);
                INFO(target << " " << text << std::hex << " " << x << " " << y);
                if (row.expected) REQUIRE(m.wave.s64(6) == row.expected(x, y));
                REQUIRE(m.wave.scc == (row.scc ? row.scc(x, y) : before));
            }
        }
    }
}

TEST_CASE("branches on every condition, waits that change nothing", "[control]") {
    for (const char* target : kTargets) {
        const bool gfx10 = is(target, "gfx10"), gfx12 = is(target, "gfx12");
        struct Branch {
            const char* name;
            bool scc;
            u32 vcc, exec;
            bool taken;
        };
        const Branch branches[] = {
            {"s_branch", false, 0, 1, true},         {"s_cbranch_scc0", false, 0, 1, true},
            {"s_cbranch_scc0", true, 0, 1, false},   {"s_cbranch_scc1", true, 0, 1, true},
            {"s_cbranch_vccz", false, 0, 1, true},   {"s_cbranch_vccz", false, 4, 1, false},
            {"s_cbranch_vccnz", false, 4, 1, true},  {"s_cbranch_vccnz", false, 0, 1, false},
            {"s_cbranch_execz", false, 0, 0, true},  {"s_cbranch_execz", false, 0, 8, false},
            {"s_cbranch_execnz", false, 0, 8, true}, {"s_cbranch_execnz", false, 0, 0, false},
        };
        for (const Branch& c : branches) {
            INFO(target << " " << c.name << " " << c.taken);
            WaveFixture m(target);
            m.wave.scc = c.scc;
            m.wave.s[kVccLo] = c.vcc;
            m.wave.s[kExecLo] = c.exec;
            m.run(std::string("s_mov_b32 s4, 1\n") + c.name +
                  " over\ns_mov_b32 s4, 2\nover:\ns_mov_b32 s5, s4");
            CHECK(m.wave.s[5] == (c.taken ? 1 : 2));
        }
        std::string waits = "s_nop 3\ns_clause 0x1\n";
        waits += gfx12 ? "s_wait_alu 0xfffe\ns_wait_dscnt 0x0\ns_wait_kmcnt 0x0\ns_wait_loadcnt "
                         "0x0\ns_wait_storecnt 0x0\n"
                         "s_wait_loadcnt_dscnt 0x0\ns_wait_storecnt_dscnt 0x0\nglobal_inv scope:SCOPE_SE\n"
                         "global_wb scope:SCOPE_SYS\n"
                       : "s_waitcnt vmcnt(0) lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0\ns_waitcnt_depctr 0xfffe\n"
                         "buffer_gl0_inv\n";
        if (!gfx10) waits += "s_delay_alu instid0(VALU_DEP_1)\n";
        waits +=
            gfx10 ? "s_sendmsg sendmsg(MSG_GS_DONE, GS_OP_NOP)\n" : "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)\n";
        INFO(target);
        WaveFixture m(target);
        Random random;
        for (auto& r : m.wave.v)
            for (u32& v : r) v = random.next();
        m.wave.s[40] = 17;
        const auto v = m.wave.v;
        const auto s = m.wave.s;
        m.run(waits + "s_endpgm");
        CHECK(m.wave.v == v);
        CHECK(m.wave.s == s);
        CHECK(m.wave.state == WaveState::kDone);
    }
}

TEST_CASE("barriers, single and split", "[control]") {
    for (const char* target : kTargets) {
        INFO(target);
        const std::string one = is(target, "gfx12") ? "s_barrier_signal -1\ns_barrier_wait -1" : "s_barrier";
        WaveFixture m(target);
        // Alone in its workgroup a wave passes; with another that is not there it stops.
        m.run(one + "\ns_mov_b32 s4, 9");
        CHECK(m.wave.s[4] == 9);
        WaveFixture other(target);
        m.group.waves.push_back(&other.wave);
        m.group.live_waves = 2;
        m.wave.s[4] = 0;
        m.run(one + "\ns_mov_b32 s4, 9");
        CHECK(m.wave.state == WaveState::kAtBarrier);
        CHECK(m.wave.s[4] == 0);
    }
}

TEST_CASE("modes by register", "[control]") {
    for (const char* target : kTargets) {
        INFO(target);
        WaveFixture m(target);
        m.wave.s[2] = 0;
        m.wave.v[1].fill(1);
        m.run(
            "s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s2\nv_add_f32 v0, v1, v1\ns_getreg_b32 s4, "
            "hwreg(HW_REG_MODE, 0, 8)");
        CHECK(m.wave.v[0][0] == 0);  // flushed
        CHECK(m.wave.s[4] == 0xc0);
    }
}

TEST_CASE("loads and stores of the inventory", "[memory]") {
    for (const char* target : kTargets) {
        INFO(target);
        const bool gfx10 = is(target, "gfx10"), gfx12 = is(target, "gfx12");
        const auto pick = [&](const char* a, const char* b) { return std::string(gfx10 ? a : b) + " "; };
        Buffer memory(4096);
        Random random;
        for (int i = 0; i < 4096; ++i) memory.p[i] = static_cast<uint8_t>(random.next());
        std::vector<uint8_t> original(memory.p, memory.p + 4096);
        WaveFixture m(target, 8192);
        const u64 base = reinterpret_cast<u64>(memory.p);
        m.wave.s[2] = static_cast<u32>(base);
        m.wave.s[3] = static_cast<u32>(base >> 32);
        for (int l = 0; l < kLanes; ++l) {
            m.wave.v[0][l] = static_cast<u32>(16 * l);
            m.wave.v[1][l] = static_cast<u32>(16 * l + 2048);
        }
        const auto word_at = [&](size_t at) {
            u32 v = 0;
            std::memcpy(&v, original.data() + at, 4);
            return v;
        };
        m.wave.v[30].fill(0x11223344);
        m.run(pick("global_load_dword", "global_load_b32") + "v4, v0, s[2:3] offset:4\n" +
              pick("global_load_dwordx2", "global_load_b64") + "v[6:7], v0, s[2:3] offset:8\n" +
              pick("global_load_dwordx4", "global_load_b128") + "v[8:11], v0, s[2:3]\n" +
              pick("global_load_short_d16", "global_load_d16_b16") + "v30, v0, s[2:3] offset:2\n" +
              pick("global_store_dword", "global_store_b32") + "v1, v4, s[2:3]\n" +
              pick("global_store_dwordx2", "global_store_b64") + "v1, v[6:7], s[2:3] offset:4\n" +
              pick("global_store_short", "global_store_b16") + "v1, v8, s[2:3] offset:12\n" +
              pick("global_store_byte", "global_store_b8") + "v1, v8, s[2:3] offset:15");
        for (u32 l = 0; l < kLanes; ++l) {
            CHECK(m.wave.v[4][l] == word_at(16 * l + 4));
            CHECK(m.wave.v[6][l] == word_at(16 * l + 8));
            CHECK(m.wave.v[7][l] == word_at(16 * l + 12));
            CHECK(m.wave.v[8][l] == word_at(16 * l));
            CHECK(m.wave.v[11][l] == word_at(16 * l + 12));
            CHECK(m.wave.v[30][l] ==
                  (0x11220000 | original[16 * l + 2] | static_cast<u32>(original[16 * l + 3]) << 8));
            const uint8_t* stored = memory.p + 2048 + 16 * l;
            CHECK(std::memcmp(stored, original.data() + 16 * l + 4, 4) == 0);
            CHECK(std::memcmp(stored + 4, original.data() + 16 * l + 8, 8) == 0);
            CHECK(std::memcmp(stored + 12, original.data() + 16 * l, 2) == 0);
            CHECK(stored[14] == original[2048 + 16 * l + 14]);
            CHECK(stored[15] == original[16 * l]);
        }
        m.run(pick("global_store_dwordx4", "global_store_b128") + "v1, v[8:11], s[2:3]");
        for (u32 l = 0; l < kLanes; ++l)
            CHECK(std::memcmp(memory.p + 2048 + 16 * l, original.data() + 16 * l, 16) == 0);
        // Scalar loads of every width.
        m.run(pick("s_load_dword", "s_load_b32") + "s10, s[2:3], 0x4\n" +
              pick("s_load_dwordx2", "s_load_b64") + "s[12:13], s[2:3], 0x8\n" +
              pick("s_load_dwordx8", "s_load_b256") + "s[16:23], s[2:3], 0x20\n" +
              pick("s_load_dwordx16", "s_load_b512") + "s[24:39], s[2:3], 0x40");
        CHECK(m.wave.s[10] == word_at(4));
        CHECK(m.wave.s[13] == word_at(12));
        for (u32 i = 0; i < 8; ++i) CHECK(m.wave.s[16 + i] == word_at(32 + 4 * i));
        for (u32 i = 0; i < 16; ++i) CHECK(m.wave.s[24 + i] == word_at(64 + 4 * i));
        if (gfx12) {
            m.run(
                "s_load_b96 s[40:42], s[2:3], 0x10\ns_load_u16 s44, s[2:3], 0x6\ns_load_i16 s45, s[2:3], "
                "0x6\n"
                "s_load_u8 s46, s[2:3], 0x3\ns_load_i8 s47, s[2:3], 0x3");
            for (u32 i = 0; i < 3; ++i) CHECK(m.wave.s[40 + i] == word_at(16 + 4 * i));
            const u32 half_word = original[6] | static_cast<u32>(original[7]) << 8;
            CHECK(m.wave.s[44] == half_word);
            CHECK(m.wave.s[45] == static_cast<u32>(static_cast<int16_t>(half_word)));
            CHECK(m.wave.s[46] == original[3]);
            CHECK(m.wave.s[47] == static_cast<u32>(static_cast<int8_t>(original[3])));
        }
        // LDS: what is stored in one width is loaded in others.
        for (int l = 0; l < kLanes; ++l)
            for (int r = 8; r < 12; ++r) m.wave.v[r][l] = random.next();
        m.run(pick("ds_write_b128", "ds_store_b128") + "v0, v[8:11]\n" +
              pick("ds_read_b128", "ds_load_b128") + "v[12:15], v0\n" +
              pick("ds_read2_b64", "ds_load_2addr_b64") + "v[16:19], v0 offset0:1 offset1:0\n" +
              pick("ds_read2st64_b32", "ds_load_2addr_stride64_b32") + "v[20:21], v0 offset0:0 offset1:0\n" +
              pick("ds_write_b32", "ds_store_b32") + "v1, v9 offset:4\n" +
              pick("ds_write_b16", "ds_store_b16") + "v1, v8\n" +
              pick("ds_write_b16_d16_hi", "ds_store_b16_d16_hi") + "v1, v8 offset:2\n" +
              pick("ds_write2_b64", "ds_store_2addr_b64") + "v1, v[8:9], v[10:11] offset0:200 offset1:201\n" +
              pick("ds_read_b64", "ds_load_b64") + "v[22:23], v1\n" + pick("ds_read_b128", "ds_load_b128") +
              "v[24:27], v1 offset:1600\n" + pick("ds_read_u8", "ds_load_u8") + "v28, v0 offset:7\n" +
              pick("ds_read_i16", "ds_load_i16") + "v29, v0 offset:6");
        for (int l = 0; l < kLanes; ++l) {
            const auto& v = m.wave.v;
            for (int k = 0; k < 4; ++k) CHECK(v[12 + k][l] == v[8 + k][l]);
            for (int k = 0; k < 4; ++k) CHECK(v[16 + k][l] == v[8 + (k ^ 2)][l]);
            CHECK(v[20][l] == v[8][l]);
            CHECK(v[21][l] == v[8][l]);
            CHECK(v[22][l] == v[8][l]);
            CHECK(v[23][l] == v[9][l]);
            for (int k = 0; k < 4; ++k) CHECK(v[24 + k][l] == v[8 + k][l]);
            CHECK(v[28][l] == v[9][l] >> 24);
            CHECK(v[29][l] == static_cast<u32>(static_cast<i32>(v[9][l]) >> 16));
        }
    }
}

// Scalar arithmetic, branches, loads and stores of every width, LDS, decoding.
#include <bit>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include "decoder.hpp"
#include "device_buffer.hpp"
#include "wave_fixture.hpp"

using namespace gfxsim_test;
using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

namespace {

const char* const kTargets[] = {"gfx1030", "gfx1100", "gfx1201"};

struct Result {
    u64 value;
    int scc;  // -1: unchanged
};

struct Row {
    const char* text;   // s[2:3] and s[4:5] in, s[6:7] out
    const char* gfx12;  // other name there, or nullptr
    bool wide;
    std::function<Result(u64, u64, int)> expected;
};

Result r32(u32 v, int scc) {
    return {v, scc};
}

}  // namespace

TEST_CASE("scalar arithmetic and SCC", "[salu]") {
    const auto lo = [](u64 v) { return static_cast<u32>(v); };
    const std::vector<Row> rows = {
        {"s_add_u32 s6, s2, s4", "s_add_co_u32", false,
         [&](u64 a, u64 b, int) { return r32(lo(lo(a) + u64{lo(b)}), (lo(a) + u64{lo(b)}) >> 32 != 0); }},
        {"s_addc_u32 s6, s2, s4", "s_add_co_ci_u32", false,
         [&](u64 a, u64 b, int c) {
             return r32(lo(lo(a) + u64{lo(b)} + static_cast<u32>(c)),
                        (lo(a) + u64{lo(b)} + static_cast<u32>(c)) >> 32 != 0);
         }},
        {"s_sub_u32 s6, s2, s4", "s_sub_co_u32", false,
         [&](u64 a, u64 b, int) { return r32(lo(a) - lo(b), lo(b) > lo(a)); }},
        {"s_subb_u32 s6, s2, s4", "s_sub_co_ci_u32", false,
         [&](u64 a, u64 b, int c) {
             return r32(lo(a) - lo(b) - static_cast<u32>(c), u64{lo(b)} + static_cast<u32>(c) > lo(a));
         }},
        {"s_add_i32 s6, s2, s4", "s_add_co_i32", false,
         [&](u64 a, u64 b, int) {
             const i64 s = i64{static_cast<i32>(a)} + static_cast<i32>(b);
             return r32(static_cast<u32>(s), s != static_cast<i32>(s));
         }},
        {"s_sub_i32 s6, s2, s4", "s_sub_co_i32", false,
         [&](u64 a, u64 b, int) {
             const i64 s = i64{static_cast<i32>(a)} - static_cast<i32>(b);
             return r32(static_cast<u32>(s), s != static_cast<i32>(s));
         }},
        {"s_mul_i32 s6, s2, s4", nullptr, false, [&](u64 a, u64 b, int) { return r32(lo(a * b), -1); }},
        {"s_mul_hi_u32 s6, s2, s4", nullptr, false,
         [&](u64 a, u64 b, int) { return r32(lo(u64{lo(a)} * lo(b) >> 32), -1); }},
        {"s_and_b64 s[6:7], s[2:3], s[4:5]", nullptr, true,
         [&](u64 a, u64 b, int) {
             return Result{a & b, (a & b) != 0};
         }},
        {"s_xor_b32 s6, s2, s4", nullptr, false,
         [&](u64 a, u64 b, int) { return r32(lo(a ^ b), lo(a ^ b) != 0); }},
        {"s_andn2_b32 s6, s2, s4", "s_and_not1_b32", false,
         [&](u64 a, u64 b, int) { return r32(lo(a & ~b), lo(a & ~b) != 0); }},
        {"s_lshl_b64 s[6:7], s[2:3], s4", nullptr, true,
         [&](u64 a, u64 b, int) {
             return Result{a << b % 64, (a << b % 64) != 0};
         }},
        {"s_ashr_i32 s6, s2, s4", nullptr, false,
         [&](u64 a, u64 b, int) {
             const u32 r = static_cast<u32>(i64{static_cast<i32>(a)} >> b % 32);
             return r32(r, r != 0);
         }},
        {"s_bfe_u32 s6, s2, 0x50003", nullptr, false,
         [&](u64 a, u64, int) { return r32(lo(a) >> 3 & 31, (lo(a) >> 3 & 31) != 0); }},
        {"s_bfe_i32 s6, s2, 0x80008", nullptr, false,
         [&](u64 a, u64, int) {
             const u32 r = static_cast<u32>(i32{static_cast<int8_t>(a >> 8)});
             return r32(r, r != 0);
         }},
        {"s_lshl2_add_u32 s6, s2, s4", nullptr, false,
         [&](u64 a, u64 b, int) {
             return r32(lo((u64{lo(a)} << 2) + lo(b)), ((u64{lo(a)} << 2) + lo(b)) >> 32 != 0);
         }},
        {"s_min_i32 s6, s2, s4", nullptr, false,
         [&](u64 a, u64 b, int) {
             return r32(static_cast<i32>(a) < static_cast<i32>(b) ? lo(a) : lo(b),
                        static_cast<i32>(a) < static_cast<i32>(b));
         }},
        {"s_max_u32 s6, s2, s4", nullptr, false,
         [&](u64 a, u64 b, int) { return r32(lo(a) > lo(b) ? lo(a) : lo(b), lo(a) > lo(b)); }},
        {"s_abs_i32 s6, s2", nullptr, false,
         [&](u64 a, u64, int) {
             const u32 r = lo(a) >> 31 ? 0 - lo(a) : lo(a);
             return r32(r, r != 0);
         }},
        {"s_cselect_b32 s6, s2, s4", nullptr, false,
         [&](u64 a, u64 b, int c) { return r32(c ? lo(a) : lo(b), -1); }},
        {"s_movk_i32 s6, 0xff80", nullptr, false, [](u64, u64, int) { return r32(0xffffff80, -1); }},
        {"s_mov_b64 s[6:7], -2", nullptr, true,
         [](u64, u64, int) {
             return Result{~u64{1}, -1};
         }},
        {"s_sext_i32_i8 s6, s2", nullptr, false,
         [&](u64 a, u64, int) { return r32(static_cast<u32>(i32{static_cast<int8_t>(a)}), -1); }},
        {"s_bcnt1_i32_b64 s6, s[2:3]", nullptr, false,
         [](u64 a, u64, int) {
             u32 n = 0;
             for (int i = 0; i < 64; ++i) n += a >> i & 1;
             return r32(n, n != 0);
         }},
    };
    Random random;
    for (const char* target : kTargets)
        for (const Row& row : rows) {
            std::string text = row.text;
            if (row.gfx12 && std::string(target) == "gfx1201") text = row.gfx12 + text.substr(text.find(' '));
            const auto code = assemble(target, {text})[0];
            WaveFixture m(target);
            for (int n = 0; n < 400; ++n) {
                const auto word = [&] {
                    return random.next() % 2 ? random.next()
                                             : edge_values()[random.next() % edge_values().size()];
                };
                const u64 a = u64{word()} << 32 | word(), b = u64{word()} << 32 | word();
                m.wave.s[2] = static_cast<u32>(a);
                m.wave.s[3] = static_cast<u32>(a >> 32);
                m.wave.s[4] = static_cast<u32>(b);
                m.wave.s[5] = static_cast<u32>(b >> 32);
                const bool carry = m.wave.scc = random.next() & 1;
                m.run(code);
                const Result want = row.expected(a, b, carry);
                INFO(target << " " << text << std::hex << " a=" << a << " b=" << b << " scc=" << carry);
                REQUIRE((row.wide ? m.wave.s64(6) : m.wave.s[6]) == want.value);
                REQUIRE(m.wave.scc == (want.scc < 0 ? carry : want.scc != 0));
            }
        }
}

TEST_CASE("branches, saveexec and the null register", "[salu]") {
    for (const char* target : kTargets) {
        INFO(target);
        WaveFixture m(target);
        m.run(
            "s_mov_b32 s0, 0\ns_mov_b32 s1, 10\nloop:\ns_add_i32 s0, s0, s1\ns_sub_i32 s1, s1, "
            "1\ns_cmp_lg_u32 s1, 0\ns_cbranch_scc1 loop");
        CHECK(m.wave.s[0] == 55);
        m.wave.s[kExecLo] = 0xff;
        m.wave.s[2] = 0x3c;
        m.run("s_and_saveexec_b32 s4, s2");
        CHECK(m.wave.s[4] == 0xff);
        CHECK(m.wave.s[kExecLo] == 0x3c);
        CHECK(m.wave.scc);
        m.run("s_mov_b32 null, s2\ns_mov_b32 s5, null");
        CHECK(m.wave.s[5] == 0);
        CHECK(m.wave.s[kExecLo] == 0x3c);
    }
}

TEST_CASE("loads and stores of every width", "[memory]") {
    for (const char* target : kTargets) {
        INFO(target);
        const bool gfx10 = std::string(target) == "gfx1030";
        Buffer in(1024), out(4096);
        Random random;
        for (int i = 0; i < 1024; ++i) in.p[i] = static_cast<uint8_t>(random.next());
        WaveFixture m(target);
        const u64 from = reinterpret_cast<u64>(in.p), to = reinterpret_cast<u64>(out.p);
        m.wave.s[2] = static_cast<u32>(from);
        m.wave.s[3] = static_cast<u32>(from >> 32);
        m.wave.s[4] = static_cast<u32>(to);
        m.wave.s[5] = static_cast<u32>(to >> 32);
        for (int l = 0; l < kLanes; ++l) {
            m.wave.v[0][l] = static_cast<u32>(16 * l);
            for (int r = 10; r < 30; ++r) m.wave.v[r][l] = 0xaabbccdd;
        }
        const auto pick = [&](const char* old_name, const char* new_name) {
            return std::string(gfx10 ? old_name : new_name);
        };
        m.run(pick("global_load_ubyte", "global_load_u8") + " v10, v0, s[2:3] offset:1\n" +
              pick("global_load_sbyte", "global_load_i8") + " v11, v0, s[2:3] offset:2\n" +
              pick("global_load_ushort", "global_load_u16") + " v12, v0, s[2:3] offset:4\n" +
              pick("global_load_sshort", "global_load_i16") + " v13, v0, s[2:3] offset:6\n" +
              pick("global_load_short_d16_hi", "global_load_d16_hi_b16") + " v14, v0, s[2:3] offset:8\n" +
              pick("global_load_dwordx4", "global_load_b128") + " v[16:19], v0, s[2:3]\n" +
              pick("s_load_dwordx4 s[8:11], s[2:3], 0x20", "s_load_b128 s[8:11], s[2:3], 0x20"));
        for (int l = 0; l < kLanes; ++l) {
            const uint8_t* p = in.p + 16 * l;
            u32 words[4];
            std::memcpy(words, p, 16);
            REQUIRE(m.wave.v[10][l] == p[1]);
            REQUIRE(m.wave.v[11][l] == static_cast<u32>(static_cast<int8_t>(p[2])));
            REQUIRE(m.wave.v[12][l] == static_cast<u32>(p[4] | p[5] << 8));
            REQUIRE(m.wave.v[13][l] == static_cast<u32>(static_cast<int16_t>(p[6] | p[7] << 8)));
            REQUIRE(m.wave.v[14][l] == (0xccddu | static_cast<u32>(p[8] | p[9] << 8) << 16));
            for (int k = 0; k < 4; ++k) REQUIRE(m.wave.v[16 + k][l] == words[k]);
        }
        REQUIRE(std::memcmp(&m.wave.s[8], in.p + 32, 16) == 0);
        // Only active lanes store.
        std::memset(out.p, 0, 4096);
        m.wave.s[kExecLo] = 0x80000001;
        m.run(pick("global_store_dwordx3", "global_store_b96") + " v0, v[16:18], s[4:5]\n" +
              pick("global_store_byte", "global_store_b8") + " v0, v16, s[4:5] offset:13\n" +
              pick("global_store_short_d16_hi", "global_store_d16_hi_b16") + " v0, v16, s[4:5] offset:14");
        for (int l = 0; l < kLanes; ++l) {
            const bool active = l == 0 || l == 31;
            const uint8_t *p = in.p + 16 * l, *q = out.p + 16 * l;
            for (int k = 0; k < 12; ++k) REQUIRE(q[k] == (active ? p[k] : 0));
            REQUIRE(q[13] == (active ? p[0] : 0));
            REQUIRE(q[14] == (active ? p[2] : 0));
            REQUIRE(q[15] == (active ? p[3] : 0));
        }
        // One lane past the end.
        m.wave.s[kExecLo] = ~0u;
        m.wave.v[0][7] = 1024 - 12;
        CHECK_THROWS_AS(m.run(pick("global_load_dwordx4", "global_load_b128") + " v[16:19], v0, s[2:3]"),
                        Fault);
        m.wave.s[kExecLo] = ~0x80u;
        CHECK_NOTHROW(m.run(pick("global_load_dwordx4", "global_load_b128") + " v[16:19], v0, s[2:3]"));
    }
}

TEST_CASE("addresses at the ends of the address space", "[memory]") {
    for (const char* target : kTargets) {
        INFO(target);
        Buffer in(64);
        WaveFixture m(target);
        const std::string load = std::string(target) == "gfx1030" ? "global_load_dwordx2" : "global_load_b64";
        const u64 good = reinterpret_cast<u64>(in.p);
        for (const u64 address : {~u64{3}, ~u64{7}, u64{0}, u64{8}, u64{1} << 63, good - 4, good + 60}) {
            // The first lane is fine, so that the buffer is known when the others are looked at.
            for (int l = 0; l < kLanes; ++l) {
                const u64 a = l ? address : good;
                m.wave.v[0][l] = static_cast<u32>(a);
                m.wave.v[1][l] = static_cast<u32>(a >> 32);
            }
            CHECK_THROWS_AS(m.run(load + " v[2:3], v[0:1], off"), Fault);
        }
    }
}

TEST_CASE("LDS", "[memory]") {
    for (const char* target : kTargets) {
        INFO(target);
        const bool gfx10 = std::string(target) == "gfx1030";
        const auto pick = [&](const char* old_name, const char* new_name) {
            return std::string(gfx10 ? old_name : new_name);
        };
        WaveFixture m(target, 1024);
        for (int l = 0; l < kLanes; ++l) {
            m.wave.v[0][l] = static_cast<u32>(8 * l);
            m.wave.v[1][l] = 0x1000u + static_cast<u32>(l);
            m.wave.v[2][l] = 0x2000u + static_cast<u32>(l);
            m.wave.v[9][l] = 0;
        }
        m.run(pick("ds_write2_b32", "ds_store_2addr_b32") + " v0, v1, v2 offset0:1 offset1:0\n" +
              pick("ds_read_b64", "ds_load_b64") + " v[4:5], v0\n" +
              pick("ds_read2_b32", "ds_load_2addr_b32") + " v[6:7], v0 offset0:0 offset1:1\n" +
              pick("ds_read_u16", "ds_load_u16") + " v8, v0 offset:4\nds_add_rtn_u32 v10, v9, v1 offset:512");
        u32 sum = 0;
        for (int l = 0; l < kLanes; ++l) {
            REQUIRE(m.wave.v[4][l] == 0x2000u + static_cast<u32>(l));
            REQUIRE(m.wave.v[5][l] == 0x1000u + static_cast<u32>(l));
            REQUIRE(m.wave.v[6][l] == m.wave.v[4][l]);
            REQUIRE(m.wave.v[7][l] == m.wave.v[5][l]);
            REQUIRE(m.wave.v[8][l] == 0x1000u + static_cast<u32>(l));
            REQUIRE(m.wave.v[10][l] == sum);
            sum += 0x1000u + static_cast<u32>(l);
        }
        m.wave.v[0][3] = 1020;
        CHECK_NOTHROW(m.run(pick("ds_read_b32", "ds_load_b32") + " v4, v0"));
        CHECK_THROWS_AS(m.run(pick("ds_read_b64", "ds_load_b64") + " v[4:5], v0"), Fault);
    }
}

TEST_CASE("flat pointers reach LDS and scratch", "[memory]") {
    for (const char* target : kTargets) {
        INFO(target);
        const bool gfx10 = std::string(target) == "gfx1030";
        WaveFixture m(target, 1024);
        for (int l = 0; l < kLanes; ++l) {
            m.wave.v[0][l] = static_cast<u32>(4 * l);
            m.wave.v[2][l] = 16;
            m.wave.v[4][l] = 77u + static_cast<u32>(l);
        }
        const std::string store = gfx10 ? "flat_store_dword" : "flat_store_b32",
                          load = gfx10 ? "flat_load_dword" : "flat_load_b32";
        m.run(
            "s_mov_b64 s[0:1], src_shared_base\ns_mov_b64 s[2:3], src_private_base\nv_mov_b32 v1, "
            "s1\nv_mov_b32 v3, s3\n" +
            store + " v[0:1], v4\n" + store + " v[2:3], v4\n" + load + " v5, v[2:3]");
        for (int l = 0; l < kLanes; ++l) {
            u32 word;
            std::memcpy(&word, m.group.lds.data() + 4 * l, 4);
            REQUIRE(word == 77u + static_cast<u32>(l));
            REQUIRE(m.wave.v[5][l] == 77u + static_cast<u32>(l));
        }
    }
}

// As compilers up to LLVM 15 make a generic pointer: half of HW_REG_SH_MEM_BASES, shifted. Nothing can be
// written there.
TEST_CASE("the register of the apertures agrees with their operands", "[memory]") {
    for (const char* target : {"gfx1030", "gfx1100"}) {
        INFO(target);
        WaveFixture m(target);
        m.wave.s[8] = ~0u;
        m.run(
            "s_setreg_b32 hwreg(HW_REG_SH_MEM_BASES, 0, 32), s8\n"
            "s_getreg_b32 s9, hwreg(HW_REG_SH_MEM_BASES, 0, 16)\ns_lshl_b32 s9, s9, 16\n"
            "s_getreg_b32 s10, hwreg(HW_REG_SH_MEM_BASES, 16, 16)\ns_lshl_b32 s10, s10, 16\n"
            "s_getreg_b32 s11, hwreg(HW_REG_SH_MEM_BASES)\n"
            "s_mov_b64 s[0:1], src_shared_base\ns_mov_b64 s[2:3], src_private_base");
        CHECK(m.wave.s[9] == m.wave.s[3]);
        CHECK(m.wave.s[10] == m.wave.s[1]);
        CHECK(m.wave.s[11] == (m.wave.s[1] | m.wave.s[3] >> 16));
    }
}

TEST_CASE("what has no semantics is named", "[decode]") {
    WaveFixture m("gfx1201");
    CHECK_THROWS_AS(m.run("image_load v[0:3], [v4, v5], s[0:7] dmask:0xf dim:SQ_RSRC_IMG_2D"), Fault);
    CHECK_THAT(m.last_text, Catch::Contains("image_load") && Catch::Contains("no semantics"));
    // Bytes that are no instruction.
    const std::vector<uint8_t> garbage = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    CHECK_THROWS_AS(m.run(garbage), Fault);
    CHECK_THAT(m.last_text, Catch::Contains("undecodable"));
}

TEST_CASE("every instruction that compiled kernels use has semantics", "[decode]") {
    std::ifstream list(GFXSIM_INVENTORY);
    std::string line;
    int count = 0;
    while (std::getline(list, line)) {
        ++count;
        std::string name = line.substr(0, line.find(' '));
        INFO(name);
        if (name.rfind("v_dual_", 0) == 0) name = "v_" + name.substr(7);
        CHECK(OpTable::instance().find(name) != nullptr);
    }
    CHECK(count > 200);
}

TEST_CASE("assembly text splits into parts", "[decode]") {
    AsmText t;
    REQUIRE(split_asm_text("\tv_add_f32_e64 v0, -|v1|, v[2:3] clamp op_sel:[0,1]", t));
    CHECK(t.mnemonic == "v_add_f32_e64");
    CHECK(t.operands == std::vector<std::string>{"v0", "-|v1|", "v[2:3]"});
    REQUIRE(t.modifiers.size() == 2);
    CHECK(t.modifiers[1].value == "[0,1]");
    CHECK_FALSE(split_asm_text("v_add v[0, v1", t));
    CHECK_FALSE(split_asm_text("", t));
    CHECK_FALSE(split_asm_text("v_add v0,", t));
    CHECK(base_mnemonic("v_add_f32_e64_dpp") == "v_add_f32");
}

// How undefined bits pass through instructions.
#include <catch2/catch.hpp>

#include "wave_fixture.hpp"

using namespace gfxsim_test;

namespace {

WaveFixture& tracked(WaveFixture& f) {
    f.worker.track_undefined = true;
    return f;
}

struct Row {
    const char* text;    // v4 from v0 (0x00ff1234, undefined `mask`), v1 (0x0000ff0f), v2 (4), v3 (0)
    uint32_t mask;       // undefined bits of v0
    uint32_t undefined;  // of v4
};

}  // namespace

TEST_CASE("bits of vector instructions", "[undefined]") {
    // clang-format off
    static const Row rows[] = {
        {"v_mov_b32 v4, v0", 0x00f0f000, 0x00f0f000},
        {"v_mov_b32 v4, v1", 0xffffffff, 0},
        {"v_not_b32 v4, v0", 0x00f0f000, 0x00f0f000},
        {"v_and_b32 v4, v0, v1", 0xffffffff, 0x0000ff0f},
        {"v_and_b32 v4, v0, v3", 0xffffffff, 0},
        {"v_or_b32 v4, v0, v1", 0xffffffff, 0xffff00f0},
        {"v_xor_b32 v4, v0, v1", 0x12345678, 0x12345678},
        {"v_xor_b32 v4, v0, v0", 0x12345678, 0},
        {"v_lshlrev_b32 v4, v2, v0", 0xf000000f, 0x000000f0},
        {"v_lshrrev_b32 v4, v2, v0", 0xf000000f, 0x0f000000},
        {"v_ashrrev_i32 v4, v2, v0", 0x80000000, 0xf8000000},
        {"v_bfe_u32 v4, v0, 8, 8", 0x0000f00f, 0x000000f0},
        {"v_bfe_u32 v4, v0, 8, 8", 0x00ff00ff, 0},
        {"v_perm_b32 v4, v0, v1, 0x07040302", 0xff000001, 0xff010000},
        {"v_lshl_or_b32 v4, v0, 8, v3", 0x000000ff, 0x0000ff00},
        {"v_alignbit_b32 v4, v0, v1, 16", 0xffff00ff, 0x00ff0000},
        {"v_mul_lo_u32 v4, v0, v3", 0xffffffff, 0},
        {"v_mul_lo_u32 v4, v0, v2", 0xc0000000, 0},
        {"v_cndmask_b32 v4, v0, v1, s4", 0xffffffff, 0},
        {"v_cndmask_b32 v4, v1, v0, s4", 0x0000000f, 0x0000000f},
        {"v_mov_b32 v4, v0 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf", 0x0000000f, 0x0000000f},
        {"v_max_u32 v4, v0, v1", 0x00000000, 0},
        {"v_cvt_f32_ubyte1 v4, v0", 0xffff00ff, 0},
        {"v_cvt_f32_f16 v4, v0", 0xffff0000, 0},
    };
    // clang-format on
    for (const char* target : {"gfx1030", "gfx1100", "gfx1201"})
        for (const Row& r : rows) {
            std::string text = r.text;
            if (std::string(target) != "gfx1030" && text.find("_f32_f16") != text.npos)
                text = "v_cvt_f32_f16 v4, v0.l";
            INFO(target << " " << text << " " << hex(r.mask));
            WaveFixture f(target);
            tracked(f);
            f.wave.v[0].fill(0x00ff1234);
            f.wave.v[1].fill(0x0000ff0f);
            f.wave.v[2].fill(4);
            f.wave.s[4] = ~0u;
            f.forget_vector(0, r.mask);
            f.forget_vector(4, ~0u);
            f.run(text);
            for (int l = 0; l < kLanes; ++l) CHECK(f.unknown(4, l) == r.undefined);
        }
}

TEST_CASE("undefined results of arithmetic", "[undefined]") {
    // At least one undefined bit, none below the lowest undefined one of the input.
    for (const char* target : {"gfx1030", "gfx1201"})
        for (const char* text :
             {"v_add_nc_u32 v4, v0, v1", "v_sub_nc_u32 v4, v0, v1", "v_mul_lo_u32 v4, v0, 3",
              "v_add3_u32 v4, v0, v1, v2", "v_lshl_add_u32 v4, v0, 0, v2"}) {
            INFO(target << " " << text);
            WaveFixture f(target);
            tracked(f);
            f.forget_vector(0, 0xff00);
            f.run(text);
            CHECK((f.unknown(4, 3) & 0xff) == 0);
            CHECK((f.unknown(4, 3) & 0xff00) == 0xff00);
        }
    for (const char* text :
         {"v_add_f32 v4, v0, v1", "v_mul_f32 v4, v0, v1", "v_fma_f32 v4, v1, v1, v0", "v_max_f32 v4, v0, v1",
          "v_rcp_f32 v4, v0", "v_cvt_i32_f32 v4, v0", "v_med3_f32 v4, v0, 1.0, v2"}) {
        INFO(text);
        WaveFixture f("gfx1100");
        tracked(f);
        f.wave.v[2].fill(0x40400000);
        f.forget_vector(0, ~0u);
        f.run(text);
        for (int l = 0; l < kLanes; ++l) CHECK(f.unknown(4, l) != 0);
    }
}

TEST_CASE("partial writes keep and end marks", "[undefined]") {
    WaveFixture f("gfx1100");
    tracked(f);
    f.forget_vector(4, ~0u);
    f.wave.s[kExecLo] = 0xffff;
    f.run("v_mov_b16 v4.l, v0.l");
    CHECK(f.unknown(4, 0) == 0xffff0000);
    CHECK(f.unknown(4, 16) == ~0u);
    f.wave.s[kExecLo] = 0xffff0000;
    f.run("v_mov_b32 v4, v0");
    CHECK(f.unknown(4, 0) == 0xffff0000);
    CHECK(f.unknown(4, 16) == 0);
    CHECK(f.wave.undefined.test(4));
    f.wave.s[kExecLo] = ~0u;
    f.run("v_mov_b32 v4, v0");
    CHECK_FALSE(f.wave.undefined.test(4));
    // Both halves of a VOPD read before either writes.
    f.forget_vector(4, 0xf);
    f.run("v_dual_mov_b32 v4, v1 :: v_dual_mov_b32 v5, v4");
    CHECK(f.unknown(4, 0) == 0);
    CHECK(f.unknown(5, 0) == 0xf);
}

TEST_CASE("comparisons of undefined values", "[undefined]") {
    for (const char* target : {"gfx1030", "gfx1201"}) {
        INFO(target);
        WaveFixture f(target);
        tracked(f);
        f.wave.s[kExecLo] = 0xff;
        f.wave.v[0].fill(0x500);
        f.forget_vector(0, 0xff);
        f.run("v_cmp_eq_u32 s4, v0, v1");
        CHECK(f.unknown_scalar(4) == 0);  // 0x5?? is not 0
        f.wave.v[1].fill(0x510);
        f.run("v_cmp_eq_u32 s4, v0, v1");
        CHECK(f.unknown_scalar(4) == 0xff);
        f.run("v_cmp_gt_i32 s4, v0, v1");
        CHECK(f.unknown_scalar(4) == 0xff);
        f.run("s_and_b32 s5, s4, 0xf");
        CHECK(f.unknown_scalar(5) == 0xf);
        CHECK(f.wave.undefined.test(kSccBit));
        f.run("s_or_b32 s6, s4, 1");
        CHECK(f.unknown_scalar(6) == 0xfe);
        CHECK_FALSE(f.wave.undefined.test(kSccBit));
        f.run("s_cmp_lg_u32 s4, 0");
        CHECK(f.wave.undefined.test(kSccBit));
        CHECK_THROWS_AS(f.run("s_cbranch_scc1 1"), Fault);
        f.run("s_cmp_lg_u32 s0, 0");
        CHECK_NOTHROW(f.run("s_cbranch_scc1 1"));
        f.forget_scalar(kVccLo, 0xf0);
        f.wave.s[kVccLo] = 0;
        CHECK_THROWS_AS(f.run("s_cbranch_vccz 1"), Fault);
        f.wave.s[kVccLo] = 1;  // a defined one settles it
        CHECK_NOTHROW(f.run("s_cbranch_vccz 1"));
        f.wave.s[5] = 0x3;
        f.forget_scalar(5, 0xf0);
        f.wave.s[kExecLo] = 0xf;
        CHECK_NOTHROW(f.run("s_and_saveexec_b32 s6, s5"));
        f.wave.s[kExecLo] = 0xff;
        CHECK_THROWS_AS(f.run("s_and_saveexec_b32 s6, s5"), Fault);
    }
}

TEST_CASE("LDS and scratch keep marks", "[undefined]") {
    WaveFixture f("gfx1100");
    tracked(f);
    for (int l = 0; l < kLanes; ++l) f.wave.v[0][l] = static_cast<uint32_t>(l) * 16;
    f.forget_vector(1, 0x0000ff00);
    f.run(
        "ds_store_b64 v0, v[1:2]\n ds_load_b32 v3, v0\n ds_load_b32 v4, v0 offset:4\n"
        "ds_load_u8 v5, v0 offset:1\n ds_load_i8 v6, v0 offset:1\n ds_load_u8 v7, v0");
    CHECK(f.unknown(3, 9) == 0x0000ff00);
    CHECK(f.unknown(4, 9) == 0);
    CHECK(f.unknown(5, 9) == 0xff);
    CHECK(f.unknown(6, 9) == ~0u);
    CHECK(f.unknown(7, 9) == 0);
    f.forget_vector(8, ~0u);
    f.run("ds_load_u16_d16_hi v8, v0");
    CHECK(f.unknown(8, 9) == 0xff00ffff);
    f.run(
        "ds_store_2addr_b32 v0, v2, v1 offset0:0 offset1:1\n ds_load_2addr_b32 v[3:4], v0 offset0:0 "
        "offset1:1");
    CHECK(f.unknown(3, 9) == 0);
    CHECK(f.unknown(4, 9) == 0x0000ff00);
    f.run(
        "scratch_store_b32 off, v1, off offset:8\n scratch_load_b32 v3, off, off offset:8\n"
        "scratch_load_u16 v4, off, off offset:8");
    CHECK(f.unknown(3, 9) == 0x0000ff00);
    CHECK(f.unknown(4, 9) == 0xff00);
    f.forget_vector(0, 4);
    CHECK_THROWS_AS(f.run("ds_load_b32 v3, v0"), Fault);
}

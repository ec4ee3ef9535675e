// Scalar arithmetic: SOP1, SOP2, SOPC, SOPK and the scalar floating-point instructions of gfx115x and gfx12.
#include <bit>
#include <cmath>
#include <cstdint>

#include "float_ops.hpp"
#include "half.hpp"
#include "op_table.hpp"
#include "salu.hpp"
#include "valu.hpp"

namespace ckitchen::gfxsim {
namespace {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

template <auto F>
void saveexec(Wave& w, const Inst& inst) {
    const u32 old = w.exec(), src = scalar_source<u32>(w, inst.src[0]);
    w.s[kExecLo] = F(src, old);
    w.s[inst.dst[0].reg] = old;
    w.scc = w.s[kExecLo] != 0;
}

template <auto F>
void add_saveexec(OpTable& t, const std::string& name) {
    t.add(name, &saveexec<F>, InstClass::kSalu, Form::kPlain, {Type::kB32}, {Type::kB32});
}

/// Bit operations set SCC when the result is not zero.
template <auto F>
void add_logic(OpTable& t, const std::string& name) {
    add_salu<([](u32 a, u32 b, bool& scc) {
        const u32 r = static_cast<u32>(F(u64{a}, u64{b}));
        scc = r != 0;
        return r;
    })>(t, name + "_b32");
    add_salu<([](u64 a, u64 b, bool& scc) {
        const u64 r = F(a, b);
        scc = r != 0;
        return r;
    })>(t, name + "_b64");
}

template <auto F>
void add_compare_pair(OpTable& t, const std::string& suffix) {
    add_scalar_compare<([](i32 a, i32 b) { return F(a, b); })>(t, "s_cmp_" + suffix + "_i32");
    add_scalar_compare<([](u32 a, u32 b) { return F(a, b); })>(t, "s_cmp_" + suffix + "_u32");
    add_scalar_compare<([](i32 a, i32 b) { return F(a, i32{static_cast<int16_t>(b)}); })>(
        t, "s_cmpk_" + suffix + "_i32");
    add_scalar_compare<([](u32 a, u32 b) { return F(a, b & 0xffffu); })>(t, "s_cmpk_" + suffix + "_u32");
}

template <auto F>
void add_float_compare(OpTable& t, const std::string& suffix) {
    add_scalar_compare<([](float a, float b) { return F(a, b); })>(t, "s_cmp_" + suffix + "_f32");
    add_scalar_compare<([](Half a, Half b) { return F(to_float(a), to_float(b)); })>(
        t, "s_cmp_" + suffix + "_f16");
}

u32 reverse32(u32 v) {
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(v);
}

void arithmetic(OpTable& t) {
    add_salu<([](u32 a) { return a; })>(t, "s_mov_b32");
    add_salu<([](u64 a) { return a; })>(t, "s_mov_b64");
    add_salu<([](u32 a) { return static_cast<u32>(i32{static_cast<int16_t>(a)}); })>(t, "s_movk_i32");
    add_salu<([](u32 a, u32 b, bool& scc) {
        const u32 r = a + b;
        scc = r < a;
        return r;
    })>(t, "s_add_u32");
    t.alias("s_add_co_u32", "s_add_u32");
    add_salu<([](u32 a, u32 b, bool& scc) {
        scc = b > a;
        return a - b;
    })>(t, "s_sub_u32");
    t.alias("s_sub_co_u32", "s_sub_u32");
    add_salu<([](i32 a, i32 b, bool& scc) {
        i32 r;
        scc = __builtin_add_overflow(a, b, &r);
        return r;
    })>(t, "s_add_i32");
    t.alias("s_add_co_i32", "s_add_i32");
    add_salu<([](i32 a, i32 b, bool& scc) {
        i32 r;
        scc = __builtin_sub_overflow(a, b, &r);
        return r;
    })>(t, "s_sub_i32");
    t.alias("s_sub_co_i32", "s_sub_i32");
    add_salu<([](u32 a, u32 b, bool& scc) {
        const u64 r = u64{a} + b + scc;
        scc = r >> 32;
        return static_cast<u32>(r);
    })>(t, "s_addc_u32");
    t.alias("s_add_co_ci_u32", "s_addc_u32");
    add_salu<([](u32 a, u32 b, bool& scc) {
        const u64 r = u64{a} - b - scc;
        scc = r >> 63;
        return static_cast<u32>(r);
    })>(t, "s_subb_u32");
    t.alias("s_sub_co_ci_u32", "s_subb_u32");
    add_salu_accumulate<([](i32 d, i32 k, bool& scc) {
        i32 r;
        scc = __builtin_add_overflow(d, i32{static_cast<int16_t>(k)}, &r);
        return r;
    })>(t, "s_addk_i32");
    t.alias("s_addk_co_i32", "s_addk_i32");
    add_salu_accumulate<([](u32 d, u32 k) { return d * static_cast<u32>(i32{static_cast<int16_t>(k)}); })>(
        t, "s_mulk_i32");
    add_salu<([](u32 a, u32 b) { return a * b; })>(t, "s_mul_i32");
    add_salu<([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); })>(t, "s_mul_hi_u32");
    add_salu<([](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); })>(t, "s_mul_hi_i32");
    add_salu<([](u64 a, u64 b) { return a * b; })>(t, "s_mul_u64");
    add_salu<([](u64 a, u64 b) { return a + b; })>(t, "s_add_nc_u64");
    t.alias("s_add_u64", "s_add_nc_u64");
    add_salu<([](u64 a, u64 b) { return a - b; })>(t, "s_sub_nc_u64");
    t.alias("s_sub_u64", "s_sub_nc_u64");
    add_salu<([](i32 a, i32 b, bool& scc) {
        scc = a <= b && a != b;
        return a < b ? a : b;
    })>(t, "s_min_i32");
    add_salu<([](u32 a, u32 b, bool& scc) {
        scc = a < b;
        return a < b ? a : b;
    })>(t, "s_min_u32");
    add_salu<([](i32 a, i32 b, bool& scc) {
        scc = a > b;
        return a > b ? a : b;
    })>(t, "s_max_i32");
    add_salu<([](u32 a, u32 b, bool& scc) {
        scc = a > b;
        return a > b ? a : b;
    })>(t, "s_max_u32");
    add_salu<([](i32 a, bool& scc) {
        const i32 r = a < 0 ? static_cast<i32>(0u - static_cast<u32>(a)) : a;
        scc = r != 0;
        return r;
    })>(t, "s_abs_i32");
    add_salu<([](i32 a, i32 b, bool& scc) {
        const u32 d = static_cast<u32>(a) - static_cast<u32>(b);
        const u32 r = static_cast<i32>(d) < 0 ? 0u - d : d;
        scc = r != 0;
        return r;
    })>(t, "s_absdiff_i32");
}

template <int kShift>
void add_shift_add(OpTable& t) {
    add_salu<([](u32 a, u32 b, bool& scc) {
        const u64 r = (u64{a} << kShift) + b;
        scc = r >> 32;
        return static_cast<u32>(r);
    })>(t, "s_lshl" + std::to_string(kShift) + "_add_u32");
}

void bits(OpTable& t) {
    add_logic<([](u64 a, u64 b) { return a & b; })>(t, "s_and");
    add_logic<([](u64 a, u64 b) { return a | b; })>(t, "s_or");
    add_logic<([](u64 a, u64 b) { return a ^ b; })>(t, "s_xor");
    add_logic<([](u64 a, u64 b) { return a & ~b; })>(t, "s_andn2");
    add_logic<([](u64 a, u64 b) { return a | ~b; })>(t, "s_orn2");
    add_logic<([](u64 a, u64 b) { return ~(a & b); })>(t, "s_nand");
    add_logic<([](u64 a, u64 b) { return ~(a | b); })>(t, "s_nor");
    add_logic<([](u64 a, u64 b) { return ~(a ^ b); })>(t, "s_xnor");
    for (const char* width : {"_b32", "_b64"}) {
        t.alias(std::string("s_and_not1") + width, std::string("s_andn2") + width);
        t.alias(std::string("s_or_not1") + width, std::string("s_orn2") + width);
    }
    add_salu<([](u32 a, bool& scc) {
        scc = ~a != 0;
        return ~a;
    })>(t, "s_not_b32");
    add_salu<([](u64 a, bool& scc) {
        scc = ~a != 0;
        return ~a;
    })>(t, "s_not_b64");
    add_salu<([](u32 a, u32 b, bool& scc) {
        const u32 r = a << (b & 31);
        scc = r != 0;
        return r;
    })>(t, "s_lshl_b32");
    add_salu<([](u64 a, u32 b, bool& scc) {
        const u64 r = a << (b & 63);
        scc = r != 0;
        return r;
    })>(t, "s_lshl_b64");
    add_salu<([](u32 a, u32 b, bool& scc) {
        const u32 r = a >> (b & 31);
        scc = r != 0;
        return r;
    })>(t, "s_lshr_b32");
    add_salu<([](u64 a, u32 b, bool& scc) {
        const u64 r = a >> (b & 63);
        scc = r != 0;
        return r;
    })>(t, "s_lshr_b64");
    add_salu<([](i32 a, u32 b, bool& scc) {
        const i32 r = a >> (b & 31);
        scc = r != 0;
        return r;
    })>(t, "s_ashr_i32");
    add_salu<([](i64 a, u32 b, bool& scc) {
        const i64 r = a >> (b & 63);
        scc = r != 0;
        return r;
    })>(t, "s_ashr_i64");
    add_shift_add<1>(t);
    add_shift_add<2>(t);
    add_shift_add<3>(t);
    add_shift_add<4>(t);
    add_salu<([](u32 a, u32 b, bool& scc) {
        const u32 offset = b & 31, width = b >> 16 & 0x7f;
        const u32 r = width == 0 ? 0 : (a >> offset) & (width >= 32 ? ~0u : (1u << width) - 1);
        scc = r != 0;
        return r;
    })>(t, "s_bfe_u32");
    add_salu<([](i32 a, u32 b, bool& scc) {
        const u32 offset = b & 31, width = b >> 16 & 0x7f;
        i32 r = a >> offset;
        if (width == 0)
            r = 0;
        else if (width + offset < 32)
            r = static_cast<i32>(static_cast<u32>(r) << (32 - width)) >> (32 - width);
        scc = r != 0;
        return r;
    })>(t, "s_bfe_i32");
    add_salu<([](u64 a, u32 b, bool& scc) {
        const u32 offset = b & 63, width = b >> 16 & 0x7f;
        const u64 r = width == 0 ? 0 : (a >> offset) & (width >= 64 ? ~u64{0} : (u64{1} << width) - 1);
        scc = r != 0;
        return r;
    })>(t, "s_bfe_u64");
    add_salu<([](i64 a, u32 b, bool& scc) {
        const u32 offset = b & 63, width = b >> 16 & 0x7f;
        i64 r = a >> offset;
        if (width == 0)
            r = 0;
        else if (width + offset < 64)
            r = static_cast<i64>(static_cast<u64>(r) << (64 - width)) >> (64 - width);
        scc = r != 0;
        return r;
    })>(t, "s_bfe_i64");
    add_salu<([](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); })>(t, "s_bfm_b32");
    add_salu<([](u32 a, u32 b) { return ((u64{1} << (a & 63)) - 1) << (b & 63); })>(t, "s_bfm_b64");
    add_salu<([](u32 a) { return reverse32(a); })>(t, "s_brev_b32");
    add_salu<([](u64 a) {
        return u64{reverse32(static_cast<u32>(a))} << 32 | reverse32(static_cast<u32>(a >> 32));
    })>(t, "s_brev_b64");
    add_salu<([](u32 a, bool& scc) {
        const u32 r = static_cast<u32>(std::popcount(a));
        scc = r != 0;
        return r;
    })>(t, "s_bcnt1_i32_b32");
    add_salu<([](u64 a, bool& scc) {
        const u32 r = static_cast<u32>(std::popcount(a));
        scc = r != 0;
        return r;
    })>(t, "s_bcnt1_i32_b64");
    add_salu<([](u32 a, bool& scc) {
        const u32 r = static_cast<u32>(std::popcount(~a));
        scc = r != 0;
        return r;
    })>(t, "s_bcnt0_i32_b32");
    add_salu<([](u32 a) { return a ? static_cast<u32>(std::countr_zero(a)) : ~0u; })>(t, "s_ff1_i32_b32");
    t.alias("s_ctz_i32_b32", "s_ff1_i32_b32");
    add_salu<([](u64 a) { return a ? static_cast<u32>(std::countr_zero(a)) : ~0u; })>(t, "s_ff1_i32_b64");
    t.alias("s_ctz_i32_b64", "s_ff1_i32_b64");
    add_salu<([](u32 a) { return a ? static_cast<u32>(std::countl_zero(a)) : ~0u; })>(t, "s_flbit_i32_b32");
    t.alias("s_clz_i32_u32", "s_flbit_i32_b32");
    add_salu<([](u64 a) { return a ? static_cast<u32>(std::countl_zero(a)) : ~0u; })>(t, "s_flbit_i32_b64");
    t.alias("s_clz_i32_u64", "s_flbit_i32_b64");
    add_salu<([](i32 a) {
        const u32 m = static_cast<u32>(a < 0 ? ~a : a);
        return m ? static_cast<u32>(std::countl_zero(m)) : ~0u;
    })>(t, "s_flbit_i32");
    t.alias("s_cls_i32", "s_flbit_i32");
    add_salu<([](u32 a) { return static_cast<u32>(i32{static_cast<int8_t>(a)}); })>(t, "s_sext_i32_i8");
    add_salu<([](u32 a) { return static_cast<u32>(i32{static_cast<int16_t>(a)}); })>(t, "s_sext_i32_i16");
    add_salu_accumulate<([](u32 d, u32 a) { return d & ~(1u << (a & 31)); })>(t, "s_bitset0_b32");
    add_salu_accumulate<([](u32 d, u32 a) { return d | 1u << (a & 31); })>(t, "s_bitset1_b32");
    add_salu_accumulate<([](u64 d, u32 a) { return d & ~(u64{1} << (a & 63)); })>(t, "s_bitset0_b64");
    add_salu_accumulate<([](u64 d, u32 a) { return d | u64{1} << (a & 63); })>(t, "s_bitset1_b64");
    add_salu<([](u32 a, u32 b) { return (a & 0xffffu) | b << 16; })>(t, "s_pack_ll_b32_b16");
    add_salu<([](u32 a, u32 b) { return (a & 0xffffu) | (b & 0xffff0000u); })>(t, "s_pack_lh_b32_b16");
    add_salu<([](u32 a, u32 b) { return a >> 16 | (b & 0xffff0000u); })>(t, "s_pack_hh_b32_b16");
    add_salu<([](u32 a, u32 b) { return a >> 16 | b << 16; })>(t, "s_pack_hl_b32_b16");
}

void select_and_mask(OpTable& t) {
    add_salu<([](u32 a, u32 b, bool& scc) { return scc ? a : b; })>(t, "s_cselect_b32");
    add_salu<([](u64 a, u64 b, bool& scc) { return scc ? a : b; })>(t, "s_cselect_b64");
    add_salu_accumulate<([](u32 d, u32 a, bool& scc) { return scc ? a : d; })>(t, "s_cmov_b32");
    add_salu_accumulate<([](u64 d, u64 a, bool& scc) { return scc ? a : d; })>(t, "s_cmov_b64");
    add_salu_accumulate<([](u32 d, u32 a, bool& scc) {
        return scc ? static_cast<u32>(i32{static_cast<int16_t>(a)}) : d;
    })>(t, "s_cmovk_i32");
    add_saveexec<([](u32 s, u32 e) { return s & e; })>(t, "s_and_saveexec_b32");
    add_saveexec<([](u32 s, u32 e) { return s | e; })>(t, "s_or_saveexec_b32");
    add_saveexec<([](u32 s, u32 e) { return s ^ e; })>(t, "s_xor_saveexec_b32");
    add_saveexec<([](u32 s, u32 e) { return s & ~e; })>(t, "s_andn2_saveexec_b32");
    t.alias("s_and_not1_saveexec_b32", "s_andn2_saveexec_b32");
    add_saveexec<([](u32 s, u32 e) { return s | ~e; })>(t, "s_orn2_saveexec_b32");
    t.alias("s_or_not1_saveexec_b32", "s_orn2_saveexec_b32");
    add_saveexec<([](u32 s, u32 e) { return ~s & e; })>(t, "s_andn1_saveexec_b32");
    t.alias("s_and_not0_saveexec_b32", "s_andn1_saveexec_b32");
    add_saveexec<([](u32 s, u32 e) { return ~s | e; })>(t, "s_orn1_saveexec_b32");
    t.alias("s_or_not0_saveexec_b32", "s_orn1_saveexec_b32");
    add_saveexec<([](u32 s, u32 e) { return ~(s & e); })>(t, "s_nand_saveexec_b32");
    add_saveexec<([](u32 s, u32 e) { return ~(s | e); })>(t, "s_nor_saveexec_b32");
    add_saveexec<([](u32 s, u32 e) { return ~(s ^ e); })>(t, "s_xnor_saveexec_b32");
    add_compare_pair<([](auto a, auto b) { return a == b; })>(t, "eq");
    add_compare_pair<([](auto a, auto b) { return a != b; })>(t, "lg");
    add_compare_pair<([](auto a, auto b) { return a > b; })>(t, "gt");
    add_compare_pair<([](auto a, auto b) { return a >= b; })>(t, "ge");
    add_compare_pair<([](auto a, auto b) { return a < b; })>(t, "lt");
    add_compare_pair<([](auto a, auto b) { return a <= b; })>(t, "le");
    add_scalar_compare<([](u64 a, u64 b) { return a == b; })>(t, "s_cmp_eq_u64");
    add_scalar_compare<([](u64 a, u64 b) { return a != b; })>(t, "s_cmp_lg_u64");
    add_scalar_compare<([](u32 a, u32 b) { return (a >> (b & 31) & 1) == 0; })>(t, "s_bitcmp0_b32");
    add_scalar_compare<([](u32 a, u32 b) { return (a >> (b & 31) & 1) == 1; })>(t, "s_bitcmp1_b32");
    add_scalar_compare<([](u64 a, u32 b) { return (a >> (b & 63) & 1) == 0; })>(t, "s_bitcmp0_b64");
    add_scalar_compare<([](u64 a, u32 b) { return (a >> (b & 63) & 1) == 1; })>(t, "s_bitcmp1_b64");
}

void floating(OpTable& t) {
    add_salu<([](float a, float b) { return a + b; })>(t, "s_add_f32");
    add_salu<([](float a, float b) { return a - b; })>(t, "s_sub_f32");
    add_salu<([](float a, float b) { return a * b; })>(t, "s_mul_f32");
    add_salu<([](float a, float b) { return min_num(a, b); })>(t, "s_min_f32");
    t.alias("s_min_num_f32", "s_min_f32");
    add_salu<([](float a, float b) { return max_num(a, b); })>(t, "s_max_f32");
    t.alias("s_max_num_f32", "s_max_f32");
    add_salu_accumulate<([](float d, float a, float b) { return std::fma(a, b, d); })>(t, "s_fmac_f32");
    add_salu<([](float a, float b, float c) { return std::fma(a, b, c); })>(t, "s_fmaak_f32");
    add_salu<([](float a, float b, float c) { return std::fma(a, b, c); })>(t, "s_fmamk_f32");
    add_salu<([](i32 a) { return static_cast<float>(a); })>(t, "s_cvt_f32_i32");
    add_salu<([](u32 a) { return static_cast<float>(a); })>(t, "s_cvt_f32_u32");
    add_salu<([](float a) { return float_to_i32(a); })>(t, "s_cvt_i32_f32");
    add_salu<([](float a) { return float_to_u32(a); })>(t, "s_cvt_u32_f32");
    add_salu<([](float a) { return u32{to_half(a).bits}; })>(t, "s_cvt_f16_f32");
    add_salu<([](u32 a) { return to_float(Half{static_cast<uint16_t>(a)}); })>(t, "s_cvt_f32_f16");
    add_salu<([](u32 a) { return to_float(Half{static_cast<uint16_t>(a >> 16)}); })>(t, "s_cvt_hi_f32_f16");
    add_salu<([](float a) { return std::ceil(a); })>(t, "s_ceil_f32");
    add_salu<([](float a) { return std::floor(a); })>(t, "s_floor_f32");
    add_salu<([](float a) { return std::trunc(a); })>(t, "s_trunc_f32");
    add_salu<([](float a) { return std::nearbyint(a); })>(t, "s_rndne_f32");
    add_float_compare<([](float a, float b) { return a < b; })>(t, "lt");
    add_float_compare<([](float a, float b) { return a == b; })>(t, "eq");
    add_float_compare<([](float a, float b) { return a <= b; })>(t, "le");
    add_float_compare<([](float a, float b) { return a > b; })>(t, "gt");
    add_float_compare<([](float a, float b) { return a < b || a > b; })>(t, "lg");
    add_float_compare<([](float a, float b) { return a >= b; })>(t, "ge");
    add_float_compare<([](float a, float b) { return !std::isnan(a) && !std::isnan(b); })>(t, "o");
    add_float_compare<([](float a, float b) { return std::isnan(a) || std::isnan(b); })>(t, "u");
    add_float_compare<([](float a, float b) { return !(a >= b); })>(t, "nge");
    add_float_compare<([](float a, float b) { return !(a < b || a > b); })>(t, "nlg");
    add_float_compare<([](float a, float b) { return !(a > b); })>(t, "ngt");
    add_float_compare<([](float a, float b) { return !(a <= b); })>(t, "nle");
    add_float_compare<([](float a, float b) { return !(a == b); })>(t, "neq");
    add_float_compare<([](float a, float b) { return !(a < b); })>(t, "nlt");
}

}  // namespace

void register_salu(OpTable& t) {
    arithmetic(t);
    bits(t);
    select_and_mask(t);
    floating(t);
}

}  // namespace ckitchen::gfxsim

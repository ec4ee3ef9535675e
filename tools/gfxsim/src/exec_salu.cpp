// Scalar arithmetic: SOP1, SOP2, SOPC, SOPK and the scalar floating-point instructions of gfx115x and gfx12.
#include <bit>
#include <cmath>
#include <cstdint>

#include "float_ops.hpp"
#include "half_ops.hpp"
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
void saveexec64(Wave& w, const Inst& inst) {
    const u64 old = w.s64(kExecLo), src = scalar_source<u64>(w, inst.src[0]);
    const u64 r = F(src, old);
    w.s[kExecLo] = static_cast<u32>(r);
    w.s[kExecHi] = static_cast<u32>(r >> 32);
    scalar_store(w, inst.dst[0], old);
    w.scc = r != 0;
}

/// EXEC and the destination both get the result.
template <auto F, class T>
void wrexec(Wave& w, const Inst& inst) {
    const T r = static_cast<T>(F(scalar_source<T>(w, inst.src[0]), static_cast<T>(w.s64(kExecLo))));
    w.s[kExecLo] = static_cast<u32>(r);
    if constexpr (sizeof(T) == 8) w.s[kExecHi] = static_cast<u32>(r >> 32);
    scalar_store(w, inst.dst[0], r);
    w.scc = r != 0;
}

template <auto F>
void add_saveexec(OpTable& t, const std::string& stem) {
    t.add(stem + "_b32", &saveexec<F>, InstClass::kSalu, Form::kPlain, {Type::kB32}, {Type::kB32});
    t.add(stem + "_b64", &saveexec64<F>, InstClass::kSalu, Form::kPlain, {Type::kB64}, {Type::kB64});
}

template <auto F>
void add_wrexec(OpTable& t, std::initializer_list<const char*> stems) {
    for (const std::string stem : stems) {
        t.add(stem + "_b32", &wrexec<F, u32>, InstClass::kSalu, Form::kPlain, {Type::kB32}, {Type::kB32});
        t.add(stem + "_b64", &wrexec<F, u64>, InstClass::kSalu, Form::kPlain, {Type::kB64}, {Type::kB64});
    }
}

/// Scalar register index that M0 displaces; `words` of them are used.
int displaced(const Wave& w, int reg, int64_t by, int words) {
    const int64_t index = int64_t{reg} + by;
    if (index < 0 || index + words > kVccLo)
        raise(FaultKind::kIllegalAddress, -1,
              "scalar register " + std::to_string(index) + " by M0 " + hex(w.s[kM0]));
    return static_cast<int>(index);
}

template <int kWords>
void movrels(Wave& w, const Inst& inst) {
    const int from = displaced(w, inst.src[0].reg, static_cast<i32>(w.s[kM0]), kWords);
    for (int k = 0; k < kWords; ++k) w.s[inst.dst[0].reg + k] = w.s[from + k];
}

template <int kWords>
void movreld(Wave& w, const Inst& inst) {
    const int to = displaced(w, inst.dst[0].reg, static_cast<i32>(w.s[kM0]), kWords);
    const u64 v = scalar_source<u64>(w, inst.src[0]);
    for (int k = 0; k < kWords; ++k) w.s[to + k] = static_cast<u32>(v >> (32 * k));
}

void movrelsd_2(Wave& w, const Inst& inst) {
    w.s[displaced(w, inst.dst[0].reg, w.s[kM0] >> 16 & 0x3ff, 1)] =
        w.s[displaced(w, inst.src[0].reg, w.s[kM0] & 0x3ff, 1)];
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

/// One bit for each four, and each four bits set when one of them is.
template <class T>
void add_quads(OpTable& t, const std::string& suffix) {
    add_salu<([](T a, bool& scc) {
        T r = 0;
        for (unsigned i = 0; i < sizeof(T) * 2; ++i) r |= T{(a >> (4 * i) & 15) != 0} << i;
        scc = r != 0;
        return r;
    })>(t, "s_quadmask" + suffix);
    add_salu<([](T a, bool& scc) {
        T r = 0;
        for (unsigned i = 0; i < sizeof(T) * 8; i += 4)
            if (a >> i & 15) r |= T{15} << i;
        scc = r != 0;
        return r;
    })>(t, "s_wqm" + suffix);
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
    add_salu<([](u64 a, bool& scc) {
        const u32 r = static_cast<u32>(std::popcount(~a));
        scc = r != 0;
        return r;
    })>(t, "s_bcnt0_i32_b64");
    add_salu<([](u32 a) { return ~a ? static_cast<u32>(std::countr_one(a)) : ~0u; })>(t, "s_ff0_i32_b32");
    add_salu<([](u64 a) { return ~a ? static_cast<u32>(std::countr_one(a)) : ~0u; })>(t, "s_ff0_i32_b64");
    add_salu<([](i64 a) {
        const u64 m = static_cast<u64>(a < 0 ? ~a : a);
        return m ? static_cast<u32>(std::countl_zero(m)) : ~0u;
    })>(t, "s_flbit_i32_i64");
    t.alias("s_cls_i32_i64", "s_flbit_i32_i64");
    add_salu<([](u32 a) {
        u64 r = 0;
        for (int i = 0; i < 32; ++i) r |= u64{a >> i & 1} * 3 << (2 * i);
        return r;
    })>(t, "s_bitreplicate_b64_b32");
    add_quads<u32>(t, "_b32");
    add_quads<u64>(t, "_b64");
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
    add_saveexec<([](auto s, auto e) { return s & e; })>(t, "s_and_saveexec");
    add_saveexec<([](auto s, auto e) { return s | e; })>(t, "s_or_saveexec");
    add_saveexec<([](auto s, auto e) { return s ^ e; })>(t, "s_xor_saveexec");
    add_saveexec<([](auto s, auto e) { return s & ~e; })>(t, "s_andn2_saveexec");
    t.alias("s_and_not1_saveexec_b32", "s_andn2_saveexec_b32");
    t.alias("s_and_not1_saveexec_b64", "s_andn2_saveexec_b64");
    add_saveexec<([](auto s, auto e) { return s | ~e; })>(t, "s_orn2_saveexec");
    t.alias("s_or_not1_saveexec_b32", "s_orn2_saveexec_b32");
    t.alias("s_or_not1_saveexec_b64", "s_orn2_saveexec_b64");
    add_saveexec<([](auto s, auto e) { return ~s & e; })>(t, "s_andn1_saveexec");
    t.alias("s_and_not0_saveexec_b32", "s_andn1_saveexec_b32");
    t.alias("s_and_not0_saveexec_b64", "s_andn1_saveexec_b64");
    add_saveexec<([](auto s, auto e) { return ~s | e; })>(t, "s_orn1_saveexec");
    t.alias("s_or_not0_saveexec_b32", "s_orn1_saveexec_b32");
    t.alias("s_or_not0_saveexec_b64", "s_orn1_saveexec_b64");
    add_saveexec<([](auto s, auto e) { return ~(s & e); })>(t, "s_nand_saveexec");
    add_saveexec<([](auto s, auto e) { return ~(s | e); })>(t, "s_nor_saveexec");
    add_saveexec<([](auto s, auto e) { return ~(s ^ e); })>(t, "s_xnor_saveexec");
    add_wrexec<([](auto s, auto e) { return ~s & e; })>(t, {"s_andn1_wrexec", "s_and_not0_wrexec"});
    add_wrexec<([](auto s, auto e) { return s & ~e; })>(t, {"s_andn2_wrexec", "s_and_not1_wrexec"});
    const auto moves = [&](const char* name, Handler fn, Type type, uint32_t flags = 0) {
        t.add(name, fn, InstClass::kSalu, Form::kPlain, {type}, {type}, kFlagReadsM0 | flags);
    };
    moves("s_movrels_b32", &movrels<1>, Type::kB32);
    moves("s_movrels_b64", &movrels<2>, Type::kB64);
    moves("s_movreld_b32", &movreld<1>, Type::kB32);
    moves("s_movreld_b64", &movreld<2>, Type::kB64);
    moves("s_movrelsd_2_b32", &movrelsd_2, Type::kB32, kFlagM0Pair);
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
    add_salu<([](float a, float b) { return minimum(a, b); })>(t, "s_minimum_f32");
    add_salu<([](float a, float b) { return maximum(a, b); })>(t, "s_maximum_f32");
    add_salu<([](Half a, Half b) { return half_add(a, b); })>(t, "s_add_f16");
    add_salu<([](Half a, Half b) { return half_add(a, half_neg(b)); })>(t, "s_sub_f16");
    add_salu<([](Half a, Half b) { return half_mul(a, b); })>(t, "s_mul_f16");
    add_salu_accumulate<([](Half d, Half a, Half b) { return half_fma(a, b, d); })>(t, "s_fmac_f16");
    add_salu<([](Half a, Half b) { return half_min(a, b); })>(t, "s_min_f16");
    t.alias("s_min_num_f16", "s_min_f16");
    add_salu<([](Half a, Half b) { return half_max(a, b); })>(t, "s_max_f16");
    t.alias("s_max_num_f16", "s_max_f16");
    add_salu<([](Half a, Half b) { return half_minimum(a, b); })>(t, "s_minimum_f16");
    add_salu<([](Half a, Half b) { return half_maximum(a, b); })>(t, "s_maximum_f16");
    add_salu<([](Half a) { return to_half(std::ceil(to_float(a))); })>(t, "s_ceil_f16");
    add_salu<([](Half a) { return to_half(std::floor(to_float(a))); })>(t, "s_floor_f16");
    add_salu<([](Half a) { return to_half(std::trunc(to_float(a))); })>(t, "s_trunc_f16");
    add_salu<([](Half a) { return to_half(__builtin_roundevenf(to_float(a))); })>(t, "s_rndne_f16");
    add_salu<([](float a, float b) { return u32{half_toward_zero(a)} | u32{half_toward_zero(b)} << 16; })>(
        t, "s_cvt_pk_rtz_f16_f32");
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
    add_salu<([](float a) { return __builtin_roundevenf(a); })>(t, "s_rndne_f32");
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

// Integer vector arithmetic, bit operations, carries and 64-bit multiplication.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "op_table.hpp"
#include "valu.hpp"

namespace ckitchen::gfxsim {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;

constexpr uint32_t kCarry = kFlagIntClamp;

/// Carry instructions: dst[0] the sum, dst[1] the carry mask; a third source is the carry-in mask.
/// F(a, b, carry_in, carry_out&).
template <auto F, bool kCarryIn>
void carry(Wave& w, const Inst& inst) {
    LaneBuffer ta, tb, r;
    const Source a = fetch<u32>(w, inst, 0, ta), b = fetch<u32>(w, inst, 1, tb);
    u32 in = 0;
    if (kCarryIn) in = inst.src[2].kind == OperandKind::kConst ? inst.src[2].lanes[0] : w.s[inst.src[2].reg];
    u32 bit[kLanes];
    GFXSIM_LANES {
        u32 out = 0;
        r.lo[l] = F(a.lo[l], b.lo[l], in >> l & 1, out);
        bit[l] = out << l;
    }
    u32 mask = 0;
    for (int l = 0; l < kLanes; ++l) mask |= bit[l];
    if (inst.clamp) {
        // Saturates to the end of the range that the carry or borrow left.
        for (int l = 0; l < kLanes; ++l)
            if (mask >> l & 1) r.lo[l] = inst.spec->name.find("add") != std::string::npos ? ~0u : 0u;
    }
    const u32 exec = write_mask(w, inst);
    if (inst.sdwa)
        store_sdwa(w, inst, inst.dst[0], r.lo, exec);
    else
        store_words(w.v[inst.dst[0].reg].data(), r.lo, exec);
    w.s[inst.dst[1].reg] = mask & exec;
}

template <auto F, bool kCarryIn>
void add_carry(OpTable& t, const char* name) {
    std::vector<Type> src = {Type::kB32, Type::kB32};
    if (kCarryIn) src.push_back(Type::kMask);
    t.add(name, &carry<F, kCarryIn>, InstClass::kValu, Form::kPlain, {Type::kB32, Type::kMask}, src, kCarry);
}

/// v_cndmask: source 2 is a lane mask.
template <class T>
void cndmask(Wave& w, const Inst& inst) {
    LaneBuffer ta, tb, r;
    const Source a = fetch<T>(w, inst, 0, ta), b = fetch<T>(w, inst, 1, tb);
    const u32 mask = inst.src[2].kind == OperandKind::kConst ? inst.src[2].lanes[0] : w.s[inst.src[2].reg];
    GFXSIM_LANES r.lo[l] = mask >> l & 1 ? b.lo[l] : a.lo[l];
    store<T>(w, inst, inst.dst[0], r, write_mask(w, inst));
}

/// 64-bit multiply-add: dst[0] = a * b + c, dst[1] = carry out of 64 bits.
template <class S, class W>
void mad64(Wave& w, const Inst& inst) {
    LaneBuffer ta, tb, tc, r;
    const Source a = fetch<u32>(w, inst, 0, ta), b = fetch<u32>(w, inst, 1, tb),
                 c = fetch<u64>(w, inst, 2, tc);
    u32 bit[kLanes];
    GFXSIM_LANES {
        const u64 product = static_cast<u64>(W{static_cast<S>(a.lo[l])} * W{static_cast<S>(b.lo[l])});
        const u64 addend = u64{c.hi[l]} << 32 | c.lo[l];
        const u64 sum = product + addend;
        r.lo[l] = static_cast<u32>(sum);
        r.hi[l] = static_cast<u32>(sum >> 32);
        bit[l] = sum < product ? 1u << l : 0u;
        // The signed form reports overflow of the signed sum.
        if (std::is_signed_v<S>) bit[l] = ((product ^ sum) & (addend ^ sum)) >> 63 ? 1u << l : 0u;
    }
    u32 mask = 0;
    for (int l = 0; l < kLanes; ++l) mask |= bit[l];
    const u32 exec = write_mask(w, inst);
    store_words(w.v[inst.dst[0].reg].data(), r.lo, exec);
    store_words(w.v[inst.dst[0].reg + 1].data(), r.hi, exec);
    w.s[inst.dst[1].reg] = mask & exec;
}

u32 perm_byte(u32 s0, u32 s1, u32 selector) {
    const u64 all = u64{s0} << 32 | s1;
    if (selector >= 13) return 0xff;
    if (selector == 12) return 0;
    if (selector >= 8) {
        static constexpr int kSignBit[] = {15, 31, 47, 63};
        return all >> kSignBit[selector - 8] & 1 ? 0xff : 0;
    }
    return static_cast<u32>(all >> (8 * selector)) & 0xff;
}

i32 sext24(i32 v) {
    return static_cast<i32>(static_cast<u32>(v) << 8) >> 8;
}

template <class T>
T saturated(i64 v) {
    return static_cast<T>(
        std::min<i64>(std::max<i64>(v, std::numeric_limits<T>::min()), std::numeric_limits<T>::max()));
}

/// An operation with its wrapping form F and its saturating form G.
template <auto F, auto G>
void add_clampable(OpTable& t, const std::string& name) {
    add_valu<F>(t, name).clamped = &valu<G>;
}

template <class T>
void add_sums(OpTable& t, const std::string& suffix) {
    using U = std::make_unsigned_t<T>;
    add_clampable<([](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }),
                  ([](T a, T b) { return saturated<T>(i64{a} + b); })>(t, "v_add_nc_" + suffix);
    add_clampable<([](T a, T b) { return static_cast<T>(static_cast<U>(a) - static_cast<U>(b)); }),
                  ([](T a, T b) { return saturated<T>(i64{a} - b); })>(t, "v_sub_nc_" + suffix);
}

void arithmetic(OpTable& t) {
    add_sums<u32>(t, "u32");
    add_sums<i32>(t, "i32");
    add_sums<u16>(t, "u16");
    add_sums<i16>(t, "i16");
    add_valu<([](u32 a) { return a; })>(t, "v_mov_b32");
    add_clampable<([](u32 a, u32 b) { return b - a; }),
                  ([](u32 a, u32 b) { return saturated<u32>(i64{b} - a); })>(t, "v_subrev_nc_u32");
    add_valu<([](u32 a, u32 b, u32 c) { return a + b + c; })>(t, "v_add3_u32");
    add_valu<([](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; })>(t, "v_lshl_add_u32");
    add_valu<([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); })>(t, "v_add_lshl_u32");
    add_valu<([](u32 a, u32 b, u32 c) { return (a ^ b) + c; })>(t, "v_xad_u32");
    add_valu<([](u32 a, u32 b) { return a * b; })>(t, "v_mul_lo_u32");
    add_valu<([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); })>(t, "v_mul_hi_u32");
    add_valu<([](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); })>(t, "v_mul_hi_i32");
    add_valu<([](u32 a, u32 b) { return (a & 0xffffffu) * (b & 0xffffffu); })>(t, "v_mul_u32_u24");
    add_valu<([](i32 a, i32 b) { return static_cast<u32>(sext24(a)) * static_cast<u32>(sext24(b)); })>(
        t, "v_mul_i32_i24");
    add_valu<([](u32 a, u32 b) { return static_cast<u32>(u64{a & 0xffffffu} * (b & 0xffffffu) >> 32); })>(
        t, "v_mul_hi_u32_u24");
    add_valu<([](i32 a, i32 b) { return static_cast<i32>(i64{sext24(a)} * sext24(b) >> 32); })>(
        t, "v_mul_hi_i32_i24");
    add_valu<([](u32 a, u32 b, u32 c) { return (a & 0xffffffu) * (b & 0xffffffu) + c; })>(t, "v_mad_u32_u24");
    add_valu<([](i32 a, i32 b, i32 c) {
        return static_cast<u32>(sext24(a)) * static_cast<u32>(sext24(b)) + static_cast<u32>(c);
    })>(t, "v_mad_i32_i24");
    add_valu<([](u16 a, u16 b, u32 c) { return u32{a} * b + c; })>(t, "v_mad_u32_u16");
    add_valu<([](i16 a, i16 b, i32 c) { return static_cast<u32>(i32{a} * b) + static_cast<u32>(c); })>(
        t, "v_mad_i32_i16");
    add_valu<([](u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; })>(t, "v_sad_u32");
    add_valu<([](i32 a, i32 b) { return a < b ? a : b; })>(t, "v_min_i32");
    add_valu<([](i32 a, i32 b) { return a > b ? a : b; })>(t, "v_max_i32");
    add_valu<([](u32 a, u32 b) { return a < b ? a : b; })>(t, "v_min_u32");
    add_valu<([](u32 a, u32 b) { return a > b ? a : b; })>(t, "v_max_u32");
    add_valu<([](i32 a, i32 b, i32 c) { return std::min(std::min(a, b), c); })>(t, "v_min3_i32");
    add_valu<([](i32 a, i32 b, i32 c) { return std::max(std::max(a, b), c); })>(t, "v_max3_i32");
    add_valu<([](u32 a, u32 b, u32 c) { return std::min(std::min(a, b), c); })>(t, "v_min3_u32");
    add_valu<([](u32 a, u32 b, u32 c) { return std::max(std::max(a, b), c); })>(t, "v_max3_u32");
    add_valu<([](i32 a, i32 b, i32 c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); })>(
        t, "v_med3_i32");
    add_valu<([](u32 a, u32 b, u32 c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); })>(
        t, "v_med3_u32");
    add_valu<([](i32 a, i32 b, i32 c) { return std::min(std::max(a, b), c); })>(t, "v_maxmin_i32");
    add_valu<([](i32 a, i32 b, i32 c) { return std::max(std::min(a, b), c); })>(t, "v_minmax_i32");
    add_valu<([](u32 a, u32 b, u32 c) { return std::min(std::max(a, b), c); })>(t, "v_maxmin_u32");
    add_valu<([](u32 a, u32 b, u32 c) { return std::max(std::min(a, b), c); })>(t, "v_minmax_u32");
    for (const char* name : {"v_mad_u64_u32", "v_mad_co_u64_u32"})
        t.add(name, &mad64<u32, u64>, InstClass::kValu, Form::kPlain, {Type::kB64, Type::kMask},
              {Type::kB32, Type::kB32, Type::kB64});
    for (const char* name : {"v_mad_i64_i32", "v_mad_co_i64_i32"})
        t.add(name, &mad64<i32, i64>, InstClass::kValu, Form::kPlain, {Type::kB64, Type::kMask},
              {Type::kB32, Type::kB32, Type::kI64});
}

void carries(OpTable& t) {
    add_carry<([](u32 a, u32 b, u32, u32& out) {
                  const u32 r = a + b;
                  out = r < a;
                  return r;
              }),
              false>(t, "v_add_co_u32");
    add_carry<([](u32 a, u32 b, u32, u32& out) {
                  out = b > a;
                  return a - b;
              }),
              false>(t, "v_sub_co_u32");
    add_carry<([](u32 a, u32 b, u32, u32& out) {
                  out = a > b;
                  return b - a;
              }),
              false>(t, "v_subrev_co_u32");
    add_carry<([](u32 a, u32 b, u32 in, u32& out) {
                  const u64 r = u64{a} + b + in;
                  out = static_cast<u32>(r >> 32);
                  return static_cast<u32>(r);
              }),
              true>(t, "v_add_co_ci_u32");
    add_carry<([](u32 a, u32 b, u32 in, u32& out) {
                  const u64 r = u64{a} - b - in;
                  out = static_cast<u32>(r >> 63);
                  return static_cast<u32>(r);
              }),
              true>(t, "v_sub_co_ci_u32");
    add_carry<([](u32 a, u32 b, u32 in, u32& out) {
                  const u64 r = u64{b} - a - in;
                  out = static_cast<u32>(r >> 63);
                  return static_cast<u32>(r);
              }),
              true>(t, "v_subrev_co_ci_u32");
}

void bits(OpTable& t) {
    add_valu<([](u32 a, u32 b) { return a & b; })>(t, "v_and_b32");
    add_valu<([](u32 a, u32 b) { return a | b; })>(t, "v_or_b32");
    add_valu<([](u32 a, u32 b) { return a ^ b; })>(t, "v_xor_b32");
    add_valu<([](u32 a, u32 b) { return ~(a ^ b); })>(t, "v_xnor_b32");
    add_valu<([](u32 a) { return ~a; })>(t, "v_not_b32");
    add_valu<([](u32 a, u32 b, u32 c) { return (a & b) | c; })>(t, "v_and_or_b32");
    add_valu<([](u32 a, u32 b, u32 c) { return a | b | c; })>(t, "v_or3_b32");
    add_valu<([](u32 a, u32 b, u32 c) { return a ^ b ^ c; })>(t, "v_xor3_b32");
    add_valu<([](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; })>(t, "v_lshl_or_b32");
    add_valu<([](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); })>(t, "v_bfi_b32");
    add_valu<([](u32 a, u32 b) { return b << (a & 31); })>(t, "v_lshlrev_b32");
    add_valu<([](u32 a, u32 b) { return b >> (a & 31); })>(t, "v_lshrrev_b32");
    add_valu<([](u32 a, i32 b) { return b >> (a & 31); })>(t, "v_ashrrev_i32");
    add_valu<([](u32 a, u64 b) { return b << (a & 63); })>(t, "v_lshlrev_b64");
    add_valu<([](u32 a, u64 b) { return b >> (a & 63); })>(t, "v_lshrrev_b64");
    add_valu<([](u32 a, i64 b) { return b >> (a & 63); })>(t, "v_ashrrev_i64");
    add_valu<([](u32 a, u32 b, u32 c) {
        const u32 width = c & 31;
        return a >> (b & 31) & ((1u << width) - 1);
    })>(t, "v_bfe_u32");
    add_valu<([](i32 a, u32 b, u32 c) {
        const u32 offset = b & 31, width = c & 31;
        const u32 field = static_cast<u32>(a >> offset);
        if (width == 0) return 0;
        if (offset + width >= 32) return a >> offset;
        return static_cast<i32>(field << (32 - width)) >> (32 - width);
    })>(t, "v_bfe_i32");
    add_valu<([](u32 a, u32 b) { return ((1u << (a & 31)) - 1) << (b & 31); })>(t, "v_bfm_b32");
    add_valu<([](u32 a) {
        a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
        a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
        a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
        return __builtin_bswap32(a);
    })>(t, "v_bfrev_b32");
    add_valu<([](u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; })>(t, "v_bcnt_u32_b32");
    add_valu<([](u32 a) { return a ? static_cast<u32>(std::countl_zero(a)) : ~0u; })>(t, "v_ffbh_u32");
    t.alias("v_clz_i32_u32", "v_ffbh_u32");
    add_valu<([](u32 a) { return a ? static_cast<u32>(std::countr_zero(a)) : ~0u; })>(t, "v_ffbl_b32");
    t.alias("v_ctz_i32_b32", "v_ffbl_b32");
    add_valu<([](i32 a) {
        const u32 m = static_cast<u32>(a < 0 ? ~a : a);
        return m ? static_cast<u32>(std::countl_zero(m)) : ~0u;
    })>(t, "v_ffbh_i32");
    t.alias("v_cls_i32", "v_ffbh_i32");
    add_valu<([](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); })>(
        t, "v_alignbit_b32");
    add_valu<([](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (8 * (c & 3))); })>(
        t, "v_alignbyte_b32");
    add_valu<([](u32 a, u32 b, u32 c) {
        u32 r = 0;
        for (int i = 0; i < 4; ++i) r |= perm_byte(a, b, c >> (8 * i) & 0xff) << (8 * i);
        return r;
    })>(t, "v_perm_b32");
    t.add("v_cndmask_b32", &cndmask<float>, InstClass::kValu, Form::kPlain, {Type::kB32},
          {Type::kF32, Type::kF32, Type::kMask});
    t.add("v_cndmask_b16", &cndmask<Half>, InstClass::kValu, Form::kPlain, {Type::kB16},
          {Type::kF16, Type::kF16, Type::kMask});
}

/// Sum of absolute differences of four bytes; with `masked` only where the byte of b is not 0.
u32 sad_bytes(u32 a, u32 b, bool masked) {
    u32 sum = 0;
    for (int i = 0; i < 32; i += 8) {
        const u32 x = a >> i & 0xff, y = b >> i & 0xff;
        if (!masked || y) sum += x > y ? x - y : y - x;
    }
    return sum;
}

/// Four such sums for the bytes of `a` from 0, 1, 2 and 3 on, added to 16-bit accumulators.
u64 sad_quad(u64 a, u32 b, u64 c, bool masked, bool saturate) {
    u64 r = 0;
    for (int i = 0; i < 4; ++i) {
        u32 sum =
            sad_bytes(static_cast<u32>(a >> (8 * i)), b, masked) + static_cast<u32>(c >> (16 * i) & 0xffff);
        if (saturate) sum = std::min(sum, 0xffffu);
        r |= u64{sum & 0xffff} << (16 * i);
    }
    return r;
}

/// The same with 32-bit accumulators: four registers.
template <bool kSaturate>
void mqsad_u32(Wave& w, const Inst& inst) {
    LaneBuffer ta, tb;
    const Source a = fetch<u64>(w, inst, 0, ta), b = fetch<u32>(w, inst, 1, tb);
    const int c = inst.src[2].reg, d = inst.dst[0].reg;
    for (u32 m = w.exec(); m; m &= m - 1) {
        const int l = std::countr_zero(m);
        const u64 bytes = u64{a.hi[l]} << 32 | a.lo[l];
        u32 r[4];
        for (int i = 0; i < 4; ++i) {
            const u64 sum = u64{sad_bytes(static_cast<u32>(bytes >> (8 * i)), b.lo[l], true)} + w.v[c + i][l];
            r[i] = kSaturate ? static_cast<u32>(std::min<u64>(sum, 0xffffffffu)) : static_cast<u32>(sum);
        }
        for (int i = 0; i < 4; ++i) w.v[d + i][l] = r[i];
    }
}

void differences(OpTable& t) {
    add_clampable<([](u32 a, u32 b, u32 c) { return sad_bytes(a, b, false) + c; }), ([](u32 a, u32 b, u32 c) {
                      return saturated<u32>(i64{sad_bytes(a, b, false)} + c);
                  })>(t, "v_sad_u8");
    add_clampable<([](u32 a, u32 b, u32 c) { return (sad_bytes(a, b, false) << 16) + c; }),
                  ([](u32 a, u32 b, u32 c) {
                      return saturated<u32>((i64{sad_bytes(a, b, false)} << 16) + c);
                  })>(t, "v_sad_hi_u8");
    add_clampable<([](u32 a, u32 b, u32 c) { return sad_bytes(a, b, true) + c; }), ([](u32 a, u32 b, u32 c) {
                      return saturated<u32>(i64{sad_bytes(a, b, true)} + c);
                  })>(t, "v_msad_u8");
    static constexpr auto kWords = [](u32 a, u32 b) {
        const auto one = [](u32 x, u32 y) { return x > y ? x - y : y - x; };
        return one(a & 0xffff, b & 0xffff) + one(a >> 16, b >> 16);
    };
    add_clampable<([](u32 a, u32 b, u32 c) { return kWords(a, b) + c; }), ([](u32 a, u32 b, u32 c) {
                      return saturated<u32>(i64{kWords(a, b)} + c);
                  })>(t, "v_sad_u16");
    add_clampable<([](u64 a, u32 b, u64 c) { return sad_quad(a, b, c, false, false); }),
                  ([](u64 a, u32 b, u64 c) { return sad_quad(a, b, c, false, true); })>(t,
                                                                                        "v_qsad_pk_u16_u8");
    add_clampable<([](u64 a, u32 b, u64 c) { return sad_quad(a, b, c, true, false); }),
                  ([](u64 a, u32 b, u64 c) { return sad_quad(a, b, c, true, true); })>(t,
                                                                                       "v_mqsad_pk_u16_u8");
    t.add("v_mqsad_u32_u8", &mqsad_u32<false>, InstClass::kValu, Form::kPlain, {Type::kAny},
          {Type::kB64, Type::kB32, Type::kAny})
        .clamped = &mqsad_u32<true>;
    add_valu<([](u32 a, u32 b, u32 c) {
        u32 r = 0;
        for (int i = 0; i < 32; i += 8) r |= ((a >> i & 0xff) + (b >> i & 0xff) + (c >> i & 1)) >> 1 << i;
        return r;
    })>(t, "v_lerp_u8");
    add_valu<([](u32 a) {
        const auto one = [](u32 v) {
            return static_cast<u32>(std::clamp<i32>(static_cast<i16>(static_cast<u16>(v)), 0, 255));
        };
        return static_cast<u16>(one(a) | one(a >> 16) << 8);
    })>(t, "v_sat_pk_u8_i16");
}

void sixteen(OpTable& t) {
    add_valu<([](u16 a) { return a; })>(t, "v_mov_b16");
    add_valu<([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); })>(t, "v_mul_lo_u16");
    add_valu<([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); })>(t, "v_mad_u16");
    add_valu<([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); })>(t, "v_mad_i16");
    add_valu<([](u16 a, u16 b) { return static_cast<u16>(a & b); })>(t, "v_and_b16");
    add_valu<([](u16 a, u16 b) { return static_cast<u16>(a | b); })>(t, "v_or_b16");
    add_valu<([](u16 a, u16 b) { return static_cast<u16>(a ^ b); })>(t, "v_xor_b16");
    add_valu<([](u16 a) { return static_cast<u16>(~a); })>(t, "v_not_b16");
    add_valu<([](u16 a, u16 b) { return static_cast<u16>(u32{b} << (a & 15)); })>(t, "v_lshlrev_b16");
    add_valu<([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); })>(t, "v_lshrrev_b16");
    add_valu<([](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); })>(t, "v_ashrrev_i16");
    add_valu<([](i16 a, i16 b) { return std::min(a, b); })>(t, "v_min_i16");
    add_valu<([](i16 a, i16 b) { return std::max(a, b); })>(t, "v_max_i16");
    add_valu<([](u16 a, u16 b) { return std::min(a, b); })>(t, "v_min_u16");
    add_valu<([](u16 a, u16 b) { return std::max(a, b); })>(t, "v_max_u16");
    add_valu<([](i16 a, i16 b, i16 c) { return std::min(std::min(a, b), c); })>(t, "v_min3_i16");
    add_valu<([](i16 a, i16 b, i16 c) { return std::max(std::max(a, b), c); })>(t, "v_max3_i16");
    add_valu<([](u16 a, u16 b, u16 c) { return std::min(std::min(a, b), c); })>(t, "v_min3_u16");
    add_valu<([](u16 a, u16 b, u16 c) { return std::max(std::max(a, b), c); })>(t, "v_max3_u16");
    add_valu<([](i16 a, i16 b, i16 c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); })>(
        t, "v_med3_i16");
    add_valu<([](u16 a, u16 b, u16 c) { return std::max(std::min(a, b), std::min(std::max(a, b), c)); })>(
        t, "v_med3_u16");
    add_valu<([](i16 a) { return static_cast<u32>(i32{a}); })>(t, "v_cvt_i32_i16");
    add_valu<([](u16 a) { return u32{a}; })>(t, "v_cvt_u32_u16");
    add_valu<([](u16 a, u16 b) { return u32{a} | u32{b} << 16; })>(t, "v_pack_b32_f16");
}

}  // namespace

void register_valu_int(OpTable& t) {
    arithmetic(t);
    carries(t);
    bits(t);
    sixteen(t);
    differences(t);
}

}  // namespace ckitchen::gfxsim

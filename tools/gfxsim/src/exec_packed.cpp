// VOP3P: packed 16-bit arithmetic, mixed-precision fma and dot products.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "float_ops.hpp"
#include "fp8.hpp"
#include "half_ops.hpp"
#include "op_table.hpp"
#include "valu.hpp"

namespace ckitchen::gfxsim {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using i16 = int16_t;
using i32 = int32_t;
using i64 = int64_t;

/// The two halves of source `index` that the low and the high result use.
struct Halves {
    u32 lo[kLanes], hi[kLanes];
};

void fetch_halves(const Wave& w, const Inst& inst, int index, bool floating, Halves& out) {
    LaneBuffer tmp;
    const Source s = fetch<u32>(w, inst, index, tmp);
    const int lo_shift = inst.op_sel >> index & 1 ? 16 : 0, hi_shift = inst.op_sel_hi >> index & 1 ? 16 : 0;
    const u32 lo_flip = floating && (inst.neg_lo >> index & 1) ? 0x8000u : 0,
              hi_flip = floating && (inst.neg_hi >> index & 1) ? 0x8000u : 0;
    GFXSIM_LANES {
        out.lo[l] = (s.lo[l] >> lo_shift & 0xffffu) ^ lo_flip;
        out.hi[l] = (s.lo[l] >> hi_shift & 0xffffu) ^ hi_flip;
    }
    if (inst.src[index].type == Type::kPkF16 && !(w.mode & 0x40)) [[unlikely]] {
        GFXSIM_LANES {
            out.lo[l] = flush_half(out.lo[l]);
            out.hi[l] = flush_half(out.hi[l]);
        }
    }
}

template <class T>
T half_as(u32 v) {
    return std::bit_cast<T>(static_cast<u16>(v));
}

template <auto F, class T, class... A, size_t... I>
void packed_body(Wave& w, const Inst& inst, std::tuple<A...>*, std::index_sequence<I...>) {
    constexpr bool kFloat = std::is_same_v<T, Half>;
    Halves src[sizeof...(A)];
    (fetch_halves(w, inst, I, kFloat && std::is_same_v<A, Half>, src[I]), ...);
    LaneBuffer r;
    const auto finish = [&](T v) {
        if constexpr (kFloat) {
            if (inst.clamp) v = to_half(apply_output_modifiers(to_float(v), inst));
            if (!(w.mode & 0x80)) [[unlikely]]
                v.bits = static_cast<u16>(flush_half(v.bits));
        }
        return u32{std::bit_cast<u16>(v)};
    };
    for (int l = 0; l < kLanes; ++l)
        r.lo[l] = finish(F(half_as<A>(src[I].lo[l])...)) | finish(F(half_as<A>(src[I].hi[l])...)) << 16;
    store_words(w.v[inst.dst[0].reg].data(), r.lo, write_mask(w, inst));
}

template <auto F>
void packed(Wave& w, const Inst& inst) {
    using Traits = FunctionTraits<decltype(F)>;
    packed_body<F, typename Traits::Result>(w, inst, static_cast<typename Traits::Arguments*>(nullptr),
                                            std::make_index_sequence<Traits::kCount>{});
}

template <auto F>
void add_packed(OpTable& t, const std::string& name) {
    using Traits = FunctionTraits<decltype(F)>;
    const bool floating = std::is_same_v<typename Traits::Result, Half>;
    const Type type = floating ? Type::kPkF16 : Type::kPkB16;
    t.add(name, &packed<F>, InstClass::kValu, Form::kPlain, {type}, std::vector<Type>(Traits::kCount, type),
          kFlagPackedMods);
}

/// Source of a mix instruction: op_sel_hi picks float16 (op_sel: which half) over float32; neg and abs come
/// with the operand.
void fetch_mix(const Wave& w, const Inst& inst, int index, float* out) {
    LaneBuffer tmp;
    const Operand& o = inst.src[index];
    const Source s = raw_source(w, o, tmp);
    const bool half = inst.op_sel_hi >> index & 1;
    const int shift = inst.op_sel >> index & 1 ? 16 : 0;
    for (int l = 0; l < kLanes; ++l) {
        u32 bits = s.lo[l] >> shift & 0xffffu;
        if (!(w.mode & 0x40)) [[unlikely]]
            bits = flush_half(bits);
        float v = half ? to_float(half_as<Half>(bits)) : std::bit_cast<float>(s.lo[l]);
        if (o.abs) v = std::fabs(v);
        if (o.neg) v = -v;
        out[l] = v;
    }
}

enum class MixTarget : uint8_t { kSingle, kLow, kHigh };

template <MixTarget kTarget>
void fma_mix(Wave& w, const Inst& inst) {
    float a[kLanes], b[kLanes], c[kLanes];
    fetch_mix(w, inst, 0, a);
    fetch_mix(w, inst, 1, b);
    fetch_mix(w, inst, 2, c);
    u32 r[kLanes];
    u32* d = w.v[inst.dst[0].reg].data();
    for (int l = 0; l < kLanes; ++l) {
        const float v = apply_output_modifiers(std::fma(a[l], b[l], c[l]), inst);
        if (kTarget == MixTarget::kSingle)
            r[l] = std::bit_cast<u32>(v);
        else if (kTarget == MixTarget::kLow)
            r[l] = (d[l] & 0xffff0000u) | to_half(v).bits;
        else
            r[l] = (d[l] & 0xffffu) | u32{to_half(v).bits} << 16;
    }
    store_words(d, r, write_mask(w, inst));
}

template <int kBits>
i32 element(u32 word, int i, bool is_signed) {
    const u32 field = word >> (kBits * i) & ((1u << kBits) - 1);
    if (!is_signed) return static_cast<i32>(field);
    return static_cast<i32>(field << (32 - kBits)) >> (32 - kBits);
}

/// Integer dot product of packed elements plus a 32-bit addend; clamp saturates the sum.
template <int kBits>
u32 dot(u32 a, u32 b, u32 c, bool signed_a, bool signed_b, bool unsigned_result, bool clamp) {
    i64 sum = unsigned_result ? i64{c} : i64{static_cast<i32>(c)};
    for (int i = 0; i < 32 / kBits; ++i)
        sum += i64{element<kBits>(a, i, signed_a)} * element<kBits>(b, i, signed_b);
    if (clamp) {
        if (unsigned_result)
            sum = std::clamp<i64>(sum, 0, 0xffffffffll);
        else
            sum = std::clamp<i64>(sum, INT32_MIN, INT32_MAX);
    }
    return static_cast<u32>(sum);
}

enum class Signs : uint8_t { kBoth, kNone, kByModifier };

template <int kBits, Signs kSigns>
void dot_op(Wave& w, const Inst& inst) {
    LaneBuffer ta, tb, tc, r;
    const Source a = fetch<u32>(w, inst, 0, ta), b = fetch<u32>(w, inst, 1, tb),
                 c = fetch<u32>(w, inst, 2, tc);
    const bool sa = kSigns == Signs::kBoth || (kSigns == Signs::kByModifier && (inst.neg_lo & 1));
    const bool sb = kSigns == Signs::kBoth || (kSigns == Signs::kByModifier && (inst.neg_lo & 2));
    const bool unsigned_result = kSigns == Signs::kNone;
    if constexpr (kBits == 8) {
        if (sa && sb && !inst.clamp) {
            GFXSIM_LANES {
                i32 sum = static_cast<i32>(c.lo[l]);
                const i32 x = static_cast<i32>(a.lo[l]), y = static_cast<i32>(b.lo[l]);
                u32 part = static_cast<u32>(sum);
                part += static_cast<u32>((x << 24 >> 24) * (y << 24 >> 24));
                part += static_cast<u32>((x << 16 >> 24) * (y << 16 >> 24));
                part += static_cast<u32>((x << 8 >> 24) * (y << 8 >> 24));
                part += static_cast<u32>((x >> 24) * (y >> 24));
                r.lo[l] = part;
            }
            store_words(w.v[inst.dst[0].reg].data(), r.lo, write_mask(w, inst));
            return;
        }
    }
    for (int l = 0; l < kLanes; ++l)
        r.lo[l] = dot<kBits>(a.lo[l], b.lo[l], c.lo[l], sa, sb, unsigned_result, inst.clamp);
    store_words(w.v[inst.dst[0].reg].data(), r.lo, write_mask(w, inst));
}

/// Two products and the addend, rounded once: the products are exact in float64.
float dot2(float a0, float b0, float a1, float b1, float c) {
    return static_cast<float>(static_cast<double>(a0) * b0 + static_cast<double>(a1) * b1 +
                              static_cast<double>(c));
}

template <class T>
void dot2_f32(Wave& w, const Inst& inst) {
    Halves a, b;
    fetch_halves(w, inst, 0, true, a);
    fetch_halves(w, inst, 1, true, b);
    LaneBuffer tc, r;
    const Source c = fetch<float>(w, inst, 2, tc);
    // On the float32 addend neg_lo negates and neg_hi takes the magnitude.
    const bool neg = inst.neg_lo & 4, abs = inst.neg_hi & 4;
    for (int l = 0; l < kLanes; ++l) {
        float addend = std::bit_cast<float>(c.lo[l]);
        if (abs) addend = std::fabs(addend);
        if (neg) addend = -addend;
        const float v = dot2(to_float(half_as<T>(a.lo[l])), to_float(half_as<T>(b.lo[l])),
                             to_float(half_as<T>(a.hi[l])), to_float(half_as<T>(b.hi[l])), addend);
        r.lo[l] = std::bit_cast<u32>(apply_output_modifiers(v, inst));
    }
    store_words(w.v[inst.dst[0].reg].data(), r.lo, write_mask(w, inst));
}

/// VOP2 form of the dot product: the destination is the addend, there are no half selectors.
template <class T>
void dot2c_f32(Wave& w, const Inst& inst) {
    LaneBuffer ta, tb, r;
    const Source a = fetch<u32>(w, inst, 0, ta), b = fetch<u32>(w, inst, 1, tb);
    const u32* d = w.v[inst.src[2].reg].data();
    for (int l = 0; l < kLanes; ++l)
        r.lo[l] = std::bit_cast<u32>(dot2(to_float(half_as<T>(a.lo[l])), to_float(half_as<T>(b.lo[l])),
                                          to_float(half_as<T>(a.lo[l] >> 16)),
                                          to_float(half_as<T>(b.lo[l] >> 16)), std::bit_cast<float>(d[l])));
    store_words(w.v[inst.dst[0].reg].data(), r.lo, write_mask(w, inst));
}

/// Dot product with a 16-bit addend and result: op_sel picks the halves of source 2 and of the destination.
/// bfloat16 denormals are flushed, float16 ones kept.
template <class T>
void dot2_16bit(Wave& w, const Inst& inst) {
    constexpr bool kFlush = std::is_same_v<T, Bf16>;
    LaneBuffer ta, tb, tc, r;
    const Source src[] = {fetch<u32>(w, inst, 0, ta), fetch<u32>(w, inst, 1, tb), fetch<u32>(w, inst, 2, tc)};
    const auto value = [&](int index, u32 bits) {
        float v = to_float(half_as<T>(bits));
        if (kFlush) v = flush_denormal(v);
        if (inst.src[index].abs) v = std::fabs(v);
        return inst.src[index].neg ? -v : v;
    };
    const Operand& dst = inst.dst[0];
    const bool high_c = inst.src[2].high || (inst.op_sel & 4), high_d = dst.high || (inst.op_sel & 8);
    u32* d = w.v[dst.reg].data();
    for (int l = 0; l < kLanes; ++l) {
        const u32 a = src[0].lo[l], b = src[1].lo[l], c = high_c ? src[2].lo[l] >> 16 : src[2].lo[l];
        float v = apply_output_modifiers(
            dot2(value(0, a), value(1, b), value(0, a >> 16), value(1, b >> 16), value(2, c)), inst);
        u32 bits;
        if constexpr (kFlush)
            bits = to_bf16(flush_denormal(v)).bits;
        else
            bits = to_half(v).bits;
        r.lo[l] = high_d ? (d[l] & 0xffffu) | bits << 16 : (d[l] & 0xffff0000u) | bits;
    }
    store_words(d, r.lo, write_mask(w, inst));
}

/// Four products of 8-bit floats and a float32 addend, rounded once: the products and their sum are exact in
/// float64 but for sums of very different size.
template <auto DecodeA, auto DecodeB>
void dot4_fp8(Wave& w, const Inst& inst) {
    LaneBuffer ta, tb, tc, r;
    const Source a = fetch<u32>(w, inst, 0, ta), b = fetch<u32>(w, inst, 1, tb),
                 c = fetch<u32>(w, inst, 2, tc);
    const bool neg = inst.neg_lo & 4, abs = inst.neg_hi & 4;
    for (int l = 0; l < kLanes; ++l) {
        float addend = std::bit_cast<float>(c.lo[l]);
        if (abs) addend = std::fabs(addend);
        if (neg) addend = -addend;
        double sum = 0;
        for (int i = 0; i < 32; i += 8)
            sum += static_cast<double>(DecodeA(static_cast<uint8_t>(a.lo[l] >> i))) *
                   static_cast<double>(DecodeB(static_cast<uint8_t>(b.lo[l] >> i)));
        r.lo[l] = std::bit_cast<u32>(
            apply_output_modifiers(static_cast<float>(sum + static_cast<double>(addend)), inst));
    }
    store_words(w.v[inst.dst[0].reg].data(), r.lo, write_mask(w, inst));
}

template <bool kSigned>
void dot2_int16(Wave& w, const Inst& inst) {
    Halves a, b;
    fetch_halves(w, inst, 0, false, a);
    fetch_halves(w, inst, 1, false, b);
    LaneBuffer tc, r;
    const Source c = fetch<u32>(w, inst, 2, tc);
    const auto widen = [](u32 v) { return kSigned ? i64{static_cast<i16>(v)} : i64{v}; };
    for (int l = 0; l < kLanes; ++l) {
        i64 sum = widen(a.lo[l]) * widen(b.lo[l]) + widen(a.hi[l]) * widen(b.hi[l]) +
                  (kSigned ? i64{static_cast<i32>(c.lo[l])} : i64{c.lo[l]});
        if (inst.clamp)
            sum =
                kSigned ? std::clamp<i64>(sum, INT32_MIN, INT32_MAX) : std::clamp<i64>(sum, 0, 0xffffffffll);
        r.lo[l] = static_cast<u32>(sum);
    }
    store_words(w.v[inst.dst[0].reg].data(), r.lo, write_mask(w, inst));
}

template <int kBits, Signs kSigns>
void add_dot(OpTable& t, const char* name, Form form = Form::kPlain) {
    std::vector<Type> src(form == Form::kFmac ? 2 : 3, Type::kB32);
    t.add(name, &dot_op<kBits, kSigns>, InstClass::kDot, form, {Type::kB32}, src,
          kFlagPackedMods | kFlagIntClamp);
}

}  // namespace

void register_packed(OpTable& t) {
    add_packed<([](Half a, Half b) { return half_add(a, b); })>(t, "v_pk_add_f16");
    add_packed<([](Half a, Half b) { return half_mul(a, b); })>(t, "v_pk_mul_f16");
    add_packed<([](Half a, Half b, Half c) { return half_fma(a, b, c); })>(t, "v_pk_fma_f16");
    add_packed<([](Half a, Half b) { return half_min(a, b); })>(t, "v_pk_min_f16");
    t.alias("v_pk_min_num_f16", "v_pk_min_f16");
    add_packed<([](Half a, Half b) { return half_max(a, b); })>(t, "v_pk_max_f16");
    t.alias("v_pk_max_num_f16", "v_pk_max_f16");
    add_packed<([](Half a, Half b) { return half_minimum(a, b); })>(t, "v_pk_minimum_f16");
    add_packed<([](Half a, Half b) { return half_maximum(a, b); })>(t, "v_pk_maximum_f16");
    constexpr auto kFma = [](Half a, Half b, Half c) { return half_fma(a, b, c); };
    t.add("v_pk_fmac_f16", &packed<kFma>, InstClass::kValu, Form::kFmac, {Type::kPkF16},
          {Type::kPkF16, Type::kPkF16}, kFlagPackedMods);
    add_packed<([](u16 a, u16 b) { return static_cast<u16>(a + b); })>(t, "v_pk_add_u16");
    add_packed<([](u16 a, u16 b) { return static_cast<u16>(a + b); })>(t, "v_pk_add_i16");
    add_packed<([](u16 a, u16 b) { return static_cast<u16>(a - b); })>(t, "v_pk_sub_u16");
    add_packed<([](u16 a, u16 b) { return static_cast<u16>(a - b); })>(t, "v_pk_sub_i16");
    add_packed<([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); })>(t, "v_pk_mul_lo_u16");
    add_packed<([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); })>(t, "v_pk_mad_u16");
    add_packed<([](u16 a, u16 b, u16 c) { return static_cast<u16>(u32{a} * b + c); })>(t, "v_pk_mad_i16");
    add_packed<([](u16 a, u16 b) { return static_cast<u16>(u32{b} << (a & 15)); })>(t, "v_pk_lshlrev_b16");
    add_packed<([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); })>(t, "v_pk_lshrrev_b16");
    add_packed<([](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); })>(t, "v_pk_ashrrev_i16");
    add_packed<([](i16 a, i16 b) { return std::min(a, b); })>(t, "v_pk_min_i16");
    add_packed<([](i16 a, i16 b) { return std::max(a, b); })>(t, "v_pk_max_i16");
    add_packed<([](u16 a, u16 b) { return std::min(a, b); })>(t, "v_pk_min_u16");
    add_packed<([](u16 a, u16 b) { return std::max(a, b); })>(t, "v_pk_max_u16");
    const std::vector<Type> mix(3, Type::kF32);
    t.add("v_fma_mix_f32", &fma_mix<MixTarget::kSingle>, InstClass::kValu, Form::kPlain, {Type::kF32}, mix,
          kFlagPackedMods);
    t.add("v_fma_mixlo_f16", &fma_mix<MixTarget::kLow>, InstClass::kValu, Form::kPlain, {Type::kF16}, mix,
          kFlagPackedMods);
    t.add("v_fma_mixhi_f16", &fma_mix<MixTarget::kHigh>, InstClass::kValu, Form::kPlain, {Type::kF16}, mix,
          kFlagPackedMods);
    add_dot<8, Signs::kBoth>(t, "v_dot4_i32_i8");
    add_dot<8, Signs::kBoth>(t, "v_dot4c_i32_i8", Form::kFmac);
    add_dot<8, Signs::kNone>(t, "v_dot4_u32_u8");
    add_dot<8, Signs::kByModifier>(t, "v_dot4_i32_iu8");
    add_dot<4, Signs::kBoth>(t, "v_dot8_i32_i4");
    add_dot<4, Signs::kBoth>(t, "v_dot8c_i32_i4", Form::kFmac);
    add_dot<4, Signs::kNone>(t, "v_dot8_u32_u4");
    add_dot<4, Signs::kByModifier>(t, "v_dot8_i32_iu4");
    t.add("v_dot2_i32_i16", &dot2_int16<true>, InstClass::kDot, Form::kPlain, {Type::kB32},
          {Type::kPkB16, Type::kPkB16, Type::kB32}, kFlagPackedMods | kFlagIntClamp);
    t.add("v_dot2_u32_u16", &dot2_int16<false>, InstClass::kDot, Form::kPlain, {Type::kB32},
          {Type::kPkB16, Type::kPkB16, Type::kB32}, kFlagPackedMods | kFlagIntClamp);
    t.add("v_dot2_f32_f16", &dot2_f32<Half>, InstClass::kDot, Form::kPlain, {Type::kF32},
          {Type::kPkF16, Type::kPkF16, Type::kF32}, kFlagPackedMods);
    t.add("v_dot2_f32_bf16", &dot2_f32<Bf16>, InstClass::kDot, Form::kPlain, {Type::kF32},
          {Type::kPkBf16, Type::kPkBf16, Type::kF32}, kFlagPackedMods);
    for (const char* name : {"v_dot2c_f32_f16", "v_dot2acc_f32_f16"})
        t.add(name, &dot2c_f32<Half>, InstClass::kDot, Form::kFmac, {Type::kF32},
              {Type::kPkF16, Type::kPkF16}, kFlagPackedMods);
    t.add("v_dot2acc_f32_bf16", &dot2c_f32<Bf16>, InstClass::kDot, Form::kFmac, {Type::kF32},
          {Type::kPkBf16, Type::kPkBf16}, kFlagPackedMods);
    const auto dot4 = [&](const char* types, Handler fn) {
        t.add(std::string("v_dot4_f32_") + types, fn, InstClass::kDot, Form::kPlain, {Type::kF32},
              {Type::kB32, Type::kB32, Type::kF32}, kFlagPackedMods);
    };
    dot4("fp8_fp8", &dot4_fp8<decode_fp8, decode_fp8>);
    dot4("fp8_bf8", &dot4_fp8<decode_fp8, decode_bf8>);
    dot4("bf8_fp8", &dot4_fp8<decode_bf8, decode_fp8>);
    dot4("bf8_bf8", &dot4_fp8<decode_bf8, decode_bf8>);
    t.add("v_dot2_f16_f16", &dot2_16bit<Half>, InstClass::kDot, Form::kPlain, {Type::kF16},
          {Type::kPkF16, Type::kPkF16, Type::kF16}, kFlagPackedMods);
    t.add("v_dot2_bf16_bf16", &dot2_16bit<Bf16>, InstClass::kDot, Form::kPlain, {Type::kBf16},
          {Type::kPkBf16, Type::kPkBf16, Type::kBf16}, kFlagPackedMods);
}

}  // namespace ckitchen::gfxsim

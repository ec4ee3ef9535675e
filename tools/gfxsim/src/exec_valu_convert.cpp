// Conversions between number formats.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "float_ops.hpp"
#include "fp8.hpp"
#include "half_ops.hpp"
#include "op_table.hpp"
#include "valu.hpp"

namespace ckitchen::gfxsim {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using i16 = int16_t;
using i32 = int32_t;

template <class T>
T saturate(double v) {
    if (std::isnan(v)) return 0;
    if (v <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (v >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(v);
}

template <int kByte>
void add_byte(OpTable& t) {
    add_valu<([](u32 a) { return static_cast<float>(a >> (8 * kByte) & 0xff); })>(
        t, "v_cvt_f32_ubyte" + std::to_string(kByte));
}

/// Two float32 to two bytes of 8-bit floats in the half of the destination that op_sel picks.
template <auto Encode>
void pack_fp8(Wave& w, const Inst& inst) {
    LaneBuffer ta, tb, r;
    const Source a = fetch<float>(w, inst, 0, ta), b = fetch<float>(w, inst, 1, tb);
    for (int l = 0; l < kLanes; ++l)
        r.lo[l] = u32{Encode(std::bit_cast<float>(a.lo[l]))} | u32{Encode(std::bit_cast<float>(b.lo[l]))}
                                                                   << 8;
    store<u16>(w, inst, inst.dst[0], r, write_mask(w, inst));
}

/// [-1, 1] or [0, 1] to the range of T.
template <class T>
u16 normalized(float v) {
    constexpr float kTop = static_cast<float>(std::numeric_limits<T>::max());
    constexpr float kLow = std::is_signed_v<T> ? -1.0f : 0.0f;
    const float inside = is_nan(v) ? 0.0f : std::min(std::max(v, kLow), 1.0f);
    return static_cast<u16>(static_cast<T>(std::nearbyint(inside * kTop)));
}

/// One byte of 8-bit floats to float32: byte_sel, or the byte that SDWA has picked.
template <auto Decode>
void unpack_fp8(Wave& w, const Inst& inst) {
    LaneBuffer ta, r;
    const Source a = fetch<u32>(w, inst, 0, ta);
    const int shift = 8 * static_cast<int>(inst.extra & 3);
    for (int l = 0; l < kLanes; ++l)
        r.lo[l] = std::bit_cast<u32>(Decode(static_cast<uint8_t>(a.lo[l] >> shift)));
    store<float>(w, inst, inst.dst[0], r, write_mask(w, inst));
}

/// Two bytes, from the half of the source that op_sel or the text picks, to two registers.
template <auto Decode>
void unpack_fp8_pair(Wave& w, const Inst& inst) {
    LaneBuffer ta, r;
    const Source a = fetch<u16>(w, inst, 0, ta);
    for (int l = 0; l < kLanes; ++l) {
        r.lo[l] = std::bit_cast<u32>(Decode(static_cast<uint8_t>(a.lo[l])));
        r.hi[l] = std::bit_cast<u32>(Decode(static_cast<uint8_t>(a.lo[l] >> 8)));
    }
    store<u64>(w, inst, inst.dst[0], r, write_mask(w, inst));
}

}  // namespace

void register_valu_convert(OpTable& t) {
    add_valu<([](i32 a) { return static_cast<float>(a); })>(t, "v_cvt_f32_i32");
    add_valu<([](u32 a) { return static_cast<float>(a); })>(t, "v_cvt_f32_u32");
    add_valu<([](float a) { return float_to_i32(a); })>(t, "v_cvt_i32_f32");
    add_valu<([](float a) { return float_to_u32(a); })>(t, "v_cvt_u32_f32");
    add_valu<([](float a) { return float_to_i32(std::floor(a)); })>(t, "v_cvt_flr_i32_f32");
    t.alias("v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32");
    add_valu<([](float a) { return float_to_i32(std::floor(a + 0.5f)); })>(t, "v_cvt_rpi_i32_f32");
    t.alias("v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32");
    add_byte<0>(t);
    add_byte<1>(t);
    add_byte<2>(t);
    add_byte<3>(t);
    add_valu<([](float a) { return to_half(a); })>(t, "v_cvt_f16_f32");
    add_valu<([](Half a) { return to_float(a); })>(t, "v_cvt_f32_f16");
    add_valu<([](u16 a) { return to_half(static_cast<float>(a)); })>(t, "v_cvt_f16_u16");
    add_valu<([](i16 a) { return to_half(static_cast<float>(a)); })>(t, "v_cvt_f16_i16");
    add_valu<([](Half a) { return saturate<u16>(static_cast<double>(to_float(a))); })>(t, "v_cvt_u16_f16");
    add_valu<([](Half a) { return saturate<i16>(static_cast<double>(to_float(a))); })>(t, "v_cvt_i16_f16");
    add_valu<([](float a, float b) { return u32{half_toward_zero(a)} | u32{half_toward_zero(b)} << 16; })>(
        t, "v_cvt_pkrtz_f16_f32");
    t.alias("v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32");
    add_valu<([](i32 a, i32 b) {
        return (u32{static_cast<u16>(saturate<i16>(a))}) | u32{static_cast<u16>(saturate<i16>(b))} << 16;
    })>(t, "v_cvt_pk_i16_i32");
    add_valu<([](u32 a, u32 b) { return std::min(a, 0xffffu) | std::min(b, 0xffffu) << 16; })>(
        t, "v_cvt_pk_u16_u32");
    add_valu<([](float a, float b) {
        return u32{static_cast<u16>(saturate<i16>(static_cast<double>(a)))} |
               u32{static_cast<u16>(saturate<i16>(static_cast<double>(b)))} << 16;
    })>(t, "v_cvt_pk_i16_f32");
    add_valu<([](float a, float b) {
        return u32{saturate<u16>(static_cast<double>(a))} | u32{saturate<u16>(static_cast<double>(b))} << 16;
    })>(t, "v_cvt_pk_u16_f32");
    add_valu<([](float a, u32 b, u32 c) {
        const u32 shift = 8 * (b & 3);
        const u32 byte = saturate<uint8_t>(std::nearbyint(static_cast<double>(a)));
        return (c & ~(0xffu << shift)) | byte << shift;
    })>(t, "v_cvt_pk_u8_f32");
    add_valu<([](double a) { return static_cast<float>(a); })>(t, "v_cvt_f32_f64");
    add_valu<([](float a) { return static_cast<double>(a); })>(t, "v_cvt_f64_f32");
    add_valu<([](i32 a) { return static_cast<double>(a); })>(t, "v_cvt_f64_i32");
    add_valu<([](u32 a) { return static_cast<double>(a); })>(t, "v_cvt_f64_u32");
    add_valu<([](double a) { return saturate<i32>(a); })>(t, "v_cvt_i32_f64");
    add_valu<([](double a) { return saturate<u32>(a); })>(t, "v_cvt_u32_f64");
    t.add("v_cvt_f32_fp8", &unpack_fp8<decode_fp8>, InstClass::kValu, Form::kPlain, {Type::kF32},
          {Type::kB32});
    t.add("v_cvt_f32_bf8", &unpack_fp8<decode_bf8>, InstClass::kValu, Form::kPlain, {Type::kF32},
          {Type::kB32});
    t.add("v_cvt_pk_f32_fp8", &unpack_fp8_pair<decode_fp8>, InstClass::kValu, Form::kPlain, {Type::kB64},
          {Type::kB16});
    t.add("v_cvt_pk_f32_bf8", &unpack_fp8_pair<decode_bf8>, InstClass::kValu, Form::kPlain, {Type::kB64},
          {Type::kB16});
    // Four bits as a signed number of sixteenths.
    add_valu<([](u32 a) { return static_cast<float>(static_cast<i32>(a << 28) >> 28) * 0.0625f; })>(
        t, "v_cvt_off_f32_i4");
    add_valu<([](Half a) { return normalized<i16>(to_float(a)); })>(t, "v_cvt_norm_i16_f16");
    add_valu<([](Half a) { return normalized<u16>(to_float(a)); })>(t, "v_cvt_norm_u16_f16");
    for (const char* stem : {"v_cvt_pknorm_", "v_cvt_pk_norm_"}) {
        const std::string n = stem;
        add_valu<([](float a, float b) { return u32{normalized<i16>(a)} | u32{normalized<i16>(b)} << 16; })>(
            t, n + "i16_f32");
        add_valu<([](float a, float b) { return u32{normalized<u16>(a)} | u32{normalized<u16>(b)} << 16; })>(
            t, n + "u16_f32");
        add_valu<([](Half a, Half b) {
            return u32{normalized<i16>(to_float(a))} | u32{normalized<i16>(to_float(b))} << 16;
        })>(t, n + "i16_f16");
        add_valu<([](Half a, Half b) {
            return u32{normalized<u16>(to_float(a))} | u32{normalized<u16>(to_float(b))} << 16;
        })>(t, n + "u16_f16");
    }
    t.add("v_cvt_pk_fp8_f32", &pack_fp8<encode_fp8>, InstClass::kValu, Form::kPlain, {Type::kB16},
          {Type::kF32, Type::kF32});
    t.add("v_cvt_pk_bf8_f32", &pack_fp8<encode_bf8>, InstClass::kValu, Form::kPlain, {Type::kB16},
          {Type::kF32, Type::kF32});
}

}  // namespace ckitchen::gfxsim

// Conversions between number formats.
#include <bit>
#include <cmath>
#include <cstdint>

#include "float_ops.hpp"
#include "fp8.hpp"
#include "half.hpp"
#include "op_table.hpp"
#include "valu.hpp"

namespace ckitchen::gfxsim {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using i16 = int16_t;
using i32 = int32_t;

/// float32 to float16 towards zero.
u16 half_toward_zero(float v) {
    const u16 nearest = to_half(v).bits;
    if (is_nan(v)) return nearest;
    const float back = to_float(Half{nearest});
    if (std::isinf(back) && !std::isinf(v)) return static_cast<u16>((nearest & 0x8000u) | 0x7bffu);
    return std::fabs(back) > std::fabs(v) ? static_cast<u16>(nearest - 1) : nearest;
}

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
    t.add("v_cvt_pk_fp8_f32", &pack_fp8<encode_fp8>, InstClass::kValu, Form::kPlain, {Type::kB16},
          {Type::kF32, Type::kF32});
    t.add("v_cvt_pk_bf8_f32", &pack_fp8<encode_bf8>, InstClass::kValu, Form::kPlain, {Type::kB16},
          {Type::kF32, Type::kF32});
}

}  // namespace ckitchen::gfxsim

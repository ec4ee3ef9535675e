// float32 and float64 vector arithmetic, division steps and transcendental functions.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "float_ops.hpp"
#include "op_table.hpp"
#include "valu.hpp"

namespace ckitchen::gfxsim {
namespace {

using u32 = uint32_t;
using i32 = int32_t;

float clean(float v) {
    return is_nan(v) ? quiet(v) : v;
}

float min3(float a, float b, float c) {
    return min_num(min_num(a, b), c);
}
float max3(float a, float b, float c) {
    return max_num(max_num(a, b), c);
}

float med3(float a, float b, float c) {
    if (is_nan(a) || is_nan(b) || is_nan(c)) return min3(a, b, c);
    return max_num(min_num(a, b), min_num(max_num(a, b), c));
}

int exponent_of(float v) {
    return static_cast<int>(std::bit_cast<u32>(v) >> 23 & 0xff);
}
int exponent_of(double v) {
    return static_cast<int>(std::bit_cast<uint64_t>(v) >> 52 & 0x7ff);
}

template <class T>
bool is_denormal(T v) {
    return v != 0 && std::fabs(v) < std::numeric_limits<T>::min();
}

/// Constants of the division sequence for float32 and float64: how far operands are scaled, from which
/// exponent difference on, below which numerator exponent.
template <class T>
struct DivisionTraits;
template <>
struct DivisionTraits<float> {
    static constexpr int kScale = 64, kFar = 96, kTinyExponent = 23, kUnderflow = 150, kMaxExponent = 255,
                         kBias = 127;
};
template <>
struct DivisionTraits<double> {
    static constexpr int kScale = 128, kFar = 768, kTinyExponent = 53, kUnderflow = 1075, kMaxExponent = 2047,
                         kBias = 1023;
};

/// v_div_scale: s0 is the operand to scale (equal to the denominator s1 or the numerator s2); `vcc` tells
/// v_div_fmas to scale back.
template <class T>
T div_scale(T s0, T s1, T s2, bool& vcc) {
    using D = DivisionTraits<T>;
    vcc = false;
    const bool denominator = std::memcmp(&s0, &s1, sizeof(T)) == 0;
    const bool numerator = std::memcmp(&s0, &s2, sizeof(T)) == 0;
    if (s1 == 0 || s2 == 0) return std::numeric_limits<T>::quiet_NaN();
    const T reciprocal = T{1} / s1, quotient = s2 / s1;
    if (exponent_of(s2) - exponent_of(s1) >= D::kFar) {
        vcc = true;
        return denominator ? std::ldexp(s0, D::kScale) : s0;
    }
    if (is_denormal(s1)) return std::ldexp(s0, D::kScale);
    const bool tiny_quotient = is_denormal(quotient) || (quotient == 0 && std::isfinite(s1));
    if (is_denormal(reciprocal) && tiny_quotient) {
        vcc = true;
        return denominator ? std::ldexp(s0, -D::kScale) : s0;
    }
    if (is_denormal(reciprocal)) return std::ldexp(s0, -D::kScale);
    if (tiny_quotient) {
        vcc = true;
        return numerator ? std::ldexp(s0, D::kScale) : s0;
    }
    if (exponent_of(s2) <= D::kTinyExponent) return std::ldexp(s0, D::kScale);
    return s0;
}

template <class T>
void div_scale_op(Wave& w, const Inst& inst) {
    LaneBuffer t0, t1, t2, r;
    const Source a = fetch<T>(w, inst, 0, t0), b = fetch<T>(w, inst, 1, t1), c = fetch<T>(w, inst, 2, t2);
    u32 mask = 0;
    for (int l = 0; l < kLanes; ++l) {
        bool vcc = false;
        to_bits<T>(r, l, div_scale(from_bits<T>(a, l), from_bits<T>(b, l), from_bits<T>(c, l), vcc));
        mask |= static_cast<u32>(vcc) << l;
    }
    const u32 exec = write_mask(w, inst);
    store<T>(w, inst, inst.dst[0], r, exec);
    w.s[inst.dst[1].reg] = mask & exec;
}

/// fma(a, b, c) * 2^scale rounded once, also where the result is denormal.
float fma_scaled(float a, float b, float c, int scale) {
    const double product = static_cast<double>(a) * static_cast<double>(b), addend = static_cast<double>(c);
    double sum = product + addend;
    if (!std::isfinite(sum)) return static_cast<float>(sum);
    // Rounded to odd in float64, the later rounding to float32 is the only one that counts.
    const double other = sum - product, error = (product - (sum - other)) + (addend - other);
    if (error != 0 && (std::bit_cast<uint64_t>(sum) & 1) == 0)
        sum = std::nextafter(sum, std::copysign(std::numeric_limits<double>::infinity(), error));
    return static_cast<float>(std::ldexp(sum, scale));
}

double fma_scaled(double a, double b, double c, int scale) {
    __extension__ using Quad = __float128;
    const double sum = std::fma(a, b, c);
    if (!std::isfinite(sum)) return sum;
    Quad exact = static_cast<Quad>(a) * static_cast<Quad>(b) + static_cast<Quad>(c);
    exact *= static_cast<Quad>(std::ldexp(1.0, scale));
    return static_cast<double>(exact);
}

template <class T>
void div_fmas_op(Wave& w, const Inst& inst) {
    using D = DivisionTraits<T>;
    LaneBuffer t0, t1, t2, r;
    const Source a = fetch<T>(w, inst, 0, t0), b = fetch<T>(w, inst, 1, t1), c = fetch<T>(w, inst, 2, t2);
    const u32 vcc = w.s[inst.src[3].reg];
    for (int l = 0; l < kLanes; ++l) {
        const T s2 = from_bits<T>(c, l);
        // Undoes what v_div_scale did: a large quotient had its denominator scaled up, a small one its
        // numerator.
        const int scale = !(vcc >> l & 1) ? 0 : exponent_of(s2) > D::kBias ? D::kScale : -D::kScale;
        const T s0 = from_bits<T>(a, l), s1 = from_bits<T>(b, l);
        to_bits<T>(r, l, scale ? fma_scaled(s0, s1, s2, scale) : std::fma(s0, s1, s2));
    }
    store<T>(w, inst, inst.dst[0], r, write_mask(w, inst));
}

/// v_div_fixup: the quotient s0 of numerator s2 and denominator s1 with the special cases put right.
template <class T>
T div_fixup(T s0, T s1, T s2) {
    using D = DivisionTraits<T>;
    const T sign = std::signbit(s1) != std::signbit(s2) ? T{-1} : T{1};
    if (std::isnan(s2)) return s2 + T{0};
    if (std::isnan(s1)) return s1 + T{0};
    if ((s1 == 0 && s2 == 0) || (std::isinf(s1) && std::isinf(s2)))
        return std::copysign(std::numeric_limits<T>::quiet_NaN(), T{-1});
    if (s1 == 0 || std::isinf(s2)) return std::copysign(std::numeric_limits<T>::infinity(), sign);
    if (std::isinf(s1) || s2 == 0) return std::copysign(T{0}, sign);
    if (exponent_of(s2) - exponent_of(s1) < -D::kUnderflow) return std::copysign(T{0}, sign);
    if (std::isnan(s0)) return std::copysign(std::numeric_limits<T>::infinity(), sign);
    return std::copysign(s0, sign);
}

/// Transcendental units read and write no denormals: documented as 1 ULP, denormals flushed.
template <auto F>
float trans(float v) {
    return flush_denormal(F(flush_denormal(v)));
}

float rcp(float v) {
    return 1.0f / v;
}
float rsq(float v) {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(v)));
}
float root(float v) {
    return std::sqrt(v);
}
float exp2_exact(float v) {
    return static_cast<float>(std::exp2(static_cast<double>(v)));
}
float log2_exact(float v) {
    return static_cast<float>(std::log2(static_cast<double>(v)));
}

/// Sine and cosine take revolutions and give 0 respectively 1 outside [-256, 256].
float sin_revolutions(float v) {
    if (!std::isfinite(v)) return std::numeric_limits<float>::quiet_NaN();
    if (std::fabs(v) > 256.0f) return 0.0f;
    return static_cast<float>(
        std::sin(2.0 * 3.14159265358979323846 * (static_cast<double>(v) - std::floor(v))));
}
float cos_revolutions(float v) {
    if (!std::isfinite(v)) return std::numeric_limits<float>::quiet_NaN();
    if (std::fabs(v) > 256.0f) return 1.0f;
    return static_cast<float>(
        std::cos(2.0 * 3.14159265358979323846 * (static_cast<double>(v) - std::floor(v))));
}

float fract(float v) {
    const float f = v - std::floor(v);
    // Just below an integer from beneath the difference would round to 1.
    return min_num(f, 0x1.fffffep-1f);
}

template <auto F>
void add_trans(OpTable& t, const std::string& name) {
    add_valu<([](float v) { return trans<F>(v); })>(t, name, InstClass::kTrans);
}

/// The scalar twin of a transcendental: v_s_exp_f32 and its like.
template <auto F>
void scalar_trans(Wave& w, const Inst& inst) {
    LaneBuffer tmp;
    const Source s = fetch<float>(w, inst, 0, tmp);
    w.s[inst.dst[0].reg] =
        std::bit_cast<u32>(apply_output_modifiers(trans<F>(std::bit_cast<float>(s.lo[0])), inst));
}

/// As scalar_trans in float16.
template <auto F>
void scalar_trans_half(Wave& w, const Inst& inst) {
    LaneBuffer tmp;
    const Source s = fetch<Half>(w, inst, 0, tmp);
    const float v = F(to_float(Half{static_cast<uint16_t>(s.lo[0])}));
    w.s[inst.dst[0].reg] = to_half(apply_output_modifiers(v, inst)).bits;
}

template <auto F>
void add_both_trans(OpTable& t, const std::string& name) {
    add_trans<F>(t, "v_" + name);
    t.add("v_s_" + name, &scalar_trans<F>, InstClass::kTrans, Form::kPlain, {Type::kF32}, {Type::kF32});
}

// Cube map coordinates: the face, its two coordinates, twice the major axis.
int cube_axis(float x, float y, float z) {
    const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
    return az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
}
float cube_id(float x, float y, float z) {
    const int axis = cube_axis(x, y, z);
    const float major = axis == 2 ? z : axis == 1 ? y : x;
    return static_cast<float>(2 * axis + (major < 0));
}
float cube_sc(float x, float y, float z) {
    const int axis = cube_axis(x, y, z);
    return axis == 2 ? (z < 0 ? -x : x) : axis == 1 ? x : (x < 0 ? z : -z);
}
float cube_tc(float x, float y, float z) {
    return cube_axis(x, y, z) != 1 ? -y : y < 0 ? -z : z;
}
float cube_ma(float x, float y, float z) {
    const int axis = cube_axis(x, y, z);
    return 2.0f * (axis == 2 ? z : axis == 1 ? y : x);
}

float multiply_zero(float a, float b) {
    return a == 0 || b == 0 ? 0.0f : a * b;
}

/// A product for lighting: the lowest float where the factor or the exponent has no sense.
float mullit(float a, float b, float c) {
    constexpr float kLowest = -std::numeric_limits<float>::max();
    if (is_nan(b) || b == kLowest || b == -std::numeric_limits<float>::infinity() || !(c > 0)) return kLowest;
    return multiply_zero(a, b);
}

template <class T>
void ieee2019(OpTable& t, const std::string& suffix) {
    add_valu<([](T a, T b) { return minimum(a, b); })>(t, "v_minimum_" + suffix);
    add_valu<([](T a, T b) { return maximum(a, b); })>(t, "v_maximum_" + suffix);
}

void single(OpTable& t) {
    ieee2019<float>(t, "f32");
    ieee2019<double>(t, "f64");
    add_valu<([](float a, float b, float c) { return minimum(minimum(a, b), c); })>(t, "v_minimum3_f32");
    add_valu<([](float a, float b, float c) { return maximum(maximum(a, b), c); })>(t, "v_maximum3_f32");
    add_valu<([](float a, float b, float c) { return maximum(minimum(a, b), c); })>(t,
                                                                                    "v_minimummaximum_f32");
    add_valu<([](float a, float b, float c) { return minimum(maximum(a, b), c); })>(t,
                                                                                    "v_maximumminimum_f32");
    add_valu<([](float a, float b, float c) { return cube_id(a, b, c); })>(t, "v_cubeid_f32");
    add_valu<([](float a, float b, float c) { return cube_sc(a, b, c); })>(t, "v_cubesc_f32");
    add_valu<([](float a, float b, float c) { return cube_tc(a, b, c); })>(t, "v_cubetc_f32");
    add_valu<([](float a, float b, float c) { return cube_ma(a, b, c); })>(t, "v_cubema_f32");
    add_valu<([](float a, float b, float c) { return mullit(a, b, c); })>(t, "v_mullit_f32");
    for (const char* name : {"v_fmac_legacy_f32", "v_fmac_dx9_zero_f32"})
        add_fmac<([](float a, float b, float d) { return a == 0 || b == 0 ? d : std::fma(a, b, d); })>(t,
                                                                                                       name);
    add_valu<([](float a, float b) { return a + b; })>(t, "v_add_f32");
    add_valu<([](float a, float b) { return a - b; })>(t, "v_sub_f32");
    add_valu<([](float a, float b) { return b - a; })>(t, "v_subrev_f32");
    add_valu<([](float a, float b) { return a * b; })>(t, "v_mul_f32");
    add_valu<([](float a, float b) { return multiply_zero(a, b); })>(t, "v_mul_legacy_f32");
    t.alias("v_mul_dx9_zero_f32", "v_mul_legacy_f32");
    add_valu<([](float a, float b, float c) { return std::fma(a, b, c); })>(t, "v_fma_f32");
    add_fmac<([](float a, float b, float d) { return std::fma(a, b, d); })>(t, "v_fmac_f32");
    t.alias("v_fmaak_f32", "v_fma_f32");
    t.alias("v_fmamk_f32", "v_fma_f32");
    add_valu<([](float a, float b, float c) { return a == 0 || b == 0 ? c : std::fma(a, b, c); })>(
        t, "v_fma_legacy_f32");
    t.alias("v_fma_dx9_zero_f32", "v_fma_legacy_f32");
    add_valu<([](float a, float b) { return min_num(a, b); })>(t, "v_min_f32");
    t.alias("v_min_num_f32", "v_min_f32");
    add_valu<([](float a, float b) { return max_num(a, b); })>(t, "v_max_f32");
    t.alias("v_max_num_f32", "v_max_f32");
    add_valu<([](float a, float b, float c) { return min3(a, b, c); })>(t, "v_min3_f32");
    t.alias("v_min3_num_f32", "v_min3_f32");
    add_valu<([](float a, float b, float c) { return max3(a, b, c); })>(t, "v_max3_f32");
    t.alias("v_max3_num_f32", "v_max3_f32");
    add_valu<([](float a, float b, float c) { return med3(a, b, c); })>(t, "v_med3_f32");
    t.alias("v_med3_num_f32", "v_med3_f32");
    add_valu<([](float a, float b, float c) { return max_num(min_num(a, b), c); })>(t, "v_minmax_f32");
    t.alias("v_minmax_num_f32", "v_minmax_f32");
    add_valu<([](float a, float b, float c) { return min_num(max_num(a, b), c); })>(t, "v_maxmin_f32");
    t.alias("v_maxmin_num_f32", "v_maxmin_f32");
    add_valu<([](float a) { return std::floor(clean(a)); })>(t, "v_floor_f32");
    add_valu<([](float a) { return std::ceil(clean(a)); })>(t, "v_ceil_f32");
    add_valu<([](float a) { return std::trunc(clean(a)); })>(t, "v_trunc_f32");
    add_valu<([](float a) { return __builtin_roundevenf(clean(a)); })>(t, "v_rndne_f32");
    add_valu<([](float a) { return fract(a); })>(t, "v_fract_f32");
    add_valu<([](float a, i32 e) { return std::ldexp(clean(a), std::max(-600, std::min(600, e))); })>(
        t, "v_ldexp_f32");
    add_valu<([](float a) {
        int e = 0;
        return std::isfinite(a) ? std::frexp(a, &e) : clean(a);
    })>(t, "v_frexp_mant_f32");
    add_valu<([](float a) {
        int e = 0;
        if (std::isfinite(a) && a != 0) std::frexp(a, &e);
        return static_cast<u32>(e);
    })>(t, "v_frexp_exp_i32_f32");
    add_valu<([](float a, float b, float c) { return div_fixup(a, b, c); })>(t, "v_div_fixup_f32");
    t.add("v_div_scale_f32", &div_scale_op<float>, InstClass::kValu, Form::kPlain, {Type::kF32, Type::kMask},
          {Type::kF32, Type::kF32, Type::kF32});
    t.add("v_div_fmas_f32", &div_fmas_op<float>, InstClass::kValu, Form::kDivFmas, {Type::kF32},
          {Type::kF32, Type::kF32, Type::kF32});
}

void transcendental(OpTable& t) {
    add_both_trans<rcp>(t, "rcp_f32");
    add_trans<rcp>(t, "v_rcp_iflag_f32");
    add_both_trans<rsq>(t, "rsq_f32");
    add_both_trans<root>(t, "sqrt_f32");
    add_both_trans<exp2_exact>(t, "exp_f32");
    add_both_trans<log2_exact>(t, "log_f32");
    const auto half = [&](const char* name, Handler fn) {
        t.add(name, fn, InstClass::kTrans, Form::kPlain, {Type::kF16}, {Type::kF16});
    };
    half("v_s_rcp_f16", &scalar_trans_half<rcp>);
    half("v_s_rsq_f16", &scalar_trans_half<rsq>);
    half("v_s_sqrt_f16", &scalar_trans_half<root>);
    half("v_s_exp_f16", &scalar_trans_half<exp2_exact>);
    half("v_s_log_f16", &scalar_trans_half<log2_exact>);
    add_trans<sin_revolutions>(t, "v_sin_f32");
    add_trans<cos_revolutions>(t, "v_cos_f32");
}

void wide(OpTable& t) {
    add_valu<([](double a, double b) { return a + b; })>(t, "v_add_f64");
    add_valu<([](double a, double b) { return a * b; })>(t, "v_mul_f64");
    add_valu<([](double a, double b, double c) { return std::fma(a, b, c); })>(t, "v_fma_f64");
    add_valu<([](double a, double b) { return min_num(a, b); })>(t, "v_min_f64");
    t.alias("v_min_num_f64", "v_min_f64");
    add_valu<([](double a, double b) { return max_num(a, b); })>(t, "v_max_f64");
    t.alias("v_max_num_f64", "v_max_f64");
    add_valu<([](double a) { return std::floor(a); })>(t, "v_floor_f64");
    add_valu<([](double a) { return std::ceil(a); })>(t, "v_ceil_f64");
    add_valu<([](double a) { return std::trunc(a); })>(t, "v_trunc_f64");
    add_valu<([](double a) { return __builtin_roundeven(a); })>(t, "v_rndne_f64");
    add_valu<([](double a) { return std::min(a - std::floor(a), 0x1.fffffffffffffp-1); })>(t, "v_fract_f64");
    add_valu<([](double a, i32 e) { return std::ldexp(a, std::max(-4000, std::min(4000, e))); })>(
        t, "v_ldexp_f64");
    add_valu<([](double a) {
        int e = 0;
        return std::isfinite(a) ? std::frexp(a, &e) : a;
    })>(t, "v_frexp_mant_f64");
    add_valu<([](double a) {
        int e = 0;
        if (std::isfinite(a) && a != 0) std::frexp(a, &e);
        return static_cast<u32>(e);
    })>(t, "v_frexp_exp_i32_f64");
    add_valu<([](double a) { return 1.0 / a; })>(t, "v_rcp_f64", InstClass::kTrans);
    add_valu<([](double a) { return 1.0 / std::sqrt(a); })>(t, "v_rsq_f64", InstClass::kTrans);
    add_valu<([](double a) { return std::sqrt(a); })>(t, "v_sqrt_f64", InstClass::kTrans);
    add_valu<([](double a, double b, double c) { return div_fixup(a, b, c); })>(t, "v_div_fixup_f64");
    t.add("v_div_scale_f64", &div_scale_op<double>, InstClass::kValu, Form::kPlain, {Type::kF64, Type::kMask},
          {Type::kF64, Type::kF64, Type::kF64});
    t.add("v_div_fmas_f64", &div_fmas_op<double>, InstClass::kValu, Form::kDivFmas, {Type::kF64},
          {Type::kF64, Type::kF64, Type::kF64});
}

}  // namespace

void register_valu_float(OpTable& t) {
    single(t);
    transcendental(t);
    wide(t);
}

}  // namespace ckitchen::gfxsim

// float16 vector arithmetic. Sums and products go through float64, where they are exact enough that the one
// rounding to float16 is the correct one; fma is exact there up to bits that cannot decide a tie.
#include <bit>
#include <cmath>

#include "float_ops.hpp"
#include "half_ops.hpp"
#include "op_table.hpp"
#include "valu.hpp"

namespace ckitchen::gfxsim {
namespace {

template <auto F>
void add_unary(OpTable& t, const std::string& name, InstClass cls = InstClass::kValu) {
    add_valu<([](Half a) { return to_half(F(to_float(a))); })>(t, name, cls);
}

float sine(float v) {
    if (!std::isfinite(v)) return std::nanf("");
    return std::fabs(v) > 256.0f ? 0.0f
                                 : static_cast<float>(std::sin(6.283185307179586 * static_cast<double>(v)));
}
float cosine(float v) {
    if (!std::isfinite(v)) return std::nanf("");
    return std::fabs(v) > 256.0f ? 1.0f
                                 : static_cast<float>(std::cos(6.283185307179586 * static_cast<double>(v)));
}

}  // namespace

void register_valu_half(OpTable& t) {
    add_valu<([](Half a, Half b) { return half_add(a, b); })>(t, "v_add_f16");
    add_valu<([](Half a, Half b) { return half_add(a, half_neg(b)); })>(t, "v_sub_f16");
    add_valu<([](Half a, Half b) { return half_add(b, half_neg(a)); })>(t, "v_subrev_f16");
    add_valu<([](Half a, Half b) { return half_mul(a, b); })>(t, "v_mul_f16");
    add_valu<([](Half a, Half b, Half c) { return half_fma(a, b, c); })>(t, "v_fma_f16");
    add_fmac<([](Half a, Half b, Half d) { return half_fma(a, b, d); })>(t, "v_fmac_f16");
    t.alias("v_fmaak_f16", "v_fma_f16");
    t.alias("v_fmamk_f16", "v_fma_f16");
    add_valu<([](Half a, Half b) { return half_min(a, b); })>(t, "v_min_f16");
    t.alias("v_min_num_f16", "v_min_f16");
    add_valu<([](Half a, Half b) { return half_max(a, b); })>(t, "v_max_f16");
    t.alias("v_max_num_f16", "v_max_f16");
    add_valu<([](Half a, Half b, Half c) { return half_min(half_min(a, b), c); })>(t, "v_min3_f16");
    t.alias("v_min3_num_f16", "v_min3_f16");
    add_valu<([](Half a, Half b, Half c) { return half_max(half_max(a, b), c); })>(t, "v_max3_f16");
    t.alias("v_max3_num_f16", "v_max3_f16");
    add_valu<([](Half a, Half b, Half c) {
        if (std::isnan(to_float(a)) || std::isnan(to_float(b)) || std::isnan(to_float(c)))
            return half_min(half_min(a, b), c);
        return half_max(half_min(a, b), half_min(half_max(a, b), c));
    })>(t, "v_med3_f16");
    t.alias("v_med3_num_f16", "v_med3_f16");
    add_valu<([](Half a, Half b, Half c) { return half_min(half_max(a, b), c); })>(t, "v_maxmin_f16");
    t.alias("v_maxmin_num_f16", "v_maxmin_f16");
    add_valu<([](Half a, Half b, Half c) { return half_max(half_min(a, b), c); })>(t, "v_minmax_f16");
    t.alias("v_minmax_num_f16", "v_minmax_f16");
    add_valu<([](Half a, Half b) { return half_minimum(a, b); })>(t, "v_minimum_f16");
    add_valu<([](Half a, Half b) { return half_maximum(a, b); })>(t, "v_maximum_f16");
    add_valu<([](Half a, Half b, Half c) { return half_minimum(half_minimum(a, b), c); })>(t,
                                                                                           "v_minimum3_f16");
    add_valu<([](Half a, Half b, Half c) { return half_maximum(half_maximum(a, b), c); })>(t,
                                                                                           "v_maximum3_f16");
    add_valu<([](Half a, Half b, Half c) { return half_maximum(half_minimum(a, b), c); })>(
        t, "v_minimummaximum_f16");
    add_valu<([](Half a, Half b, Half c) { return half_minimum(half_maximum(a, b), c); })>(
        t, "v_maximumminimum_f16");
    add_unary<([](float v) { return std::floor(v); })>(t, "v_floor_f16");
    add_unary<([](float v) { return std::ceil(v); })>(t, "v_ceil_f16");
    add_unary<([](float v) { return std::trunc(v); })>(t, "v_trunc_f16");
    add_unary<([](float v) { return __builtin_roundevenf(v); })>(t, "v_rndne_f16");
    add_unary<([](float v) { return min_num(v - std::floor(v), 0x1.ffcp-1f); })>(t, "v_fract_f16");
    add_unary<([](float v) { return 1.0f / v; })>(t, "v_rcp_f16", InstClass::kTrans);
    add_unary<([](float v) { return std::sqrt(v); })>(t, "v_sqrt_f16", InstClass::kTrans);
    add_unary<([](float v) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(v))); })>(
        t, "v_rsq_f16", InstClass::kTrans);
    add_unary<([](float v) { return static_cast<float>(std::exp2(static_cast<double>(v))); })>(
        t, "v_exp_f16", InstClass::kTrans);
    add_unary<([](float v) { return static_cast<float>(std::log2(static_cast<double>(v))); })>(
        t, "v_log_f16", InstClass::kTrans);
    add_unary<sine>(t, "v_sin_f16", InstClass::kTrans);
    add_unary<cosine>(t, "v_cos_f16", InstClass::kTrans);
    add_valu<([](Half a, int16_t e) {
        return to_half_from_double(std::ldexp(static_cast<double>(to_float(a)), e));
    })>(t, "v_ldexp_f16");
    add_valu<([](Half a) {
        int e = 0;
        const float v = to_float(a);
        return std::isfinite(v) ? to_half(std::frexp(v, &e)) : a;
    })>(t, "v_frexp_mant_f16");
    add_valu<([](Half a) {
        int e = 0;
        const float v = to_float(a);
        if (std::isfinite(v) && v != 0) std::frexp(v, &e);
        return static_cast<int16_t>(e);
    })>(t, "v_frexp_exp_i16_f16");
    add_valu<([](Half a, Half b, Half c) {
        // Quotient a of c / b with its special cases, as the float32 form.
        const float q = to_float(a), d = to_float(b), n = to_float(c);
        const float sign = std::signbit(d) != std::signbit(n) ? -1.0f : 1.0f;
        if (std::isnan(n)) return to_half(n);
        if (std::isnan(d)) return to_half(d);
        if ((d == 0 && n == 0) || (std::isinf(d) && std::isinf(n))) return Half{0xfe00};
        if (d == 0 || std::isinf(n)) return to_half(sign * std::numeric_limits<float>::infinity());
        if (std::isinf(d) || n == 0) return to_half(sign * 0.0f);
        return to_half(std::copysign(q, sign));
    })>(t, "v_div_fixup_f16");
}

}  // namespace ckitchen::gfxsim

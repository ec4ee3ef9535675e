// VOPC: comparisons to a lane mask (v_cmp) or to EXEC (v_cmpx).
#include <bit>
#include <cmath>
#include <cstdint>

#include "float_ops.hpp"
#include "half.hpp"
#include "op_table.hpp"
#include "valu.hpp"

namespace ckitchen::gfxsim {
namespace {

/// Always false and always true; by generation and type the latter is "t" or "tru".
template <class T>
void constant(OpTable& t, const std::string& type) {
    add_compare<([](T, T) { return false; })>(t, "f_" + type);
    add_compare<([](T, T) { return true; })>(t, "t_" + type);
    add_compare<([](T, T) { return true; })>(t, "tru_" + type);
}

template <class T>
void integer(OpTable& t, const std::string& type) {
    add_compare<([](T a, T b) { return a < b; })>(t, "lt_" + type);
    add_compare<([](T a, T b) { return a == b; })>(t, "eq_" + type);
    add_compare<([](T a, T b) { return a <= b; })>(t, "le_" + type);
    add_compare<([](T a, T b) { return a > b; })>(t, "gt_" + type);
    add_compare<([](T a, T b) { return a != b; })>(t, "ne_" + type);
    add_compare<([](T a, T b) { return a >= b; })>(t, "ge_" + type);
}

inline float value(float v) {
    return v;
}
inline double value(double v) {
    return v;
}
inline float value(Half v) {
    return to_float(v);
}

template <class T>
void floating(OpTable& t, const std::string& type) {
    add_compare<([](T a, T b) { return value(a) < value(b); })>(t, "lt_" + type);
    add_compare<([](T a, T b) { return value(a) == value(b); })>(t, "eq_" + type);
    add_compare<([](T a, T b) { return value(a) <= value(b); })>(t, "le_" + type);
    add_compare<([](T a, T b) { return value(a) > value(b); })>(t, "gt_" + type);
    add_compare<([](T a, T b) { return value(a) < value(b) || value(a) > value(b); })>(t, "lg_" + type);
    add_compare<([](T a, T b) { return value(a) >= value(b); })>(t, "ge_" + type);
    add_compare<([](T a, T b) { return value(a) == value(a) && value(b) == value(b); })>(t, "o_" + type);
    add_compare<([](T a, T b) { return value(a) != value(a) || value(b) != value(b); })>(t, "u_" + type);
    add_compare<([](T a, T b) { return !(value(a) >= value(b)); })>(t, "nge_" + type);
    add_compare<([](T a, T b) { return !(value(a) < value(b) || value(a) > value(b)); })>(t, "nlg_" + type);
    add_compare<([](T a, T b) { return !(value(a) > value(b)); })>(t, "ngt_" + type);
    add_compare<([](T a, T b) { return !(value(a) <= value(b)); })>(t, "nle_" + type);
    add_compare<([](T a, T b) { return !(value(a) == value(b)); })>(t, "neq_" + type);
    add_compare<([](T a, T b) { return !(value(a) < value(b)); })>(t, "nlt_" + type);
}

/// v_cmp_class: bits of `mask` by category: sNaN, qNaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal,
/// +inf.
template <int kExponentBits, int kFractionBits>
bool is_class(uint64_t v, uint32_t mask) {
    const uint64_t fraction = v & ((uint64_t{1} << kFractionBits) - 1);
    const uint64_t exponent = v >> kFractionBits & ((uint64_t{1} << kExponentBits) - 1);
    const bool negative = v >> (kExponentBits + kFractionBits) & 1;
    const uint64_t top = (uint64_t{1} << kExponentBits) - 1;
    if (exponent == top && fraction) return mask >> (fraction >> (kFractionBits - 1) ? 1 : 0) & 1;
    const int rank = exponent == top ? 3 : exponent ? 2 : fraction ? 1 : 0;  // inf, normal, denormal, zero
    return mask >> (negative ? 5 - rank : 6 + rank) & 1;
}

}  // namespace

void register_compare(OpTable& t) {
    integer<int32_t>(t, "i32");
    integer<uint32_t>(t, "u32");
    integer<int64_t>(t, "i64");
    integer<uint64_t>(t, "u64");
    integer<int16_t>(t, "i16");
    integer<uint16_t>(t, "u16");
    floating<float>(t, "f32");
    floating<double>(t, "f64");
    floating<Half>(t, "f16");
    constant<int32_t>(t, "i32");
    constant<uint32_t>(t, "u32");
    constant<int64_t>(t, "i64");
    constant<uint64_t>(t, "u64");
    constant<float>(t, "f32");
    constant<double>(t, "f64");
    constant<Half>(t, "f16");
    add_compare<([](float a, uint32_t m) { return is_class<8, 23>(std::bit_cast<uint32_t>(a), m); })>(
        t, "class_f32");
    add_compare<([](double a, uint32_t m) { return is_class<11, 52>(std::bit_cast<uint64_t>(a), m); })>(
        t, "class_f64");
    add_compare<([](Half a, uint16_t m) { return is_class<5, 10>(a.bits, m); })>(t, "class_f16");
}

}  // namespace ckitchen::gfxsim

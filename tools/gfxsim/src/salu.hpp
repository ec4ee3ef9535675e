#pragma once

#include <bit>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "inst.hpp"
#include "op_table.hpp"
#include "valu.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {

template <class T>
inline T scalar_source(const Wave& w, const Operand& o) {
    uint64_t v = 0;
    switch (o.kind) {
        case OperandKind::kSgpr:
            v = sizeof(T) == 8 ? w.s64(o.reg) : w.s[o.reg];
            break;
        case OperandKind::kConst:
            v = o.constant();
            break;
        default:
            v = w.scc;
            break;
    }
    if (o.neg || o.abs) {
        const uint64_t sign = sizeof(T) == 8 ? 1ull << 63 : sizeof(T) == 2 ? 0x8000u : 0x80000000u;
        if (o.abs) v &= ~sign;
        if (o.neg) v ^= sign;
    }
    if constexpr (sizeof(T) == 8)
        return std::bit_cast<T>(v);
    else if constexpr (sizeof(T) == 2)
        return std::bit_cast<T>(static_cast<uint16_t>(v));
    else
        return std::bit_cast<T>(static_cast<uint32_t>(v));
}

template <class T>
inline void scalar_store(Wave& w, const Operand& o, T value) {
    if constexpr (sizeof(T) == 8) {
        const uint64_t v = std::bit_cast<uint64_t>(value);
        w.s[o.reg] = static_cast<uint32_t>(v);
        w.s[o.reg + 1] = static_cast<uint32_t>(v >> 32);
    } else if constexpr (sizeof(T) == 2) {
        w.s[o.reg] = std::bit_cast<uint16_t>(value);
    } else {
        w.s[o.reg] = std::bit_cast<uint32_t>(value);
    }
}

/// Signature of a scalar operation: value parameters, then perhaps `bool& scc`.
template <class F>
struct ScalarTraits : ScalarTraits<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct ScalarTraits<R (C::*)(A...) const> {
    using Result = R;
    using All = std::tuple<A...>;
    static constexpr bool kScc = (std::is_same_v<A, bool&> || ...);
    static constexpr size_t kValues = sizeof...(A) - kScc;
};

template <auto F, size_t... I>
inline auto call_scalar(Wave& w, const Inst& inst, std::index_sequence<I...>, const uint8_t* order) {
    using Traits = ScalarTraits<decltype(F)>;
    if constexpr (Traits::kScc) {
        return F(scalar_source<std::tuple_element_t<I, typename Traits::All>>(w, inst.src[order[I]])...,
                 w.scc);
    } else {
        return F(scalar_source<std::tuple_element_t<I, typename Traits::All>>(w, inst.src[order[I]])...);
    }
}

template <auto F>
void salu(Wave& w, const Inst& inst) {
    using Traits = ScalarTraits<decltype(F)>;
    static constexpr uint8_t kOrder[] = {0, 1, 2, 3};
    const auto r = call_scalar<F>(w, inst, std::make_index_sequence<Traits::kValues>{}, kOrder);
    if constexpr (std::is_same_v<typename Traits::Result, bool>)
        w.scc = r;
    else
        scalar_store(w, inst.dst[0], r);
}

/// The destination is the function's first argument; the decoder lists it as the last source.
template <auto F>
void salu_accumulate(Wave& w, const Inst& inst) {
    using Traits = ScalarTraits<decltype(F)>;
    constexpr uint8_t kLast = Traits::kValues - 1;
    static constexpr uint8_t kOrder[] = {kLast, 0, 1, 2};
    scalar_store(w, inst.dst[0],
                 call_scalar<F>(w, inst, std::make_index_sequence<Traits::kValues>{}, kOrder));
}

template <class Tuple, size_t... I>
std::vector<Type> tuple_types(std::index_sequence<I...>, size_t skip) {
    std::vector<Type> all = {type_of<std::tuple_element_t<I, Tuple>>()...};
    all.erase(all.begin(), all.begin() + static_cast<long>(skip));
    return all;
}

template <auto F>
void add_salu(OpTable& t, const std::string& name) {
    using Traits = ScalarTraits<decltype(F)>;
    t.add(name, &salu<F>, InstClass::kSalu, Form::kPlain, {type_of<typename Traits::Result>()},
          tuple_types<typename Traits::All>(std::make_index_sequence<Traits::kValues>{}, 0));
}

template <auto F>
void add_salu_accumulate(OpTable& t, const std::string& name) {
    using Traits = ScalarTraits<decltype(F)>;
    t.add(name, &salu_accumulate<F>, InstClass::kSalu, Form::kFmac, {type_of<typename Traits::Result>()},
          tuple_types<typename Traits::All>(std::make_index_sequence<Traits::kValues>{}, 1));
}

template <auto F>
void add_scalar_compare(OpTable& t, const std::string& name) {
    using Traits = ScalarTraits<decltype(F)>;
    t.add(name, &salu<F>, InstClass::kSalu, Form::kPlain, {},
          tuple_types<typename Traits::All>(std::make_index_sequence<Traits::kValues>{}, 0));
}

}  // namespace ckitchen::gfxsim

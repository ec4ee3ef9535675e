#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "half.hpp"
#include "inst.hpp"
#include "op_table.hpp"
#include "wave.hpp"

// Vector instructions are written as functions of one lane's values; the operand types of the instruction
// follow from the parameter types. The templates here fetch sources (constants and scalars as broadcast
// arrays), loop over the 32 lanes in a form that the compiler vectorizes, and write back under EXEC.

#if defined(__clang__)
#define GFXSIM_LANES for (int l = 0; l < kLanes; ++l)
#else
#define GFXSIM_LANES _Pragma("GCC ivdep") for (int l = 0; l < kLanes; ++l)
#endif

namespace ckitchen::gfxsim {

struct alignas(64) LaneBuffer {
    uint32_t lo[kLanes];
    uint32_t hi[kLanes];
};

struct Source {
    const uint32_t* lo;
    const uint32_t* hi;
};

template <class T>
constexpr Type type_of() {
    if constexpr (std::is_same_v<T, float>)
        return Type::kF32;
    else if constexpr (std::is_same_v<T, double>)
        return Type::kF64;
    else if constexpr (std::is_same_v<T, Half>)
        return Type::kF16;
    else if constexpr (std::is_same_v<T, Bf16>)
        return Type::kBf16;
    else if constexpr (std::is_same_v<T, int64_t>)
        return Type::kI64;
    else if constexpr (sizeof(T) == 8)
        return Type::kB64;
    else if constexpr (sizeof(T) == 2)
        return Type::kB16;
    else
        return Type::kB32;
}

template <class T>
inline T from_bits(const Source& s, int l) {
    if constexpr (sizeof(T) == 8)
        return std::bit_cast<T>(uint64_t{s.hi[l]} << 32 | s.lo[l]);
    else if constexpr (sizeof(T) == 2)
        return std::bit_cast<T>(static_cast<uint16_t>(s.lo[l]));
    else
        return std::bit_cast<T>(s.lo[l]);
}

template <class T>
inline void to_bits(LaneBuffer& out, int l, T value) {
    if constexpr (sizeof(T) == 8) {
        const uint64_t u = std::bit_cast<uint64_t>(value);
        out.lo[l] = static_cast<uint32_t>(u);
        out.hi[l] = static_cast<uint32_t>(u >> 32);
    } else if constexpr (sizeof(T) == 2) {
        out.lo[l] = std::bit_cast<uint16_t>(value);
    } else {
        out.lo[l] = std::bit_cast<uint32_t>(value);
    }
}

/// The operand's registers or constant as lane arrays; `tmp` backs scalars.
inline Source raw_source(const Wave& w, const Operand& o, LaneBuffer& tmp) {
    switch (o.kind) {
        case OperandKind::kVgpr:
            return {w.v[o.reg].data(), w.v[o.reg + 1].data()};
        case OperandKind::kConst:
            return {o.lanes, o.lanes + kLanes};
        case OperandKind::kSgpr: {
            const uint32_t lo = w.s[o.reg], hi = w.s[o.reg + 1];
            GFXSIM_LANES {
                tmp.lo[l] = lo;
                tmp.hi[l] = hi;
            }
            return {tmp.lo, tmp.hi};
        }
        default:
            GFXSIM_LANES {
                tmp.lo[l] = w.scc;
                tmp.hi[l] = 0;
            }
            return {tmp.lo, tmp.hi};
    }
}

void apply_dpp(const Wave& w, const Dpp& d, const Source& in, bool wide, LaneBuffer& out);
void apply_select(const Operand& o, bool sign_extend, const Source& in, LaneBuffer& out);
/// Lanes that a DPP instruction writes.
uint32_t dpp_exec(const Wave& w, const Dpp& d);
void store_sdwa(Wave& w, const Inst& inst, const Operand& dst, const uint32_t* r, uint32_t exec);

/// Source `index` of `inst` with DPP, SDWA, half selection and sign modifiers applied.
template <class T>
inline Source fetch(const Wave& w, const Inst& inst, int index, LaneBuffer& tmp) {
    const Operand& o = inst.src[index];
    Source s = raw_source(w, o, tmp);
    if (index == 0 && inst.dpp) [[unlikely]] {
        LaneBuffer permuted;
        apply_dpp(w, *inst.dpp, s, sizeof(T) == 8, permuted);
        tmp = permuted;
        s = {tmp.lo, tmp.hi};
    }
    if (o.select != Select::kDword) [[unlikely]] {
        apply_select(o, o.sext, s, tmp);
        s = {tmp.lo, tmp.hi};
    }
    if constexpr (sizeof(T) == 2) {
        if (o.high) {
            GFXSIM_LANES tmp.lo[l] = s.lo[l] >> 16;
            s.lo = tmp.lo;
        }
    }
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, Bf16>) {
        if (o.neg || o.abs) {
            constexpr uint32_t kSign = sizeof(T) == 2 ? 0x8000u : 0x80000000u;
            const uint32_t clear = o.abs ? kSign : 0, flip = o.neg ? kSign : 0;
            if constexpr (sizeof(T) == 8) {
                GFXSIM_LANES {
                    const uint32_t lo = s.lo[l], hi = (s.hi[l] & ~clear) ^ flip;
                    tmp.lo[l] = lo;
                    tmp.hi[l] = hi;
                }
                s = {tmp.lo, tmp.hi};
            } else {
                GFXSIM_LANES tmp.lo[l] = (s.lo[l] & ~clear) ^ flip;
                s.lo = tmp.lo;
            }
        }
    }
    return s;
}

inline void store_words(uint32_t* d, const uint32_t* r, uint32_t exec) {
    if (exec == ~0u) {
        GFXSIM_LANES d[l] = r[l];
    } else {
        GFXSIM_LANES d[l] = (exec >> l & 1) ? r[l] : d[l];
    }
}

inline float apply_output_modifiers(float v, const Inst& inst) {
    if (inst.omod == 1) v *= 2.0f;
    if (inst.omod == 2) v *= 4.0f;
    if (inst.omod == 3) v *= 0.5f;
    // NaN clamps to zero (DX10_CLAMP is set by every kernel descriptor that LLVM writes).
    if (inst.clamp) v = v > 0.0f ? (v < 1.0f ? v : 1.0f) : 0.0f;
    return v;
}

template <class T>
inline void store(Wave& w, const Inst& inst, const Operand& dst, LaneBuffer& r, uint32_t exec) {
    if (inst.clamp || inst.omod) [[unlikely]] {
        if constexpr (std::is_same_v<T, float>) {
            for (int l = 0; l < kLanes; ++l)
                r.lo[l] =
                    std::bit_cast<uint32_t>(apply_output_modifiers(std::bit_cast<float>(r.lo[l]), inst));
        } else if constexpr (std::is_same_v<T, Half>) {
            for (int l = 0; l < kLanes; ++l)
                r.lo[l] =
                    to_half(apply_output_modifiers(to_float(Half{static_cast<uint16_t>(r.lo[l])}), inst))
                        .bits;
        }
    }
    if (inst.sdwa) [[unlikely]] {
        store_sdwa(w, inst, dst, r.lo, exec);
        return;
    }
    uint32_t* d = w.v[dst.reg].data();
    if constexpr (sizeof(T) == 2) {
        // gfx10 and later keep the other half of the register.
        if (dst.high) {
            GFXSIM_LANES r.lo[l] = (d[l] & 0xffffu) | r.lo[l] << 16;
        } else {
            GFXSIM_LANES r.lo[l] = (d[l] & 0xffff0000u) | (r.lo[l] & 0xffffu);
        }
    }
    store_words(d, r.lo, exec);
    if constexpr (sizeof(T) == 8) store_words(w.v[dst.reg + 1].data(), r.hi, exec);
}

inline uint32_t write_mask(const Wave& w, const Inst& inst) {
    return inst.dpp ? dpp_exec(w, *inst.dpp) : w.exec();
}

template <class F>
struct FunctionTraits : FunctionTraits<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct FunctionTraits<R (C::*)(A...) const> {
    using Result = R;
    using Arguments = std::tuple<A...>;
    static constexpr size_t kCount = sizeof...(A);
    static std::vector<Type> types() { return {type_of<A>()...}; }
};

/// Float16 denormals by the MODE register: bit 6 keeps those of sources, bit 7 those of results. The host's
/// own mode does not reach them, its conversions keep them.
template <class T>
inline void flush_source(const Wave& w, Source& s, LaneBuffer& tmp) {
    if constexpr (std::is_same_v<T, Half>) {
        if (w.mode & 0x40) [[likely]]
            return;
        GFXSIM_LANES tmp.lo[l] = flush_half(s.lo[l] & 0xffffu);
        s.lo = tmp.lo;
    }
}
template <class T>
inline void flush_result(const Wave& w, LaneBuffer& r) {
    if constexpr (std::is_same_v<T, Half>) {
        if (w.mode & 0x80) [[likely]]
            return;
        GFXSIM_LANES r.lo[l] = flush_half(r.lo[l] & 0xffffu);
    }
}

template <auto F, class R, class... A, size_t... I>
inline void valu_body(Wave& w, const Inst& inst, std::tuple<A...>*, std::index_sequence<I...>) {
    LaneBuffer tmp[sizeof...(A)];
    Source src[] = {fetch<A>(w, inst, I, tmp[I])...};
    (flush_source<A>(w, src[I], tmp[I]), ...);
    LaneBuffer r;
    GFXSIM_LANES to_bits<R>(r, l, F(from_bits<A>(src[I], l)...));
    flush_result<R>(w, r);
    store<R>(w, inst, inst.dst[0], r, write_mask(w, inst));
}

/// d = F(a, b, ...) in every active lane.
template <auto F>
void valu(Wave& w, const Inst& inst) {
    using Traits = FunctionTraits<decltype(F)>;
    valu_body<F, typename Traits::Result>(w, inst, static_cast<typename Traits::Arguments*>(nullptr),
                                          std::make_index_sequence<Traits::kCount>{});
}

template <auto F, class... A, size_t... I>
inline void compare_body(Wave& w, const Inst& inst, std::tuple<A...>*, std::index_sequence<I...>) {
    LaneBuffer tmp[sizeof...(A)];
    Source src[] = {fetch<A>(w, inst, I, tmp[I])...};
    (flush_source<A>(w, src[I], tmp[I]), ...);
    uint32_t bit[kLanes];
    GFXSIM_LANES bit[l] = F(from_bits<A>(src[I], l)...) ? 1u << l : 0u;
    uint32_t mask = 0;
    for (int l = 0; l < kLanes; ++l) mask |= bit[l];
    // Inactive lanes read as 0 in the result; the high half of a wave32 VCC is not written.
    w.s[inst.dst[0].reg] = mask & write_mask(w, inst);
}

/// Scalar mask = F(a, b) per active lane; serves v_cmp and v_cmpx, whose destination is EXEC.
template <auto F>
void compare(Wave& w, const Inst& inst) {
    using Traits = FunctionTraits<decltype(F)>;
    compare_body<F>(w, inst, static_cast<typename Traits::Arguments*>(nullptr),
                    std::make_index_sequence<Traits::kCount>{});
}

template <auto F>
OpSpec& add_valu(OpTable& t, std::string name, InstClass cls = InstClass::kValu, uint32_t flags = 0) {
    using Traits = FunctionTraits<decltype(F)>;
    return t.add(std::move(name), &valu<F>, cls, Form::kPlain, {type_of<typename Traits::Result>()},
                 Traits::types(), flags);
}

/// As add_valu for d = F(a, b, d).
template <auto F>
OpSpec& add_fmac(OpTable& t, std::string name, InstClass cls = InstClass::kValu, uint32_t flags = 0) {
    using Traits = FunctionTraits<decltype(F)>;
    std::vector<Type> src = Traits::types();
    src.pop_back();
    return t.add(std::move(name), &valu<F>, cls, Form::kFmac, {type_of<typename Traits::Result>()}, src,
                 flags);
}

/// Adds v_cmp_<name> and v_cmpx_<name>.
template <auto F>
void add_compare(OpTable& t, const std::string& name) {
    using Traits = FunctionTraits<decltype(F)>;
    t.add("v_cmp_" + name, &compare<F>, InstClass::kValu, Form::kPlain, {Type::kMask}, Traits::types());
    t.add("v_cmpx_" + name, &compare<F>, InstClass::kValu, Form::kCmpx, {}, Traits::types());
}

}  // namespace ckitchen::gfxsim

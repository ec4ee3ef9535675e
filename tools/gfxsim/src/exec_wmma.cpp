// Wave matrix multiply-accumulate, 16x16xK, of gfx11 and gfx12, dense.
//
// Layouts, with lane l and element width w bits, e = 32 / w elements a register:
//   gfx11: A[i][k] in register k / e, lanes i and i + 16 alike; C/D[i][j] in register i / 2, lane 16 * (i %
//   2) + j. gfx12: each half-wave holds its own half of K: lane 16 * (k / (K / 2)) + i, register (k % (K /
//   2)) / e;
//          C/D[i][j] in register i % 8, lane 16 * (i / 8) + j.
// B[k][j] lies as A with j for i. 16-bit accumulators: gfx11 uses one half of eight registers (op_sel[2]
// picks), gfx12 packs rows in pairs into four.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "float_ops.hpp"
#include "fp8.hpp"
#include "half.hpp"
#include "op_table.hpp"
#include "valu.hpp"

namespace ckitchen::gfxsim {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using i64 = int64_t;

constexpr int kSize = 16;

enum class Element : uint8_t { kF16, kBf16, kIu8, kIu4, kFp8, kBf8 };

constexpr int element_bits(Element e) {
    switch (e) {
        case Element::kF16:
        case Element::kBf16:
            return 16;
        case Element::kIu4:
            return 4;
        default:
            return 8;
    }
}

void check_exec(const Wave& w) {
    if (w.exec() != ~0u) raise(FaultKind::kExecNotFull, -1, "EXEC is " + hex(w.exec()));
}

bool is_gfx12(const Wave& w) {
    return w.target->generation == Generation::kGfx12;
}

/// gfx11 wants the upper half-wave to repeat the lower one in A and B.
void check_duplicated(const Wave& w, const Operand& o, const char* name) {
    for (int r = 0; r < o.words; ++r) {
        const u32* v = w.v[o.reg + r].data();
        if (std::memcmp(v, v + kSize, kSize * sizeof(u32)) == 0) continue;
        for (int l = 0; l < kSize; ++l)
            if (v[l] != v[l + kSize])
                raise(FaultKind::kWmmaLayout, l + kSize,
                      std::string(name) + " register v" + std::to_string(o.reg + r) + " holds " +
                          hex(v[l + kSize]) + ", lane " + std::to_string(l) + " holds " + hex(v[l]));
    }
}

/// Packed dwords of operand A or B: row (or column) i, dword index d along K.
template <int kDwords>
void gather_dwords(const Wave& w, const Operand& o, u32 (&out)[kDwords][kSize]) {
    if (is_gfx12(w)) {
        for (int d = 0; d < kDwords; ++d) {
            const int half = d / (kDwords / 2 ? kDwords / 2 : 1), reg = d % (kDwords / 2 ? kDwords / 2 : 1);
            std::memcpy(out[d], w.v[o.reg + reg].data() + kSize * half, sizeof out[d]);
        }
    } else {
        for (int d = 0; d < kDwords; ++d) std::memcpy(out[d], w.v[o.reg + d].data(), sizeof out[d]);
    }
}

/// Start of row i of a 32-bit C or D: 16 columns in consecutive lanes.
u32* row(Wave& w, int reg, int i, bool gfx12) {
    return gfx12 ? w.v[reg + i % 8].data() + kSize * (i / 8) : w.v[reg + i / 2].data() + kSize * (i % 2);
}

void load_c(Wave& w, const Operand& c, u32 (&out)[kSize][kSize]) {
    const bool gfx12 = is_gfx12(w);
    for (int i = 0; i < kSize; ++i) {
        if (c.kind == OperandKind::kVgpr) {
            std::memcpy(out[i], row(w, c.reg, i, gfx12), sizeof out[i]);
        } else {
            const u32 v = c.kind == OperandKind::kConst ? c.lanes[0] : w.s[c.reg];
            for (int j = 0; j < kSize; ++j) out[i][j] = v;
        }
    }
}

void store_d(Wave& w, const Operand& d, const u32 (&in)[kSize][kSize]) {
    const bool gfx12 = is_gfx12(w);
    for (int i = 0; i < kSize; ++i) std::memcpy(row(w, d.reg, i, gfx12), in[i], sizeof in[i]);
}

// ---- integers ----

/// Element pairs along K as two int16 in a dword: out[p][i] holds k = 2p and 2p + 1 of row i.
template <int kBits, int kDwords>
void widen_pairs(const u32 (&in)[kDwords][kSize], bool is_signed, u32 (&out)[kDwords * 16 / kBits][kSize]) {
    constexpr int kPairs = 16 / kBits;
    constexpr u32 kMask = (1u << kBits) - 1;
    for (int d = 0; d < kDwords; ++d)
        for (int p = 0; p < kPairs; ++p)
            for (int i = 0; i < kSize; ++i) {
                const u32 word = in[d][i] >> (2 * kBits * p);
                i32 lo = static_cast<i32>(word & kMask), hi = static_cast<i32>(word >> kBits & kMask);
                if (is_signed) {
                    lo = static_cast<i32>(static_cast<u32>(lo) << (32 - kBits)) >> (32 - kBits);
                    hi = static_cast<i32>(static_cast<u32>(hi) << (32 - kBits)) >> (32 - kBits);
                }
                out[d * kPairs + p][i] = (static_cast<u32>(lo) & 0xffffu) | static_cast<u32>(hi) << 16;
            }
}

constexpr int kRowBlock = 4;  // rows whose sums stay in host registers at once

/// d = a * b + c for rows i to i + 3: `pairs` dwords of two int16 each, broadcast from `a`, against the 16
/// columns of `b`. c[r] and d[r] are row i + r.
template <int kPairs>
inline void integer_rows(const u32 (&a)[kPairs][kSize], const u32 (&b)[kPairs][kSize], int i,
                         const u32* const (&c)[kRowBlock], u32* const (&d)[kRowBlock]) {
#if defined(__AVX2__)
    __m256i lo[kRowBlock], hi[kRowBlock];
    for (int r = 0; r < kRowBlock; ++r) {
        lo[r] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c[r]));
        hi[r] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c[r] + 8));
    }
    for (int p = 0; p < kPairs; ++p) {
        const __m256i y0 = _mm256_load_si256(reinterpret_cast<const __m256i*>(b[p]));
        const __m256i y1 = _mm256_load_si256(reinterpret_cast<const __m256i*>(b[p] + 8));
        for (int r = 0; r < kRowBlock; ++r) {
            const __m256i x = _mm256_set1_epi32(static_cast<i32>(a[p][i + r]));
            lo[r] = _mm256_add_epi32(lo[r], _mm256_madd_epi16(x, y0));
            hi[r] = _mm256_add_epi32(hi[r], _mm256_madd_epi16(x, y1));
        }
    }
    for (int r = 0; r < kRowBlock; ++r) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d[r]), lo[r]);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d[r] + 8), hi[r]);
    }
#else
    for (int r = 0; r < kRowBlock; ++r)
        for (int j = 0; j < kSize; ++j) {
            u32 sum = c[r][j];
            for (int p = 0; p < kPairs; ++p)
                sum += static_cast<u32>(static_cast<int16_t>(a[p][i + r]) * static_cast<int16_t>(b[p][j])) +
                       static_cast<u32>(static_cast<int16_t>(a[p][i + r] >> 16) *
                                        static_cast<int16_t>(b[p][j] >> 16));
            d[r][j] = sum;
        }
#endif
}

template <int kBits, int kDepth>
void wmma_integer(Wave& w, const Inst& inst) {
    check_exec(w);
    constexpr int kDwords = kDepth * kBits / 32;
    constexpr int kPairs = kDepth / 2;
    if (!is_gfx12(w)) {
        check_duplicated(w, inst.src[0], "A");
        check_duplicated(w, inst.src[1], "B");
    }
    alignas(64) u32 a[kDwords][kSize], b[kDwords][kSize], a16[kPairs][kSize], b16[kPairs][kSize];
    gather_dwords(w, inst.src[0], a);
    gather_dwords(w, inst.src[1], b);
    widen_pairs<kBits>(a, inst.neg_lo & 1, a16);
    widen_pairs<kBits>(b, inst.neg_lo & 2, b16);
    const Operand& c = inst.src[2];
    const bool gfx12 = is_gfx12(w);
    alignas(64) u32 constant[kSize] = {}, products[kRowBlock][kSize];
    if (c.kind != OperandKind::kVgpr)
        for (u32& v : constant) v = c.kind == OperandKind::kConst ? c.lanes[0] : w.s[c.reg];
    for (int i = 0; i < kSize; i += kRowBlock) {
        const u32* from[kRowBlock];
        u32* to[kRowBlock];
        for (int r = 0; r < kRowBlock; ++r) {
            from[r] = c.kind == OperandKind::kVgpr ? row(w, c.reg, i + r, gfx12) : constant;
            to[r] = row(w, inst.dst[0].reg, i + r, gfx12);
        }
        if (!inst.clamp) {
            integer_rows(a16, b16, i, from, to);
            continue;
        }
        static constexpr u32 kZero[kSize] = {};
        integer_rows(a16, b16, i, {kZero, kZero, kZero, kZero},
                     {products[0], products[1], products[2], products[3]});
        for (int r = 0; r < kRowBlock; ++r)
            for (int j = 0; j < kSize; ++j) {
                const i64 v = i64{static_cast<i32>(from[r][j])} + static_cast<i32>(products[r][j]);
                to[r][j] =
                    static_cast<u32>(static_cast<i32>(std::min<i64>(std::max<i64>(v, INT32_MIN), INT32_MAX)));
            }
    }
}

// ---- floating point ----

template <Element kElement>
float decode_element(u32 word, int index) {
    if constexpr (kElement == Element::kF16)
        return to_float(Half{static_cast<uint16_t>(word >> (16 * index))});
    else if constexpr (kElement == Element::kBf16)
        // The matrix unit is expected to flush bfloat16 denormals, as the dot instructions are documented to
        // do.
        return flush_denormal(to_float(Bf16{static_cast<uint16_t>(word >> (16 * index))}));
    else if constexpr (kElement == Element::kFp8)
        return decode_fp8(static_cast<uint8_t>(word >> (8 * index)));
    else
        return decode_bf8(static_cast<uint8_t>(word >> (8 * index)));
}

/// out[k][i] as float32; neg_lo and neg_hi negate the even and the odd elements of 16-bit types.
template <Element kElement, int kDwords>
void decode_matrix(const Wave& w, const Inst& inst, int index, float (*out)[kSize]) {
    u32 raw[kDwords][kSize];
    gather_dwords(w, inst.src[index], raw);
    constexpr int kPer = 32 / element_bits(kElement);
    for (int d = 0; d < kDwords; ++d)
        for (int e = 0; e < kPer; ++e) {
            const bool negate = kPer == 2 && ((e ? inst.neg_hi : inst.neg_lo) >> index & 1);
            for (int i = 0; i < kSize; ++i) {
                const float v = decode_element<kElement>(raw[d][i], e);
                out[d * kPer + e][i] = negate ? -v : v;
            }
        }
}

/// sum[i][j] += a * b in float32, one fused step per k. The hardware's summation order is not documented.
template <int kDepth>
void multiply(const float (*a)[kSize], const float (*b)[kSize], float (&sum)[kSize][kSize]) {
    for (int i = 0; i < kSize; ++i) {
        float* s = sum[i];
        for (int k = 0; k < kDepth; ++k) {
            const float x = a[k][i];
            const float* y = b[k];
            for (int j = 0; j < kSize; ++j) s[j] = std::fma(x, y[j], s[j]);
        }
    }
}

float modify_c(const Inst& inst, float v) {
    if (inst.neg_hi & 4) v = std::fabs(v);
    if (inst.neg_lo & 4) v = -v;
    return v;
}

template <Element kA, Element kB>
void wmma_f32(Wave& w, const Inst& inst) {
    check_exec(w);
    constexpr int kDwords = element_bits(kA) == 16 ? 8 : 4;
    if (!is_gfx12(w)) {
        check_duplicated(w, inst.src[0], "A");
        check_duplicated(w, inst.src[1], "B");
    }
    alignas(64) float a[kSize][kSize], b[kSize][kSize], sum[kSize][kSize];
    decode_matrix<kA, kDwords>(w, inst, 0, a);
    decode_matrix<kB, kDwords>(w, inst, 1, b);
    u32 c[kSize][kSize];
    load_c(w, inst.src[2], c);
    for (int i = 0; i < kSize; ++i)
        for (int j = 0; j < kSize; ++j) sum[i][j] = modify_c(inst, std::bit_cast<float>(c[i][j]));
    multiply<kSize>(a, b, sum);
    for (int i = 0; i < kSize; ++i)
        for (int j = 0; j < kSize; ++j) c[i][j] = std::bit_cast<u32>(apply_output_modifiers(sum[i][j], inst));
    store_d(w, inst.dst[0], c);
}

/// Location of 16-bit accumulator [i][j]: register offset, lane, high half.
struct Accumulator16 {
    int reg, lane;
    bool high;
};

Accumulator16 locate16(bool gfx12, int i, int j, bool select_high) {
    if (gfx12) return {(i / 2) % 4, kSize * (i / 8) + j, i % 2 == 1};
    return {i / 2, kSize * (i % 2) + j, select_high};
}

template <Element kElement>
void wmma_16bit(Wave& w, const Inst& inst) {
    check_exec(w);
    const bool gfx12 = is_gfx12(w);
    if (!gfx12) {
        check_duplicated(w, inst.src[0], "A");
        check_duplicated(w, inst.src[1], "B");
    }
    alignas(64) float a[kSize][kSize], b[kSize][kSize], sum[kSize][kSize];
    decode_matrix<kElement, 8>(w, inst, 0, a);
    decode_matrix<kElement, 8>(w, inst, 1, b);
    const Operand& c = inst.src[2];
    const bool high = inst.op_sel & 4;
    for (int i = 0; i < kSize; ++i)
        for (int j = 0; j < kSize; ++j) {
            const Accumulator16 at = locate16(gfx12, i, j, high);
            u32 word = c.kind == OperandKind::kVgpr    ? w.v[c.reg + at.reg][at.lane]
                       : c.kind == OperandKind::kConst ? c.lanes[0]
                                                       : w.s[c.reg];
            if (c.kind == OperandKind::kVgpr && at.high) word >>= 16;
            sum[i][j] = modify_c(inst, decode_element<kElement>(word, 0));
        }
    multiply<kSize>(a, b, sum);
    for (int i = 0; i < kSize; ++i)
        for (int j = 0; j < kSize; ++j) {
            const Accumulator16 at = locate16(gfx12, i, j, high);
            u32& d = w.v[inst.dst[0].reg + at.reg][at.lane];
            const float v = apply_output_modifiers(sum[i][j], inst);
            const u32 bits = kElement == Element::kF16 ? to_half(v).bits : to_bf16(v).bits;
            d = at.high ? (d & 0xffffu) | bits << 16 : (d & 0xffff0000u) | bits;
        }
}

void add(OpTable& t, const char* name, Handler fn, Type c = Type::kAny) {
    t.add(name, fn, InstClass::kWmma, Form::kPlain, {Type::kAny}, {Type::kAny, Type::kAny, c},
          kFlagPackedMods | kFlagIntClamp);
}

}  // namespace

void register_wmma(OpTable& t) {
    add(t, "v_wmma_i32_16x16x16_iu8", &wmma_integer<8, 16>);
    add(t, "v_wmma_i32_16x16x16_iu4", &wmma_integer<4, 16>);
    add(t, "v_wmma_i32_16x16x32_iu4", &wmma_integer<4, 32>);
    add(t, "v_wmma_f32_16x16x16_f16", &wmma_f32<Element::kF16, Element::kF16>);
    add(t, "v_wmma_f32_16x16x16_bf16", &wmma_f32<Element::kBf16, Element::kBf16>);
    add(t, "v_wmma_f16_16x16x16_f16", &wmma_16bit<Element::kF16>, Type::kPkF16);
    add(t, "v_wmma_bf16_16x16x16_bf16", &wmma_16bit<Element::kBf16>, Type::kPkBf16);
    add(t, "v_wmma_f32_16x16x16_fp8_fp8", &wmma_f32<Element::kFp8, Element::kFp8>);
    add(t, "v_wmma_f32_16x16x16_fp8_bf8", &wmma_f32<Element::kFp8, Element::kBf8>);
    add(t, "v_wmma_f32_16x16x16_bf8_fp8", &wmma_f32<Element::kBf8, Element::kFp8>);
    add(t, "v_wmma_f32_16x16x16_bf8_bf8", &wmma_f32<Element::kBf8, Element::kBf8>);
}

}  // namespace ckitchen::gfxsim

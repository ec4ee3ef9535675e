// Wave matrix multiply-accumulate, 16x16xK, of gfx11 and gfx12, dense and (gfx12) sparse.
//
// Layouts, with lane l and element width w bits, e = 32 / w elements a register:
//   gfx11: A[i][k] in register k / e, lanes i and i + 16 alike; C/D[i][j] in register i / 2, lane 16 * (i %
//   2) + j. gfx12: each half-wave holds its own half of K: lane 16 * (k / (K / 2)) + i, register (k % (K /
//   2)) / e;
//          C/D[i][j] in register i % 8, lane 16 * (i / 8) + j.
// B[k][j] lies as A with j for i. 16-bit accumulators: gfx11 uses one half of eight registers (op_sel[2]
// picks), gfx12 packs rows in pairs into four.
// Sparse: of each four elements along K, A holds two; four bits of the index register, low ones first, say
// which: two bits each. The rest is as above.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "control.hpp"
#include "float_ops.hpp"
#include "half.hpp"
#include "op_table.hpp"
#include "small_float.hpp"
#include "valu.hpp"
#include "wmma_math.hpp"

namespace ckitchen::gfxsim {
namespace {

using u32 = uint32_t;
using i32 = int32_t;
using i64 = int64_t;

enum class Element : uint8_t { kF16, kBf16, kInteger, kFp8, kBf8 };

constexpr int element_bits(Element e) {
    return e == Element::kF16 || e == Element::kBf16 ? 16 : 8;
}

void check_exec(const Wave& w) {
    if (w.exec() != ~0u) raise(FaultKind::kExecNotFull, -1, "EXEC is " + hex(w.exec()));
}

bool is_gfx12(const Wave& w) {
    return w.target->generation == Generation::kGfx12;
}

/// gfx11 wants the upper half-wave to repeat the lower one in A and B.
void check_duplicated(const Wave& w, const Operand& o, const char* name) {
#if defined(__AVX2__)
    __m256i different = _mm256_setzero_si256();
    for (int r = 0; r < o.words; ++r) {
        const auto* v = reinterpret_cast<const __m256i*>(w.v[o.reg + r].data());
        different = _mm256_or_si256(different, _mm256_xor_si256(v[0], v[2]));
        different = _mm256_or_si256(different, _mm256_xor_si256(v[1], v[3]));
    }
    if (_mm256_testz_si256(different, different)) return;
#endif
    for (int r = 0; r < o.words; ++r) {
        const u32* v = w.v[o.reg + r].data();
        for (int l = 0; l < kTile; ++l)
            if (v[l] != v[l + kTile])
                raise(FaultKind::kWmmaLayout, l + kTile,
                      std::string(name) + " register v" + std::to_string(o.reg + r) + " holds " +
                          hex(v[l + kTile]) + ", lane " + std::to_string(l) + " holds " + hex(v[l]));
    }
}

/// Packed dwords along K, each a row of the 16 rows of A or columns of B.
template <int kDwords>
struct DwordRows {
    const u32* at[kDwords];
    const u32*& operator[](int d) { return at[d]; }
    const u32* operator[](int d) const { return at[d]; }
    Packed data() const { return at; }
};

/// Where operand A or B has them.
template <int kDwords>
DwordRows<kDwords> dwords_of(const Wave& w, const Operand& o) {
    DwordRows<kDwords> rows;
    if (is_gfx12(w)) {
        constexpr int kHalf = kDwords / 2;
        for (int d = 0; d < kDwords; ++d) rows[d] = w.v[o.reg + d % kHalf].data() + kTile * (d / kHalf);
    } else {
        for (int d = 0; d < kDwords; ++d) rows[d] = w.v[o.reg + d].data();
    }
    return rows;
}

template <int kDwords>
DwordRows<kDwords> rows_of(const u32 (&m)[kDwords][kTile]) {
    DwordRows<kDwords> rows;
    for (int d = 0; d < kDwords; ++d) rows[d] = m[d];
    return rows;
}

constexpr u32 kRowsGfx11[] = {0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240};
constexpr u32 kRowsGfx12[] = {0, 32, 64, 96, 128, 160, 192, 224, 16, 48, 80, 112, 144, 176, 208, 240};
constexpr u32 kSameRow[kTile] = {};

/// A tile of the host's, row after row.
struct alignas(64) Tile {
    u32 at[kTile][kTile];
    Rows<const u32> rows() const { return {at[0], kRowsGfx11}; }
    Rows<u32> rows() { return {at[0], kRowsGfx11}; }
};

/// Signs of 16-bit elements: neg_lo and neg_hi negate the even and the odd ones.
u32 negated_bits(const Inst& inst, int index) {
    return (inst.neg_lo >> index & 1 ? 0x8000u : 0) | (inst.neg_hi >> index & 1 ? 0x80000000u : 0);
}

/// A and B of one instruction as dense dwords along K: where they lie in the registers, or changed copies.
template <int kBits, int kDepth, bool kSparse>
struct Factors {
    static constexpr int kDwords = kDepth * kBits / 32;
    DwordRows<kDwords> a, b;
    // Second elements whose index is that of the first: the two products add up.
    DwordRows<kDwords> again;
    bool twice = false;

    Factors() = default;
    Factors(const Factors&) = delete;
    Factors& operator=(const Factors&) = delete;

    void load(const Wave& w, const Inst& inst, bool floating) {
        check_exec(w);
        if (!is_gfx12(w)) {
            check_duplicated(w, inst.src[0], "A");
            check_duplicated(w, inst.src[1], "B");
        }
        const bool signs = floating && kBits == 16;
        b = dwords_of<kDwords>(w, inst.src[1]);
        // A second product reads B after the first may have written over its registers.
        if (kSparse || (signs && negated_bits(inst, 1)))
            b = changed(b, signs ? negated_bits(inst, 1) : 0, b_copy_);
        if constexpr (kSparse) {
            u32 kept[kDwords / 2][kTile];
            changed(dwords_of<kDwords / 2>(w, inst.src[0]), signs ? negated_bits(inst, 0) : 0, kept);
            expand(kept, w.v[inst.src[2].reg].data(), inst.extra ? 16 : 0);
        } else {
            a = dwords_of<kDwords>(w, inst.src[0]);
            if (signs && negated_bits(inst, 0)) a = changed(a, negated_bits(inst, 0), a_copy_);
        }
    }

  private:
    template <int kCount>
    static DwordRows<kCount> changed(const DwordRows<kCount>& from, u32 flip, u32 (&to)[kCount][kTile]) {
        for (int d = 0; d < kCount; ++d)
            for (int i = 0; i < kTile; ++i) to[d][i] = from[d][i] ^ flip;
        return rows_of(to);
    }

    void expand(const u32 (&kept)[kDwords / 2][kTile], const u32* index, int shift) {
        constexpr int kPer = 32 / kBits, kHalfDepth = kDepth / 2;
        constexpr u32 kMask = (1u << kBits) - 1;
        std::memset(a_copy_, 0, sizeof a_copy_);
        for (int half = 0; half < 2; ++half)
            for (int i = 0; i < kTile; ++i) {
                const u32 positions = index[kTile * half + i] >> shift;
                for (int n = 0; n < kHalfDepth / 2; ++n) {
                    const u32 element =
                        kept[half * kDwords / 4 + n / kPer][i] >> (kBits * (n % kPer)) & kMask;
                    const int k = kHalfDepth * half + n / 2 * 4 + static_cast<int>(positions >> (2 * n) & 3);
                    const u32 first = positions >> (2 * (n & ~1)) & 3, own = positions >> (2 * n) & 3;
                    auto* m = a_copy_;
                    if (n % 2 && own == first) {
                        if (!twice) std::memset(again_copy_, 0, sizeof again_copy_);
                        twice = true;
                        m = again_copy_;
                    }
                    m[k / kPer][i] |= element << (kBits * (k % kPer));
                }
            }
        a = rows_of(a_copy_);
        again = rows_of(again_copy_);
    }

    alignas(64) u32 a_copy_[kDwords][kTile];
    alignas(64) u32 b_copy_[kDwords][kTile];
    alignas(64) u32 again_copy_[kDwords][kTile];
};

// ---- integers ----

/// Four-bit elements along K as bytes.
template <int kDwords>
void widen_bytes(const DwordRows<kDwords>& in, bool is_signed, u32 (&out)[2 * kDwords][kTile]) {
    for (int d = 0; d < kDwords; ++d)
        for (int half = 0; half < 2; ++half)
            for (int i = 0; i < kTile; ++i) {
                const u32 word = in[d][i] >> (16 * half);
                u32 bytes = (word & 0xf) | (word & 0xf0) << 4 | (word & 0xf00) << 8 | (word & 0xf000) << 12;
                // Bit 3 of each byte repeated above it.
                if (is_signed) bytes |= (bytes & 0x08080808u) * 0x1e;
                out[2 * d + half][i] = bytes;
            }
}

void saturate_row(const u32* c, const u32* product, u32* d) {
    for (int j = 0; j < kTile; ++j) {
        const i64 v = i64{static_cast<i32>(c[j])} + static_cast<i32>(product[j]);
        d[j] = static_cast<u32>(static_cast<i32>(std::min<i64>(std::max<i64>(v, INT32_MIN), INT32_MAX)));
    }
}

/// d = m * b + c with elements of 4 or 8 bits.
template <int kBits, int kDwords>
void multiply_integers(const DwordRows<kDwords>& m, const DwordRows<kDwords>& b, bool signed_a, bool signed_b,
                       const Rows<const u32>& c, const Rows<u32>& d) {
    if constexpr (kBits == 8) {
        multiply_bytes(m.data(), b.data(), kDwords, signed_a, signed_b, c, d);
    } else {
        alignas(64) u32 m8[2 * kDwords][kTile], b8[2 * kDwords][kTile];
        widen_bytes(m, signed_a, m8);
        widen_bytes(b, signed_b, b8);
        multiply_bytes(rows_of(m8).data(), rows_of(b8).data(), 2 * kDwords, signed_a, signed_b, c, d);
    }
}

/// Rows of a 32-bit C: registers, or one value for all.
Rows<const u32> addend_rows(const Wave& w, const Operand& c, u32 (&constant)[kTile]) {
    if (c.kind == OperandKind::kVgpr) return {w.v[c.reg].data(), is_gfx12(w) ? kRowsGfx12 : kRowsGfx11};
    for (u32& v : constant) v = c.kind == OperandKind::kConst ? c.lanes[0] : w.s[c.reg];
    return {constant, kSameRow};
}

template <int kBits, int kDepth, bool kSparse>
void matrix_integer(Wave& w, const Inst& inst) {
    Factors<kBits, kDepth, kSparse> f;
    f.load(w, inst, false);
    const bool signed_a = inst.neg_lo & 1, signed_b = inst.neg_lo & 2;
    alignas(64) u32 constant[kTile];
    const Rows<const u32> from = addend_rows(w, inst.src[kSparse ? 3 : 2], constant);
    const Rows<u32> to{w.v[inst.dst[0].reg].data(), is_gfx12(w) ? kRowsGfx12 : kRowsGfx11};
    if (!inst.clamp) {
        multiply_integers<kBits>(f.a, f.b, signed_a, signed_b, from, to);
        if (f.twice) multiply_integers<kBits>(f.again, f.b, signed_a, signed_b, {to.base, to.offset}, to);
        return;
    }
    // Before saturation the products alone.
    static constexpr u32 kZero[kTile] = {};
    Tile products;
    multiply_integers<kBits>(f.a, f.b, signed_a, signed_b, {kZero, kSameRow}, products.rows());
    if (f.twice)
        multiply_integers<kBits>(f.again, f.b, signed_a, signed_b, std::as_const(products).rows(),
                                 products.rows());
    for (int i = 0; i < kTile; ++i) saturate_row(from[i], products.at[i], to[i]);
}

// ---- floating point ----

/// Element as the bits of a float32.
template <Element kElement>
inline u32 decode_element(u32 v) {
    if constexpr (kElement == Element::kF16) {
        return widen_float<5, 10, true>(v & 0xffffu);
    } else if constexpr (kElement == Element::kBf16) {
        return flush_bfloat(v << 16);
    } else if constexpr (kElement == Element::kFp8) {
        return widen_float<4, 3, false>(v & 0xffu);
    } else {
        return widen_float<5, 2, true>(v & 0xffu);
    }
}

/// Packed dwords to float32, out[k][i].
template <Element kElement, int kDwords>
void decode_matrix(const DwordRows<kDwords>& in, float (*out)[kTile]) {
    if constexpr (kElement == Element::kF16) {
        decode_halves(in.data(), kDwords, out);
    } else if constexpr (kElement == Element::kBf16) {
        decode_bfloats(in.data(), kDwords, out);
    } else {
        for (int d = 0; d < kDwords; ++d)
            for (int e = 0; e < 4; ++e)
                for (int i = 0; i < kTile; ++i)
                    out[4 * d + e][i] = std::bit_cast<float>(decode_element<kElement>(in[d][i] >> (8 * e)));
    }
}

/// The product of the factors plus the accumulators.
template <Element kA, Element kB, int kDepth, bool kSparse>
void multiply_decoded(const Factors<element_bits(kA), kDepth, kSparse>& f, const Rows<const u32>& c,
                      const Rows<u32>& d) {
    alignas(64) float a[kDepth][kTile], b[kDepth][kTile];
    decode_matrix<kA>(f.a, a);
    decode_matrix<kB>(f.b, b);
    multiply_floats(a, b, kDepth, c, d);
    if (!f.twice) return;
    decode_matrix<kA>(f.again, a);
    multiply_floats(a, b, kDepth, {d.base, d.offset}, d);
}

float modify_c(const Inst& inst, float v) {
    if (inst.neg_hi & 4) v = std::fabs(v);
    if (inst.neg_lo & 4) v = -v;
    return v;
}

template <Element kA, Element kB, int kDepth, bool kSparse>
void matrix_f32(Wave& w, const Inst& inst) {
    // Matrix units know no other rounding.
    const NearestEven rounding(w, inst);
    Factors<element_bits(kA), kDepth, kSparse> f;
    f.load(w, inst, true);
    alignas(64) u32 constant[kTile];
    Rows<const u32> from = addend_rows(w, inst.src[kSparse ? 3 : 2], constant);
    const Rows<u32> to{w.v[inst.dst[0].reg].data(), is_gfx12(w) ? kRowsGfx12 : kRowsGfx11};
    Tile modified;
    if ((inst.neg_lo | inst.neg_hi) & 4) {
        for (int i = 0; i < kTile; ++i)
            for (int j = 0; j < kTile; ++j)
                modified.at[i][j] = std::bit_cast<u32>(modify_c(inst, std::bit_cast<float>(from[i][j])));
        from = std::as_const(modified).rows();
    }
    multiply_decoded<kA, kB, kDepth, kSparse>(f, from, to);
    if (!inst.clamp) return;
    for (int i = 0; i < kTile; ++i)
        for (int j = 0; j < kTile; ++j)
            to[i][j] = std::bit_cast<u32>(apply_output_modifiers(std::bit_cast<float>(to[i][j]), inst));
}

/// Location of 16-bit accumulator [i][j]: register offset, lane, high half.
struct Accumulator16 {
    int reg, lane;
    bool high;
};

Accumulator16 locate16(bool gfx12, int i, int j, bool select_high) {
    if (gfx12) return {(i / 2) % 4, kTile * (i / 8) + j, i % 2 == 1};
    return {i / 2, kTile * (i % 2) + j, select_high};
}

template <Element kElement, int kDepth, bool kSparse>
void matrix_16bit(Wave& w, const Inst& inst) {
    const NearestEven rounding(w, inst);
    Factors<16, kDepth, kSparse> f;
    f.load(w, inst, true);
    const bool gfx12 = is_gfx12(w), high = inst.op_sel & 4;
    const Operand& c = inst.src[kSparse ? 3 : 2];
    Tile sum;
    for (int i = 0; i < kTile; ++i)
        for (int j = 0; j < kTile; ++j) {
            const Accumulator16 at = locate16(gfx12, i, j, high);
            u32 word = c.kind == OperandKind::kVgpr    ? w.v[c.reg + at.reg][at.lane]
                       : c.kind == OperandKind::kConst ? c.lanes[0]
                                                       : w.s[c.reg];
            if (c.kind == OperandKind::kVgpr && at.high) word >>= 16;
            sum.at[i][j] =
                std::bit_cast<u32>(modify_c(inst, std::bit_cast<float>(decode_element<kElement>(word))));
        }
    multiply_decoded<kElement, kElement, kDepth, kSparse>(f, std::as_const(sum).rows(), sum.rows());
    for (int i = 0; i < kTile; ++i)
        for (int j = 0; j < kTile; ++j) {
            const Accumulator16 at = locate16(gfx12, i, j, high);
            u32& d = w.v[inst.dst[0].reg + at.reg][at.lane];
            const float v = apply_output_modifiers(std::bit_cast<float>(sum.at[i][j]), inst);
            const u32 bits = kElement == Element::kF16 ? to_half(v).bits : to_bf16(v).bits;
            d = at.high ? (d & 0xffffu) | bits << 16 : (d & 0xffff0000u) | bits;
        }
}

void add(OpTable& t, const char* name, Handler fn, Type c = Type::kAny) {
    t.add(name, fn, InstClass::kWmma, Form::kPlain, {Type::kAny}, {Type::kAny, Type::kAny, c},
          kFlagPackedMods | kFlagIntClamp);
}

/// The destination is the accumulator as well; the third operand is the index.
void add_sparse(OpTable& t, const char* name, Handler fn) {
    t.add(name, fn, InstClass::kWmma, Form::kFmac, {Type::kAny}, {Type::kAny, Type::kAny, Type::kB32},
          kFlagPackedMods | kFlagIntClamp);
}

template <Element kA, Element kB>
void add_8bit_floats(OpTable& t, const std::string& types) {
    add(t, ("v_wmma_f32_16x16x16_" + types).c_str(), &matrix_f32<kA, kB, 16, false>);
    add_sparse(t, ("v_swmmac_f32_16x16x32_" + types).c_str(), &matrix_f32<kA, kB, 32, true>);
}

}  // namespace

void register_wmma(OpTable& t) {
    constexpr Element kF16 = Element::kF16, kBf16 = Element::kBf16, kFp8 = Element::kFp8,
                      kBf8 = Element::kBf8;
    add(t, "v_wmma_i32_16x16x16_iu8", &matrix_integer<8, 16, false>);
    add(t, "v_wmma_i32_16x16x16_iu4", &matrix_integer<4, 16, false>);
    add(t, "v_wmma_i32_16x16x32_iu4", &matrix_integer<4, 32, false>);
    add(t, "v_wmma_f32_16x16x16_f16", &matrix_f32<kF16, kF16, 16, false>);
    add(t, "v_wmma_f32_16x16x16_bf16", &matrix_f32<kBf16, kBf16, 16, false>);
    add(t, "v_wmma_f16_16x16x16_f16", &matrix_16bit<kF16, 16, false>, Type::kPkF16);
    add(t, "v_wmma_bf16_16x16x16_bf16", &matrix_16bit<kBf16, 16, false>, Type::kPkBf16);
    add_8bit_floats<kFp8, kFp8>(t, "fp8_fp8");
    add_8bit_floats<kFp8, kBf8>(t, "fp8_bf8");
    add_8bit_floats<kBf8, kFp8>(t, "bf8_fp8");
    add_8bit_floats<kBf8, kBf8>(t, "bf8_bf8");
    add_sparse(t, "v_swmmac_i32_16x16x32_iu8", &matrix_integer<8, 32, true>);
    add_sparse(t, "v_swmmac_i32_16x16x32_iu4", &matrix_integer<4, 32, true>);
    add_sparse(t, "v_swmmac_i32_16x16x64_iu4", &matrix_integer<4, 64, true>);
    add_sparse(t, "v_swmmac_f32_16x16x32_f16", &matrix_f32<kF16, kF16, 32, true>);
    add_sparse(t, "v_swmmac_f32_16x16x32_bf16", &matrix_f32<kBf16, kBf16, 32, true>);
    add_sparse(t, "v_swmmac_f16_16x16x32_f16", &matrix_16bit<kF16, 32, true>);
    add_sparse(t, "v_swmmac_bf16_16x16x32_bf16", &matrix_16bit<kBf16, 32, true>);
}

}  // namespace ckitchen::gfxsim

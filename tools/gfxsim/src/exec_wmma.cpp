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

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "float_ops.hpp"
#include "fp8.hpp"
#include "half.hpp"
#include "op_table.hpp"
#include "valu.hpp"
#include "wmma.hpp"

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

/// The 16 rows of a 32-bit C or D: row i starts at base + offset[i].
template <class T>
struct Rows {
    T* base;
    const u32* offset;
    T* operator[](int i) const { return base + offset[i]; }
};

constexpr u32 kRowsGfx11[] = {0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240};
constexpr u32 kRowsGfx12[] = {0, 32, 64, 96, 128, 160, 192, 224, 16, 48, 80, 112, 144, 176, 208, 240};
constexpr u32 kSameRow[kSize] = {};

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

#if defined(__x86_64__)
/// Four-bit elements along K as bytes.
template <int kDwords>
void widen_bytes(const u32 (&in)[kDwords][kSize], bool is_signed, u32 (&out)[2 * kDwords][kSize]) {
    for (int d = 0; d < kDwords; ++d)
        for (int half = 0; half < 2; ++half)
            for (int i = 0; i < kSize; ++i) {
                const u32 word = in[d][i] >> (16 * half);
                u32 bytes = (word & 0xf) | (word & 0xf0) << 4 | (word & 0xf00) << 8 | (word & 0xf000) << 12;
                // Bit 3 of each byte repeated above it.
                if (is_signed) bytes |= (bytes & 0x08080808u) * 0x1e;
                out[2 * d + half][i] = bytes;
            }
}

/// As integer_rows for all rows, with dwords of four bytes. The host's instruction multiplies an unsigned by
/// a signed byte: b is moved into the unsigned range by adding 128 where it is signed, a into the signed
/// range by subtracting 128 where it is unsigned, and what that adds to the sums is taken off again:
///   (b + p)(a - q) = ab + p(a - q) - q(b + p) + pq  summed over k, with p and q either 0 or 128.
template <int kDwords>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) void integer_dot_bytes(
    const u32 (&a)[kDwords][kSize], const u32 (&b)[kDwords][kSize], bool signed_a, bool signed_b,
    Rows<const u32> c, Rows<u32> d) {
    const __m512i high = _mm512_set1_epi32(static_cast<i32>(0x80808080u));
    const __m512i ones = _mm512_set1_epi32(0x01010101);
    alignas(64) u32 x[kDwords][kSize], correction[kSize];
    __m512i y[kDwords];
    __m512i row_sums = _mm512_setzero_si512(), column_sums = _mm512_setzero_si512();
    for (int k = 0; k < kDwords; ++k) {
        __m512i v = _mm512_loadu_si512(a[k]);
        if (!signed_a) v = _mm512_xor_si512(v, high);
        _mm512_store_si512(x[k], v);
        row_sums = _mm512_dpbusd_epi32(row_sums, ones, v);
        y[k] = _mm512_loadu_si512(b[k]);
        if (signed_b) y[k] = _mm512_xor_si512(y[k], high);
        column_sums = _mm512_dpbusd_epi32(column_sums, y[k], ones);
    }
    // GCC 12 warns of its own header in the unmasked shift.
    // Columns: + q * sum(b + p) - K * p * q; rows: - p * sum(a - q).
    __m512i columns = _mm512_setzero_si512();
    if (!signed_a) {
        columns = _mm512_maskz_slli_epi32(0xffff, column_sums, 7);
        if (signed_b) columns = _mm512_sub_epi32(columns, _mm512_set1_epi32(4 * kDwords * 128 * 128));
    }
    _mm512_store_si512(correction,
                       signed_b ? _mm512_maskz_slli_epi32(0xffff, row_sums, 7) : _mm512_setzero_si512());
    for (int i = 0; i < kSize; ++i) {
        __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(c[i]), columns);
        sum = _mm512_sub_epi32(sum, _mm512_set1_epi32(static_cast<i32>(correction[i])));
        for (int k = 0; k < kDwords; ++k)
            sum = _mm512_dpbusd_epi32(sum, y[k], _mm512_set1_epi32(static_cast<i32>(x[k][i])));
        _mm512_storeu_si512(d[i], sum);
    }
}
#endif

/// Whether the host has what integer_dot_bytes needs.
bool host_has_dot_bytes() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
#else
    return false;
#endif
}

void saturate_row(const u32* c, const u32* product, u32* d) {
    for (int j = 0; j < kSize; ++j) {
        const i64 v = i64{static_cast<i32>(c[j])} + static_cast<i32>(product[j]);
        d[j] = static_cast<u32>(static_cast<i32>(std::min<i64>(std::max<i64>(v, INT32_MIN), INT32_MAX)));
    }
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
    static constexpr u32 kZero[kSize] = {};
    alignas(64) u32 a[kDwords][kSize], b[kDwords][kSize];
    gather_dwords(w, inst.src[0], a);
    gather_dwords(w, inst.src[1], b);
    const bool signed_a = inst.neg_lo & 1, signed_b = inst.neg_lo & 2;
    const Operand& c = inst.src[2];
    const bool gfx12 = is_gfx12(w);
    alignas(64) u32 constant[kSize] = {}, products[kSize][kSize];
    if (c.kind != OperandKind::kVgpr)
        for (u32& v : constant) v = c.kind == OperandKind::kConst ? c.lanes[0] : w.s[c.reg];
    const u32* in_registers = gfx12 ? kRowsGfx12 : kRowsGfx11;
    const Rows<const u32> from = c.kind == OperandKind::kVgpr
                                     ? Rows<const u32>{w.v[c.reg].data(), in_registers}
                                     : Rows<const u32>{constant, kSameRow};
    const Rows<u32> to{w.v[inst.dst[0].reg].data(), in_registers};
    // Before saturation the products alone: rows in memory lie as on gfx11.
    const Rows<const u32> addend = inst.clamp ? Rows<const u32>{kZero, kSameRow} : from;
    const Rows<u32> sum = inst.clamp ? Rows<u32>{products[0], kRowsGfx11} : to;
#if defined(__x86_64__)
    if (wide_dot_products()) {
        if constexpr (kBits == 8) {
            integer_dot_bytes(a, b, signed_a, signed_b, addend, sum);
        } else {
            alignas(64) u32 a8[kDepth / 4][kSize], b8[kDepth / 4][kSize];
            widen_bytes(a, signed_a, a8);
            widen_bytes(b, signed_b, b8);
            integer_dot_bytes(a8, b8, signed_a, signed_b, addend, sum);
        }
    } else
#endif
    {
        alignas(64) u32 a16[kPairs][kSize], b16[kPairs][kSize];
        widen_pairs<kBits>(a, signed_a, a16);
        widen_pairs<kBits>(b, signed_b, b16);
        for (int i = 0; i < kSize; i += kRowBlock)
            integer_rows(a16, b16, i, {addend[i], addend[i + 1], addend[i + 2], addend[i + 3]},
                         {sum[i], sum[i + 1], sum[i + 2], sum[i + 3]});
    }
    if (inst.clamp)
        for (int i = 0; i < kSize; ++i) saturate_row(from[i], products[i], to[i]);
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

bool& wide_dot_products() {
    static bool use = host_has_dot_bytes();
    return use;
}

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

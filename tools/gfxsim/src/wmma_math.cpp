#include "wmma_math.hpp"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "small_float.hpp"

namespace ckitchen::gfxsim {
namespace {

using u32 = uint32_t;
using i16 = int16_t;
using i32 = int32_t;

constexpr int kRowBlock = 4;  // rows whose sums stay in host registers at once

HostVectors detect() {
    const char* limit = std::getenv("GFXSIM_HOST");
    if (limit && std::strcmp(limit, "baseline") == 0) return HostVectors::kBaseline;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
        return HostVectors::kAvx512;
#endif
    return HostVectors::kBaseline;
}

// ---- bytes ----

/// Four bytes a dword to two dwords of two int16 each: bytes 0 and 2, then 1 and 3. A and B are split alike,
/// so the order along K does not matter.
template <int kDwords>
void split_bytes(Packed in, bool is_signed, u32 (&out)[2 * kDwords][kTile]) {
    for (int k = 0; k < kDwords; ++k) {
#if defined(__AVX2__)
        for (int half = 0; half < kTile; half += 8) {
            const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in[k] + half));
            const __m256i up = _mm256_slli_epi16(v, 8);
            const __m256i even = is_signed ? _mm256_srai_epi16(up, 8) : _mm256_srli_epi16(up, 8);
            const __m256i odd = is_signed ? _mm256_srai_epi16(v, 8) : _mm256_srli_epi16(v, 8);
            _mm256_store_si256(reinterpret_cast<__m256i*>(out[2 * k] + half), even);
            _mm256_store_si256(reinterpret_cast<__m256i*>(out[2 * k + 1] + half), odd);
        }
#else
        const auto pair = [&](u32 word) {
            const u32 lo = word & 0xff, hi = word >> 16 & 0xff;
            if (!is_signed) return lo | hi << 16;
            return (static_cast<u32>(i32{static_cast<int8_t>(lo)}) & 0xffffu) |
                   static_cast<u32>(i32{static_cast<int8_t>(hi)}) << 16;
        };
        for (int i = 0; i < kTile; ++i) {
            out[2 * k][i] = pair(in[k][i]);
            out[2 * k + 1][i] = pair(in[k][i] >> 8);
        }
#endif
    }
}

template <int kDwords>
void bytes_baseline(Packed a, Packed b, bool signed_a, bool signed_b, const Rows<const u32>& c,
                    const Rows<u32>& d) {
    constexpr int kPairs = 2 * kDwords;
    alignas(64) u32 x[kPairs][kTile], y[kPairs][kTile];
    split_bytes<kDwords>(a, signed_a, x);
    split_bytes<kDwords>(b, signed_b, y);
#if defined(__AVX2__)
    for (int i = 0; i < kTile; i += kRowBlock) {
        __m256i lo[kRowBlock], hi[kRowBlock];
        for (int r = 0; r < kRowBlock; ++r) {
            lo[r] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c[i + r]));
            hi[r] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(c[i + r] + 8));
        }
        for (int p = 0; p < kPairs; ++p) {
            const __m256i y0 = _mm256_load_si256(reinterpret_cast<const __m256i*>(y[p]));
            const __m256i y1 = _mm256_load_si256(reinterpret_cast<const __m256i*>(y[p] + 8));
            for (int r = 0; r < kRowBlock; ++r) {
                const __m256i v = _mm256_set1_epi32(static_cast<i32>(x[p][i + r]));
                lo[r] = _mm256_add_epi32(lo[r], _mm256_madd_epi16(v, y0));
                hi[r] = _mm256_add_epi32(hi[r], _mm256_madd_epi16(v, y1));
            }
        }
        for (int r = 0; r < kRowBlock; ++r) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(d[i + r]), lo[r]);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(d[i + r] + 8), hi[r]);
        }
    }
#else
    for (int i = 0; i < kTile; ++i)
        for (int j = 0; j < kTile; ++j) {
            u32 sum = c[i][j];
            for (int p = 0; p < kPairs; ++p)
                sum += static_cast<u32>(static_cast<i16>(x[p][i]) * static_cast<i16>(y[p][j])) +
                       static_cast<u32>(static_cast<i16>(x[p][i] >> 16) * static_cast<i16>(y[p][j] >> 16));
            d[i][j] = sum;
        }
#endif
}

#if defined(__x86_64__)
/// The host's instruction multiplies an unsigned by a signed byte: b is moved into the unsigned range by
/// adding 128 where it is signed, a into the signed range by subtracting 128 where it is unsigned, and what
/// that adds to the sums is taken off again:
///   (b + p)(a - q) = ab + p(a - q) - q(b + p) + pq  summed over k, with p and q either 0 or 128.
template <int kDwords>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) void bytes_avx512(
    Packed a, Packed b, bool signed_a, bool signed_b, const Rows<const u32>& c, const Rows<u32>& d) {
    const __m512i high = _mm512_set1_epi32(static_cast<i32>(0x80808080u));
    const __m512i ones = _mm512_set1_epi32(0x01010101);
    alignas(64) u32 x[kDwords][kTile], correction[kTile];
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
    for (int i = 0; i < kTile; ++i) {
        __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(c[i]), columns);
        sum = _mm512_sub_epi32(sum, _mm512_set1_epi32(static_cast<i32>(correction[i])));
        for (int k = 0; k < kDwords; ++k)
            sum = _mm512_dpbusd_epi32(sum, y[k], _mm512_set1_epi32(static_cast<i32>(x[k][i])));
        _mm512_storeu_si512(d[i], sum);
    }
}
#endif

template <int kDwords>
void bytes(Packed a, Packed b, bool signed_a, bool signed_b, const Rows<const u32>& c, const Rows<u32>& d) {
#if defined(__x86_64__)
    if (host_vectors() == HostVectors::kAvx512) return bytes_avx512<kDwords>(a, b, signed_a, signed_b, c, d);
#endif
    bytes_baseline<kDwords>(a, b, signed_a, signed_b, c, d);
}

// ---- floats ----

// The depth is a constant so that the sums stay in registers: around a loop that may run zero times the
// compiler keeps them in memory.
template <int kDepth>
void floats_baseline(const float (*a)[kTile], const float (*b)[kTile], const Rows<const u32>& c,
                     const Rows<u32>& d) {
#if defined(__AVX2__) && defined(__FMA__)
    for (int i = 0; i < kTile; i += kRowBlock) {
        __m256 lo[kRowBlock], hi[kRowBlock];
        for (int r = 0; r < kRowBlock; ++r) {
            lo[r] = _mm256_loadu_ps(reinterpret_cast<const float*>(c[i + r]));
            hi[r] = _mm256_loadu_ps(reinterpret_cast<const float*>(c[i + r] + 8));
        }
        for (int k = 0; k < kDepth; ++k) {
            const __m256 y0 = _mm256_loadu_ps(b[k]), y1 = _mm256_loadu_ps(b[k] + 8);
            for (int r = 0; r < kRowBlock; ++r) {
                const __m256 v = _mm256_set1_ps(a[k][i + r]);
                lo[r] = _mm256_fmadd_ps(v, y0, lo[r]);
                hi[r] = _mm256_fmadd_ps(v, y1, hi[r]);
            }
        }
        for (int r = 0; r < kRowBlock; ++r) {
            _mm256_storeu_ps(reinterpret_cast<float*>(d[i + r]), lo[r]);
            _mm256_storeu_ps(reinterpret_cast<float*>(d[i + r] + 8), hi[r]);
        }
    }
#else
    for (int i = 0; i < kTile; ++i)
        for (int j = 0; j < kTile; ++j) {
            float sum = std::bit_cast<float>(c[i][j]);
            for (int k = 0; k < kDepth; ++k) sum = std::fma(a[k][i], b[k][j], sum);
            d[i][j] = std::bit_cast<u32>(sum);
        }
#endif
}

#if defined(__x86_64__)
template <int kDepth>
__attribute__((target("avx512f"))) void floats_avx512(const float (*a)[kTile], const float (*b)[kTile],
                                                      const Rows<const u32>& c, const Rows<u32>& d) {
    __m512 sum[kTile];
    for (int i = 0; i < kTile; ++i) sum[i] = _mm512_loadu_ps(c[i]);
    for (int k = 0; k < kDepth; ++k) {
        const __m512 y = _mm512_loadu_ps(b[k]);
        for (int i = 0; i < kTile; ++i) sum[i] = _mm512_fmadd_ps(_mm512_set1_ps(a[k][i]), y, sum[i]);
    }
    for (int i = 0; i < kTile; ++i) _mm512_storeu_ps(d[i], sum[i]);
}
#endif

template <int kDepth>
void floats(const float (*a)[kTile], const float (*b)[kTile], const Rows<const u32>& c, const Rows<u32>& d) {
#if defined(__x86_64__)
    if (host_vectors() == HostVectors::kAvx512) return floats_avx512<kDepth>(a, b, c, d);
#endif
    floats_baseline<kDepth>(a, b, c, d);
}

// ---- elements of 16 bits ----

#if defined(__x86_64__)
// Of each dword the low half is element 2k, the high one element 2k + 1. The masked forms, whose unmasked
// ones GCC 12 warns of in its own header.
constexpr __mmask16 kAll = 0xffff;

__attribute__((target("avx512f"))) void halves_avx512(Packed in, int dwords, float (*out)[kTile]) {
    for (int d = 0; d < dwords; ++d) {
        const __m512i v = _mm512_loadu_si512(in[d]);
        const __m256i even = _mm512_maskz_cvtepi32_epi16(kAll, v);
        const __m256i odd = _mm512_maskz_cvtepi32_epi16(kAll, _mm512_maskz_srli_epi32(kAll, v, 16));
        _mm512_storeu_ps(out[2 * d], _mm512_maskz_cvtph_ps(kAll, even));
        _mm512_storeu_ps(out[2 * d + 1], _mm512_maskz_cvtph_ps(kAll, odd));
    }
}

__attribute__((target("avx512f"))) void bfloats_avx512(Packed in, int dwords, float (*out)[kTile]) {
    const __m512i exponent = _mm512_set1_epi32(0x7f800000);
    const __m512i sign = _mm512_set1_epi32(static_cast<i32>(0x80000000u));
    const __m512i high = _mm512_set1_epi32(static_cast<i32>(0xffff0000u));
    for (int d = 0; d < dwords; ++d) {
        const __m512i v = _mm512_loadu_si512(in[d]);
        const __m512i element[2] = {_mm512_maskz_slli_epi32(kAll, v, 16), _mm512_and_si512(v, high)};
        for (int e = 0; e < 2; ++e) {
            const __mmask16 denormal = _mm512_testn_epi32_mask(element[e], exponent);
            _mm512_storeu_si512(out[2 * d + e],
                                _mm512_mask_and_epi32(element[e], denormal, element[e], sign));
        }
    }
}
#endif

}  // namespace

HostVectors& host_vectors() {
    static HostVectors use = detect();
    return use;
}

void multiply_bytes(Packed a, Packed b, int dwords, bool signed_a, bool signed_b,
                    const Rows<const uint32_t>& c, const Rows<uint32_t>& d) {
    if (dwords == 4)
        bytes<4>(a, b, signed_a, signed_b, c, d);
    else if (dwords == 8)
        bytes<8>(a, b, signed_a, signed_b, c, d);
    else
        bytes<16>(a, b, signed_a, signed_b, c, d);
}

void multiply_floats(const float (*a)[kTile], const float (*b)[kTile], int depth,
                     const Rows<const uint32_t>& c, const Rows<uint32_t>& d) {
    if (depth == 16)
        floats<16>(a, b, c, d);
    else
        floats<32>(a, b, c, d);
}

void decode_halves(Packed in, int dwords, float (*out)[kTile]) {
#if defined(__x86_64__)
    if (host_vectors() == HostVectors::kAvx512) return halves_avx512(in, dwords, out);
#endif
#if defined(__AVX2__) && defined(__F16C__)
    const __m256i low = _mm256_set1_epi32(0xffff);
    for (int d = 0; d < dwords; ++d)
        for (int i = 0; i < kTile; i += 8) {
            const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in[d] + i));
            const __m256i both = _mm256_permute4x64_epi64(
                _mm256_packus_epi32(_mm256_and_si256(v, low), _mm256_srli_epi32(v, 16)), 0xd8);
            _mm256_storeu_ps(out[2 * d] + i, _mm256_cvtph_ps(_mm256_castsi256_si128(both)));
            _mm256_storeu_ps(out[2 * d + 1] + i, _mm256_cvtph_ps(_mm256_extracti128_si256(both, 1)));
        }
#else
    for (int d = 0; d < dwords; ++d)
        for (int e = 0; e < 2; ++e)
            for (int i = 0; i < kTile; ++i)
                out[2 * d + e][i] =
                    std::bit_cast<float>(widen_float<5, 10, true>(in[d][i] >> (16 * e) & 0xffffu));
#endif
}

void decode_bfloats(Packed in, int dwords, float (*out)[kTile]) {
#if defined(__x86_64__)
    if (host_vectors() == HostVectors::kAvx512) return bfloats_avx512(in, dwords, out);
#endif
    for (int d = 0; d < dwords; ++d) {
        const u32* v = in[d];
        for (int i = 0; i < kTile; ++i) {
            const u32 even = v[i] << 16, odd = v[i] & 0xffff0000u;
            out[2 * d][i] = std::bit_cast<float>(flush_bfloat(even));
            out[2 * d + 1][i] = std::bit_cast<float>(flush_bfloat(odd));
        }
    }
}

}  // namespace ckitchen::gfxsim

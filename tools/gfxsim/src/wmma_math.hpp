#pragma once

#include <cstdint>

namespace ckitchen::gfxsim {

// Products of one 16 x 16 tile on the host, in the widest form that its vector unit has.

constexpr int kTile = 16;

/// The 16 rows of a matrix of dwords: row i starts at base + offset[i].
template <class T>
struct Rows {
    T* base;
    const uint32_t* offset;
    T* operator[](int i) const { return base + offset[i]; }
};

/// Packed elements along K: dword k of row (or column) i is at [k][i].
using Packed = const uint32_t* const*;

/// Which instructions of the host the products use: those that the simulator was compiled for (AVX2 by
/// default on x86-64), or AVX-512 with VNNI.
enum class HostVectors : uint8_t { kBaseline, kAvx512 };

/// What the host has; GFXSIM_HOST=baseline and tests hold it down.
HostVectors& host_vectors();

/// d = a * b + c modulo 2^32. Dword k of a[k][i] has the four bytes of row i from 4k on, of b[k][j] those of
/// column j; `dwords` is 4, 8 or 16. d may be c and overlap a and b.
void multiply_bytes(Packed a, Packed b, int dwords, bool signed_a, bool signed_b,
                    const Rows<const uint32_t>& c, const Rows<uint32_t>& d);

/// d = a * b + c in float32, one fused step per k in order: a[k][i], b[k][j]; `depth` is 16 or 32. d may be
/// c.
void multiply_floats(const float (*a)[kTile], const float (*b)[kTile], int depth,
                     const Rows<const uint32_t>& c, const Rows<uint32_t>& d);

/// `dwords` packed float16 or bfloat16 pairs to float32, out[k][i]. Denormals of bfloat16 become 0.
void decode_halves(Packed in, int dwords, float (*out)[kTile]);
void decode_bfloats(Packed in, int dwords, float (*out)[kTile]);

}  // namespace ckitchen::gfxsim

// Per-element functions that are compiled twice, for the device and for the host, and must agree to the bit.
#pragma once

#if defined(__AMDGCN__)
#define SHARED_FUNCTION static __attribute__((device))
#else
#define SHARED_FUNCTION static inline
#endif

typedef unsigned int u32;
typedef unsigned long long u64;

enum { kOperationCount = 31 };

SHARED_FUNCTION float as_float(u32 v) {
    float f;
    __builtin_memcpy(&f, &v, 4);
    return f;
}

SHARED_FUNCTION u32 as_bits(float f) {
    u32 v;
    __builtin_memcpy(&v, &f, 4);
    // One NaN stands for all: sign and payload of a produced NaN differ between processors.
    return f != f ? 0x7fc00000u : v;
}

SHARED_FUNCTION u32 fold(u64 v) {
    return (u32)v ^ (u32)(v >> 32) * 0x9e3779b9u;
}

SHARED_FUNCTION u32 fold_double(double d) {
    u64 v;
    __builtin_memcpy(&v, &d, 8);
    return d != d ? 0x7ff80000u : fold(v);
}

/// A 64-bit value from two words, and a nonzero one.
SHARED_FUNCTION u64 wide(u32 a, u32 b) {
    return (u64)a << 32 | b;
}

SHARED_FUNCTION int within(float f, float limit) {
    return f > -limit && f < limit;
}

SHARED_FUNCTION u32 evaluate(int operation, u32 a, u32 b) {
    const float x = as_float(a), y = as_float(b);
    const u64 p = wide(a, b), q = wide(b, a * 2654435761u);
    const long long sp = (long long)p, sq = (long long)q;
    const u32 d = b ? b : 1;
    const int sa = (int)a, sd = (sa == -2147483647 - 1 && (int)d == -1) ? 1 : (int)d;
    switch (operation) {
        case 0:
            return as_bits(x + y);
        case 1:
            return as_bits(x * y);
        case 2:
            return as_bits(x / y);
        case 3:
            return as_bits(__builtin_sqrtf(x));
        case 4:
            return as_bits(__builtin_fmaf(x, y, x));
        case 5:
            return as_bits(__builtin_rintf(x));
        case 6:
            return as_bits(__builtin_floorf(x) + __builtin_ceilf(y) - __builtin_truncf(x));
        case 7:
            return within(x, 2.0e9f) ? (u32)(int)x : 0;
        case 8:
            return x > -1.0f && x < 4.0e9f ? (u32)x : 0;
        case 9:
            return as_bits((float)sa);
        case 10:
            return as_bits((float)a);
        case 11:
            return fold(p + q);
        case 12:
            return fold(p - q);
        case 13:
            return fold(p * q);
        case 14:
            return fold(p << (b & 63));
        case 15:
            return fold(p >> (b & 63));
        case 16:
            return fold((u64)(sp >> (b & 63)));
        case 17:
            return fold(q ? p / q : 0);
        case 18:
            return fold(q ? p % q : 0);
        case 19:
            return fold(sq && !(sq == -1) ? (u64)(sp / sq) : 0);
        case 20:
            return a / d;
        case 21:
            return a % d;
        case 22:
            return (u32)(sa / sd);
        case 23:
            return (u32)(sa % sd);
        case 24:
            return p < q ? 1u : sp < sq ? 2u : 3u;
        case 25:
            return (u32)__builtin_popcount(a) + (u32)(a ? __builtin_clz(a) : 32) * 64 +
                   (u32)(b ? __builtin_ctz(b) : 32) * 4096;
        case 26:
            return fold_double((double)x * (double)y + 0.1);
        case 27:
            return fold_double((double)x / ((double)y + 1.5));
        case 28:
            return as_bits((float)(double)x) ^ (u32)(within(x, 1.0e6f) ? (int)((double)x * 3.0) : 7);
        case 29:
            return as_bits(x < y ? x : y > x ? y : 0.5f);
        default:
            return as_bits((float)p) + as_bits((float)(x != x ? 0.0f : 1.0f / x));
    }
}

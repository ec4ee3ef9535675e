// Programs of the simulator's tests: freestanding, every target.
#include "programs_shared.h"

#define KERNEL extern "C" __attribute__((global))
#define DEVICE static __attribute__((device))
#define SHARED __attribute__((shared))
#define BOUNDS(n) __attribute__((amdgpu_flat_work_group_size(n, n)))

typedef signed char i8;
typedef int v2i __attribute__((ext_vector_type(2)));
typedef int v4i __attribute__((ext_vector_type(4)));
typedef int v8i __attribute__((ext_vector_type(8)));
typedef float v8f __attribute__((ext_vector_type(8)));
typedef _Float16 v8h __attribute__((ext_vector_type(8)));
typedef _Float16 v16h __attribute__((ext_vector_type(16)));
typedef short v8s __attribute__((ext_vector_type(8)));
typedef short v16s __attribute__((ext_vector_type(16)));

DEVICE int thread_x() {
    return (int)__builtin_amdgcn_workitem_id_x();
}
DEVICE int group_x() {
    return (int)__builtin_amdgcn_workgroup_id_x();
}
DEVICE int group_y() {
    return (int)__builtin_amdgcn_workgroup_id_y();
}

DEVICE void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

KERNEL BOUNDS(256) void vector_add(const float* a, const float* b, float* c, int n) {
    const int i = group_x() * 256 + thread_x();
    if (i < n) c[i] = a[i] + b[i];
}

KERNEL BOUNDS(256) void vec_copy(const double* a, double* c, int n) {
    const int i = group_x() * 256 + thread_x();
    if (i < n) c[i] = a[i];
}

KERNEL BOUNDS(256) void evaluate_all(const u32* a, const u32* b, u32* out, int n) {
    const int i = group_x() * 256 + thread_x();
    if (i >= n) return;
    for (int k = 0; k < kOperationCount; ++k) out[k * n + i] = evaluate(k, a[i], b[i]);
}

KERNEL BOUNDS(256) void reduce(const int* in, int* out) {
    SHARED static int s[256];
    const int t = thread_x();
    s[t] = in[group_x() * 256 + t];
    barrier();
    for (int k = 128; k > 0; k /= 2) {
        if (t < k) s[t] += s[t + k];
        barrier();
    }
    if (t == 0) out[group_x()] = s[0];
}

/// Inclusive scan of 256 elements by doubling, with two LDS buffers.
KERNEL BOUNDS(256) void scan(const u32* in, u32* out) {
    SHARED static u32 s[2][256];
    const int t = thread_x();
    int from = 0;
    s[0][t] = in[group_x() * 256 + t];
    barrier();
    for (int k = 1; k < 256; k *= 2) {
        s[1 - from][t] = t >= k ? s[from][t] + s[from][t - k] : s[from][t];
        from = 1 - from;
        barrier();
    }
    out[group_x() * 256 + t] = s[from][t];
}

/// Bitonic sort of 512 keys by 256 work-items.
KERNEL BOUNDS(256) void sort512(const u32* in, u32* out) {
    SHARED static u32 s[512];
    const int t = thread_x();
    s[t] = in[t];
    s[t + 256] = in[t + 256];
    barrier();
    for (int size = 2; size <= 512; size *= 2)
        for (int stride = size / 2; stride > 0; stride /= 2) {
            const int i = t / stride * stride * 2 + t % stride;
            const bool up = (i & size) == 0;
            const u32 x = s[i], y = s[i + stride];
            if ((x > y) == up) {
                s[i] = y;
                s[i + stride] = x;
            }
            barrier();
        }
    out[t] = s[t];
    out[t + 256] = s[t + 256];
}

/// 32x32 tiles through LDS, bytes.
KERNEL BOUNDS(256) void transpose_bytes(const i8* in, i8* out, int rows, int columns) {
    SHARED static i8 s[32][33];
    const int t = thread_x();
    for (int k = 0; k < 4; ++k) {
        const int r = t / 32 + 8 * k, c = t % 32;
        const int row = group_y() * 32 + r, column = group_x() * 32 + c;
        s[r][c] = row < rows && column < columns ? in[row * columns + column] : (i8)0;
    }
    barrier();
    for (int k = 0; k < 4; ++k) {
        const int c = t / 32 + 8 * k, r = t % 32;
        const int row = group_y() * 32 + r, column = group_x() * 32 + c;
        if (row < rows && column < columns) out[column * rows + row] = s[r][c];
    }
}

/// Counters by global and by LDS atomics, a maximum, a compare-and-swap sum, an exchange.
KERNEL BOUNDS(256) void atomics(const u32* in, u32* out) {
    SHARED static u32 local[16];
    const int t = thread_x();
    if (t < 16) local[t] = 0;
    barrier();
    const u32 v = in[group_x() * 256 + t];
    __scoped_atomic_fetch_add(&out[v % 16], 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_add(&local[v / 16 % 16], v, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    __scoped_atomic_fetch_max(&out[32], v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_min((int*)&out[33], (int)v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    __scoped_atomic_fetch_xor((u64*)&out[36], wide(v, ~v), __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
    u32 old = out[34];
    while (!__scoped_atomic_compare_exchange_n(&out[34], &old, old * 3 + 1, false, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)) {
    }
    barrier();
    if (t < 16) __scoped_atomic_fetch_add(&out[16 + t], local[t], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

/// An array that is indexed by data lives in scratch.
KERNEL BOUNDS(64) void private_array(const u32* in, u32* out) {
    u32 a[40];
    const int i = group_x() * 64 + thread_x();
    for (int k = 0; k < 40; ++k) a[k] = in[i] * (u32)k + 7;
    for (int k = 0; k < 40; ++k) {
        const u32 j = (in[i] >> (k & 15)) % 40;
        const u32 swap = a[j];
        a[j] = a[k] ^ (u32)k;
        a[k] = swap;
    }
    u32 sum = 0;
    for (int k = 0; k < 40; ++k) sum = sum * 31 + a[k];
    out[i] = sum;
}

DEVICE float lane_xor(float v, int mask) {
    const int lane = (int)__builtin_amdgcn_mbcnt_lo(~0u, 0);
    return __builtin_bit_cast(float,
                              __builtin_amdgcn_ds_bpermute((lane ^ mask) * 4, __builtin_bit_cast(int, v)));
}

/// One wave a row of 96 columns.
KERNEL BOUNDS(32) void softmax(const float* in, float* out) {
    const int t = thread_x();
    const float* row = in + group_x() * 96;
    float v[3], top = -3.0e38f, sum = 0;
    for (int k = 0; k < 3; ++k) {
        v[k] = row[t + 32 * k];
        top = __builtin_fmaxf(top, v[k]);
    }
    for (int m = 16; m > 0; m /= 2) top = __builtin_fmaxf(top, lane_xor(top, m));
    for (int k = 0; k < 3; ++k) {
        v[k] = __builtin_expf(v[k] - top);
        sum += v[k];
    }
    for (int m = 16; m > 0; m /= 2) sum += lane_xor(sum, m);
    for (int k = 0; k < 3; ++k) out[group_x() * 96 + t + 32 * k] = v[k] / sum;
}

DEVICE int dot4(int a, int b, int c) {
#if defined(__GFX11__) || defined(__GFX12__)
    return __builtin_amdgcn_sudot4(true, a, true, b, c, false);
#else
    return __builtin_amdgcn_sdot4(a, b, c, false);
#endif
}

/// C = A * B^T, rows of k bytes, k a multiple of 4; one work-item an element.
KERNEL BOUNDS(256) void matmul_dot4(const int* a, const int* b, int* c, int n, int k) {
    const int row = group_y() * 16 + thread_x() / 16, column = group_x() * 16 + thread_x() % 16;
    int sum = 0;
    for (int i = 0; i < k / 4; ++i) sum = dot4(a[row * (k / 4) + i], b[column * (k / 4) + i], sum);
    c[row * n + column] = sum;
}

#if defined(__GFX11__) || defined(__GFX12__)
/// The same with one wave a 16x16 tile; k a multiple of 16. Signs: bit 0 for A, bit 1 for B.
KERNEL BOUNDS(32) void matmul_wmma_iu8(const i8* a, const i8* b, int* c, int n, int k, int signs) {
    const int lane = thread_x();
    const i8* row = a + (group_y() * 16 + lane % 16) * k;
    const i8* column = b + (group_x() * 16 + lane % 16) * k;
    v8i sum = {};
    for (int i = 0; i < k; i += 16) {
#if defined(__GFX12__)
        const v2i x = *(const v2i*)(row + i + lane / 16 * 8), y = *(const v2i*)(column + i + lane / 16 * 8);
        if (signs == 3)
            sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, x, true, y, sum, false);
        else if (signs == 1)
            sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, x, false, y, sum, false);
        else
            sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(false, x, false, y, sum, false);
#else
        const v4i x = *(const v4i*)(row + i), y = *(const v4i*)(column + i);
        if (signs == 3)
            sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, x, true, y, sum, false);
        else if (signs == 1)
            sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, x, false, y, sum, false);
        else
            sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(false, x, false, y, sum, false);
#endif
    }
    for (int r = 0; r < 8; ++r) {
#if defined(__GFX12__)
        const int i = r + 8 * (lane / 16);
#else
        const int i = 2 * r + lane / 16;
#endif
        c[(group_y() * 16 + i) * n + group_x() * 16 + lane % 16] = sum[r];
    }
}

/// 16-bit floats to float32: type 0 is float16, 1 is bfloat16.
KERNEL BOUNDS(32) void matmul_wmma_16bit(const short* a, const short* b, float* c, int n, int k, int type) {
    const int lane = thread_x();
    const short* row = a + (group_y() * 16 + lane % 16) * k;
    const short* column = b + (group_x() * 16 + lane % 16) * k;
    v8f sum = {};
    for (int i = 0; i < k; i += 16) {
#if defined(__GFX12__)
        const v8s x = *(const v8s*)(row + i + lane / 16 * 8), y = *(const v8s*)(column + i + lane / 16 * 8);
        if (type == 0)
            sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(__builtin_bit_cast(v8h, x),
                                                                   __builtin_bit_cast(v8h, y), sum);
        else
            sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(x, y, sum);
#else
        const v16s x = *(const v16s*)(row + i), y = *(const v16s*)(column + i);
        if (type == 0)
            sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_bit_cast(v16h, x),
                                                             __builtin_bit_cast(v16h, y), sum);
        else
            sum = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(x, y, sum);
#endif
    }
    for (int r = 0; r < 8; ++r) {
#if defined(__GFX12__)
        const int i = r + 8 * (lane / 16);
#else
        const int i = 2 * r + lane / 16;
#endif
        c[(group_y() * 16 + i) * n + group_x() * 16 + lane % 16] = sum[r];
    }
}
#endif

// ---- faults: `fault` nonzero plants one, zero is the twin that must pass ----

KERNEL BOUNDS(64) void fault_global(u32* p, int n, int fault) {
    const int i = group_x() * 64 + thread_x();
    if (i < n + fault) p[i] = (u32)i;
}

KERNEL BOUNDS(64) void fault_read(const u32* p, u32* out, int fault) {
    out[thread_x()] = p[thread_x() - (thread_x() == 63 ? fault : 0)];
}

KERNEL BOUNDS(64) void fault_lds(u32* out, int fault) {
    SHARED static u32 s[64];
    s[thread_x()] = 5;
    barrier();
    volatile __attribute__((address_space(3))) u32* q = (volatile __attribute__((address_space(3))) u32*)s;
    q[thread_x() + fault] = 6;
    barrier();
    out[thread_x()] = s[thread_x()];
}

KERNEL BOUNDS(64) void fault_barrier(u32* out, int fault) {
    SHARED static u32 s[64];
    s[thread_x()] = (u32)thread_x();
    if (fault && thread_x() >= 32) return;
    __builtin_amdgcn_s_barrier();
    out[thread_x()] = s[63 - thread_x()];
}

KERNEL BOUNDS(32) void fault_loop(volatile u32* out, int fault) {
    while (fault && out[0] == 0) {
    }
    out[1] = 1;
}

KERNEL BOUNDS(32) void fault_trap(u32* out, int fault) {
    if (fault) __builtin_trap();
    out[thread_x()] = 1;
}

#if defined(__GFX11__) || defined(__GFX12__)
KERNEL BOUNDS(32) void fault_exec(int* out, int fault) {
    const int lane = thread_x();
    v8i sum = {};
    if (lane < 32 - fault) {
#if defined(__GFX12__)
        v2i x = {1, 2};
        sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, x, true, x, sum, false);
#else
        v4i x = {1, 2, 3, 4};
        sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, x, true, x, sum, false);
#endif
    }
    for (int r = 0; r < 8; ++r) out[lane * 8 + r] = sum[r];
}
#endif

KERNEL BOUNDS(32) void fault_misaligned(u32* out, int fault) {
    u32* p = (u32*)((char*)out + (fault ? 2 : 0));
    __scoped_atomic_fetch_add(p, 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

KERNEL BOUNDS(32) void fault_scratch(u32* out, int fault) {
    volatile u32 array[8];
    const int t = thread_x();
    for (int i = 0; i < 8; ++i) array[i] = (u32)(i + t);
    out[t] = array[fault && t == 5 ? 70000 : t & 7];
}

#if defined(__GFX11__)
/// The upper half-wave must hold what the lower one does.
KERNEL BOUNDS(32) void fault_halves(int* out, int fault) {
    const int lane = thread_x(), half = lane % 16;
    const v4i x = {half, 1, 2, fault ? lane : half}, y = {half, 3, 4, 5};
    v8i sum = {};
    sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, x, true, y, sum, false);
    for (int r = 0; r < 8; ++r) out[lane * 8 + r] = sum[r];
}
#endif

// Undefined values. `fault` 0 keeps them from deciding anything.

/// A register that nobody has written.
DEVICE u32 undefined_register() {
    u32 v;
    __asm__ volatile("v_mov_b32 %0, v255" : "=v"(v) : : "v255");
    return v;
}

/// Of 64 elements of LDS all but the last `fault` are written.
KERNEL BOUNDS(64) void fault_undefined_lds(u32* out, int fault) {
    SHARED static u32 s[64];
    const int t = thread_x();
    if (t < 64 - fault) s[t] = (u32)t;
    barrier();
    out[t] = s[63 - t];
}

/// A written low byte below undefined ones: masking makes it whole.
KERNEL BOUNDS(64) void fault_undefined_bits(u32* out, int fault) {
    const u32 v = undefined_register() << 8 | (u32)thread_x();
    out[thread_x()] = (v & (fault ? 0x1ffu : 0xffu)) ^ 1u;
}

/// Reads `n` elements of memory of which the host has written some.
KERNEL BOUNDS(64) void fault_undefined_memory(const u32* in, u32* out, int n, int fault) {
    const int t = thread_x();
    out[t] = t < n + fault ? in[t] : 7u;
}

KERNEL BOUNDS(64) void fault_undefined_address(u32* out, int fault) {
    SHARED static u32 s[64];
    const int t = thread_x();
    if (t < 64 - fault) s[t] = (u32)t;
    barrier();
    out[s[63 - t] & 63] = 1;
}

KERNEL BOUNDS(64) void fault_undefined_lds_address(u32* out, int fault) {
    SHARED static u32 s[64];
    const int t = thread_x();
    s[t] = (u32)t;
    barrier();
    const u32 i = fault ? undefined_register() & 63 : (u32)t;
    out[t] = s[i];
}

KERNEL BOUNDS(64) void fault_undefined_exec(u32* out, int fault) {
    const u32 v = fault ? undefined_register() : (u32)thread_x();
    if (v > 12) out[thread_x()] = 1;
}

KERNEL BOUNDS(32) void fault_undefined_branch(u32* out, int fault) {
    const u32 v = fault ? undefined_register() : (u32)thread_x();
    // A compiler may turn a uniform condition into a lane mask.
    __asm__ volatile(
        "v_readfirstlane_b32 s20, %0\n s_cmp_gt_u32 s20, 12\n s_cbranch_scc1 .Lskip%=\n s_nop 0\n.Lskip%=:"
        :
        : "v"(v)
        : "s20", "scc");
    out[thread_x()] = 1;
}

/// The compiler may load whole dwords around a byte; its neighbours in the argument segment are nobody's.
KERNEL BOUNDS(64) void fault_undefined_argument(u32* out, unsigned char small, int fault) {
    const __attribute__((address_space(4))) u32* arguments =
        (const __attribute__((address_space(4))) u32*)__builtin_amdgcn_kernarg_segment_ptr();
    const u32 v = arguments[2];
    out[thread_x()] = (fault ? v : v & 0xff) + small;
}

/// Selections and products with zero do not depend on what they throw away.
KERNEL BOUNDS(64) void fault_undefined_select(u32* out, int fault) {
    const int t = thread_x();
    const u32 u = undefined_register();
    const u32 selected = t < 64 - fault ? (u32)t : u;
    float f;
    __builtin_memcpy(&f, &selected, 4);
    out[t] = selected * (u * 0u + 3u) + (u32)(f > 0.0f ? 1 : 2);
}

/// Undefined through scratch, whole.
KERNEL BOUNDS(32) void fault_undefined_scratch(u32* out, int fault) {
    volatile u32 array[8];
    const int t = thread_x();
    for (int i = 0; i < 8 - fault; ++i) array[i] = (u32)(i + t);
    u32 sum = 0;
    for (int i = 0; i < 8; ++i) sum += array[i];
    out[t] = sum;
}

KERNEL BOUNDS(32) void fault_undefined_atomic(u32* out, int fault) {
    const u32 v = fault ? undefined_register() : 1u;
    __scoped_atomic_fetch_add(&out[0], v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

#if defined(__GFX11__) || defined(__GFX12__)
/// A matrix product with one undefined row of A: only that row of the result is undefined.
KERNEL BOUNDS(32) void fault_undefined_wmma(int* out, int fault) {
    const int lane = thread_x();
    const int u = (int)undefined_register();
    const int a = lane % 16 == 3 ? u : lane % 16;
    v8i sum = {};
#if defined(__GFX12__)
    const v2i x = {a, a}, y = {lane, lane + 1};
    sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, x, true, y, sum, false);
    const int column = lane % 16, first = lane / 16 * 8;
    for (int r = 0; r < 8; ++r)
        if (fault || first + r != 3) out[(first + r) * 16 + column] = sum[r];
#else
    const int b = lane % 16;
    const v4i x = {a, a, a, a}, y = {b, b + 1, b, b};
    sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, x, true, y, sum, false);
    const int column = lane % 16, first = lane / 16;
    for (int r = 0; r < 8; ++r)
        if (fault || 2 * r + first != 3) out[(2 * r + first) * 16 + column] = sum[r];
#endif
}
#endif

// Races between the two waves of a workgroup. With `fault` 0 each wave keeps to its own part.

KERNEL BOUNDS(64) void fault_race_lds(u32* out, int fault) {
    SHARED static u32 s[128];
    const int t = thread_x();
    s[t] = (u32)t;
    barrier();
    // The upper wave reads what the lower one overwrites.
    const int other = t >= 32 && fault ? t - 32 : t;
    s[t] = 5;
    out[t] = s[other];
    barrier();
    s[t] = 6;
}

/// Two waves write two bytes of one dword: no race, until they write the same.
KERNEL BOUNDS(64) void fault_race_bytes(u32* out, int fault) {
    SHARED static unsigned char s[128];
    const int t = thread_x();
    s[t % 32 * 4 + (fault ? 0 : t / 32)] = (unsigned char)t;
    s[t % 32 * 4 + 2 + t / 32] = (unsigned char)t;
    barrier();
    out[t] = s[t * 2 % 128] + (fault ? 0u : s[(t * 2 + 1) % 128]);
}

KERNEL BOUNDS(64) void fault_race_global(u32* out, int fault) {
    const int t = thread_x();
    out[fault ? t % 32 : t] = (u32)t;
    barrier();
    // A barrier later the other wave's elements may be read and written.
    if (!fault) out[63 - t] += 1;
}

KERNEL BOUNDS(64) void fault_race_read(u32* out, int fault) {
    const int t = thread_x();
    const u32 v = out[fault ? 63 - t : t];
    out[t] = v + 1;
}

/// Atomics do not race with each other; a plain read beside them does.
KERNEL BOUNDS(64) void fault_race_atomic(u32* out, int fault) {
    SHARED static u32 s[2];
    const int t = thread_x();
    if (t < 2) s[t] = 0;
    barrier();
    __scoped_atomic_fetch_add(&s[0], 1u, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);
    if (fault && t >= 32) out[t] = *(volatile u32*)&s[0];
    barrier();
    out[t] = s[0];
}

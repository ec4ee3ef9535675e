// Inner loops whose simulation is timed: sixteen matrix instructions on independent accumulators, and what a
// GEMM puts beside them.
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 64)))

typedef int v2i __attribute__((ext_vector_type(2)));
typedef int v4i __attribute__((ext_vector_type(4)));
typedef int v8i __attribute__((ext_vector_type(8)));
typedef float v8f __attribute__((ext_vector_type(8)));
typedef short v8s __attribute__((ext_vector_type(8)));
typedef short v16s __attribute__((ext_vector_type(16)));
typedef _Float16 v8h __attribute__((ext_vector_type(8)));
typedef _Float16 v16h __attribute__((ext_vector_type(16)));

#if defined(__GFX12__)
typedef v2i bytes_t;
typedef v8h halves_t;
typedef v8s bfloats_t;
#define WMMA_IU8(a, b, c) __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a, true, b, c, false)
#define WMMA_F16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c)
#define WMMA_BF16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c)
#else
typedef v4i bytes_t;
typedef v16h halves_t;
typedef v16s bfloats_t;
#define WMMA_IU8(a, b, c) __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, c, false)
#define WMMA_F16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)
#define WMMA_BF16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c)
#endif

/// `a` and `b` are four fragments each, one for 16 lanes; the lanes above repeat it.
#define LOOP(NAME, FRAGMENT, SUM, WMMA)                                                                 \
    KERNEL void NAME(const FRAGMENT* a, const FRAGMENT* b, SUM* out, int rounds) {                      \
        const int lane = (int)__builtin_amdgcn_workitem_id_x() & 15;                                    \
        FRAGMENT x[4], y[4];                                                                            \
        SUM sum[16] = {};                                                                               \
        for (int i = 0; i < 4; ++i) {                                                                   \
            x[i] = a[16 * i + lane];                                                                    \
            y[i] = b[16 * i + lane];                                                                    \
        }                                                                                               \
        for (int r = 0; r < rounds; ++r)                                                                \
            for (int i = 0; i < 16; ++i) sum[i] = WMMA(x[i / 4], y[i % 4], sum[i]);                     \
        SUM* to =                                                                                       \
            out +                                                                                       \
            ((int)__builtin_amdgcn_workgroup_id_x() * 64 + (int)__builtin_amdgcn_workitem_id_x()) * 16; \
        for (int i = 0; i < 16; ++i) to[i] = sum[i];                                                    \
    }

LOOP(loop_iu8, bytes_t, v8i, WMMA_IU8)
LOOP(loop_f16, halves_t, v8f, WMMA_F16)
LOOP(loop_bf16, bfloats_t, v8f, WMMA_BF16)

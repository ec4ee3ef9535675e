// Dot products and matrix products: one function per hardware instruction.
#pragma once

#include "convert.h"

namespace ckitchen {

// accumulator + sum of the four signed byte products.
CK_DEVICE int32_t dot4(uint32_t a, uint32_t b, int32_t accumulator) {
#if defined(__NVPTX__)
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(accumulator) : "r"(a), "r"(b));
    return accumulator;
#elif defined(__GFX11__) || defined(__GFX12__)
    return __builtin_amdgcn_sudot4(true, static_cast<int32_t>(a), true, static_cast<int32_t>(b), accumulator,
                                   false);
#else
    return __builtin_amdgcn_sdot4(static_cast<int32_t>(a), static_cast<int32_t>(b), accumulator, false);
#endif
}

CK_DEVICE int32_t dot16(Uint32x4 a, Uint32x4 b, int32_t accumulator) {
    accumulator = dot4(a.x, b.x, accumulator);
    accumulator = dot4(a.y, b.y, accumulator);
    accumulator = dot4(a.z, b.z, accumulator);
    return dot4(a.w, b.w, accumulator);
}

#if defined(__AMDGCN__)

// accumulator + the sum of the products of two f16 values each.
CK_DEVICE float dot2_f16(uint32_t a, uint32_t b, float accumulator) {
    typedef _Float16 Pair __attribute__((ext_vector_type(2)));
    return __builtin_amdgcn_fdot2(__builtin_bit_cast(Pair, a), __builtin_bit_cast(Pair, b), accumulator,
                                  false);
}

#endif

#if defined(__GFX11__) || defined(__GFX12__)

// 16x16 int8 WMMA tiles, operands loaded 16 bytes a lane. The order of K inside a tile is free as long as
// both operands agree, so gfx12, whose operand of one instruction is 8 bytes a lane, takes two consecutive
// instructions' worth.
struct WmmaInt8 {
#if defined(__GFX12__)
    static constexpr int kBytesPerRow = 32;  // K covered by one 16-byte load of every lane
#else
    static constexpr int kBytesPerRow = 16;
#endif

    // Row of the 16-row operand that this lane holds, and where in that row its 16 bytes start.
    static CK_DEVICE uint32_t operand_row(uint32_t lane) {
        return lane % 16;
    }
    static CK_DEVICE uint32_t operand_byte(uint32_t lane) {
#if defined(__GFX12__)
        return lane / 16 * 16;
#else
        (void)lane;  // both half-waves hold the same data
        return 0;
#endif
    }

    // Slot among the 16 rows of the first operand for matrix row `row`, chosen so that each lane's eight
    // results belong to consecutive rows 8 * (lane / 16) + 0..7. gfx11 interleaves rows over the half-waves
    // (result r of half h is slot 2 * r + h); placing the rows accordingly costs nothing, where exchanging
    // results would.
    static CK_DEVICE uint32_t operand_slot(uint32_t row) {
#if defined(__GFX12__)
        return row;
#else
        return (row & ~15u) | (row & 7u) << 1 | (row >> 3 & 1u);
#endif
    }

    static CK_DEVICE Int32x8 multiply(Uint32x4 first, Uint32x4 second, Int32x8 accumulator) {
#if defined(__GFX12__)
        const Int32x2 first_low = {static_cast<int32_t>(first.x), static_cast<int32_t>(first.y)};
        const Int32x2 first_high = {static_cast<int32_t>(first.z), static_cast<int32_t>(first.w)};
        const Int32x2 second_low = {static_cast<int32_t>(second.x), static_cast<int32_t>(second.y)};
        const Int32x2 second_high = {static_cast<int32_t>(second.z), static_cast<int32_t>(second.w)};
        accumulator = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, first_low, true, second_low,
                                                                       accumulator, false);
        return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, first_high, true, second_high,
                                                                accumulator, false);
#else
        return __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, __builtin_bit_cast(Int32x4, first), true,
                                                          __builtin_bit_cast(Int32x4, second), accumulator,
                                                          false);
#endif
    }
};

// 16x16 tiles of 16-bit floats with float32 results. An operand is a row of 16 elements in each lane, in
// pieces of 16 bytes; gfx12 holds a row in two lanes, gfx11 the whole row twice.
struct WmmaHalf {
#if defined(__GFX12__)
    typedef Uint32x4 Operand;
    static constexpr int kPieces = 1;
#else
    typedef Uint32x8 Operand;
    static constexpr int kPieces = 2;
#endif

    // The first of the pieces, two a row, that this lane holds.
    static CK_DEVICE uint32_t first_piece(uint32_t lane) {
#if defined(__GFX12__)
        return lane / 16;
#else
        (void)lane;
        return 0;
#endif
    }

    // The row of the first operand that this lane holds, so that its eight results belong to consecutive rows
    // 8 * (lane / 16) + 0..7 and column lane % 16: see WmmaInt8::operand_slot, whose inverse this is. Of the
    // second operand a lane holds row lane % 16.
    static CK_DEVICE uint32_t first_operand_row(uint32_t lane) {
#if defined(__GFX12__)
        return lane % 16;
#else
        return lane % 2 * 8 + lane % 16 / 2;
#endif
    }

    static CK_DEVICE Operand join(const Uint32x4 (&piece)[kPieces]) {
#if defined(__GFX12__)
        return piece[0];
#else
        return Uint32x8{piece[0].x, piece[0].y, piece[0].z, piece[0].w,
                        piece[1].x, piece[1].y, piece[1].z, piece[1].w};
#endif
    }

    static CK_DEVICE Float32x8 multiply_float16(Operand first, Operand second, Float32x8 accumulator) {
        typedef _Float16 Elements __attribute__((ext_vector_type(8 * kPieces)));
#if defined(__GFX12__)
        return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(
            __builtin_bit_cast(Elements, first), __builtin_bit_cast(Elements, second), accumulator);
#else
        return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_bit_cast(Elements, first),
                                                          __builtin_bit_cast(Elements, second), accumulator);
#endif
    }

    static CK_DEVICE Float32x8 multiply_bfloat16(Operand first, Operand second, Float32x8 accumulator) {
        typedef int16_t Elements __attribute__((ext_vector_type(8 * kPieces)));
#if defined(__GFX12__)
        return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(
            __builtin_bit_cast(Elements, first), __builtin_bit_cast(Elements, second), accumulator);
#else
        return __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(__builtin_bit_cast(Elements, first),
                                                           __builtin_bit_cast(Elements, second), accumulator);
#endif
    }
};

#endif

#if defined(__NVPTX__)

// Four 8x8 matrices of 16-bit elements, i.e. of byte pairs: lane 8 * i + r gives the address of row r of
// matrix i, and every lane receives 4 bytes of each matrix, of row lane / 4 from byte lane % 4 * 4 on.
CK_DEVICE Uint32x4 load_matrix_x4(LocalPointer<const uint8_t> row) {
    Uint32x4 value;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "r"(static_cast<uint32_t>(reinterpret_cast<uint64_t>(row)))
                 : "memory");
    return value;
}

// The same, transposed: every lane receives elements of rows lane % 4 * 2 and the next one, column lane / 4.
CK_DEVICE Uint32x4 load_matrix_x4_transposed(LocalPointer<const uint8_t> row) {
    Uint32x4 value;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "r"(static_cast<uint32_t>(reinterpret_cast<uint64_t>(row)))
                 : "memory");
    return value;
}

// 16x8 float32 results from 16x16 and 16x8 operands of 16-bit floats.
CK_DEVICE Float32x4 mma_float16(Uint32x4 a, Uint32x2 b, Float32x4 accumulator) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(accumulator.x), "+f"(accumulator.y), "+f"(accumulator.z), "+f"(accumulator.w)
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
    return accumulator;
}

CK_DEVICE Float32x4 mma_bfloat16(Uint32x4 a, Uint32x2 b, Float32x4 accumulator) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(accumulator.x), "+f"(accumulator.y), "+f"(accumulator.z), "+f"(accumulator.w)
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
    return accumulator;
}

// 16x8 int32 results from 16x32 and 32x8 int8 operands.
CK_DEVICE Int32x4 mma_m16n8k32(Uint32x4 a, Uint32x2 b, Int32x4 accumulator) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(accumulator.x), "+r"(accumulator.y), "+r"(accumulator.z), "+r"(accumulator.w)
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
    return accumulator;
}

// Starts a copy of 16 bytes from global to local memory; only the first `bytes` are read and the rest is
// zero. Both addresses are 16-byte aligned.
CK_DEVICE void copy_async_16_bytes(LocalPointer<uint8_t> target, GlobalPointer<const uint8_t> source,
                                   uint32_t bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(static_cast<uint32_t>(reinterpret_cast<uint64_t>(target))), "l"(source), "r"(bytes)
                 : "memory");
}

CK_DEVICE void copy_async_16_bytes(LocalPointer<uint8_t> target, GlobalPointer<const uint8_t> source) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"(static_cast<uint32_t>(reinterpret_cast<uint64_t>(target))), "l"(source)
                 : "memory");
}

CK_DEVICE void commit_async_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most kPending of the committed groups are under way.
template <int kPending>
CK_DEVICE void wait_async_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

#endif

}  // namespace ckitchen

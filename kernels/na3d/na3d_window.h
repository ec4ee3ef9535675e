// What the neighborhood attention kernels share: windows, tiles, addresses, the exponential.
#pragma once

#include "../device/piece.h"
#include "na3d_args.h"

namespace ckitchen {

constexpr int kNa3dPieceElements = 8;
constexpr float kNa3dMaxFloat = 0x1.fffffep127f;
constexpr float kNa3dLog2E = 0x1.715476p0f;

// 2^x with an error of about one unit in the last place; 0 where the result is subnormal, as for minus
// infinity.
CK_DEVICE float exp2_approximately(float x) {
#if defined(__NVPTX__)
    return __nvvm_ex2_approx_ftz_f(x);
#elif __clang_major__ >= 18
    return __builtin_amdgcn_exp2f(x);
#else
    return __builtin_exp2f(x);
#endif
}

template <int kMask>
CK_DEVICE float exchange_xor_float(float value) {
    return __builtin_bit_cast(float, exchange_xor<kMask>(__builtin_bit_cast(int32_t, value)));
}

// The kernel's arguments again, from memory. Without it the compiler reads all of them before the first tile,
// which takes more scalar registers than there are.
CK_DEVICE const Na3dArgs& reread(const Na3dArgs& args) {
#if defined(__AMDGCN__)
    (void)args;
    auto address = __builtin_amdgcn_kernarg_segment_ptr();
    asm volatile("" : "+s"(address));
    return *(const Na3dArgs*)address;
#else
    return args;
#endif
}

CK_DEVICE int64_t as_uniform(uint32_t value) {
    return as_scalar(value);
}
CK_DEVICE int64_t as_uniform(uint64_t value) {
    return static_cast<int64_t>(static_cast<uint64_t>(as_scalar(static_cast<uint32_t>(value >> 32))) << 32 |
                                as_scalar(static_cast<uint32_t>(value)));
}

// A value that is the same in all lanes, computed before what follows, for the same reason.
CK_DEVICE void compute_now(uint64_t& value) {
#if defined(__AMDGCN__)
    uint64_t scalar = static_cast<uint64_t>(as_uniform(value));
    asm volatile("" : "+s"(scalar));
    value = scalar;
#else
    (void)value;
#endif
}

// Places [low, low + count) of a residue class.
struct Na3dWindow {
    int64_t low;
    int64_t count;
};

CK_DEVICE int64_t class_length(const Na3dAxis& axis, int64_t residue) {
    return axis.shorter_length + (residue < axis.longer ? 1 : 0);
}

CK_DEVICE Na3dWindow window_of(const Na3dAxis& axis, int64_t residue, int64_t place) {
    // A causal query sees the class as if it ended there: its window then lies at the end.
    const int64_t length = axis.causal ? place + 1 : class_length(axis, residue);
    const int64_t count = axis.kernel < length ? axis.kernel : length;
    const int64_t wanted = place - count / 2 > 0 ? place - count / 2 : 0;
    return {wanted < length - count ? wanted : length - count, count};
}

// A tile: batch, first head, residue classes, and the places of its first query in them. Places may lie
// behind the end of a short class.
struct Na3dTile {
    int64_t batch;
    int64_t head;
    int64_t residue[3];
    int64_t place[3];
};

CK_DEVICE uint32_t quotient(uint32_t n, int64_t, const Na3dDivisor& by) {
    return static_cast<uint32_t>(static_cast<uint64_t>(n) * by.factor >> by.shift);
}
CK_DEVICE uint64_t quotient(uint64_t n, int64_t divisor, const Na3dDivisor&) {
    return n / static_cast<uint64_t>(divisor);
}

// Index: uint32_t where the numbers of tiles stay below 2^31.
template <typename Index>
CK_DEVICE Na3dTile tile_of(const Na3dArgs& args, Index tile) {
    Na3dTile result;
    Index rest = tile;
    CK_UNROLL
    for (int axis = 2; axis >= 0; --axis) {
        const Na3dArgs& axis_args = reread(args);
        const int64_t axis_tiles = axis_args.axis_tiles[axis];
        const int64_t dilation = axis_args.axis[axis].dilation;
        const Index next = quotient(rest, axis_tiles, axis_args.by_axis_tiles[axis]);
        const Index along = rest - next * static_cast<Index>(axis_tiles);
        rest = next;
        const Index place = quotient(along, dilation, axis_args.by_dilation[axis]);
        result.residue[axis] = as_uniform(along - place * static_cast<Index>(dilation));
        result.place[axis] = as_uniform(place) * axis_args.tile[axis];
    }
    const Na3dArgs& head_args = reread(args);
    const Index batch = quotient(rest, head_args.head_groups, head_args.by_head_groups);
    result.head =
        as_uniform(rest - batch * static_cast<Index>(head_args.head_groups)) * head_args.heads_at_once;
    result.batch = as_uniform(batch);
    return result;
}

CK_DEVICE Na3dTile tile_at(const Na3dArgs& args, int64_t tile) {
    if (args.tiles < int64_t{1} << 31) return tile_of(args, static_cast<uint32_t>(tile));
    return tile_of(args, static_cast<uint64_t>(tile));
}

// Address of a head vector, at these places of the tile's classes.
CK_DEVICE uint64_t vector_address(const Na3dArgs& args, const Na3dTensor& tensor, const Na3dTile& tile,
                                  int64_t place_0, int64_t place_1, int64_t place_2) {
    int64_t offset = tile.batch * tensor.stride[0] + tile.head * tensor.stride[4];
    offset += (tile.residue[0] + place_0 * args.axis[0].dilation) * tensor.stride[1];
    offset += (tile.residue[1] + place_1 * args.axis[1].dilation) * tensor.stride[2];
    offset += (tile.residue[2] + place_2 * args.axis[2].dilation) * tensor.stride[3];
    return tensor.base + static_cast<uint64_t>(offset);
}

}  // namespace ckitchen

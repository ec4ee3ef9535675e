// Arguments of every neighborhood attention kernel, passed by value as the one explicit kernel argument. Host
// and device share this file; it holds fixed-width fields only and no padding.
#pragma once

#include "../device/element_type.h"

namespace ckitchen {

// A wave works on a tile of neighbouring queries at a time, of one residue class on every axis: a row along
// the last axis in the vector kernels, a box of at most so many in the matrix kernels.
constexpr uint32_t kNa3dVectorQueries = 4;
constexpr uint32_t kNa3dMatrixQueries = 16;
// The matrix kernels sort the keys along an axis by which of the tile's queries see them: 2 * size - 2 kinds
// that some do not see. This many, of all axes together, have a column in a matrix.
constexpr uint32_t kNa3dMatrixColumns = 15;

// One axis of the grid. Dilation splits it into as many residue classes: those below `longer` have
// `shorter_length` + 1 places, the others `shorter_length`.
struct Na3dAxis {
    int64_t extent;
    int64_t shorter_length;
    uint32_t dilation;  // at most the extent
    uint32_t longer;
    uint32_t kernel;
    uint32_t causal;
};

// n / d for n below 2^31 is (n * factor) >> shift.
struct Na3dDivisor {
    uint32_t factor;
    uint32_t shift;
};

// A tensor [batch, axis 0, axis 1, axis 2, heads, head_dim]. Strides in bytes.
struct Na3dTensor {
    uint64_t base;
    int64_t stride[5];
};

// Softmax attention of every query to the keys of its window. All extents are at least 1. The axes are T, H,
// W or these with two exchanged, which changes no result: the last one is that along which tiles lie.
struct Na3dArgs {
    Na3dTensor q;
    Na3dTensor k;
    Na3dTensor v;
    Na3dTensor out;
    Na3dAxis axis[3];
    int64_t heads;
    int64_t axis_tiles[3];  // tiles along each axis, the residue classes fastest
    int64_t tiles;          // axis_tiles of axes 2, 1 and 0 * head_groups * batch, in this order
    int64_t head_groups;    // of heads_at_once heads; the last one may be smaller
    Na3dDivisor by_axis_tiles[3];
    Na3dDivisor by_dilation[3];
    Na3dDivisor by_head_groups;
    uint32_t tile[3];        // places of a tile along each axis
    uint32_t heads_at_once;  // heads that a wave takes one after the other
    uint32_t groups;         // the workgroups that were launched
    uint32_t type;           // ElementType of all tensors
    uint32_t pieces;         // head_dim / 8: 1 to 32
    uint32_t lanes_log2;     // 2^lanes_log2 lanes hold the pieces of one head vector
    float scale;
    uint32_t reserved;
};

static_assert(sizeof(Na3dArgs) == 432, "the kernels read this layout");

}  // namespace ckitchen

// The rows of na3d.inc for the host: what each one needs, accepts and launches. Pure functions of a problem's
// sizes; knows no driver and no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "na3d_args.h"

namespace ckitchen {

enum class Na3dKind { Vector, Dot2, Wmma, Mma };

// By matrix products, of boxes of queries; else of queries in a row.
constexpr bool na3d_is_matrix(Na3dKind kind) {
    return kind == Na3dKind::Wmma || kind == Na3dKind::Mma;
}

constexpr bool na3d_takes(Na3dKind kind, std::uint32_t type) {
    switch (kind) {
        case Na3dKind::Vector:
            return true;
        case Na3dKind::Dot2:
            return type == kElementFloat16;
        case Na3dKind::Wmma:
        case Na3dKind::Mma:
            return type != kElementFloat32;
    }
    return false;
}

struct Na3dRow {
    const char* name;
    const char* kernel;   // symbol in the code object
    const char* feature;  // name from arch.json
    Na3dKind kind;
    std::uint32_t width;        // the largest head_dim
    std::uint32_t threads;      // work-items of a workgroup, all in x
    std::uint32_t local_bytes;  // local memory of a workgroup
    std::uint32_t alignment;    // 1, or 16: see the list
};

inline constexpr Na3dRow kNa3dRows[] = {
#define CK_NA3D_ROW(name, feature, kind, width, waves, resident, lds, alignment) \
    {#name, "ckitchen_na3d_" #name, #feature, Na3dKind::kind, width, (waves)*32, lds, alignment},
#include "na3d.inc"
#undef CK_NA3D_ROW
};
inline constexpr std::size_t kNa3dRowCount = std::size(kNa3dRows);

// The kernel's view of an axis; all but `causal` at least 1.
constexpr Na3dAxis na3d_axis(std::int64_t extent, std::int32_t kernel, std::int32_t dilation, bool causal) {
    Na3dAxis axis{};
    axis.extent = extent;
    // From the extent on every class has one place, as many classes as indices.
    axis.dilation = static_cast<std::uint32_t>(dilation < extent ? dilation : extent);
    axis.shorter_length = extent / axis.dilation;
    axis.longer = static_cast<std::uint32_t>(extent % axis.dilation);
    axis.kernel = static_cast<std::uint32_t>(kernel);
    axis.causal = causal ? 1 : 0;
    return axis;
}

// Places of the longest class.
constexpr std::int64_t na3d_longest(const Na3dAxis& axis) {
    return axis.shorter_length + (axis.longer != 0 ? 1 : 0);
}

// Tiles of one place are the indices themselves; larger ones are counted as if all classes were the longest.
constexpr std::int64_t na3d_axis_tiles(const Na3dAxis& axis, std::uint32_t tile) {
    if (tile == 1) return axis.extent;
    return ((na3d_longest(axis) - 1) / tile + 1) * axis.dilation;
}

// The most keys along an axis that the queries of a tile see.
constexpr std::int64_t na3d_box(const Na3dAxis& axis, std::uint32_t tile) {
    const std::int64_t longest = na3d_longest(axis);
    const std::int64_t span = std::int64_t{axis.kernel} + tile - 1;
    return span < longest ? span : longest;
}

struct Na3dTileShape {
    std::uint32_t size[3] = {1, 1, 1};
};

// Powers of two up to this are the sizes of a tile along an axis: more would have more columns than there
// are.
inline constexpr std::size_t kNa3dTileSizes = 4;
inline constexpr std::uint32_t kNa3dLargestTile = 1u << (kNa3dTileSizes - 1);
static_assert(2 * kNa3dLargestTile - 2 <= kNa3dMatrixColumns && 4 * kNa3dLargestTile - 2 > kNa3dMatrixColumns,
              "the largest tile's kinds of keys, and no larger tile's, have columns");

// The box of queries for the matrix kernels with the least work: tiles times the blocks of 32 keys that each
// goes through, and about three blocks' time for what a tile costs besides.
constexpr Na3dTileShape na3d_matrix_tile(const Na3dAxis (&axis)[3]) {
    double tiles[3][kNa3dTileSizes] = {};
    double keys[3][kNa3dTileSizes] = {};
    for (std::size_t index = 0; index < 3; ++index) {
        for (std::size_t log2 = 0; log2 < kNa3dTileSizes; ++log2) {
            tiles[index][log2] = static_cast<double>(na3d_axis_tiles(axis[index], 1u << log2));
            keys[index][log2] = static_cast<double>(na3d_box(axis[index], 1u << log2));
        }
    }
    Na3dTileShape best;
    double least = 0;
    for (std::size_t i = 0; i < kNa3dTileSizes; ++i) {
        for (std::size_t j = 0; j < kNa3dTileSizes; ++j) {
            for (std::size_t k = 0; k < kNa3dTileSizes; ++k) {
                const Na3dTileShape shape{{1u << i, 1u << j, 1u << k}};
                std::uint32_t columns = 0;
                for (const std::uint32_t size : shape.size) columns += 2 * size - 2;
                if (columns > kNa3dMatrixColumns || 1u << (i + j + k) > kNa3dMatrixQueries) continue;
                const double all_keys = keys[0][i] * keys[1][j] * keys[2][k];
                const double blocks =
                    all_keys < 1e9 ? static_cast<double>((static_cast<std::int64_t>(all_keys) + 31) / 32)
                                   : all_keys / 32;
                const double work = tiles[0][i] * tiles[1][j] * tiles[2][k] * (blocks + 3);
                if (least == 0 || work < least) {
                    least = work;
                    best = shape;
                }
            }
        }
    }
    return best;
}

constexpr Na3dTileShape na3d_tile(const Na3dRow& row, const Na3dAxis (&axis)[3]) {
    return na3d_is_matrix(row.kind) ? na3d_matrix_tile(axis) : Na3dTileShape{{1, 1, kNa3dVectorQueries}};
}

enum class Na3dRefusal { None, Type, Width, Alignment, Span, Scale };

// Is a row that wants `alignment` kept from a tensor by its address or its strides?
constexpr bool na3d_misaligned(const Na3dRow& row, const Na3dTensor& tensor) {
    std::uint64_t mixed = tensor.base;
    for (const std::int64_t stride : tensor.stride) mixed |= static_cast<std::uint64_t>(stride);
    return mixed % row.alignment != 0;
}

// Do 32 bits hold the number of keys in any tile's box and the offsets in it?
constexpr bool na3d_box_is_small(const Na3dAxis (&axis)[3], const Na3dTensor& tensor) {
    double keys = 1;
    double bytes = 0;
    for (std::size_t index = 0; index < 3; ++index) {
        const double count = static_cast<double>(na3d_box(axis[index], kNa3dLargestTile));
        const double stride = static_cast<double>(tensor.stride[index + 1]);
        keys *= count;
        bytes += (count - 1) * axis[index].dilation * (stride < 0 ? -stride : stride);
    }
    return keys < 0x1p31 && bytes < 0x1p32 - 1024;
}

// Of an axis, for the matrix kernels.
inline constexpr std::int64_t kNa3dMostExtent = 0x7fffffff;

// Whether a row takes a problem: all of `args` but the launch, as na3d_launch fills it in.
constexpr Na3dRefusal na3d_refusal(const Na3dRow& row, std::int64_t head_dim, const Na3dArgs& args) {
    if (!na3d_takes(row.kind, args.type)) return Na3dRefusal::Type;
    if (head_dim > row.width) return Na3dRefusal::Width;
    if (na3d_misaligned(row, args.q) || na3d_misaligned(row, args.k) || na3d_misaligned(row, args.v) ||
        na3d_misaligned(row, args.out))
        return Na3dRefusal::Alignment;
    if (!na3d_is_matrix(row.kind)) return Na3dRefusal::None;
    for (const Na3dAxis& axis : args.axis) {
        if (axis.extent > kNa3dMostExtent) return Na3dRefusal::Span;
    }
    if (!na3d_box_is_small(args.axis, args.k) || !na3d_box_is_small(args.axis, args.v))
        return Na3dRefusal::Span;
    return args.scale < 0x1p-100f && args.scale > -0x1p-100f ? Na3dRefusal::Scale : Na3dRefusal::None;
}

// Enough workgroups to fill every GPU many times over, in a launch that every driver takes; each goes on to
// further tiles.
inline constexpr std::int64_t kNa3dMaxGroups = std::int64_t{1} << 20;

// A wave takes several heads of a tile where as many waves as this are left: about four times what fits an
// H200 at once, about three times what fits the largest AMD GPU.
constexpr std::int64_t na3d_enough_waves(Na3dKind kind) {
    return kind == Na3dKind::Mma ? 4096 : 2048;
}
inline constexpr std::int64_t kNa3dMostHeadsAtOnce = 8;

constexpr Na3dDivisor na3d_divisor(std::int64_t divisor) {
    std::uint32_t log2 = 0;
    while ((std::int64_t{1} << log2) < divisor) ++log2;
    // Beyond 2^31 the kernels divide by the number itself.
    if (log2 > 31) return {};
    const std::uint64_t power = std::uint64_t{1} << (31 + log2);
    return {static_cast<std::uint32_t>(power / static_cast<std::uint64_t>(divisor) + 1), 31 + log2};
}

// Fills in the launch: what depends on row, batch, heads, head_dim and the axes (the product of all extents
// fits 63 bits, as the output has an element for each).
constexpr void na3d_launch(const Na3dRow& row, std::int64_t batch, std::int64_t head_dim, Na3dArgs& args) {
    const Na3dTileShape tile = na3d_tile(row, args.axis);
    std::int64_t tiles = batch;
    for (std::size_t index = 0; index < 3; ++index) {
        args.tile[index] = tile.size[index];
        args.axis_tiles[index] = na3d_axis_tiles(args.axis[index], tile.size[index]);
        args.by_axis_tiles[index] = na3d_divisor(args.axis_tiles[index]);
        args.by_dilation[index] = na3d_divisor(args.axis[index].dilation);
        tiles *= args.axis_tiles[index];
    }
    std::int64_t at_once = 1;
    if (na3d_is_matrix(row.kind)) {
        while (at_once < kNa3dMostHeadsAtOnce && at_once < args.heads &&
               tiles >= na3d_enough_waves(row.kind) / args.heads * 2 * at_once)
            at_once *= 2;
        const std::int64_t head_groups = (args.heads - 1) / at_once + 1;
        at_once = (args.heads - 1) / head_groups + 1;
    }
    args.heads_at_once = static_cast<std::uint32_t>(at_once);
    args.head_groups = (args.heads - 1) / at_once + 1;
    args.by_head_groups = na3d_divisor(args.head_groups);
    args.tiles = tiles * args.head_groups;
    const std::int64_t waves = row.threads / 32;
    const std::int64_t wanted = (args.tiles - 1) / waves + 1;
    args.groups = static_cast<std::uint32_t>(wanted < kNa3dMaxGroups ? wanted : kNa3dMaxGroups);
    args.pieces = static_cast<std::uint32_t>(head_dim / 8);
    args.lanes_log2 = 0;
    while ((1u << args.lanes_log2) < args.pieces) ++args.lanes_log2;
}

}  // namespace ckitchen

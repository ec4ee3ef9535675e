// The rows of na3d.inc for the host: what each one needs, accepts and launches. Pure functions of a problem's
// sizes; knows no driver and no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "na3d_args.h"

namespace ckitchen {

struct Na3dRow {
    const char* name;
    const char* kernel;       // symbol in the code object
    const char* feature;      // name from arch.json
    std::uint32_t threads;    // work-items of a workgroup, all in x
    std::uint32_t alignment;  // 1, or 16: see the list
};

inline constexpr Na3dRow kNa3dRows[] = {
#define CK_NA3D_ROW(name, feature, waves, alignment) \
    {#name, "ckitchen_na3d_" #name, #feature, (waves)*32, alignment},
#include "na3d.inc"
#undef CK_NA3D_ROW
};
inline constexpr std::size_t kNa3dRowCount = std::size(kNa3dRows);

// Is a row that wants `alignment` kept from a tensor by its address or its strides?
constexpr bool na3d_misaligned(const Na3dRow& row, const Na3dTensor& tensor) {
    std::uint64_t mixed = tensor.base;
    for (const std::int64_t stride : tensor.stride) mixed |= static_cast<std::uint64_t>(stride);
    return mixed % row.alignment != 0;
}

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

// Enough workgroups to fill every GPU many times over, in a launch that every driver takes; each goes on to
// further tiles.
inline constexpr std::int64_t kNa3dMaxGroups = std::int64_t{1} << 20;

// Fills in the launch: row_tiles, tiles, groups, pieces and lanes_log2 from the axes, batch and heads (their
// product fits 63 bits, as the output has an element for each).
constexpr void na3d_launch(const Na3dRow& row, std::int64_t batch, std::int64_t head_dim, Na3dArgs& args) {
    const Na3dAxis& last = args.axis[2];
    const std::int64_t longest = last.shorter_length + (last.longer != 0 ? 1 : 0);
    const std::int64_t class_tiles = (longest - 1) / kNa3dTileQueries + 1;
    args.row_tiles = class_tiles * last.dilation;
    args.tiles = args.row_tiles * args.axis[1].extent * args.axis[0].extent * args.heads * batch;
    const std::int64_t waves = row.threads / 32;
    const std::int64_t wanted = (args.tiles - 1) / waves + 1;
    args.groups = static_cast<std::uint32_t>(wanted < kNa3dMaxGroups ? wanted : kNa3dMaxGroups);
    args.pieces = static_cast<std::uint32_t>(head_dim / 8);
    args.lanes_log2 = 0;
    while ((1u << args.lanes_log2) < args.pieces) ++args.lanes_log2;
}

}  // namespace ckitchen

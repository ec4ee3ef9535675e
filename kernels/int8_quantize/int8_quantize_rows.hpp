// The rows of int8_quantize.inc for the host: what each one needs, accepts and launches. Pure functions of a
// problem's sizes; knows no driver and no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "int8_quantize_args.h"

namespace ckitchen {

enum class Int8QuantizeWidth : std::uint8_t { Vectors, Rotated, Pieces, Whole, Any };

// Does a lane hold its row as it lies in memory?
constexpr bool int8_quantize_holds_vectors(Int8QuantizeWidth width) {
    return width == Int8QuantizeWidth::Vectors || width == Int8QuantizeWidth::Rotated;
}

// Elements of so many bytes that a wave holds.
constexpr std::uint32_t int8_quantize_wave_elements(Int8QuantizeWidth width, std::int64_t element_size) {
    if (int8_quantize_holds_vectors(width))
        return static_cast<std::uint32_t>(kInt8QuantizeVectors * 32 * 16 / element_size);
    return width == Int8QuantizeWidth::Pieces ? 512 : 1024;
}

struct Int8QuantizeRow {
    const char* name;
    const char* kernel;         // symbol in the code object
    const char* feature;        // name from arch.json
    std::uint32_t threads;      // work-items of a workgroup, all in x
    Int8QuantizeWidth width;    // but for Any, a row is at most as wide as what a workgroup holds
    std::uint32_t local_bytes;  // static local memory
    std::uint32_t alignment;    // 1, or 16: see the list
};

inline constexpr Int8QuantizeRow kInt8QuantizeRows[] = {
#define CK_INT8_QUANTIZE_ROW(name, feature, waves, width, lds, alignment) \
    {#name, "ckitchen_int8_quantize_" #name, #feature, (waves)*32, Int8QuantizeWidth::width, lds, alignment},
#include "int8_quantize.inc"
#undef CK_INT8_QUANTIZE_ROW
};
inline constexpr std::size_t kInt8QuantizeRowCount = std::size(kInt8QuantizeRows);

// Elements of so many bytes that a workgroup holds.
constexpr std::int64_t int8_quantize_elements(const Int8QuantizeRow& row, std::int64_t element_size) {
    return std::int64_t{row.threads / 32} * int8_quantize_wave_elements(row.width, element_size);
}

// What decides whether a row takes a problem. Sizes in bytes are of x's type.
struct Int8QuantizeShape {
    std::uint64_t x = 0;  // addresses, for their alignment
    std::uint64_t q = 0;
    std::int64_t k = 0;
    std::int64_t element_size = 2;
    std::int64_t x_stride_bytes = 0;
    std::int64_t up_offset_bytes = 0;  // from "gate" to "up"; 0 without swiglu
    std::int64_t q_stride_bytes = 0;
    std::int64_t rotate_group = 0;
    bool activation = false;
};

enum class Int8QuantizeRefusal : std::uint8_t {
    None,
    Vectors,  // only whole pieces of 16, at least 256 elements, without an activation, not rotated
    Rotated,  // only whole pieces of 16, at least 256 elements, without an activation, rotated by 256 or less
    Pieces,   // only whole pieces of 16, at least 256 elements, without an activation, not rotated by 1024
    Width,    // k is larger than what a workgroup holds
    Alignment,  // rows of x, of its half "up" and of q must start at multiples of `alignment` bytes
};

struct Int8QuantizeGrid {
    std::uint32_t groups = 0;   // workgroups in x; y and z are 1
    std::uint32_t threads = 0;  // work-items of a workgroup in x; y and z are 1
    // For Int8QuantizeArgs. Vectors, Rotated, Pieces: waves that a row takes. Whole: log2 of the elements
    // that a row takes.
    std::uint32_t row_share = 0;
};

// Enough workgroups to fill every GPU several times over; each goes on to further rows.
inline constexpr std::int64_t kInt8QuantizeMaxGroups = 4096;

constexpr Int8QuantizeRefusal int8_quantize_refusal(const Int8QuantizeRow& row,
                                                    const Int8QuantizeShape& shape) {
    const bool pieces = !shape.activation && shape.k % 16 == 0 && shape.k >= 256;
    if (row.width == Int8QuantizeWidth::Vectors && !(pieces && shape.rotate_group == 0))
        return Int8QuantizeRefusal::Vectors;
    if (row.width == Int8QuantizeWidth::Rotated &&
        !(pieces && shape.rotate_group != 0 && shape.rotate_group <= 256))
        return Int8QuantizeRefusal::Rotated;
    if (row.width == Int8QuantizeWidth::Pieces && !(pieces && shape.rotate_group <= 256))
        return Int8QuantizeRefusal::Pieces;
    if (row.width != Int8QuantizeWidth::Any && shape.k > int8_quantize_elements(row, shape.element_size))
        return Int8QuantizeRefusal::Width;
    if (row.alignment > 1) {
        const std::uint64_t mixed = shape.x | shape.q | static_cast<std::uint64_t>(shape.x_stride_bytes) |
                                    static_cast<std::uint64_t>(shape.up_offset_bytes) |
                                    static_cast<std::uint64_t>(shape.q_stride_bytes);
        if (mixed % row.alignment != 0) return Int8QuantizeRefusal::Alignment;
    }
    return Int8QuantizeRefusal::None;
}

// Launch geometry of a problem that the row takes; rows is at least 1.
constexpr Int8QuantizeGrid int8_quantize_grid(const Int8QuantizeRow& row, std::int64_t rows, std::int64_t k,
                                              std::int64_t element_size) {
    std::uint32_t row_share = 4;  // a lane's piece is 16 elements of one row
    std::int64_t rows_per_group = 1;
    if (int8_quantize_holds_vectors(row.width) || row.width == Int8QuantizeWidth::Pieces) {
        const std::int64_t wave = int8_quantize_wave_elements(row.width, element_size);
        row_share = static_cast<std::uint32_t>((k + wave - 1) / wave);
        rows_per_group = row.threads / 32 / row_share;
    } else if (row.width == Int8QuantizeWidth::Whole) {
        while ((std::int64_t{1} << row_share) < k) ++row_share;
        rows_per_group = int8_quantize_elements(row, element_size) >> row_share;
    }
    const std::int64_t wanted = rows / rows_per_group + (rows % rows_per_group != 0 ? 1 : 0);
    const std::int64_t groups = wanted < kInt8QuantizeMaxGroups ? wanted : kInt8QuantizeMaxGroups;
    return {static_cast<std::uint32_t>(groups), row.threads, row_share};
}

}  // namespace ckitchen

// The rows of int8_quantize.inc for the host: what each one needs, accepts and launches. Pure functions of a
// problem's sizes; knows no driver and no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "int8_quantize_args.h"

namespace ckitchen {

enum class Int8QuantizeWidth : std::uint8_t { Whole, Any };

struct Int8QuantizeRow {
    const char* name;
    const char* kernel;         // symbol in the code object
    const char* feature;        // name from arch.json
    std::uint32_t threads;      // work-items of a workgroup, all in x
    std::uint32_t elements;     // that a workgroup holds
    Int8QuantizeWidth width;    // Whole: a row is at most `elements` wide
    std::uint32_t local_bytes;  // static local memory
    std::uint32_t alignment;    // 1, or 16: see the list
};

inline constexpr Int8QuantizeRow kInt8QuantizeRows[] = {
#define CK_INT8_QUANTIZE_ROW(name, feature, waves, width, lds, alignment) \
    {#name,        "ckitchen_int8_quantize_" #name, #feature, (waves)*32, \
     (waves)*1024, Int8QuantizeWidth::width,        lds,      alignment},
#include "int8_quantize.inc"
#undef CK_INT8_QUANTIZE_ROW
};
inline constexpr std::size_t kInt8QuantizeRowCount = std::size(kInt8QuantizeRows);

// What decides whether a row takes a problem. Sizes in bytes are of x's type.
struct Int8QuantizeShape {
    std::uint64_t x = 0;  // addresses, for their alignment
    std::uint64_t q = 0;
    std::int64_t k = 0;
    std::int64_t x_stride_bytes = 0;
    std::int64_t up_offset_bytes = 0;  // from "gate" to "up"; 0 without swiglu
    std::int64_t q_stride_bytes = 0;
};

enum class Int8QuantizeRefusal : std::uint8_t {
    None,
    Width,      // k is larger than what a workgroup holds
    Alignment,  // rows of x, of its half "up" and of q must start at multiples of `alignment` bytes
};

struct Int8QuantizeGrid {
    std::uint32_t groups = 0;      // workgroups in x; y and z are 1
    std::uint32_t threads = 0;     // work-items of a workgroup in x; y and z are 1
    std::uint32_t width_log2 = 0;  // for Int8QuantizeArgs
};

// Enough workgroups to fill every GPU several times over; each goes on to further rows.
inline constexpr std::int64_t kInt8QuantizeMaxGroups = 4096;

constexpr Int8QuantizeRefusal int8_quantize_refusal(const Int8QuantizeRow& row,
                                                    const Int8QuantizeShape& shape) {
    if (row.width == Int8QuantizeWidth::Whole && shape.k > row.elements) return Int8QuantizeRefusal::Width;
    if (row.alignment > 1) {
        const std::uint64_t mixed = shape.x | shape.q | static_cast<std::uint64_t>(shape.x_stride_bytes) |
                                    static_cast<std::uint64_t>(shape.up_offset_bytes) |
                                    static_cast<std::uint64_t>(shape.q_stride_bytes);
        if (mixed % row.alignment != 0) return Int8QuantizeRefusal::Alignment;
    }
    return Int8QuantizeRefusal::None;
}

// Launch geometry of a problem that the row takes; rows is at least 1.
constexpr Int8QuantizeGrid int8_quantize_grid(const Int8QuantizeRow& row, std::int64_t rows, std::int64_t k) {
    std::uint32_t width_log2 = 4;  // a lane's piece is 16 elements of one row
    std::int64_t rows_per_group = 1;
    if (row.width == Int8QuantizeWidth::Whole) {
        while ((std::int64_t{1} << width_log2) < k) ++width_log2;
        rows_per_group = row.elements >> width_log2;
    }
    const std::int64_t wanted = rows / rows_per_group + (rows % rows_per_group != 0 ? 1 : 0);
    const std::int64_t groups = wanted < kInt8QuantizeMaxGroups ? wanted : kInt8QuantizeMaxGroups;
    return {static_cast<std::uint32_t>(groups), row.threads, width_log2};
}

}  // namespace ckitchen

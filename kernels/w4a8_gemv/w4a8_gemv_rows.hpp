// The rows of w4a8_gemv.inc for the host: what each one needs, accepts and launches. Pure functions of a
// problem's sizes; knows no driver and no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "w4a8_gemv_args.h"

namespace ckitchen {

struct W4a8GemvRow {
    const char* name;
    const char* kernel;     // symbol in the code object
    const char* feature;    // name from arch.json
    std::uint32_t rows;     // of activations at most
    std::uint32_t columns;  // of a workgroup
    std::uint32_t threads;  // work-items of a workgroup, all in x
    std::uint32_t alignment;
};

inline constexpr W4a8GemvRow kW4a8GemvRows[] = {
#define CK_W4A8_GEMV_ROW(name, feature, rows, columns, waves, alignment) \
    {#name, "ckitchen_w4a8_gemv_" #name, #feature, rows, (columns) * (waves), (waves)*32, alignment},
#include "w4a8_gemv.inc"
#undef CK_W4A8_GEMV_ROW
};
inline constexpr std::size_t kW4a8GemvRowCount = std::size(kW4a8GemvRows);

// What decides whether a row takes a problem. m and n are at least 1.
struct W4a8GemvShape {
    std::uint64_t packed = 0;  // address, for its alignment
    std::int64_t ld_packed = 0;
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t group = 0;
    bool e4m3 = true;     // are the groups' scales?
    bool natural = true;  // the elements of C, the scales and the bias lie at multiples of their size
};

enum class W4a8GemvRefusal : std::uint8_t {
    None,
    Rows,       // more rows of activations than it takes
    Scales,     // other than e4m3
    Groups,     // groups must be whole pieces of 16 columns, and k at least one
    Alignment,  // rows of packed must start at multiples of 8
    Element,    // C, a scale or the bias lies at no multiple of its element's size
    Grid,       // more work-items than a launch takes
};

constexpr W4a8GemvRefusal w4a8_gemv_refusal(const W4a8GemvRow& row, const W4a8GemvShape& shape) {
    if (shape.m > row.rows) return W4a8GemvRefusal::Rows;
    if (!shape.e4m3) return W4a8GemvRefusal::Scales;
    if (shape.group % 16 != 0 || shape.k < 16) return W4a8GemvRefusal::Groups;
    if (row.alignment > 1) {
        const std::uint64_t mixed = shape.packed | static_cast<std::uint64_t>(shape.ld_packed);
        if (mixed * 2 % row.alignment != 0) return W4a8GemvRefusal::Alignment;
        if (!shape.natural) return W4a8GemvRefusal::Element;
    }
    if ((shape.n - 1) / row.columns >= (std::int64_t{1} << 32) / row.threads - 1)
        return W4a8GemvRefusal::Grid;
    return W4a8GemvRefusal::None;
}

// Workgroups to launch for a problem that the row takes.
constexpr std::uint32_t w4a8_gemv_workgroups(const W4a8GemvRow& row, std::int64_t n) {
    return static_cast<std::uint32_t>((n - 1) / row.columns + 1);
}

}  // namespace ckitchen

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
    const char* kernel;      // symbol in the code object
    const char* feature;     // name from arch.json
    std::uint32_t rows;      // of activations at most
    std::uint32_t columns;   // of a workgroup at a time
    std::uint32_t threads;   // work-items of a workgroup, all in x
    std::uint32_t launched;  // workgroups for each multiprocessor at most
    std::uint32_t alignment;
};

inline constexpr W4a8GemvRow kW4a8GemvRows[] = {
#define CK_W4A8_GEMV_ROW(name, feature, rows, columns, waves, resident, launched, alignment)           \
    {#name,    "ckitchen_w4a8_gemv_" #name, #feature, rows, (columns) * (waves), (waves)*32, launched, \
     alignment},
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
    return W4a8GemvRefusal::None;
}

// Workgroups to launch on a device with so many multiprocessors: they take their columns in turns of about
// equal number.
constexpr std::uint32_t w4a8_gemv_workgroups(const W4a8GemvRow& row, std::int64_t n,
                                             std::int64_t processors) {
    const std::int64_t wanted = (n - 1) / row.columns + 1;
    const std::int64_t most = (processors < 1 ? 1 : processors) * row.launched;
    const std::int64_t turns = (wanted - 1) / most + 1;
    return static_cast<std::uint32_t>((wanted - 1) / turns + 1);
}

}  // namespace ckitchen

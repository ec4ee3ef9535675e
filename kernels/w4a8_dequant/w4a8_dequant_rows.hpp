// The rows of w4a8_dequant.inc for the host: what each one needs, accepts and launches. Pure functions of a
// problem's sizes; knows no driver and no device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "../device/wave_grid.hpp"
#include "w4a8_dequant_args.h"

namespace ckitchen {

struct W4a8DequantRow {
    const char* name;
    const char* kernel;         // symbol in the code object
    const char* feature;        // name from arch.json
    std::uint32_t threads;      // work-items of a workgroup, all in x
    std::uint32_t local_bytes;  // static local memory
    std::uint32_t alignment;    // 1, or 16: see the list
};

inline constexpr W4a8DequantRow kW4a8DequantRows[] = {
#define CK_W4A8_DEQUANT_ROW(name, feature, waves, lds, alignment) \
    {#name, "ckitchen_w4a8_dequant_" #name, #feature, (waves)*32, lds, alignment},
#include "w4a8_dequant.inc"
#undef CK_W4A8_DEQUANT_ROW
};
inline constexpr std::size_t kW4a8DequantRowCount = std::size(kW4a8DequantRows);

// Is a row that wants `alignment` kept from a problem by its addresses and strides (in bytes)?
constexpr bool w4a8_dequant_misaligned(const W4a8DequantRow& row, std::uint64_t packed, std::uint64_t out,
                                       std::int64_t packed_stride_bytes, std::int64_t out_stride_bytes) {
    const std::uint64_t mixed_packed = packed | static_cast<std::uint64_t>(packed_stride_bytes);
    const std::uint64_t mixed_out = out | static_cast<std::uint64_t>(out_stride_bytes);
    return mixed_packed * 2 % row.alignment != 0 || mixed_out % row.alignment != 0;
}

// Launch geometry on a device with so many multiprocessors; rows and k are at least 1.
constexpr WaveGrid w4a8_dequant_grid(const W4a8DequantRow& row, std::int64_t rows, std::int64_t k,
                                     bool by_tables, std::int64_t processors) {
    const std::int64_t resident = (processors < 1 ? 1 : processors) * kW4a8DequantResidentGroups;
    return wave_grid(row.threads, rows, k, by_tables ? resident : kWaveMaxGroups);
}

}  // namespace ckitchen

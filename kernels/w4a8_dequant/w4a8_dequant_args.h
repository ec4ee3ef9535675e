// Arguments of every W4A8 decoding kernel, passed by value as the one explicit kernel argument. Host and
// device share this file; it holds fixed-width fields only and no padding.
#pragma once

#include "../device/w4a8_weight.h"

namespace ckitchen {

// Workgroups that share a multiprocessor: no more are launched of those that make tables first.
constexpr int kW4a8DequantResidentGroups = 3;

enum W4a8DequantType : uint32_t {
    kW4a8DequantInt8 = 0,  // the grid; otherwise an ElementType
    // The grid of e4m3 scales whose groups are whole pieces of 16, from tables that every workgroup makes
    // first.
    kW4a8DequantInt8ByTables = 16,
};

// out = the int8 grid of the codes, or its floats, un-rotated. Leading dimensions count elements, of packed
// bytes. rows and k are at least 1.
struct W4a8DequantArgs {
    uint64_t packed;      // [rows, ld_packed], two codes a byte, the even column in the low nibble
    uint64_t s_rel;       // scale_type [rows, ld_s_rel]
    uint64_t s_channel;   // float32 [rows]; not for the grid
    uint64_t correction;  // correction_type [k / group, ld_correction], or 0 for none
    uint64_t codebook;    // float32 [16], or 0 for `levels`
    uint64_t out;         // type [rows, ld_out]
    int64_t rows;
    int64_t k;
    int64_t ld_packed;
    int64_t ld_s_rel;
    int64_t ld_correction;
    int64_t ld_out;
    int64_t steps;             // from wave_grid
    uint32_t width_log2;       // from wave_grid
    uint32_t workgroups;       // from wave_grid
    uint32_t type;             // W4a8DequantType, or ElementType of out
    uint32_t scale_type;       // W4a8ScaleType
    uint32_t correction_type;  // ElementType
    uint32_t rotate_group;     // 0, or 4, 16, 64, 256, 1024
    float rotate_factor;       // 1 / sqrt(rotate_group)
    W4a8Groups groups;
    float levels[16];
};

static_assert(sizeof(W4a8DequantArgs) == 208, "the kernels read this layout");

}  // namespace ckitchen

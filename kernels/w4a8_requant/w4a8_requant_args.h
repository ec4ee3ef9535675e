// Arguments of every W4A8 quantizing kernel, passed by value as the one explicit kernel argument. Host and
// device share this file; it holds fixed-width fields only and no padding.
#pragma once

#include "../device/w4a8_weight.h"

namespace ckitchen {

// Quantizes a float weight. Leading dimensions count elements, of packed bytes. A kernel requires rows >= 1
// and the limits of its row; k = 0 is valid.
struct W4a8RequantArgs {
    uint64_t weight;      // type [rows, ldw]
    uint64_t packed;      // [rows, ld_packed], two codes a byte, the even column in the low nibble
    uint64_t s_rel;       // scale_type [rows, ld_s_rel]
    uint64_t s_channel;   // float32 [rows]
    uint64_t correction;  // type [k / group, ld_correction]; the asymmetric layout's
    uint64_t codebook;    // float32 [16], or 0 for `levels`
    uint64_t scratch;     // float32 [workgroups, scratch_floats]; of rows of any width
    uint64_t counts;      // uint64 [waves launched], the non-finite elements that each met; or 0
    uint64_t nonfinite;   // uint64 at any address, what the counts are added to; of the row that counts
    int64_t rows;
    int64_t k;
    int64_t ldw;
    int64_t ld_packed;
    int64_t ld_s_rel;
    int64_t ld_correction;
    int64_t row_groups;      // k / group
    int64_t scratch_floats;  // of a workgroup
    uint32_t type;           // ElementType of weight and correction
    uint32_t scale_type;     // W4a8ScaleType
    uint32_t layout;         // W4a8Layout
    uint32_t rotate_group;   // 0, or 4, 16, 64, 256, 1024
    float rotate_factor;     // 1 / sqrt(rotate_group)
    uint32_t stochastic;     // 0: round to nearest
    uint32_t seed;           // both halves of the seed, xor
    uint32_t row_offset;     // low half
    uint32_t row_share;      // from w4a8_requant_grid
    uint32_t workgroups;     // from w4a8_requant_grid
    uint32_t count_waves;    // number of counts; of the row that counts
    W4a8Groups groups;
    float levels[16];
};

static_assert(sizeof(W4a8RequantArgs) == 256, "the kernels read this layout");

}  // namespace ckitchen

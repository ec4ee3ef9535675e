// The int8 values of 4-bit codes under every e4m3 scale, as tables in local memory: a group's 16 values are
// 16 bytes, which a lane looks its codes up in.
#pragma once

#include "nibble_table.h"
#include "w4a8.h"

namespace ckitchen {

constexpr int kE4m3Scales = 256;
constexpr int kGridTableBytes = kE4m3Scales * 16;

// The 16 bytes of the scale with this code.
CK_DEVICE Uint32x4 grid_table_bytes(uint64_t codebook, const float (&levels)[kW4a8Levels], uint32_t code) {
    const float scale = e4m3_to_float(code);
    Uint32x4 bytes = {0, 0, 0, 0};
    CK_UNROLL
    for (uint32_t index = 0; index < kW4a8Levels; ++index) {
        const float level =
            codebook != 0
                ? __builtin_bit_cast(float,
                                     reinterpret_cast<GlobalPointer<const UnalignedUint32>>(codebook)[index])
                : levels[index];
        const uint32_t value = __builtin_bit_cast(uint32_t, grid_value_in_low_bits(level, scale)) & 255;
        bytes[index / 4] |= value << index % 4 * 8;
    }
    return bytes;
}

// All work-items of the workgroup, `threads`, take part.
CK_DEVICE void make_grid_tables(uint64_t codebook, const float (&levels)[kW4a8Levels], uint32_t threads,
                                LocalPointer<uint8_t> local) {
    CK_NO_UNROLL
    for (uint32_t code = workitem_id(); code < kE4m3Scales; code += threads)
        store_local_16_bytes(local + code * 16, grid_table_bytes(codebook, levels, code));
    local_barrier();
}

// The table of a scale.
CK_DEVICE NibbleTable grid_table(LocalPointer<const uint8_t> local, uint32_t scale) {
    return {load_local_16_bytes(local + scale * 16)};
}

}  // namespace ckitchen

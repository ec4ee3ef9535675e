// Copies rows at any address to rows at multiples of 16 bytes.
#pragma once

#include "../device/memory.h"
#include "int8_gemm_align_args.h"

namespace ckitchen {

template <int kWaves>
struct Int8GemmAlign {
    static constexpr uint32_t kPieceBytes = 16;
    static constexpr uint32_t kWaveBytes = kWaveSize * kPieceBytes;
    static constexpr int kTogether = 4;  // pieces of a lane whose loads are under way at once

    static CK_DEVICE void run(const Int8GemmAlignArgs& args) {
        const bool second = workgroup_id() >= args.first_groups;
        const Int8GemmAlignMatrix first_matrix = args.matrix[0];
        const Int8GemmAlignMatrix second_matrix = args.matrix[1];
        const Int8GemmAlignMatrix matrix = second ? second_matrix : first_matrix;
        const uint32_t group = workgroup_id() - (second ? args.first_groups : 0);
        const uint32_t groups = second ? args.groups - args.first_groups : args.first_groups;
        // From one row to the next, and pieces may be read with their neighbours, inside of the matrix.
        const int64_t bytes = (matrix.rows - 1) * matrix.ld_source + args.columns;
        CK_NO_UNROLL
        for (int64_t row = static_cast<int64_t>(group) * kWaves + wave_id(); row < matrix.rows;
             row += static_cast<int64_t>(groups) * kWaves) {
            const GlobalPointer<const uint8_t> source =
                global_pointer<const uint8_t>(matrix.source + row * matrix.ld_source);
            const uint64_t target = matrix.target + row * args.ld_target;
            const int64_t from = row * matrix.ld_source;
            CK_NO_UNROLL
            for (uint32_t column = lane_id() * kPieceBytes; column < args.columns;
                 column += kTogether * kWaveBytes) {
                Uint32x4 piece[kTogether];
                CK_UNROLL
                for (int index = 0; index < kTogether; ++index) {
                    const uint32_t place = column + index * kWaveBytes;
                    if (place >= args.columns) continue;
                    const int64_t at = from + place;
                    piece[index] = at >= 4 && at + kPieceBytes + 4 <= bytes
                                       ? load_16_bytes<LoadPlace::Inside>(source + place)
                                       : load_16_bytes_of_row(source, place, args.columns);
                }
                CK_UNROLL
                for (int index = 0; index < kTogether; ++index) {
                    const uint32_t place = column + index * kWaveBytes;
                    if (place < args.columns) *global_pointer<Uint32x4>(target + place) = piece[index];
                }
            }
        }
    }
};

}  // namespace ckitchen

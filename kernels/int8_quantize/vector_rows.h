// Row quantization of rows that lanes hold as they lie in memory: vectors of 16 bytes, neighbouring lanes
// with neighbouring vectors. All of a row is asked for at once and nothing is converted before its largest
// magnitude is known, so that a few waves draw all of the memory's bandwidth. For rows that are neither
// rotated nor activated.
#pragma once

#include "quantize_rows.h"

namespace ckitchen {

// The largest magnitude among the elements of vectors, in the format's own bits: those of magnitudes are in
// the order of the numbers.
template <typename Format>
struct VectorMagnitude;

template <>
struct VectorMagnitude<Float32Format> {
    uint32_t largest = 0;

    CK_DEVICE void add(uint32_t word) { largest = larger(largest, word & 0x7fffffffu); }
    CK_DEVICE void add_finite(uint32_t word) {
        largest = larger(largest, finite_magnitude(__builtin_bit_cast(float, word)));
    }
    CK_DEVICE uint32_t bits() const { return largest; }
};

template <typename Format>
struct VectorMagnitude {
    static constexpr uint32_t kMagnitudes = 0x7fff7fffu;
    Uint16x2 largest = {0, 0};

    CK_DEVICE void add(uint32_t word) {
        largest = __builtin_elementwise_max(largest, __builtin_bit_cast(Uint16x2, word & kMagnitudes));
    }
    CK_DEVICE void add_finite(uint32_t word) {
        const auto finite = [](uint32_t half) CK_INLINE_LAMBDA {
            return finite_magnitude(Format::to_float(half)) == 0 ? 0 : half & 0x7fffu;
        };
        add(finite(word & 0xffffu) | finite(word >> 16) << 16);
    }
    CK_DEVICE uint32_t bits() const { return magnitude(Format::to_float(larger(largest.x, largest.y))); }
};

// A row takes `row_share` waves of its workgroup, which may hold several rows. Where it is rotated, a lane's
// neighbouring vectors are a piece, which becomes vectors again.
template <int kWaves, int kAlignment, bool kRotated>
struct Int8QuantizeHeld {
    static constexpr int kVectors = kInt8QuantizeVectors;
    static constexpr int kResidentGroups = (kRotated ? 16 : 24) / kWaves;
    static constexpr int kSlotsAt = kRotated ? kWaves * kRotationLocalBytes : 0;
    static constexpr int kLocalBytes = kSlotsAt + (RowWaves<kWaves>::kSlotBytes + 15) / 16 * 16;
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;

    static CK_DEVICE void run(const Int8QuantizeArgs& args, LocalPointer<uint8_t> local) {
        if (args.type == kElementFloat32) {
            run_format<Float32Format>(args, local);
        } else if (args.type == kElementFloat16) {
            run_format<Float16Format>(args, local);
        } else {
            run_format<Bfloat16Format>(args, local);
        }
    }

    template <typename Format>
    static CK_DEVICE void run_format(const Int8QuantizeArgs& args, LocalPointer<uint8_t> local) {
        const RowWaves<kWaves> waves(args.row_share);
        uint32_t turn = 0;
        CK_NO_UNROLL
        for (int64_t first = static_cast<int64_t>(workgroup_id()) * waves.held; first < args.rows;
             first += static_cast<int64_t>(args.groups) * waves.held) {
            Row<Format>::run(args, first + waves.row, waves, turn, local);
            turn ^= 1;
        }
    }

    template <typename Format>
    struct Row {
        static constexpr uint32_t kElements = 16 / Format::kSize;              // of a vector
        static constexpr uint32_t kNeighbours = kRotated ? Format::kSize : 1;  // vectors of a lane
        static constexpr uint32_t kParts = kVectors / kNeighbours;
        static constexpr uint32_t kPartElements = kNeighbours * kElements;
        static constexpr uint32_t kPartStride = kWaveSize * kNeighbours;  // vectors from part to part

        static CK_DEVICE void run(const Int8QuantizeArgs& args, int64_t row, const RowWaves<kWaves>& waves,
                                  uint32_t turn, LocalPointer<uint8_t> local) {
            const bool takes_part = waves.row < waves.held && row < args.rows;
            // The lane's first vector, and how many its row has from there on.
            const uint32_t wave_first = (wave_id() - waves.first) * (kVectors * kWaveSize);
            const uint32_t first = value_again(wave_first + lane_id() * kNeighbours);
            const uint32_t in_row = takes_part ? static_cast<uint32_t>(args.k) / kElements : 0;
            const uint32_t count = first < in_row ? in_row - first : 0;
            const uint64_t source = lane_address(args.x + row * args.ldx * Format::kSize, first * 16);
            Uint32x4 vector[kVectors];
            CK_UNROLL
            for (uint32_t index = 0; index < kVectors; ++index) {
                const uint32_t place = index / kNeighbours * kPartStride + index % kNeighbours;
                vector[index] = Uint32x4{0, 0, 0, 0};
                if (place < count)
                    vector[index] = load_16_bytes<kPlace>(global_pointer<const uint8_t>(source) + place * 16);
            }
            if constexpr (kRotated) {
                CK_UNROLL
                for (uint32_t part = 0; part < kParts; ++part) {
                    if (wave_first + part * kPartStride < in_row)
                        rotate(args, vector, part, local + wave_id() * kRotationLocalBytes);
                }
            }
            VectorMagnitude<Format> largest;
            CK_UNROLL
            for (int index = 0; index < kVectors; ++index) {
                CK_UNROLL
                for (int word = 0; word < 4; ++word) largest.add(vector[index][word]);
            }
            const bool finite = largest.bits() < kInfinity;
            if (!finite) {
                largest = {};
                CK_UNROLL
                for (int index = 0; index < kVectors; ++index) {
                    CK_UNROLL
                    for (int word = 0; word < 4; ++word) largest.add_finite(value_again(vector[index][word]));
                }
            }
            const uint32_t amax = waves.share == 1
                                      ? larger_of_wave(largest.bits())
                                      : waves.larger_of_row(largest.bits(), turn, local + kSlotsAt);
            if (!takes_part) return;
            const float scale = int8_row_scale(amax);
            if (first == 0) int8_store_scale(args, row, scale);
            const Int8Divisor divisor(scale);
            const bool all_finite = !any_lane(!finite);
            CK_UNROLL
            for (uint32_t part = 0; part < kParts; ++part) {
                float value[kPartElements];
                convert(vector, part, value);
                uint32_t packed[kPartElements / 4];
                int8_quantized(value, divisor, all_finite, packed);
                if (part * kPartStride < value_again(count))
                    store(args, row, (first + part * kPartStride) * kElements, packed);
            }
        }

        // Nothing of the conversion happens earlier: its results would not fit.
        static CK_DEVICE void convert(const Uint32x4 (&vector)[kVectors], uint32_t part,
                                      float (&value)[kPartElements]) {
            CK_UNROLL
            for (uint32_t index = 0; index < 4 * kNeighbours; ++index) {
                const uint32_t word = value_again(vector[part * kNeighbours + index / 4][index % 4]);
                if constexpr (Format::kSize == 4) {
                    value[index] = Format::to_float(word);
                } else {
                    value[2 * index] = Format::to_float(word & 0xffffu);
                    value[2 * index + 1] = Format::to_float(word >> 16);
                }
            }
        }

        static CK_DEVICE void rotate(const Int8QuantizeArgs& args, Uint32x4 (&vector)[kVectors],
                                     uint32_t part, LocalPointer<uint8_t> wave_local) {
            float value[kPartElements];
            convert(vector, part, value);
            rotate_piece(value, args.rotate_group, wave_local, lane_id_again());
            CK_UNROLL
            for (uint32_t index = 0; index < 4 * kNeighbours; ++index) {
                uint32_t word;
                if constexpr (Format::kSize == 4) {
                    word = Format::from_float(value[index] * args.rotate_factor);
                } else {
                    word = Format::from_floats(value[2 * index] * args.rotate_factor,
                                               value[2 * index + 1] * args.rotate_factor);
                }
                vector[part * kNeighbours + index / 4][index % 4] = word;
            }
        }
    };

    template <int kWords>
    static CK_DEVICE void store(const Int8QuantizeArgs& args, int64_t row, uint32_t column,
                                const uint32_t (&packed)[kWords]) {
        static_assert(kUnalignedAccess || kAlignment == 16, "one access");
        uint64_t address;
        if (args.q_block == 0) {
            address = lane_address(args.q + row * args.ldq, column);
        } else {
            const uint64_t block = args.q + (row >> 4) * args.q_block + (row & 15) * 16;
            address = lane_address(block, (column & ~15u) * 16 + (column & 15));
        }
        typedef uint32_t Word __attribute__((aligned(kUnalignedAccess ? 1 : 4)));
        typedef Uint32x2 Words __attribute__((aligned(kUnalignedAccess ? 1 : 8)));
        if constexpr (kWords == 1) {
            *reinterpret_cast<GlobalPointer<Word>>(address) = packed[0];
        } else if constexpr (kWords == 2) {
            *reinterpret_cast<GlobalPointer<Words>>(address) = Uint32x2{packed[0], packed[1]};
        } else {
            store_16_bytes<kPlace>(address, Uint32x4{packed[0], packed[1], packed[2], packed[3]});
        }
    }
};

template <int kWaves, int kAlignment>
using Int8QuantizeVectors = Int8QuantizeHeld<kWaves, kAlignment, false>;
template <int kWaves, int kAlignment>
using Int8QuantizeRotated = Int8QuantizeHeld<kWaves, kAlignment, true>;

}  // namespace ckitchen

// The way of a tile that lies inside C, on amdgcn: straight from the registers, without tests, scales and
// bias loaded once. A lane holds blocks of consecutive columns of one row.
#pragma once

#include "tile.h"

namespace ckitchen {

#if defined(__AMDGCN__)

typedef Uint32x2 UnalignedUint32x2 __attribute__((aligned(1)));

// Stores or loads 32-bit words of any address in accesses of 16 or 8 bytes.
template <int kWords>
CK_DEVICE void store_words(uint64_t address, const uint32_t (&word)[kWords]) {
    static_assert(kWords % 4 == 0 || kWords == 2, "whole vectors");
    if constexpr (kWords == 2) {
        *global_pointer<UnalignedUint32x2>(address) = Uint32x2{word[0], word[1]};
    } else {
        CK_UNROLL
        for (int first = 0; first < kWords; first += 4)
            *global_pointer<UnalignedUint32x4>(address + first * 4) =
                Uint32x4{word[first], word[first + 1], word[first + 2], word[first + 3]};
    }
}

template <int kWords>
CK_DEVICE void load_words(uint64_t address, uint32_t (&word)[kWords]) {
    static_assert(kWords % 4 == 0 || kWords == 2, "whole vectors");
    if constexpr (kWords == 2) {
        const Uint32x2 pair = *global_pointer<const UnalignedUint32x2>(address);
        word[0] = pair.x;
        word[1] = pair.y;
    } else {
        CK_UNROLL
        for (int first = 0; first < kWords; first += 4) {
            const Uint32x4 quad = *global_pointer<const UnalignedUint32x4>(address + first * 4);
            word[first] = quad.x;
            word[first + 1] = quad.y;
            word[first + 2] = quad.z;
            word[first + 3] = quad.w;
        }
    }
}

// Scale and bias of kCount consecutive columns that exist.
template <int kCount>
struct Int8GemmWholeColumns {
    float scale[kCount];
    float bias[kCount];

    CK_DEVICE void load(const Int8GemmOutput<ElementPlace::Anywhere>& output, uint32_t first) {
        if (output.column_scale_mask != 0) {
            load_floats(reinterpret_cast<uint64_t>(output.column_scale + first), scale);
        } else {
            const float one = output.column_scale[0];
            CK_UNROLL
            for (int index = 0; index < kCount; ++index) scale[index] = one;
        }
        if (output.bias_type == kInt8GemmFloat32) {
            load_floats(output.bias + static_cast<uint64_t>(first) * 4, bias);
        } else if (output.bias_type != kInt8GemmNone) {
            uint32_t pair[kCount / 2];
            load_words(output.bias + static_cast<uint64_t>(first) * 2, pair);
            CK_UNROLL
            for (int index = 0; index < kCount; ++index) {
                const uint32_t both = pair[index / 2];
                const uint16_t bits = static_cast<uint16_t>(index % 2 == 0 ? both : both >> 16);
                bias[index] =
                    output.bias_type == kInt8GemmFloat16 ? float16_to_float(bits) : bfloat16_to_float(bits);
            }
        } else {
            // Adding -0 changes no number, where adding +0 would turn -0 into +0.
            CK_UNROLL
            for (int index = 0; index < kCount; ++index) bias[index] = -0.0f;
        }
    }

    static CK_DEVICE void load_floats(uint64_t address, float (&value)[kCount]) {
        uint32_t bits[kCount];
        load_words(address, bits);
        CK_UNROLL
        for (int index = 0; index < kCount; ++index) value[index] = __builtin_bit_cast(float, bits[index]);
    }
};

// Block (m, n) of a lane is kCount columns from first_column + n * kColumnStep on, of row first_row + m *
// kRowStep of the tile.
template <int kBlocksM, int kRowStep, int kBlocksN, int kColumnStep, int kCount>
struct Int8GemmWholeTile {
    uint32_t first_row;
    uint32_t first_column;

    // sum(m, n, index) is the accumulator of one result.
    template <typename Sum>
    CK_DEVICE void write(const Int8GemmOutput<ElementPlace::Anywhere>& output, Sum sum) const {
        if (output.type == kInt8GemmInt32) {
            write_sums(output, sum);
        } else if (output.type == kInt8GemmFloat32) {
            write_scaled<4>(output, sum, [](uint64_t target, const float(&value)[kCount]) {
                uint32_t word[kCount];
                CK_UNROLL
                for (int index = 0; index < kCount; ++index)
                    word[index] = __builtin_bit_cast(uint32_t, value[index]);
                store_words(target, word);
            });
        } else if (output.type == kInt8GemmFloat16) {
            write_scaled<2>(output, sum, [](uint64_t target, const float(&value)[kCount]) {
                store_pairs(target, value, [](float one) { return float_to_float16(one); });
            });
        } else {
            write_scaled<2>(output, sum, [](uint64_t target, const float(&value)[kCount]) {
                store_pairs(target, value, [](float one) { return float_to_bfloat16(one); });
            });
        }
    }

  private:
    template <typename Sum>
    CK_DEVICE void write_sums(const Int8GemmOutput<ElementPlace::Anywhere>& output, Sum sum) const {
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m) {
            const uint64_t target = output.c + ((first_row + m * kRowStep) * output.ldc + first_column) * 4;
            CK_UNROLL
            for (int n = 0; n < kBlocksN; ++n) {
                uint32_t word[kCount];
                CK_UNROLL
                for (int index = 0; index < kCount; ++index)
                    word[index] = static_cast<uint32_t>(sum(m, n, index));
                store_words(target + n * kColumnStep * 4, word);
            }
        }
    }

    // Calls store(address, values) for the results of each block.
    template <int kElementBytes, typename Sum, typename Store>
    CK_DEVICE void write_scaled(const Int8GemmOutput<ElementPlace::Anywhere>& output, Sum sum,
                                Store store) const {
        float row_scale[kBlocksM];
        uint64_t target[kBlocksM];
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m) {
            const uint32_t row = first_row + m * kRowStep;
            row_scale[m] = output.row_scale[row & output.row_scale_mask];
            target[m] = output.c + (row * output.ldc + first_column) * kElementBytes;
        }
        Int8GemmWholeColumns<kCount> columns[2];
        columns[0].load(output, first_column);
        CK_UNROLL
        for (int n = 0; n < kBlocksN; ++n) {
            if (n + 1 < kBlocksN) columns[(n + 1) % 2].load(output, first_column + (n + 1) * kColumnStep);
            CK_UNROLL
            for (int m = 0; m < kBlocksM; ++m) {
                float value[kCount];
                CK_UNROLL
                for (int index = 0; index < kCount; ++index)
                    value[index] = __builtin_bit_cast(float, sum(m, n, index));
                in_order(value);
                CK_UNROLL
                for (int index = 0; index < kCount; ++index) {
                    const int32_t exact = __builtin_bit_cast(int32_t, value[index]);
                    value[index] = static_cast<float>(exact) * row_scale[m];
                    value[index] = value[index] * columns[n % 2].scale[index];
                    value[index] = value[index] + columns[n % 2].bias[index];
                }
                in_order(value);
                store(target[m] + n * kColumnStep * kElementBytes, value);
            }
        }
    }

    template <typename Convert>
    static CK_DEVICE void store_pairs(uint64_t target, const float (&value)[kCount], Convert convert) {
        uint32_t pair[kCount / 2];
        CK_UNROLL
        for (int index = 0; index < kCount / 2; ++index)
            pair[index] = convert(value[2 * index]) | static_cast<uint32_t>(convert(value[2 * index + 1]))
                                                          << 16;
        store_words(target, pair);
    }
};

#endif

}  // namespace ckitchen

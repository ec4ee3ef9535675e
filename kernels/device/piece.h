// Pieces of a row: 16 consecutive elements of any floating-point type, held by one lane as float32.
#pragma once

#include "convert.h"
#include "element_type.h"

namespace ckitchen {

constexpr int kPieceElements = 16;

// A place of 16 bytes for elements: those of aligned pieces are aligned too.
template <LoadPlace kPlace>
constexpr ElementPlace kElementPlace =
    kPlace == LoadPlace::Aligned ? ElementPlace::Natural : ElementPlace::Anywhere;

// A format is how elements lie in memory.
struct Float32Format {
    static constexpr int kSize = 4;
    typedef uint32_t Bits;
    static CK_DEVICE float to_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
    static CK_DEVICE uint32_t from_float(float value) { return __builtin_bit_cast(uint32_t, value); }
};

struct Float16Format {
    static constexpr int kSize = 2;
    typedef uint16_t Bits;
    static CK_DEVICE float to_float(uint32_t bits) { return float16_to_float(static_cast<uint16_t>(bits)); }
    static CK_DEVICE uint32_t from_float(float value) { return float_to_float16(value); }
    static CK_DEVICE uint32_t from_floats(float first, float second) {
        return from_float(first) | from_float(second) << 16;
    }
};

struct Bfloat16Format {
    static constexpr int kSize = 2;
    typedef uint16_t Bits;
    static CK_DEVICE float to_float(uint32_t bits) { return __builtin_bit_cast(float, bits << 16); }
    static CK_DEVICE uint32_t from_float(float value) { return float_to_bfloat16(value); }
    static CK_DEVICE uint32_t from_floats(float first, float second) {
        return floats_to_bfloat16(first, second);
    }
};

CK_DEVICE uint32_t element_size(uint32_t type) {
    return type == kElementFloat32 ? 4 : 2;
}

// A whole piece. Its 16-byte parts are loaded before the first one is converted.
template <typename Format, LoadPlace kPlace>
CK_DEVICE void load_whole_piece(uint64_t address, float (&value)[kPieceElements]) {
    constexpr int kParts = Format::kSize;
    constexpr int kPartElements = 16 / Format::kSize;
    Uint32x4 part[kParts];
    CK_UNROLL
    for (int index = 0; index < kParts; ++index)
        part[index] = load_16_bytes<kPlace>(global_pointer<const uint8_t>(address) + 16 * index);
    CK_UNROLL
    for (int index = 0; index < kPieceElements; ++index) {
        const int within = index % kPartElements;
        if constexpr (Format::kSize == 4) {
            value[index] = Format::to_float(part[index / kPartElements][within]);
        } else {
            const uint32_t word = part[index / kPartElements][within / 2];
            value[index] = Format::to_float(within % 2 == 0 ? word & 0xffffu : word >> 16);
        }
    }
}

// The first `count` (0..16) elements of a piece, zeros behind them; nothing else is read.
template <typename Format, LoadPlace kPlace>
CK_DEVICE void load_piece(uint64_t address, uint32_t count, float (&value)[kPieceElements]) {
    if (count == kPieceElements) {
        load_whole_piece<Format, kPlace>(address, value);
        return;
    }
    const auto source = global_pointer<const typename Format::Bits>(address);
    CK_UNROLL
    for (uint32_t index = 0; index < kPieceElements; ++index) {
        value[index] = 0.0f;
        if (index < count)
            value[index] = Format::to_float(load_element<kElementPlace<kPlace>>(source + index));
    }
}

template <LoadPlace kPlace>
CK_DEVICE void load_piece_of(uint32_t type, uint64_t address, uint32_t count,
                             float (&value)[kPieceElements]) {
    if (type == kElementFloat32) {
        load_piece<Float32Format, kPlace>(address, count, value);
    } else if (type == kElementFloat16) {
        load_piece<Float16Format, kPlace>(address, count, value);
    } else {
        load_piece<Bfloat16Format, kPlace>(address, count, value);
    }
}

template <LoadPlace kPlace>
CK_DEVICE void store_16_bytes(uint64_t address, Uint32x4 value) {
    if constexpr (kUnalignedAccess) {
        *reinterpret_cast<GlobalPointer<UnalignedUint32x4>>(address) = value;
    } else if constexpr (kPlace == LoadPlace::Aligned) {
        *reinterpret_cast<GlobalPointer<Uint32x4>>(address) = value;
    } else {
        CK_UNROLL
        for (int index = 0; index < 4; ++index)
            store_element<ElementPlace::Anywhere>(global_pointer<uint32_t>(address) + index,
                                                  static_cast<uint32_t>(value[index]));
    }
}

// Stores the first `count` (0..16) elements of a piece, each rounded once to its type.
template <typename Format, LoadPlace kPlace>
CK_DEVICE void store_piece(uint64_t address, uint32_t count, const float (&value)[kPieceElements]) {
    if (count == kPieceElements) {
        constexpr int kPartElements = 16 / Format::kSize;
        CK_UNROLL
        for (int index = 0; index < Format::kSize; ++index) {
            Uint32x4 part;
            CK_UNROLL
            for (int word = 0; word < 4; ++word) {
                const int first = index * kPartElements + word * (4 / Format::kSize);
                if constexpr (Format::kSize == 4) {
                    part[word] = Format::from_float(value[first]);
                } else {
                    part[word] = Format::from_float(value[first]) | Format::from_float(value[first + 1])
                                                                        << 16;
                }
            }
            store_16_bytes<kPlace>(address + 16 * index, part);
        }
        return;
    }
    const auto target = global_pointer<typename Format::Bits>(address);
    CK_UNROLL
    for (uint32_t index = 0; index < kPieceElements; ++index) {
        if (index < count) {
            store_element<kElementPlace<kPlace>>(
                target + index, static_cast<typename Format::Bits>(Format::from_float(value[index])));
        }
    }
}

// The lowest bytes of four words.
CK_DEVICE uint32_t pack_low_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
#if defined(__NVPTX__)
    const auto permute = [](uint32_t low, uint32_t high, uint32_t selector) CK_INLINE_LAMBDA {
        return static_cast<uint32_t>(__nvvm_prmt(low, high, selector));
    };
    return permute(permute(a, b, 0x0040u), permute(c, d, 0x0040u), 0x5410u);
#else
    return __builtin_amdgcn_perm(b, a, 0x0c0c0400u) | __builtin_amdgcn_perm(d, c, 0x04000c0cu);
#endif
}

// Stores the first `count` (0..16) of 16 bytes, each the only one that is not 0 in its word.
template <LoadPlace kPlace>
CK_DEVICE void store_byte_piece(uint64_t address, uint32_t count, const uint32_t (&byte)[kPieceElements]) {
    if (count == kPieceElements) {
        Uint32x4 packed;
        CK_UNROLL
        for (int word = 0; word < 4; ++word) {
            packed[word] = byte[4 * word] | byte[4 * word + 1] << 8 | byte[4 * word + 2] << 16 |
                           byte[4 * word + 3] << 24;
        }
        store_16_bytes<kPlace>(address, packed);
        return;
    }
    CK_UNROLL
    for (uint32_t index = 0; index < kPieceElements; ++index) {
        if (index < count) global_pointer<uint8_t>(address)[index] = static_cast<uint8_t>(byte[index]);
    }
}

template <LoadPlace kPlace>
CK_DEVICE void load_whole_piece_of(uint32_t type, uint64_t address, float (&value)[kPieceElements]) {
    if (type == kElementFloat32) {
        load_whole_piece<Float32Format, kPlace>(address, value);
    } else if (type == kElementFloat16) {
        load_whole_piece<Float16Format, kPlace>(address, value);
    } else {
        load_whole_piece<Bfloat16Format, kPlace>(address, value);
    }
}

CK_DEVICE void clear_piece(float (&value)[kPieceElements]) {
    CK_UNROLL
    for (int index = 0; index < kPieceElements; ++index) value[index] = 0.0f;
}

// The values after one rounding to a type; what is a NaN may become 0.
CK_DEVICE void round_piece(uint32_t type, float (&value)[kPieceElements]) {
    if (type == kElementBfloat16) {
        CK_UNROLL
        for (int index = 0; index < kPieceElements; index += 2)
            round_to_bfloat16(value[index], value[index + 1]);
    } else if (type == kElementFloat16) {
        CK_UNROLL
        for (int index = 0; index < kPieceElements; ++index)
            value[index] = Float16Format::to_float(Float16Format::from_float(value[index]));
    }
}

// A wave works on 1024 elements, two pieces a lane: piece 0 of all lanes is the first half, in the order of
// the lanes, and piece 1 the second. It is the largest rotation group, so that no group leaves its wave.
constexpr int kWavePieces = 2;
constexpr int kWaveElements = kWavePieces * kWaveSize * kPieceElements;

// Index of the calling lane's piece among the wave's elements.
CK_DEVICE uint32_t piece_index(uint32_t piece) {
    return piece * (kWaveSize * kPieceElements) + lane_id() * kPieceElements;
}

// Number of elements of a piece that starts at column `column` of a row of `width`.
template <typename Column>
CK_DEVICE uint32_t piece_count(Column column, Column width) {
    if (column >= width) return 0;
    const Column left = width - column;
    return left < kPieceElements ? static_cast<uint32_t>(left) : kPieceElements;
}

struct WavePieces {
    float value[kWavePieces][kPieceElements];

    template <typename Format, LoadPlace kPlace>
    CK_DEVICE void load_as(const uint64_t (&address)[kWavePieces], const uint32_t (&count)[kWavePieces]) {
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece)
            load_piece<Format, kPlace>(address[piece], count[piece], value[piece]);
    }

    template <LoadPlace kPlace>
    CK_DEVICE void load(uint32_t type, const uint64_t (&address)[kWavePieces],
                        const uint32_t (&count)[kWavePieces]) {
        if (type == kElementFloat32) {
            load_as<Float32Format, kPlace>(address, count);
        } else if (type == kElementFloat16) {
            load_as<Float16Format, kPlace>(address, count);
        } else {
            load_as<Bfloat16Format, kPlace>(address, count);
        }
    }

    template <typename Format, LoadPlace kPlace>
    CK_DEVICE void store_as(const uint64_t (&address)[kWavePieces],
                            const uint32_t (&count)[kWavePieces]) const {
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece)
            store_piece<Format, kPlace>(address[piece], count[piece], value[piece]);
    }

    template <LoadPlace kPlace>
    CK_DEVICE void store(uint32_t type, const uint64_t (&address)[kWavePieces],
                         const uint32_t (&count)[kWavePieces]) const {
        if (type == kElementFloat32) {
            store_as<Float32Format, kPlace>(address, count);
        } else if (type == kElementFloat16) {
            store_as<Float16Format, kPlace>(address, count);
        } else {
            store_as<Bfloat16Format, kPlace>(address, count);
        }
    }

    // The values after one rounding to a type; what is a NaN may become 0.
    CK_DEVICE void round(uint32_t type) {
        CK_UNROLL
        for (int piece = 0; piece < kWavePieces; ++piece) round_piece(type, value[piece]);
    }
};

}  // namespace ckitchen

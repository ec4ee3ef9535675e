// What the kernels on 4-bit weights share: the levels of the codes, the scales of the groups, the int8 grid.
#pragma once

#include "piece.h"
#include "w4a8_weight.h"

namespace ckitchen {

constexpr int kW4a8Levels = 16;

// Groups that a piece of 16 columns is cut into: four of 4, two of 8, or one, larger groups having whole
// pieces. Values that belong to groups are kept for each quarter of a piece.
constexpr int kQuarters = 4;
constexpr int kQuarterElements = kPieceElements / kQuarters;

// Calls value_of(quarter) for the first quarter of every group in a piece; the group's other quarters get the
// same result.
template <typename ValueOf>
CK_DEVICE void for_groups_of_piece(uint32_t group, float (&value)[kQuarters], ValueOf value_of) {
    value[0] = value_of(0);
    value[1] = value[0];
    value[2] = value[0];
    value[3] = value[0];
    if (group <= 8) {
        value[2] = value_of(2);
        value[3] = value[2];
        if (group == 4) {
            value[1] = value_of(1);
            value[3] = value_of(3);
        }
    }
}

// a / b of numbers that are not negative, by the short division where it does.
CK_DEVICE int64_t quotient(int64_t a, int64_t b) {
    const uint64_t dividend = static_cast<uint64_t>(a);
    const uint64_t divisor = static_cast<uint64_t>(b);
    if ((dividend | divisor) >> 32 == 0)
        return static_cast<uint32_t>(dividend) / static_cast<uint32_t>(divisor);
    return static_cast<int64_t>(dividend / divisor);
}

// Group of the columns from `column` (a multiple of 16) on.
CK_DEVICE int64_t first_group_of_piece(const W4a8Groups& groups, int64_t column) {
    if (groups.pieces == 1) return column >> groups.shift;
    return quotient(column >> 4, groups.pieces);
}

CK_DEVICE int64_t group_of_quarter(const W4a8Groups& groups, int64_t first, uint32_t quarter) {
    return first + (quarter >> (groups.shift - 2));
}

// Level of a code before scaling. `given` is the address of 16 floats, or 0 for `levels`.
CK_DEVICE float level_of_code(uint64_t given, const float (&levels)[kW4a8Levels], uint32_t code) {
    if (given != 0)
        return __builtin_bit_cast(float, reinterpret_cast<GlobalPointer<const UnalignedUint32>>(given)[code]);
    float level = levels[0];
    CK_UNROLL
    for (uint32_t index = 1; index < kW4a8Levels; ++index) {
        const float other = levels[index];
        level = code == index ? other : level;
    }
    return level;
}

// Level lane % 16.
CK_DEVICE float lane_level(uint64_t given, const float (&levels)[kW4a8Levels]) {
    return level_of_code(given, levels, lane_id() % kW4a8Levels);
}

CK_DEVICE float load_group_scale(uint64_t address, uint32_t type, int64_t index) {
    if (type == kW4a8ScaleE4m3) return e4m3_to_float(global_pointer<const uint8_t>(address)[index]);
    return __builtin_bit_cast(float, reinterpret_cast<GlobalPointer<const UnalignedUint32>>(address)[index]);
}

CK_DEVICE float load_float(uint64_t address, uint32_t type, int64_t index) {
    if (type == kElementFloat32)
        return Float32Format::to_float(
            reinterpret_cast<GlobalPointer<const UnalignedUint32>>(address)[index]);
    const uint32_t bits = reinterpret_cast<GlobalPointer<const UnalignedUint16>>(address)[index];
    return type == kElementFloat16 ? Float16Format::to_float(bits) : Bfloat16Format::to_float(bits);
}

CK_DEVICE void store_float(uint64_t address, uint32_t type, int64_t index, float value) {
    if (type == kElementFloat32) {
        reinterpret_cast<GlobalPointer<UnalignedUint32>>(address)[index] = Float32Format::from_float(value);
        return;
    }
    const uint32_t bits =
        type == kElementFloat16 ? Float16Format::from_float(value) : Bfloat16Format::from_float(value);
    reinterpret_cast<GlobalPointer<UnalignedUint16>>(address)[index] = static_cast<uint16_t>(bits);
}

typedef Uint32x2 UnalignedUint32x2 __attribute__((aligned(1)));

// The codes of the first `count` columns of a piece, four bits each, zeros behind them.
template <LoadPlace kPlace>
CK_DEVICE Uint32x2 load_codes(uint64_t address, uint32_t count) {
    if (count == kPieceElements) {
        if constexpr (kUnalignedAccess) {
            return *reinterpret_cast<GlobalPointer<const UnalignedUint32x2>>(address);
        } else if constexpr (kPlace == LoadPlace::Aligned) {
            return *reinterpret_cast<GlobalPointer<const Uint32x2>>(address);
        }
    }
    Uint32x2 codes = {0, 0};
    CK_UNROLL
    for (uint32_t index = 0; index < kPieceElements / 2; ++index) {
        if (2 * index < count) {
            const uint32_t byte = global_pointer<const uint8_t>(address)[index];
            codes[index / 4] |= byte << index % 4 * 8;
        }
    }
    return codes;
}

template <LoadPlace kPlace>
CK_DEVICE void store_codes(uint64_t address, uint32_t count, Uint32x2 codes) {
    if (count == kPieceElements) {
        if constexpr (kUnalignedAccess) {
            *reinterpret_cast<GlobalPointer<UnalignedUint32x2>>(address) = codes;
            return;
        } else if constexpr (kPlace == LoadPlace::Aligned) {
            *reinterpret_cast<GlobalPointer<Uint32x2>>(address) = codes;
            return;
        }
    }
    CK_UNROLL
    for (uint32_t index = 0; index < kPieceElements / 2; ++index) {
        if (2 * index < count)
            global_pointer<uint8_t>(address)[index] = static_cast<uint8_t>(codes[index / 4] >> index % 4 * 8);
    }
}

// Adding 1.5 * 2^23 rounds to an integer, half to even, and leaves it in the low bits in two's complement.
constexpr float kIntegerInLowBits = 12582912.0f;

// clamp(rne(level * scale), -127, 127) + 1.5 * 2^23, a NaN product counting as 0.
CK_DEVICE float grid_value_in_low_bits(float level, float scale) {
    const float product = level * scale;
    const float number = product == product ? product : 0.0f;
    return __builtin_fminf(__builtin_fmaxf(number, -127.0f), 127.0f) + kIntegerInLowBits;
}

CK_DEVICE float grid_value(float level, float scale) {
    return grid_value_in_low_bits(level, scale) - kIntegerInLowBits;
}

}  // namespace ckitchen

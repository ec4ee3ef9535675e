// Loads and stores of global and local memory, aligned and not.
#pragma once

#include "target.h"

namespace ckitchen {

typedef uint16_t UnalignedUint16 __attribute__((aligned(1)));
typedef uint32_t UnalignedUint32 __attribute__((aligned(1)));
typedef Uint32x4 UnalignedUint32x4 __attribute__((aligned(1)));

// Whether the hardware takes vector accesses at any address. amdgcn does, with one instruction and at no cost
// when the address happens to be aligned; PTX traps.
#if defined(__AMDGCN__)
constexpr bool kUnalignedAccess = true;
#else
constexpr bool kUnalignedAccess = false;
#endif

#if defined(__NVPTX__)

// 16 bytes from an address that is not a multiple of 16: the three aligned words that lie inside and four
// single bytes, some before these words, the others behind. Nothing outside the 16 bytes is read.
CK_DEVICE Uint32x4 load_16_unaligned_bytes(GlobalPointer<const uint8_t> address) {
    const uint32_t offset = static_cast<uint32_t>(reinterpret_cast<uint64_t>(address)) % 4;
    const uint32_t before = 4 - offset;
    uint32_t ends = 0;
    CK_UNROLL
    for (uint32_t index = 0; index < 4; ++index) {
        ends |= static_cast<uint32_t>(address[index < before ? index : index + 12]) << 8 * index;
    }
    const GlobalPointer<const uint32_t> words =
        reinterpret_cast<GlobalPointer<const uint32_t>>(address + before);
    const uint64_t first = words[0];
    const uint64_t second = words[1];
    const uint64_t third = words[2];
    const uint32_t down = 8 * offset;
    const uint32_t up = 32 - down;
    const uint32_t low = ~0u >> down;  // the bytes of `ends` that come first
    return Uint32x4{(ends & low) | static_cast<uint32_t>(first << up),
                    static_cast<uint32_t>((second << 32 | first) >> down),
                    static_cast<uint32_t>((third << 32 | second) >> down),
                    static_cast<uint32_t>(third >> down) | (ends & ~low)};
}

#endif

#if defined(__NVPTX__)

// 16 bytes from any address by the five aligned words that they touch: reads up to three bytes on either
// side.
CK_DEVICE Uint32x4 load_16_bytes_and_neighbours(GlobalPointer<const uint8_t> address) {
    const uint32_t offset = static_cast<uint32_t>(reinterpret_cast<uint64_t>(address)) % 4;
    const GlobalPointer<const uint32_t> words =
        reinterpret_cast<GlobalPointer<const uint32_t>>(address - offset);
    uint32_t word[5];
    CK_UNROLL
    for (int index = 0; index < 5; ++index) word[index] = words[index];
    Uint32x4 value;
    CK_UNROLL
    for (int index = 0; index < 4; ++index) {
        value[index] =
            static_cast<uint32_t>((static_cast<uint64_t>(word[index + 1]) << 32 | word[index]) >> 8 * offset);
    }
    return value;
}

#endif

// Brings what lies at an address of global memory nearer, where that is an instruction.
CK_DEVICE void prefetch(uint64_t address) {
#if defined(__NVPTX__)
    asm volatile("prefetch.global.L2 [%0];" : : "l"(address));
#else
    (void)address;
#endif
}

// What a load of 16 bytes may assume of its address.
enum class LoadPlace {
    Aligned,   // a multiple of 16
    Anywhere,  // nothing
    Inside,    // four bytes before it and four behind the 16 can be read too
};

template <LoadPlace kPlace>
CK_DEVICE Uint32x4 load_16_bytes(GlobalPointer<const uint8_t> address) {
#if defined(__AMDGCN__)
    return *reinterpret_cast<GlobalPointer<const UnalignedUint32x4>>(address);
#else
    if constexpr (kPlace == LoadPlace::Aligned) {
        return *reinterpret_cast<GlobalPointer<const Uint32x4>>(address);
    } else if constexpr (kPlace == LoadPlace::Inside) {
        return load_16_bytes_and_neighbours(address);
    } else {
        return load_16_unaligned_bytes(address);
    }
#endif
}

// Shifts 16 bytes towards the first one by `bytes` (0..15); zeros move in at the end.
CK_DEVICE Uint32x4 shift_bytes_down(Uint32x4 value, uint32_t bytes) {
    const Uint32x4 by_two = {value.z, value.w, 0, 0};
    value = bytes & 8 ? by_two : value;
    const Uint32x4 by_one = {value.y, value.z, value.w, 0};
    value = bytes & 4 ? by_one : value;
    const uint32_t bits = (bytes & 3) * 8;
    const uint64_t low = static_cast<uint64_t>(value.y) << 32 | value.x;
    const uint64_t middle = static_cast<uint64_t>(value.z) << 32 | value.y;
    const uint64_t high = static_cast<uint64_t>(value.w) << 32 | value.z;
    return Uint32x4{static_cast<uint32_t>(low >> bits), static_cast<uint32_t>(middle >> bits),
                    static_cast<uint32_t>(high >> bits), value.w >> bits};
}

// Bytes [position, position + 16) of a row of `length` bytes, zeros beyond its end; nothing outside the row
// is read. A row of 16 bytes or more is read at the last place where 16 bytes fit and the value shifted into
// place, which takes one load where a byte loop would take up to fifteen; only shorter rows are read byte by
// byte.
CK_DEVICE Uint32x4 load_16_bytes_of_row(GlobalPointer<const uint8_t> row, uint32_t position,
                                        uint32_t length) {
    Uint32x4 value = {0, 0, 0, 0};
    if (length >= 16) {
        const uint32_t last = length - 16;
        value = load_16_bytes<LoadPlace::Anywhere>(row + (position < last ? position : last));
        const uint32_t excess = position > last ? position - last : 0;
        value = shift_bytes_down(value, excess & 15);
        if (excess >= 16) value = Uint32x4{0, 0, 0, 0};
    } else if (position == 0) {
        CK_NO_UNROLL
        for (uint32_t index = length; index > 0; --index) {
            value.w = value.w << 8 | value.z >> 24;
            value.z = value.z << 8 | value.y >> 24;
            value.y = value.y << 8 | value.x >> 24;
            value.x = value.x << 8 | row[index - 1];
        }
    }
    return value;
}

// What an access to elements may assume of their address. amdgcn takes any; PTX traps, and goes byte by byte
// where an address is not a multiple of the element's size.
enum class ElementPlace {
    Natural,   // a multiple of the element's size
    Anywhere,  // nothing
    Vector,    // as Natural, and where vectors are stored, a multiple of theirs
};

template <ElementPlace kPlace, typename Element>
CK_DEVICE Element load_element(GlobalPointer<const Element> address) {
    if constexpr (kPlace == ElementPlace::Anywhere && !kUnalignedAccess) {
        if (reinterpret_cast<uint64_t>(address) % sizeof(Element) != 0) {
            const GlobalPointer<const uint8_t> bytes =
                reinterpret_cast<GlobalPointer<const uint8_t>>(address);
            uint32_t bits = 0;
            CK_UNROLL
            for (uint32_t index = 0; index < sizeof(Element); ++index)
                bits |= static_cast<uint32_t>(bytes[index]) << 8 * index;
            if constexpr (sizeof(Element) == 2) {
                return static_cast<Element>(bits);
            } else {
                return __builtin_bit_cast(Element, bits);
            }
        }
    }
    return *address;
}

template <ElementPlace kPlace, typename Element>
CK_DEVICE void store_element(GlobalPointer<Element> address, Element value) {
    if constexpr (kPlace == ElementPlace::Anywhere && !kUnalignedAccess) {
        if (reinterpret_cast<uint64_t>(address) % sizeof(Element) != 0) {
            const GlobalPointer<uint8_t> bytes = reinterpret_cast<GlobalPointer<uint8_t>>(address);
            uint32_t bits;
            if constexpr (sizeof(Element) == 2) {
                bits = value;
            } else {
                bits = __builtin_bit_cast(uint32_t, value);
            }
            CK_UNROLL
            for (uint32_t index = 0; index < sizeof(Element); ++index)
                bytes[index] = static_cast<uint8_t>(bits >> 8 * index);
            return;
        }
    }
    *address = value;
}

CK_DEVICE Uint32x4 load_local_16_bytes(LocalPointer<const uint8_t> address) {
    return *reinterpret_cast<LocalPointer<const Uint32x4>>(address);
}

CK_DEVICE void store_local_16_bytes(LocalPointer<uint8_t> address, Uint32x4 value) {
    *reinterpret_cast<LocalPointer<Uint32x4>>(address) = value;
}

}  // namespace ckitchen

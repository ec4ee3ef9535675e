#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "float_ops.hpp"
#include "half.hpp"

namespace ckitchen::gfxsim {

// Shared by vector memory and LDS: what is loaded where, and the atomic operations.

enum class LoadKind : uint8_t {
    kU8,
    kI8,
    kU16,
    kI16,
    kD16U8,
    kD16HighU8,
    kD16I8,
    kD16HighI8,
    kD16,
    kD16High,
    kB32,
    kB64,
    kB96,
    kB128
};
enum class StoreKind : uint8_t { kB8, kB8High, kB16, kB16High, kB32, kB64, kB96, kB128 };

constexpr uint32_t load_bytes(LoadKind k) {
    switch (k) {
        case LoadKind::kU8:
        case LoadKind::kI8:
        case LoadKind::kD16U8:
        case LoadKind::kD16HighU8:
        case LoadKind::kD16I8:
        case LoadKind::kD16HighI8:
            return 1;
        case LoadKind::kU16:
        case LoadKind::kI16:
        case LoadKind::kD16:
        case LoadKind::kD16High:
            return 2;
        case LoadKind::kB32:
            return 4;
        case LoadKind::kB64:
            return 8;
        case LoadKind::kB96:
            return 12;
        default:
            return 16;
    }
}

constexpr uint32_t store_bytes(StoreKind k) {
    switch (k) {
        case StoreKind::kB8:
        case StoreKind::kB8High:
            return 1;
        case StoreKind::kB16:
        case StoreKind::kB16High:
            return 2;
        case StoreKind::kB32:
            return 4;
        case StoreKind::kB64:
            return 8;
        case StoreKind::kB96:
            return 12;
        default:
            return 16;
    }
}

/// Puts a loaded value of less than a dword into its register. `high` is the half that the text names
/// (true16).
template <LoadKind kKind>
inline void place_loaded(uint32_t& reg, uint32_t value, bool high) {
    constexpr bool kSigned8 =
        kKind == LoadKind::kI8 || kKind == LoadKind::kD16I8 || kKind == LoadKind::kD16HighI8;
    if (kSigned8) value = static_cast<uint32_t>(int32_t{static_cast<int8_t>(value)});
    if (kKind == LoadKind::kI16) value = static_cast<uint32_t>(int32_t{static_cast<int16_t>(value)});
    constexpr bool kWhole = kKind == LoadKind::kU8 || kKind == LoadKind::kI8 || kKind == LoadKind::kU16 ||
                            kKind == LoadKind::kI16;
    constexpr bool kUpper =
        kKind == LoadKind::kD16High || kKind == LoadKind::kD16HighU8 || kKind == LoadKind::kD16HighI8;
    if (kWhole)
        reg = value;
    else if (kUpper || high)
        reg = (reg & 0xffffu) | value << 16;
    else
        reg = (reg & 0xffff0000u) | (value & 0xffffu);
}

template <class T>
T atomic_add(T old, T data, T) {
    return old + data;
}
template <class T>
T atomic_sub(T old, T data, T) {
    return old - data;
}
template <class T>
T atomic_rsub(T old, T data, T) {
    return data - old;
}
template <class T, class S>
T atomic_min(T old, T data, T) {
    return static_cast<S>(old) < static_cast<S>(data) ? old : data;
}
template <class T, class S>
T atomic_max(T old, T data, T) {
    return static_cast<S>(old) > static_cast<S>(data) ? old : data;
}
template <class T>
T atomic_and(T old, T data, T) {
    return old & data;
}
template <class T>
T atomic_or(T old, T data, T) {
    return old | data;
}
template <class T>
T atomic_xor(T old, T data, T) {
    return old ^ data;
}
template <class T>
T atomic_inc(T old, T data, T) {
    return old >= data ? 0 : old + 1;
}
template <class T>
T atomic_dec(T old, T data, T) {
    return old == 0 || old > data ? data : old - 1;
}
template <class T>
T atomic_swap(T, T data, T) {
    return data;
}
template <class T>
T atomic_cmpswap(T old, T data, T compare) {
    return old == compare ? data : old;
}
inline uint32_t atomic_float_add(uint32_t old, uint32_t data, uint32_t) {
    return std::bit_cast<uint32_t>(std::bit_cast<float>(old) + std::bit_cast<float>(data));
}
template <class F>
BitsOf<F> atomic_float_min(BitsOf<F> old, BitsOf<F> data, BitsOf<F>) {
    return std::bit_cast<BitsOf<F>>(min_num(std::bit_cast<F>(old), std::bit_cast<F>(data)));
}
template <class F>
BitsOf<F> atomic_float_max(BitsOf<F> old, BitsOf<F> data, BitsOf<F>) {
    return std::bit_cast<BitsOf<F>>(max_num(std::bit_cast<F>(old), std::bit_cast<F>(data)));
}
/// Compared as numbers: +0 equals -0, a NaN equals nothing.
template <class F>
BitsOf<F> atomic_float_cmpswap(BitsOf<F> old, BitsOf<F> data, BitsOf<F> compare) {
    return std::bit_cast<F>(old) == std::bit_cast<F>(compare) ? data : old;
}
inline uint32_t atomic_sub_clamp(uint32_t old, uint32_t data, uint32_t) {
    return old < data ? 0 : old - data;
}
inline uint32_t atomic_cond_sub(uint32_t old, uint32_t data, uint32_t) {
    return old < data ? old : old - data;
}
/// Two 16-bit sums.
template <class H>
uint32_t atomic_pk_add(uint32_t old, uint32_t data, uint32_t) {
    const auto sum = [](uint32_t a, uint32_t b) {
        const float v = to_float(H{static_cast<uint16_t>(a)}) + to_float(H{static_cast<uint16_t>(b)});
        if constexpr (std::is_same_v<H, Half>)
            return uint32_t{to_half(v).bits};
        else
            return uint32_t{to_bf16(v).bits};
    };
    return sum(old, data) | sum(old >> 16, data >> 16) << 16;
}
// LDS only: two operands, `data` and `second`.
template <class T>
T atomic_mask_or(T old, T mask, T bits) {
    return (old & ~mask) | bits;
}
inline uint32_t atomic_wrap(uint32_t old, uint32_t data, uint32_t second) {
    return old >= data ? old - data : old + second;
}
/// Each dword of the operand whose top bit is set replaces, without that bit, the one in memory.
inline uint64_t atomic_cond_exchange(uint64_t old, uint64_t data, uint64_t) {
    const auto one = [](uint32_t o, uint32_t d) { return d >> 31 ? d & 0x7fffffffu : o; };
    return uint64_t{one(static_cast<uint32_t>(old >> 32), static_cast<uint32_t>(data >> 32))} << 32 |
           one(static_cast<uint32_t>(old), static_cast<uint32_t>(data));
}

}  // namespace ckitchen::gfxsim

// DS instructions: local data share and the lane permutations that go through its crossbar.
#include <bit>
#include <cstring>

#include "lane_memory.hpp"
#include "memory_ops.hpp"
#include "op_table.hpp"
#include "swizzle.hpp"
#include "valu.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {
namespace {

template <LoadKind kKind>
void load(Wave& w, const Inst& inst) {
    constexpr uint32_t kBytes = load_bytes(kKind);
    const uint32_t* address = w.v[inst.src[0].reg].data();
    const uint32_t offset = static_cast<uint32_t>(inst.offset);
    const Operand& dst = inst.dst[0];
    // Addresses may lie in the destination: all are read before any is written.
    uint32_t at[kLanes];
    GFXSIM_LANES at[l] = address[l] + offset;
    for (uint32_t m = w.exec(); m; m &= m - 1) {
        const int l = std::countr_zero(m);
        const uint8_t* p = lds_pointer(w, at[l], kBytes, l);
        if constexpr (kBytes >= 4) {
            uint32_t value[kBytes / 4];
            std::memcpy(value, p, kBytes);
            for (uint32_t k = 0; k < kBytes / 4; ++k) w.v[dst.reg + k][l] = value[k];
        } else {
            uint32_t value = 0;
            std::memcpy(&value, p, kBytes);
            place_loaded<kKind>(w.v[dst.reg][l], value, dst.high);
        }
    }
}

template <StoreKind kKind>
void store(Wave& w, const Inst& inst) {
    constexpr uint32_t kBytes = store_bytes(kKind);
    constexpr uint32_t kWords = kBytes >= 4 ? kBytes / 4 : 1;
    const uint32_t* address = w.v[inst.src[0].reg].data();
    const uint32_t offset = static_cast<uint32_t>(inst.offset);
    const Operand& data = inst.src[1];
    const bool high = kKind == StoreKind::kB8High || kKind == StoreKind::kB16High || data.high;
    for (uint32_t m = w.exec(); m; m &= m - 1) {
        const int l = std::countr_zero(m);
        uint32_t value[kWords];
        for (uint32_t k = 0; k < kWords; ++k) value[k] = w.v[data.reg + k][l];
        if (kBytes < 4 && high) value[0] >>= 16;
        std::memcpy(lds_pointer(w, address[l] + offset, kBytes, l), value, kBytes);
    }
}

/// Two elements of kWords dwords at offset0 and offset1, which count in units of kStride elements.
template <int kWords, int kStride>
void load2(Wave& w, const Inst& inst) {
    constexpr uint32_t kBytes = kWords * 4;
    uint32_t base[kLanes];
    std::memcpy(base, w.v[inst.src[0].reg].data(), sizeof base);
    for (uint32_t m = w.exec(); m; m &= m - 1) {
        const int l = std::countr_zero(m);
        uint32_t value[2 * kWords];
        std::memcpy(
            value, lds_pointer(w, base[l] + static_cast<uint32_t>(inst.offset) * kBytes * kStride, kBytes, l),
            kBytes);
        std::memcpy(
            value + kWords,
            lds_pointer(w, base[l] + static_cast<uint32_t>(inst.offset1) * kBytes * kStride, kBytes, l),
            kBytes);
        for (int k = 0; k < 2 * kWords; ++k) w.v[inst.dst[0].reg + k][l] = value[k];
    }
}

template <int kWords, int kStride>
void store2(Wave& w, const Inst& inst) {
    constexpr uint32_t kBytes = kWords * 4;
    for (uint32_t m = w.exec(); m; m &= m - 1) {
        const int l = std::countr_zero(m);
        const uint32_t base = w.v[inst.src[0].reg][l];
        for (int half = 0; half < 2; ++half) {
            uint32_t value[kWords];
            for (int k = 0; k < kWords; ++k) value[k] = w.v[inst.src[1 + half].reg + k][l];
            const uint32_t offset =
                static_cast<uint32_t>(half ? inst.offset1 : inst.offset) * kBytes * kStride;
            std::memcpy(lds_pointer(w, base + offset, kBytes, l), value, kBytes);
        }
    }
}

/// Lanes act one after the other, in lane order.
template <class T, auto F, bool kCompare>
void atomic(Wave& w, const Inst& inst) {
    const auto word = [&](int reg, int l) {
        if constexpr (sizeof(T) == 8)
            return uint64_t{w.v[reg + 1][l]} << 32 | w.v[reg][l];
        else
            return w.v[reg][l];
    };
    for (uint32_t m = w.exec(); m; m &= m - 1) {
        const int l = std::countr_zero(m);
        const uint32_t address = w.v[inst.src[0].reg][l] + static_cast<uint32_t>(inst.offset);
        if (address % sizeof(T))
            raise(
                FaultKind::kMisaligned, l,
                "LDS atomic of " + std::to_string(sizeof(T)) + " bytes at offset " + std::to_string(address));
        uint8_t* p = lds_pointer(w, address, sizeof(T), l);
        T old;
        std::memcpy(&old, p, sizeof(T));
        // The compare value comes first in LDS instructions of gfx10, second (after the new value) in gfx11.
        T first = word(inst.src[1].reg, l), second = kCompare ? word(inst.src[2].reg, l) : T{};
        const bool compare_first = !(inst.spec->flags & kFlagOrdered);
        if (kCompare && compare_first && w.target->generation == Generation::kGfx103)
            std::swap(first, second);
        const T updated = F(old, first, second);
        std::memcpy(p, &updated, sizeof(T));
        if (inst.dst_count) {
            w.v[inst.dst[0].reg][l] = static_cast<uint32_t>(old);
            if constexpr (sizeof(T) == 8) w.v[inst.dst[0].reg + 1][l] = static_cast<uint32_t>(old >> 32);
        }
    }
}

/// Exchanges at two addresses: each returns what it found.
template <int kWords, int kStride>
void exchange2(Wave& w, const Inst& inst) {
    constexpr uint32_t kBytes = kWords * 4;
    for (uint32_t m = w.exec(); m; m &= m - 1) {
        const int l = std::countr_zero(m);
        const uint32_t base = w.v[inst.src[0].reg][l];
        uint32_t old[2 * kWords];
        for (int half = 0; half < 2; ++half) {
            const uint32_t offset =
                static_cast<uint32_t>(half ? inst.offset1 : inst.offset) * kBytes * kStride;
            uint8_t* p = lds_pointer(w, base + offset, kBytes, l);
            std::memcpy(old + half * kWords, p, kBytes);
            uint32_t value[kWords];
            for (int k = 0; k < kWords; ++k) value[k] = w.v[inst.src[1 + half].reg + k][l];
            std::memcpy(p, value, kBytes);
        }
        for (int k = 0; k < 2 * kWords; ++k) w.v[inst.dst[0].reg + k][l] = old[k];
    }
}

/// Each lane reads the data of lane address / 4; an inactive source lane gives 0, or with kInactive its data.
template <bool kInactive>
void bpermute(Wave& w, const Inst& inst) {
    uint32_t r[kLanes];
    LaneBuffer tmp;
    const Source address = raw_source(w, inst.src[0], tmp);
    const uint32_t* data = w.v[inst.src[1].reg].data();
    for (int l = 0; l < kLanes; ++l) {
        const uint32_t from = (address.lo[l] + static_cast<uint32_t>(inst.offset)) >> 2 & 31;
        r[l] = kInactive || (w.exec() >> from & 1) ? data[from] : 0;
    }
    store_words(w.v[inst.dst[0].reg].data(), r, w.exec());
}

/// Each lane sends its data to lane address / 4; where several meet the highest lane wins.
void permute(Wave& w, const Inst& inst) {
    uint32_t r[kLanes] = {};
    LaneBuffer tmp;
    const Source address = raw_source(w, inst.src[0], tmp);
    const uint32_t* data = w.v[inst.src[1].reg].data();
    for (int l = 0; l < kLanes; ++l)
        if (w.exec() >> l & 1) r[(address.lo[l] + static_cast<uint32_t>(inst.offset)) >> 2 & 31] = data[l];
    store_words(w.v[inst.dst[0].reg].data(), r, w.exec());
}

void swizzle(Wave& w, const Inst& inst) {
    const uint32_t pattern = static_cast<uint32_t>(inst.extra);
    uint32_t r[kLanes];
    const uint32_t* data = w.v[inst.src[0].reg].data();
    for (int l = 0; l < kLanes; ++l) {
        const int from = swizzle_source(pattern, l);
        r[l] = w.exec() >> from & 1 ? data[from] : 0;
    }
    store_words(w.v[inst.dst[0].reg].data(), r, w.exec());
}

constexpr Type data_type(uint32_t bytes) {
    return bytes <= 2 ? Type::kB16 : bytes == 4 ? Type::kB32 : Type::kAny;
}

template <LoadKind kKind>
void add_load(OpTable& t, std::initializer_list<const char*> names) {
    for (const char* n : names)
        t.add(n, &load<kKind>, InstClass::kLds, Form::kDs, {data_type(load_bytes(kKind))}, {Type::kB32})
            .bytes = load_bytes(kKind);
}

template <StoreKind kKind>
void add_store(OpTable& t, std::initializer_list<const char*> names) {
    for (const char* n : names)
        t.add(n, &store<kKind>, InstClass::kLds, Form::kDs, {}, {Type::kB32, data_type(store_bytes(kKind))},
              kFlagStore)
            .bytes = store_bytes(kKind);
}

template <int kWords, int kStride>
void add_pair(OpTable& t, std::initializer_list<const char*> loads,
              std::initializer_list<const char*> stores) {
    const Type one = kWords == 1 ? Type::kB32 : Type::kAny;
    for (const char* n : loads)
        t.add(n, &load2<kWords, kStride>, InstClass::kLds, Form::kDs, {Type::kAny}, {Type::kB32},
              kFlagTwoOffsets)
            .bytes = kWords * 4;
    for (const char* n : stores)
        t.add(n, &store2<kWords, kStride>, InstClass::kLds, Form::kDs, {}, {Type::kB32, one, one},
              kFlagTwoOffsets | kFlagStore)
            .bytes = kWords * 4;
}

/// `stem` with and without the returning form, whose infix is _rtn.
template <class T, auto F, bool kCompare = false>
void add_atomic(OpTable& t, const std::string& stem, const std::string& suffix, uint32_t flags = 0) {
    const Type one = sizeof(T) == 8 ? Type::kAny : Type::kB32;
    std::vector<Type> src = {Type::kB32, one};
    if (kCompare) src.push_back(one);
    t.add(stem + suffix, &atomic<T, F, kCompare>, InstClass::kLds, Form::kDs, {}, src, kFlagStore | flags)
        .bytes = sizeof(T);
    t.add(stem + "_rtn" + suffix, &atomic<T, F, kCompare>, InstClass::kLds, Form::kDs, {one}, src, flags)
        .bytes = sizeof(T);
}

template <int kWords, int kStride>
void add_exchange2(OpTable& t, std::initializer_list<const char*> names) {
    const Type one = kWords == 1 ? Type::kB32 : Type::kAny;
    for (const char* n : names)
        t.add(n, &exchange2<kWords, kStride>, InstClass::kLds, Form::kDs, {Type::kAny},
              {Type::kB32, one, one}, kFlagTwoOffsets)
            .bytes = kWords * 4;
}

}  // namespace

void register_lds(OpTable& t) {
    add_load<LoadKind::kU8>(t, {"ds_read_u8", "ds_load_u8"});
    add_load<LoadKind::kI8>(t, {"ds_read_i8", "ds_load_i8"});
    add_load<LoadKind::kU16>(t, {"ds_read_u16", "ds_load_u16"});
    add_load<LoadKind::kI16>(t, {"ds_read_i16", "ds_load_i16"});
    add_load<LoadKind::kD16U8>(t, {"ds_read_u8_d16", "ds_load_u8_d16"});
    add_load<LoadKind::kD16HighU8>(t, {"ds_read_u8_d16_hi", "ds_load_u8_d16_hi"});
    add_load<LoadKind::kD16I8>(t, {"ds_read_i8_d16", "ds_load_i8_d16"});
    add_load<LoadKind::kD16HighI8>(t, {"ds_read_i8_d16_hi", "ds_load_i8_d16_hi"});
    add_load<LoadKind::kD16>(t, {"ds_read_u16_d16", "ds_load_u16_d16"});
    add_load<LoadKind::kD16High>(t, {"ds_read_u16_d16_hi", "ds_load_u16_d16_hi"});
    add_load<LoadKind::kB32>(t, {"ds_read_b32", "ds_load_b32"});
    add_load<LoadKind::kB64>(t, {"ds_read_b64", "ds_load_b64"});
    add_load<LoadKind::kB96>(t, {"ds_read_b96", "ds_load_b96"});
    add_load<LoadKind::kB128>(t, {"ds_read_b128", "ds_load_b128"});
    add_store<StoreKind::kB8>(t, {"ds_write_b8", "ds_store_b8"});
    add_store<StoreKind::kB8High>(t, {"ds_write_b8_d16_hi", "ds_store_b8_d16_hi"});
    add_store<StoreKind::kB16>(t, {"ds_write_b16", "ds_store_b16"});
    add_store<StoreKind::kB16High>(t, {"ds_write_b16_d16_hi", "ds_store_b16_d16_hi"});
    add_store<StoreKind::kB32>(t, {"ds_write_b32", "ds_store_b32"});
    add_store<StoreKind::kB64>(t, {"ds_write_b64", "ds_store_b64"});
    add_store<StoreKind::kB96>(t, {"ds_write_b96", "ds_store_b96"});
    add_store<StoreKind::kB128>(t, {"ds_write_b128", "ds_store_b128"});
    add_pair<1, 1>(t, {"ds_read2_b32", "ds_load_2addr_b32"}, {"ds_write2_b32", "ds_store_2addr_b32"});
    add_pair<2, 1>(t, {"ds_read2_b64", "ds_load_2addr_b64"}, {"ds_write2_b64", "ds_store_2addr_b64"});
    add_pair<1, 64>(t, {"ds_read2st64_b32", "ds_load_2addr_stride64_b32"},
                    {"ds_write2st64_b32", "ds_store_2addr_stride64_b32"});
    add_pair<2, 64>(t, {"ds_read2st64_b64", "ds_load_2addr_stride64_b64"},
                    {"ds_write2st64_b64", "ds_store_2addr_stride64_b64"});
    using u32 = uint32_t;
    using u64 = uint64_t;
    add_atomic<u32, atomic_add<u32>>(t, "ds_add", "_u32");
    add_atomic<u64, atomic_add<u64>>(t, "ds_add", "_u64");
    add_atomic<u32, atomic_sub<u32>>(t, "ds_sub", "_u32");
    add_atomic<u64, atomic_sub<u64>>(t, "ds_sub", "_u64");
    add_atomic<u32, atomic_rsub<u32>>(t, "ds_rsub", "_u32");
    add_atomic<u32, atomic_inc<u32>>(t, "ds_inc", "_u32");
    add_atomic<u32, atomic_dec<u32>>(t, "ds_dec", "_u32");
    add_atomic<u32, atomic_min<u32, int32_t>>(t, "ds_min", "_i32");
    add_atomic<u64, atomic_min<u64, int64_t>>(t, "ds_min", "_i64");
    add_atomic<u32, atomic_min<u32, u32>>(t, "ds_min", "_u32");
    add_atomic<u64, atomic_min<u64, u64>>(t, "ds_min", "_u64");
    add_atomic<u32, atomic_max<u32, int32_t>>(t, "ds_max", "_i32");
    add_atomic<u64, atomic_max<u64, int64_t>>(t, "ds_max", "_i64");
    add_atomic<u32, atomic_max<u32, u32>>(t, "ds_max", "_u32");
    add_atomic<u64, atomic_max<u64, u64>>(t, "ds_max", "_u64");
    add_atomic<u32, atomic_and<u32>>(t, "ds_and", "_b32");
    add_atomic<u64, atomic_and<u64>>(t, "ds_and", "_b64");
    add_atomic<u32, atomic_or<u32>>(t, "ds_or", "_b32");
    add_atomic<u64, atomic_or<u64>>(t, "ds_or", "_b64");
    add_atomic<u32, atomic_xor<u32>>(t, "ds_xor", "_b32");
    add_atomic<u64, atomic_xor<u64>>(t, "ds_xor", "_b64");
    add_atomic<u64, atomic_rsub<u64>>(t, "ds_rsub", "_u64");
    add_atomic<u64, atomic_inc<u64>>(t, "ds_inc", "_u64");
    add_atomic<u64, atomic_dec<u64>>(t, "ds_dec", "_u64");
    add_atomic<u32, atomic_sub_clamp>(t, "ds_sub_clamp", "_u32");
    add_atomic<u32, atomic_cond_sub>(t, "ds_cond_sub", "_u32");
    add_atomic<u32, atomic_float_add>(t, "ds_add", "_f32");
    add_atomic<u32, atomic_pk_add<Half>>(t, "ds_pk_add", "_f16");
    add_atomic<u32, atomic_pk_add<Bf16>>(t, "ds_pk_add", "_bf16");
    for (const char* stem : {"ds_min", "ds_min_num"}) {
        add_atomic<u32, atomic_float_min<float>>(t, stem, "_f32");
        add_atomic<u64, atomic_float_min<double>>(t, stem, "_f64");
    }
    for (const char* stem : {"ds_max", "ds_max_num"}) {
        add_atomic<u32, atomic_float_max<float>>(t, stem, "_f32");
        add_atomic<u64, atomic_float_max<double>>(t, stem, "_f64");
    }
    add_atomic<u32, atomic_mask_or<u32>, true>(t, "ds_mskor", "_b32", kFlagOrdered);
    add_atomic<u64, atomic_mask_or<u64>, true>(t, "ds_mskor", "_b64", kFlagOrdered);
    t.add("ds_wrap_rtn_b32", &atomic<u32, atomic_wrap, true>, InstClass::kLds, Form::kDs, {Type::kB32},
          {Type::kB32, Type::kB32, Type::kB32}, kFlagOrdered)
        .bytes = 4;
    t.add("ds_condxchg32_rtn_b64", &atomic<u64, atomic_cond_exchange, false>, InstClass::kLds, Form::kDs,
          {Type::kAny}, {Type::kB32, Type::kAny})
        .bytes = 8;
    for (const char* stem : {"ds_wrxchg", "ds_storexchg"}) {
        t.add(std::string(stem) + "_rtn_b32", &atomic<u32, atomic_swap<u32>, false>, InstClass::kLds,
              Form::kDs, {Type::kB32}, {Type::kB32, Type::kB32})
            .bytes = 4;
        t.add(std::string(stem) + "_rtn_b64", &atomic<u64, atomic_swap<u64>, false>, InstClass::kLds,
              Form::kDs, {Type::kAny}, {Type::kB32, Type::kAny})
            .bytes = 8;
    }
    add_exchange2<1, 1>(t, {"ds_wrxchg2_rtn_b32", "ds_storexchg_2addr_rtn_b32"});
    add_exchange2<2, 1>(t, {"ds_wrxchg2_rtn_b64", "ds_storexchg_2addr_rtn_b64"});
    add_exchange2<1, 64>(t, {"ds_wrxchg2st64_rtn_b32", "ds_storexchg_2addr_stride64_rtn_b32"});
    add_exchange2<2, 64>(t, {"ds_wrxchg2st64_rtn_b64", "ds_storexchg_2addr_stride64_rtn_b64"});
    for (const char* stem : {"ds_cmpst", "ds_cmpstore"}) {
        add_atomic<u32, atomic_float_cmpswap<float>, true>(t, stem, "_f32");
        add_atomic<u64, atomic_float_cmpswap<double>, true>(t, stem, "_f64");
    }
    add_atomic<u32, atomic_cmpswap<u32>, true>(t, "ds_cmpst", "_b32");
    add_atomic<u64, atomic_cmpswap<u64>, true>(t, "ds_cmpst", "_b64");
    add_atomic<u32, atomic_cmpswap<u32>, true>(t, "ds_cmpstore", "_b32");
    add_atomic<u64, atomic_cmpswap<u64>, true>(t, "ds_cmpstore", "_b64");
    t.add("ds_bpermute_fi_b32", &bpermute<true>, InstClass::kCrossLane, Form::kDs, {Type::kB32},
          {Type::kB32, Type::kB32});
    t.add("ds_bpermute_b32", &bpermute<false>, InstClass::kCrossLane, Form::kDs, {Type::kB32},
          {Type::kB32, Type::kB32});
    t.add("ds_permute_b32", &permute, InstClass::kCrossLane, Form::kDs, {Type::kB32},
          {Type::kB32, Type::kB32});
    t.add("ds_swizzle_b32", &swizzle, InstClass::kCrossLane, Form::kDs, {Type::kB32}, {Type::kB32});
}

}  // namespace ckitchen::gfxsim

// FLAT, GLOBAL, SCRATCH and MUBUF: loads, stores, atomics.
#include <atomic>
#include <bit>
#include <cstring>

#include "float_ops.hpp"
#include "half.hpp"
#include "lane_memory.hpp"
#include "memory_ops.hpp"
#include "op_table.hpp"
#include "valu.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {
namespace {

void read_lane(Wave& w, const LaneAddresses& a, uint32_t bytes, int lane, uint8_t* out) {
    switch (a.space_of(lane)) {
        case Space::kGlobal:
            std::memcpy(out, global_pointer(w, a.at[lane], bytes, false, lane), bytes);
            break;
        case Space::kLds:
            std::memcpy(out, lds_pointer(w, a.low(lane), bytes, lane), bytes);
            break;
        case Space::kScratch:
            scratch_read(w, a.low(lane), bytes, lane, out);
            break;
    }
}

void write_lane(Wave& w, const LaneAddresses& a, uint32_t bytes, int lane, const uint8_t* in) {
    switch (a.space_of(lane)) {
        case Space::kGlobal:
            std::memcpy(global_pointer(w, a.at[lane], bytes, true, lane), in, bytes);
            break;
        case Space::kLds:
            std::memcpy(lds_pointer(w, a.low(lane), bytes, lane), in, bytes);
            break;
        case Space::kScratch:
            scratch_write(w, a.low(lane), bytes, lane, in);
            break;
    }
}

template <LoadKind kKind>
void load(Wave& w, const Inst& inst) {
    constexpr uint32_t kBytes = load_bytes(kKind);
    LaneAddresses a;
    vmem_addresses(w, inst, a);
    const uint32_t exec = a.lanes;
    const Operand& dst = inst.dst[0];
    const bool fast = global_range_check(w, a, kBytes, false);
    for (uint32_t m = w.exec() & ~exec; m; m &= m - 1) {
        const int l = std::countr_zero(m);
        if constexpr (kBytes >= 4)
            for (uint32_t k = 0; k < kBytes / 4; ++k) w.v[dst.reg + k][l] = 0;
        else
            place_loaded<kKind>(w.v[dst.reg][l], 0, dst.high);
    }
    if constexpr (kBytes >= 4) {
        constexpr int kWords = kBytes / 4;
        uint32_t* d = w.v[dst.reg].data();
        if (fast) {
            for (uint32_t m = exec; m; m &= m - 1) {
                const int l = std::countr_zero(m);
                uint32_t value[kWords];
                std::memcpy(value, reinterpret_cast<const void*>(a.at[l]), kBytes);
                for (int k = 0; k < kWords; ++k) d[k * kLanes + l] = value[k];
            }
            return;
        }
        for (uint32_t m = exec; m; m &= m - 1) {
            const int l = std::countr_zero(m);
            uint32_t value[kWords];
            read_lane(w, a, kBytes, l, reinterpret_cast<uint8_t*>(value));
            for (int k = 0; k < kWords; ++k) d[k * kLanes + l] = value[k];
        }
    } else {
        for (uint32_t m = exec; m; m &= m - 1) {
            const int l = std::countr_zero(m);
            uint32_t value = 0;
            if (fast)
                std::memcpy(&value, reinterpret_cast<const void*>(a.at[l]), kBytes);
            else
                read_lane(w, a, kBytes, l, reinterpret_cast<uint8_t*>(&value));
            place_loaded<kKind>(w.v[dst.reg][l], value, dst.high);
        }
    }
}

template <StoreKind kKind>
void store(Wave& w, const Inst& inst) {
    constexpr uint32_t kBytes = store_bytes(kKind);
    LaneAddresses a;
    vmem_addresses(w, inst, a);
    const uint32_t exec = a.lanes;
    const Operand& data = inst.src[data_operand(inst)];
    const bool fast = global_range_check(w, a, kBytes, true);
    const uint32_t* d = w.v[data.reg].data();
    constexpr int kWords = kBytes >= 4 ? kBytes / 4 : 1;
    const bool high = kKind == StoreKind::kB8High || kKind == StoreKind::kB16High || data.high;
    for (uint32_t m = exec; m; m &= m - 1) {
        const int l = std::countr_zero(m);
        uint32_t value[kWords];
        for (int k = 0; k < kWords; ++k) value[k] = d[k * kLanes + l];
        if (kBytes < 4 && high) value[0] >>= 16;
        if (fast)
            std::memcpy(reinterpret_cast<void*>(a.at[l]), value, kBytes);
        else
            write_lane(w, a, kBytes, l, reinterpret_cast<const uint8_t*>(value));
    }
}

/// Matrix operands from memory that is laid out the other way round.
template <int kWords>
void load_transposed(Wave& w, const Inst& inst) {
    if (w.exec() != ~0u) raise(FaultKind::kExecNotFull, -1, "EXEC is " + hex(w.exec()));
    LaneAddresses a;
    vmem_addresses(w, inst, a);
    uint32_t words[kWords][kLanes];
    for (int l = 0; l < kLanes; ++l) {
        uint32_t value[kWords];
        read_lane(w, a, sizeof value, l, reinterpret_cast<uint8_t*>(value));
        for (int k = 0; k < kWords; ++k) words[k][l] = value[k];
    }
    transpose_lanes(words, kWords);
    for (int k = 0; k < kWords; ++k) std::memcpy(w.v[inst.dst[0].reg + k].data(), words[k], sizeof words[k]);
}

/// Read-modify-write with operation F(old, data[, compare]); other host threads may hit the same address.
template <class T, auto F, bool kCompare>
void atomic(Wave& w, const Inst& inst) {
    LaneAddresses a;
    vmem_addresses(w, inst, a);
    const Operand& data = inst.src[data_operand(inst)];
    constexpr int kWords = sizeof(T) / 4;
    const auto word = [&](int reg, int l) {
        if constexpr (sizeof(T) == 8)
            return uint64_t{w.v[reg + 1][l]} << 32 | w.v[reg][l];
        else
            return w.v[reg][l];
    };
    for (uint32_t m = w.exec() & ~a.lanes; inst.dst_count && m; m &= m - 1)
        for (int k = 0; k < kWords; ++k) w.v[inst.dst[0].reg + k][std::countr_zero(m)] = 0;
    for (uint32_t m = a.lanes; m; m &= m - 1) {
        const int l = std::countr_zero(m);
        const T operand = word(data.reg, l);
        const T compare = kCompare ? word(data.reg + kWords, l) : T{};
        uint8_t* p = nullptr;
        switch (a.space_of(l)) {
            case Space::kGlobal:
                p = global_pointer(w, a.at[l], sizeof(T), true, l);
                break;
            case Space::kLds:
                p = lds_pointer(w, a.low(l), sizeof(T), l);
                break;
            case Space::kScratch:
                raise(FaultKind::kIllegalAddress, l, "atomic access to scratch");
        }
        if (reinterpret_cast<uint64_t>(p) % sizeof(T) != 0 && a.space_of(l) == Space::kGlobal)
            raise(FaultKind::kMisaligned, l,
                  "atomic access of " + std::to_string(sizeof(T)) + " bytes at " + hex(a.at[l]));
        T* target = reinterpret_cast<T*>(p);
        T old = __atomic_load_n(target, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(target, &old, F(old, operand, compare), true, __ATOMIC_SEQ_CST,
                                            __ATOMIC_RELAXED)) {
        }
        if (inst.dst_count) {
            w.v[inst.dst[0].reg][l] = static_cast<uint32_t>(old);
            if constexpr (sizeof(T) == 8) w.v[inst.dst[0].reg + 1][l] = static_cast<uint32_t>(old >> 32);
        }
    }
}

constexpr Type data_type(uint32_t bytes) {
    return bytes <= 2 ? Type::kB16 : bytes == 4 ? Type::kB32 : Type::kAny;
}

template <LoadKind kKind>
void add_load(OpTable& t, const char* name) {
    const uint8_t bytes = load_bytes(kKind);
    const Type type = data_type(bytes);
    const std::string n = name;
    t.add("global_load_" + n, &load<kKind>, InstClass::kVmemLoad, Form::kGlobal, {type},
          {Type::kAny, Type::kAny})
        .bytes = bytes;
    t.add("flat_load_" + n, &load<kKind>, InstClass::kVmemLoad, Form::kFlat, {type}, {Type::kAny}).bytes =
        bytes;
    t.add("scratch_load_" + n, &load<kKind>, InstClass::kScratch, Form::kScratch, {type},
          {Type::kB32, Type::kB32})
        .bytes = bytes;
    t.add("buffer_load_" + n, &load<kKind>, InstClass::kVmemLoad, Form::kBuffer, {type},
          {Type::kAny, Type::kAny, Type::kB32})
        .bytes = bytes;
}

template <StoreKind kKind>
void add_store(OpTable& t, const char* name) {
    const uint8_t bytes = store_bytes(kKind);
    const Type type = data_type(bytes);
    const std::string n = name;
    t.add("global_store_" + n, &store<kKind>, InstClass::kVmemStore, Form::kGlobal, {},
          {Type::kAny, type, Type::kAny}, kFlagStore)
        .bytes = bytes;
    t.add("flat_store_" + n, &store<kKind>, InstClass::kVmemStore, Form::kFlat, {}, {Type::kAny, type},
          kFlagStore)
        .bytes = bytes;
    t.add("scratch_store_" + n, &store<kKind>, InstClass::kScratch, Form::kScratch, {},
          {Type::kB32, type, Type::kB32}, kFlagStore)
        .bytes = bytes;
    t.add("buffer_store_" + n, &store<kKind>, InstClass::kVmemStore, Form::kBuffer, {},
          {type, Type::kAny, Type::kAny, Type::kB32}, kFlagStore)
        .bytes = bytes;
}

template <class T, auto F, bool kCompare = false>
void add_atomic(OpTable& t, std::initializer_list<const char*> names) {
    const Type type = sizeof(T) == 8 || kCompare ? Type::kAny : Type::kB32;
    const Type old = sizeof(T) == 8 ? Type::kAny : Type::kB32;
    for (const char* name : names) {
        const std::string n = name;
        t.add("global_atomic_" + n, &atomic<T, F, kCompare>, InstClass::kVmemAtomic, Form::kGlobal, {old},
              {Type::kAny, type, Type::kAny}, kFlagAtomic)
            .bytes = sizeof(T);
        t.add("flat_atomic_" + n, &atomic<T, F, kCompare>, InstClass::kVmemAtomic, Form::kFlat, {old},
              {Type::kAny, type}, kFlagAtomic)
            .bytes = sizeof(T);
        t.add("buffer_atomic_" + n, &atomic<T, F, kCompare>, InstClass::kVmemAtomic, Form::kBuffer, {old},
              {type, Type::kAny, Type::kAny, Type::kB32}, kFlagAtomic)
            .bytes = sizeof(T);
    }
}

}  // namespace

void register_vmem(OpTable& t) {
    for (const char* n : {"ubyte", "u8"}) add_load<LoadKind::kU8>(t, n);
    for (const char* n : {"sbyte", "i8"}) add_load<LoadKind::kI8>(t, n);
    for (const char* n : {"ushort", "u16"}) add_load<LoadKind::kU16>(t, n);
    for (const char* n : {"sshort", "i16"}) add_load<LoadKind::kI16>(t, n);
    for (const char* n : {"ubyte_d16", "d16_u8"}) add_load<LoadKind::kD16U8>(t, n);
    for (const char* n : {"ubyte_d16_hi", "d16_hi_u8"}) add_load<LoadKind::kD16HighU8>(t, n);
    for (const char* n : {"sbyte_d16", "d16_i8"}) add_load<LoadKind::kD16I8>(t, n);
    for (const char* n : {"sbyte_d16_hi", "d16_hi_i8"}) add_load<LoadKind::kD16HighI8>(t, n);
    for (const char* n : {"short_d16", "d16_b16"}) add_load<LoadKind::kD16>(t, n);
    for (const char* n : {"short_d16_hi", "d16_hi_b16"}) add_load<LoadKind::kD16High>(t, n);
    for (const char* n : {"dword", "b32"}) add_load<LoadKind::kB32>(t, n);
    for (const char* n : {"dwordx2", "b64"}) add_load<LoadKind::kB64>(t, n);
    for (const char* n : {"dwordx3", "b96"}) add_load<LoadKind::kB96>(t, n);
    for (const char* n : {"dwordx4", "b128"}) add_load<LoadKind::kB128>(t, n);
    for (const char* n : {"byte", "b8"}) add_store<StoreKind::kB8>(t, n);
    for (const char* n : {"byte_d16_hi", "d16_hi_b8"}) add_store<StoreKind::kB8High>(t, n);
    for (const char* n : {"short", "b16"}) add_store<StoreKind::kB16>(t, n);
    for (const char* n : {"short_d16_hi", "d16_hi_b16"}) add_store<StoreKind::kB16High>(t, n);
    for (const char* n : {"dword", "b32"}) add_store<StoreKind::kB32>(t, n);
    for (const char* n : {"dwordx2", "b64"}) add_store<StoreKind::kB64>(t, n);
    for (const char* n : {"dwordx3", "b96"}) add_store<StoreKind::kB96>(t, n);
    for (const char* n : {"dwordx4", "b128"}) add_store<StoreKind::kB128>(t, n);
    using u32 = uint32_t;
    using u64 = uint64_t;
    add_atomic<u32, atomic_add<u32>>(t, {"add", "add_u32"});
    add_atomic<u64, atomic_add<u64>>(t, {"add_x2", "add_u64"});
    add_atomic<u32, atomic_sub<u32>>(t, {"sub", "sub_u32"});
    add_atomic<u64, atomic_sub<u64>>(t, {"sub_x2", "sub_u64"});
    add_atomic<u32, atomic_min<u32, int32_t>>(t, {"smin", "min_i32"});
    add_atomic<u64, atomic_min<u64, int64_t>>(t, {"smin_x2", "min_i64"});
    add_atomic<u32, atomic_min<u32, u32>>(t, {"umin", "min_u32"});
    add_atomic<u64, atomic_min<u64, u64>>(t, {"umin_x2", "min_u64"});
    add_atomic<u32, atomic_max<u32, int32_t>>(t, {"smax", "max_i32"});
    add_atomic<u64, atomic_max<u64, int64_t>>(t, {"smax_x2", "max_i64"});
    add_atomic<u32, atomic_max<u32, u32>>(t, {"umax", "max_u32"});
    add_atomic<u64, atomic_max<u64, u64>>(t, {"umax_x2", "max_u64"});
    add_atomic<u32, atomic_and<u32>>(t, {"and", "and_b32"});
    add_atomic<u64, atomic_and<u64>>(t, {"and_x2", "and_b64"});
    add_atomic<u32, atomic_or<u32>>(t, {"or", "or_b32"});
    add_atomic<u64, atomic_or<u64>>(t, {"or_x2", "or_b64"});
    add_atomic<u32, atomic_xor<u32>>(t, {"xor", "xor_b32"});
    add_atomic<u64, atomic_xor<u64>>(t, {"xor_x2", "xor_b64"});
    add_atomic<u32, atomic_inc<u32>>(t, {"inc", "inc_u32"});
    add_atomic<u64, atomic_inc<u64>>(t, {"inc_x2", "inc_u64"});
    add_atomic<u32, atomic_dec<u32>>(t, {"dec", "dec_u32"});
    add_atomic<u64, atomic_dec<u64>>(t, {"dec_x2", "dec_u64"});
    add_atomic<u32, atomic_swap<u32>>(t, {"swap", "swap_b32"});
    add_atomic<u64, atomic_swap<u64>>(t, {"swap_x2", "swap_b64"});
    add_atomic<u32, atomic_cmpswap<u32>, true>(t, {"cmpswap", "cmpswap_b32"});
    add_atomic<u64, atomic_cmpswap<u64>, true>(t, {"cmpswap_x2", "cmpswap_b64"});
    add_atomic<u32, atomic_sub_clamp>(t, {"csub", "csub_u32", "sub_clamp_u32"});
    add_atomic<u32, atomic_cond_sub>(t, {"cond_sub_u32"});
    add_atomic<u32, atomic_float_add>(t, {"add_f32"});
    add_atomic<u32, atomic_pk_add<Half>>(t, {"pk_add_f16"});
    add_atomic<u32, atomic_pk_add<Bf16>>(t, {"pk_add_bf16"});
    add_atomic<u32, atomic_float_min<float>>(t, {"fmin", "min_f32", "min_num_f32"});
    add_atomic<u32, atomic_float_max<float>>(t, {"fmax", "max_f32", "max_num_f32"});
    add_atomic<u64, atomic_float_min<double>>(t, {"fmin_x2"});
    add_atomic<u64, atomic_float_max<double>>(t, {"fmax_x2"});
    add_atomic<u32, atomic_float_cmpswap<float>, true>(t, {"fcmpswap", "cmpswap_f32"});
    add_atomic<u64, atomic_float_cmpswap<double>, true>(t, {"fcmpswap_x2"});
    t.add("global_load_tr_b64", &load_transposed<2>, InstClass::kVmemLoad, Form::kGlobal, {Type::kAny},
          {Type::kAny, Type::kAny}, kFlagTranspose)
        .bytes = 8;
    t.add("global_load_tr_b128", &load_transposed<4>, InstClass::kVmemLoad, Form::kGlobal, {Type::kAny},
          {Type::kAny, Type::kAny}, kFlagTranspose)
        .bytes = 16;
}

}  // namespace ckitchen::gfxsim

// Scalar memory loads and clocks.
#include <algorithm>
#include <cstring>

#include "lane_memory.hpp"
#include "op_table.hpp"
#include "salu.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {
namespace {

/// kBytes of memory into as many scalar registers as they need.
template <int kBytes, bool kSigned = false>
void scalar_load(Wave& w, const Inst& inst) {
    uint64_t address = 0;
    uint32_t* d = &w.s[inst.dst[0].reg];
    if (!smem_address(w, inst, address)) {
        std::memset(d, 0, std::max(kBytes, 4));
        return;
    }
    w.worker->cache.get(address, kBytes, false, -1, w.worker->device);
    const void* p = reinterpret_cast<const void*>(address);
    if constexpr (kBytes >= 4) {
        std::memcpy(d, p, kBytes);
    } else {
        uint32_t v = 0;
        std::memcpy(&v, p, kBytes);
        if (kSigned)
            v = static_cast<uint32_t>(static_cast<int32_t>(v << (32 - 8 * kBytes)) >> (32 - 8 * kBytes));
        *d = v;
    }
}

/// A clock that counts what the wave executed: there is no notion of time.
void clock(Wave& w, const Inst& inst) {
    scalar_store(w, inst.dst[0], w.executed);
}

template <int kBytes>
void add_load(OpTable& t, const std::string& gfx10, const std::string& gfx11) {
    for (const std::string& name : {gfx10, gfx11}) {
        t.add("s_load_" + name, &scalar_load<kBytes>, InstClass::kSmem, Form::kSmem, {Type::kAny},
              {Type::kB64, Type::kB32})
            .bytes = kBytes;
        t.add("s_buffer_load_" + name, &scalar_load<kBytes>, InstClass::kSmem, Form::kSmem, {Type::kAny},
              {Type::kAny, Type::kB32})
            .bytes = kBytes;
    }
}

template <int kBytes, bool kSigned>
void add_small(OpTable& t, const std::string& name) {
    t.add("s_load_" + name, &scalar_load<kBytes, kSigned>, InstClass::kSmem, Form::kSmem, {Type::kB32},
          {Type::kB64, Type::kB32})
        .bytes = kBytes;
    t.add("s_buffer_load_" + name, &scalar_load<kBytes, kSigned>, InstClass::kSmem, Form::kSmem, {Type::kB32},
          {Type::kAny, Type::kB32})
        .bytes = kBytes;
}

}  // namespace

bool smem_address(const Wave& w, const Inst& inst, uint64_t& address) {
    const Operand& soffset = inst.src[1];
    // An immediate offset is signed, a register offset is not.
    const int64_t third = soffset.kind == OperandKind::kConst ? static_cast<int32_t>(soffset.lanes[0])
                                                              : int64_t{scalar_source<uint32_t>(w, soffset)};
    const uint64_t offset = static_cast<uint64_t>(third) + static_cast<uint64_t>(int64_t{inst.offset});
    const uint32_t bytes = inst.spec->bytes;
    const uint32_t* base = &w.s[inst.src[0].reg];
    const bool buffer = inst.src[0].words == 4;
    address = (uint64_t{buffer ? base[1] & 0xffff : base[1]} << 32 | base[0]) + offset;
    // Scalar loads of a dword and more ignore the two low address bits.
    if (bytes >= 4) address &= ~uint64_t{3};
    if (!buffer) return true;
    const uint64_t stride = base[1] >> 16 & 0x3fff;
    return offset + bytes <= (stride ? stride : 1) * base[2];
}

void register_smem(OpTable& t) {
    add_load<4>(t, "dword", "b32");
    add_load<8>(t, "dwordx2", "b64");
    add_load<12>(t, "dwordx3", "b96");
    add_load<16>(t, "dwordx4", "b128");
    add_load<32>(t, "dwordx8", "b256");
    add_load<64>(t, "dwordx16", "b512");
    for (const char* name : {"s_memtime", "s_memrealtime"})
        t.add(name, &clock, InstClass::kMessage, Form::kPlain, {Type::kB64}, {});
    add_small<1, false>(t, "u8");
    add_small<1, true>(t, "i8");
    add_small<2, false>(t, "u16");
    add_small<2, true>(t, "i16");
}

}  // namespace ckitchen::gfxsim

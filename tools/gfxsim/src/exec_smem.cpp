// Scalar memory loads.
#include <cstring>

#include "op_table.hpp"
#include "salu.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {
namespace {

/// kBytes of memory into as many scalar registers as they need.
template <int kBytes, bool kSigned = false>
void scalar_load(Wave& w, const Inst& inst) {
    const Operand& soffset = inst.src[1];
    // An immediate offset is signed, a register offset is not.
    const int64_t third = soffset.kind == OperandKind::kConst ? static_cast<int32_t>(soffset.lanes[0])
                                                              : int64_t{scalar_source<uint32_t>(w, soffset)};
    uint64_t address =
        w.s64(inst.src[0].reg) + static_cast<uint64_t>(third) + static_cast<uint64_t>(int64_t{inst.offset});
    // Scalar loads of a dword and more ignore the two low address bits.
    if (kBytes >= 4) address &= ~uint64_t{3};
    w.worker->cache.get(address, kBytes, false, -1, w.worker->device);
    const void* p = reinterpret_cast<const void*>(address);
    uint32_t* d = &w.s[inst.dst[0].reg];
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

template <int kBytes>
void add_load(OpTable& t, const char* gfx10, const char* gfx11) {
    for (const char* name : {gfx10, gfx11})
        t.add(name, &scalar_load<kBytes>, InstClass::kSmem, Form::kSmem, {Type::kAny},
              {Type::kB64, Type::kB32})
            .bytes = kBytes;
}

template <int kBytes, bool kSigned>
void add_small(OpTable& t, const char* name) {
    t.add(name, &scalar_load<kBytes, kSigned>, InstClass::kSmem, Form::kSmem, {Type::kB32},
          {Type::kB64, Type::kB32})
        .bytes = kBytes;
}

}  // namespace

void register_smem(OpTable& t) {
    add_load<4>(t, "s_load_dword", "s_load_b32");
    add_load<8>(t, "s_load_dwordx2", "s_load_b64");
    add_load<12>(t, "s_load_dwordx3", "s_load_b96");
    add_load<16>(t, "s_load_dwordx4", "s_load_b128");
    add_load<32>(t, "s_load_dwordx8", "s_load_b256");
    add_load<64>(t, "s_load_dwordx16", "s_load_b512");
    add_small<1, false>(t, "s_load_u8");
    add_small<1, true>(t, "s_load_i8");
    add_small<2, false>(t, "s_load_u16");
    add_small<2, true>(t, "s_load_i16");
}

}  // namespace ckitchen::gfxsim

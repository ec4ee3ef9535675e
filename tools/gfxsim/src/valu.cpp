#include "valu.hpp"

namespace ckitchen::gfxsim {
namespace {

uint32_t valid_lanes(const Wave& w, const Dpp& d) {
    uint32_t valid = 0;
    for (int l = 0; l < kLanes; ++l) {
        const int from = d.source[l];
        if (from >= 0 && (d.fetch_inactive || (w.exec() >> from & 1))) valid |= 1u << l;
    }
    return valid;
}

}  // namespace

uint32_t dpp_exec(const Wave& w, const Dpp& d) {
    // A lane without a valid source keeps its destination, unless bound_ctrl (or DPP8) makes it read zero.
    const uint32_t readable = d.bound_control || d.dpp8 ? ~0u : valid_lanes(w, d);
    return w.exec() & d.lane_mask & readable;
}

void apply_dpp(const Wave& w, const Dpp& d, const Source& in, bool wide, LaneBuffer& out) {
    const uint32_t valid = valid_lanes(w, d);
    for (int l = 0; l < kLanes; ++l) {
        const bool ok = valid >> l & 1;
        out.lo[l] = ok ? in.lo[d.source[l]] : 0;
        out.hi[l] = ok && wide ? in.hi[d.source[l]] : 0;
    }
}

void apply_select(const Operand& o, bool sign_extend, const Source& in, LaneBuffer& out) {
    const int index = static_cast<int>(o.select);
    const bool byte = o.select >= Select::kByte0 && o.select <= Select::kByte3;
    const int shift = byte ? 8 * (index - static_cast<int>(Select::kByte0))
                           : 16 * (index - static_cast<int>(Select::kWord0));
    for (int l = 0; l < kLanes; ++l) {
        const uint32_t v = in.lo[l] >> shift;
        if (byte)
            out.lo[l] = sign_extend ? static_cast<uint32_t>(int32_t{static_cast<int8_t>(v)}) : v & 0xff;
        else
            out.lo[l] = sign_extend ? static_cast<uint32_t>(int32_t{static_cast<int16_t>(v)}) : v & 0xffff;
    }
}

void store_sdwa(Wave& w, const Inst& inst, const Operand& dst, const uint32_t* r, uint32_t exec) {
    const int index = static_cast<int>(dst.select);
    const bool byte = dst.select >= Select::kByte0 && dst.select <= Select::kByte3;
    int shift = 0, bits = 32;
    if (dst.select != Select::kDword) {
        bits = byte ? 8 : 16;
        shift = byte ? 8 * (index - static_cast<int>(Select::kByte0))
                     : 16 * (index - static_cast<int>(Select::kWord0));
    } else if (dst.type == Type::kB16 || dst.type == Type::kF16) {
        // A 16-bit result written as a dword is zero-extended.
        for (int l = 0; l < kLanes; ++l)
            if (exec >> l & 1) w.v[dst.reg][l] = r[l] & 0xffff;
        return;
    }
    const uint32_t mask = bits == 32 ? ~0u : ((1u << bits) - 1) << shift;
    for (int l = 0; l < kLanes; ++l) {
        if (!(exec >> l & 1)) continue;
        uint32_t& d = w.v[dst.reg][l];
        const uint32_t value = r[l] << shift & mask;
        uint32_t rest = 0;
        if (inst.preserve) rest = d & ~mask;
        // The bits above the selected part repeat its sign; those below are zero.
        if (inst.dst_sext && bits + shift < 32 && (value >> (bits + shift - 1) & 1))
            rest = ~0u << (bits + shift);
        d = value | rest;
    }
}

}  // namespace ckitchen::gfxsim

#include "lane_memory.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "scratch_descriptor.hpp"
#include "valu.hpp"

namespace ckitchen::gfxsim {

Space LaneAddresses::space_of(int lane) const {
    if (!mixed) return space;
    const uint64_t high = at[lane] & 0xffffffff00000000ull;
    return high == kSharedAperture    ? Space::kLds
           : high == kPrivateAperture ? Space::kScratch
                                      : Space::kGlobal;
}

uint8_t* global_pointer(Wave& w, uint64_t address, uint32_t bytes, bool write, int lane) {
    w.worker->cache.get(address, bytes, write, lane, w.worker->device);
    const uint32_t unit = std::min(bytes, 4u);
    if (w.worker->strict_alignment && address % unit != 0)
        raise(FaultKind::kMisaligned, lane,
              "access of " + std::to_string(bytes) + " bytes at " + hex(address) + " is not aligned to " +
                  std::to_string(unit));
    return reinterpret_cast<uint8_t*>(address);
}

uint8_t* lds_pointer(Wave& w, uint32_t address, uint32_t bytes, int lane) {
    std::vector<uint8_t>& lds = w.group->lds;
    if (address > lds.size() || lds.size() - address < bytes)
        raise(FaultKind::kLdsRange, lane,
              "access of " + std::to_string(bytes) + " bytes at LDS offset " + std::to_string(address) +
                  ", the workgroup has " + std::to_string(lds.size()) + " bytes");
    const uint32_t unit = std::min(bytes, 4u);
    if (w.worker->strict_alignment && address % unit != 0)
        raise(FaultKind::kMisaligned, lane,
              "LDS access of " + std::to_string(bytes) + " bytes at offset " + std::to_string(address) +
                  " is not aligned to " + std::to_string(unit));
    return lds.data() + address;
}

namespace {

uint32_t scalar_of(const Wave& w, const Operand& o) {
    return o.kind == OperandKind::kConst ? o.lanes[0] : w.s[o.reg];
}

uint8_t* scratch_byte(Wave& w, uint32_t address, int lane) {
    return reinterpret_cast<uint8_t*>(&w.scratch[(address >> 2) * kLanes + static_cast<uint32_t>(lane)]) +
           (address & 3);
}

void check_scratch(const Wave& w, uint32_t address, uint32_t bytes, int lane) {
    if (address <= w.scratch_lane_bytes && w.scratch_lane_bytes - address >= bytes) return;
    raise(FaultKind::kScratchRange, lane,
          "access of " + std::to_string(bytes) + " bytes at scratch offset " + std::to_string(address) +
              ", a lane has " + std::to_string(w.scratch_lane_bytes) + " bytes");
}

}  // namespace

void scratch_read(Wave& w, uint32_t address, uint32_t bytes, int lane, uint8_t* out) {
    check_scratch(w, address, bytes, lane);
    for (uint32_t i = 0; i < bytes; ++i) out[i] = *scratch_byte(w, address + i, lane);
}

void scratch_write(Wave& w, uint32_t address, uint32_t bytes, int lane, const uint8_t* in) {
    check_scratch(w, address, bytes, lane);
    for (uint32_t i = 0; i < bytes; ++i) *scratch_byte(w, address + i, lane) = in[i];
}

namespace {

bool data_first(const Inst& inst) {
    return inst.spec->form == Form::kBuffer && inst.access != MemoryAccess::kLoad;
}

// Bits of Inst::extra.
constexpr uint64_t kOffsetEnable = 1, kIndexEnable = 2;

/// MUBUF. A descriptor of the private segment (gfx103x) counts bytes of a whole wave in its scalar offset;
/// any other one describes a buffer in memory: base in bits 0 to 47, stride in 48 to 61, then the number of
/// records. Lanes out of its bounds load 0 and store nothing, as documented.
void buffer_addresses(Wave& w, const Inst& inst, LaneAddresses& out) {
    const int vaddr = address_operand(inst), saddr = scalar_operand(inst);
    const Operand &v = inst.src[vaddr], &descriptor = inst.src[saddr];
    const uint32_t scalar = scalar_of(w, inst.src[saddr + 1]), offset = static_cast<uint32_t>(inst.offset);
    LaneBuffer tmp;
    const Source a = raw_source(w, v, tmp);
    const bool indexed = inst.extra & kIndexEnable, offsets = inst.extra & kOffsetEnable;
    if (descriptor.kind != OperandKind::kSgpr)
        raise(FaultKind::kUnknownInstruction, -1, "buffer access without a descriptor");
    const uint32_t* d = &w.s[descriptor.reg];
    if (d[2] == kScratchDescriptorWord2 && d[3] == kScratchDescriptorWord3) {
        const uint32_t base = scalar / kLanes + offset;
        GFXSIM_LANES out.at[l] = base + (offsets ? a.lo[l] : 0u);
        out.space = Space::kScratch;
        return;
    }
    const uint64_t base = (uint64_t{d[1] & 0xffff} << 32 | d[0]) + scalar;
    const uint32_t stride = d[1] >> 16 & 0x3fff, records = d[2];
    if (d[1] >> 30 || d[3] >> 23 & 1)
        raise(FaultKind::kUnknownInstruction, -1, "swizzled buffer, descriptor word 1 is " + hex(d[1]));
    const uint32_t* index = a.lo;
    const uint32_t* own = indexed ? a.hi : a.lo;
    for (int l = 0; l < kLanes; ++l) {
        const uint64_t inside = uint64_t{offsets ? own[l] : 0} + offset, row = indexed ? index[l] : 0;
        const uint64_t at = inside + row * stride;
        out.at[l] = base + at;
        const bool structured = stride != 0 && indexed;
        const bool within = structured ? row < records && inside + inst.spec->bytes <= stride
                                       : at + inst.spec->bytes <= records;
        if (!within) out.lanes &= ~(1u << l);
    }
    out.space = Space::kGlobal;
}

}  // namespace

int address_operand(const Inst& inst) {
    return data_first(inst) ? 1 : 0;
}
int scalar_operand(const Inst& inst) {
    return inst.access == MemoryAccess::kLoad ? 1 : 2;
}
int data_operand(const Inst& inst) {
    return data_first(inst) ? 0 : 1;
}

void transpose_lanes(uint32_t (*words)[kLanes], int count) {
    const int bits = 4 * count, per = 32 / bits;  // 8 elements in 2 or 4 dwords
    const uint32_t mask = (1u << bits) - 1;
    uint32_t out[4][kLanes] = {};
    for (int l = 0; l < kLanes; ++l)
        for (int k = 0; k < 8; ++k) {
            const uint32_t element = words[k / per][l] >> (bits * (k % per)) & mask;
            const int to = l % 8;
            out[to / per][(l & ~7) + k] |= element << (bits * (to % per));
        }
    std::memcpy(words, out, sizeof *words * static_cast<size_t>(count));
}

void vmem_addresses(Wave& w, const Inst& inst, LaneAddresses& out) {
    out.lanes = w.exec();
    if (inst.spec->form == Form::kBuffer) return buffer_addresses(w, inst, out);
    const int vaddr = address_operand(inst), saddr = scalar_operand(inst);
    const Operand& v = inst.src[vaddr];
    const uint64_t offset = static_cast<uint64_t>(int64_t{inst.offset});
    LaneBuffer tmp;
    switch (inst.spec->form) {
        case Form::kGlobal: {
            const Operand& s = inst.src[saddr];
            const Source a = raw_source(w, v, tmp);
            if (s.kind == OperandKind::kSgpr) {
                const uint64_t base = w.s64(s.reg) + offset;
                GFXSIM_LANES out.at[l] = base + a.lo[l];
            } else {
                GFXSIM_LANES out.at[l] = (uint64_t{a.hi[l]} << 32 | a.lo[l]) + offset;
            }
            out.space = Space::kGlobal;
            return;
        }
        case Form::kFlat: {
            const Source a = raw_source(w, v, tmp);
            uint32_t other = 0;
            GFXSIM_LANES out.at[l] = (uint64_t{a.hi[l]} << 32 | a.lo[l]) + offset;
            GFXSIM_LANES {
                const uint64_t high = out.at[l] >> 32;
                other |= (high == kSharedAperture >> 32) | (high == kPrivateAperture >> 32);
            }
            out.mixed = other != 0;
            out.space = Space::kGlobal;
            return;
        }
        case Form::kScratch: {
            const Source a = raw_source(w, v, tmp);
            const uint32_t base = scalar_of(w, inst.src[saddr]) + static_cast<uint32_t>(offset);
            GFXSIM_LANES out.at[l] = base + a.lo[l];
            out.space = Space::kScratch;
            return;
        }
        default:
            raise(FaultKind::kUnknownInstruction, -1, "an address form without semantics");
    }
}

bool global_range_check(Wave& w, const LaneAddresses& a, uint32_t bytes, bool write) {
    const uint32_t exec = a.lanes;
    if (a.mixed || a.space != Space::kGlobal || exec == 0 || w.worker->strict_alignment) return false;
    const int first = std::countr_zero(exec);
    const AccessCache::Range& r = w.worker->cache.get(a.at[first], bytes, write, first, w.worker->device);
    const uint64_t base = r.base, last = r.end - bytes;
    uint32_t outside = 0;
    GFXSIM_LANES outside |= ((a.at[l] < base) | (a.at[l] > last)) & (exec >> l & 1);
    return outside == 0;
}

}  // namespace ckitchen::gfxsim

#include "counters.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "lane_memory.hpp"
#include "op_table.hpp"
#include "valu.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {
namespace {

constexpr int kBanks = 32;

/// LDS serves 32 dwords a pass: 32 lanes of up to 4 bytes, 16 of 8, 8 of more, in order of the lanes. A pass
/// takes as many cycles as the busiest bank has different dwords; lanes that want the same dword share it,
/// except atomics. The lane order of 16-byte accesses is documented for gfx12; gfx11 and earlier are counted
/// alike.
void count_lds(const uint32_t (&at)[kLanes], uint32_t exec, uint32_t bytes, bool atomic, MemoryCount& to) {
    const int group = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
    const uint32_t dwords = (bytes + 3) / 4;
    for (int first = 0; first < kLanes; first += group) {
        const uint32_t lanes = exec >> first & static_cast<uint32_t>((uint64_t{1} << group) - 1);
        if (!lanes) continue;
        uint32_t want[kLanes];
        size_t n = 0;
        for (uint32_t m = lanes; m; m &= m - 1)
            for (uint32_t k = 0; k < dwords; ++k) want[n++] = at[first + std::countr_zero(m)] / 4 + k;
        if (!atomic) {
            std::sort(want, want + n);
            n = static_cast<size_t>(std::unique(want, want + n) - want);
        }
        uint32_t load[kBanks] = {}, cycles = 0;
        for (size_t i = 0; i < n; ++i) cycles = std::max(cycles, ++load[want[i] % kBanks]);
        to.lds_passes += cycles;
        to.lds_conflicts += cycles - 1;
    }
}

void count_lines(const uint64_t (&at)[kLanes], uint32_t exec, uint32_t bytes, MemoryCount& to) {
    uint64_t halves[2 * kLanes];
    size_t n = 0;
    for (uint32_t m = exec; m; m &= m - 1) {
        const uint64_t a = at[std::countr_zero(m)];
        halves[n++] = a / 64;
        if ((a + bytes - 1) / 64 != a / 64) halves[n++] = a / 64 + 1;
    }
    std::sort(halves, halves + n);
    n = static_cast<size_t>(std::unique(halves, halves + n) - halves);
    to.half_lines += n;
    for (size_t i = 0; i < n; ++i) to.lines += i == 0 || halves[i] / 2 != halves[i - 1] / 2;
}

}  // namespace

void count_memory(Wave& w, const Inst& inst, MemoryCount& to) {
    const OpSpec& spec = *inst.spec;
    uint32_t exec = w.exec();
    if (exec == 0 || spec.cls == InstClass::kScratch) return;
    if (spec.cls == InstClass::kSmem) {
        ++to.requests;
        to.bytes += spec.bytes;
        return;
    }
    const bool atomic = inst.access == MemoryAccess::kAtomic;
    if (spec.cls == InstClass::kLds) {
        ++to.requests;
        const bool two = spec.flags & kFlagTwoOffsets;
        const bool wide = two && (spec.name.find("st64") != std::string::npos ||
                                  spec.name.find("stride64") != std::string::npos);
        const uint32_t unit = two ? spec.bytes * (wide ? 64u : 1u) : 1u;
        LaneBuffer tmp;
        const Source a = raw_source(w, inst.src[0], tmp);
        for (int part = 0; part < (two ? 2 : 1); ++part) {
            const uint32_t offset = static_cast<uint32_t>(part ? inst.offset1 : inst.offset) * unit;
            uint32_t at[kLanes];
            GFXSIM_LANES at[l] = a.lo[l] + offset;
            count_lds(at, exec, spec.bytes, atomic, to);
            to.bytes += static_cast<uint64_t>(std::popcount(exec)) * spec.bytes;
        }
        return;
    }
    LaneAddresses a;
    vmem_addresses(w, inst, a);
    if (a.space == Space::kScratch) return;
    ++to.requests;
    exec = a.lanes;
    if (a.mixed)
        for (int l = 0; l < kLanes; ++l)
            if (a.space_of(l) != Space::kGlobal) exec &= ~(1u << l);
    to.bytes += static_cast<uint64_t>(std::popcount(exec)) * spec.bytes;
    count_lines(a.at, exec, spec.bytes, to);
}

}  // namespace ckitchen::gfxsim

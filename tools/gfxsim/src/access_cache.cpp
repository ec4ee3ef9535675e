#include "memory.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {

const AccessCache::Range& AccessCache::fill(uint64_t address, uint32_t bytes, bool write, int lane,
                                            int device) {
    Allocation a;
    const MemoryMap& map = MemoryMap::instance();
    const char* verb = write ? "write of " : "read of ";
    const std::string what = verb + std::to_string(bytes) + " bytes at " + hex(address) + ": ";
    if (!map.find(address, a)) raise(FaultKind::kIllegalAddress, lane, what + map.describe(address));
    if (!a.live) raise(FaultKind::kIllegalAddress, lane, what + "use after free, " + map.describe(address));
    if (a.base + a.size - address < bytes)
        raise(FaultKind::kIllegalAddress, lane, what + "crosses the end, " + map.describe(address));
    if (a.kind == MemoryKind::kInternal)
        raise(FaultKind::kIllegalAddress, lane,
              what + "memory that no kernel owns, " + map.describe(address));
    if (a.kind != MemoryKind::kHost && a.device != device)
        raise(FaultKind::kIllegalAddress, lane, what + "memory of another device, " + map.describe(address));
    if (write && !a.writable)
        raise(FaultKind::kIllegalAddress, lane, what + "read-only, " + map.describe(address));
    Range& r = ranges_[next_++ % ranges_.size()];
    r = {a.base, a.base + a.size, a.writable, a.defined};
    return r;
}

}  // namespace ckitchen::gfxsim

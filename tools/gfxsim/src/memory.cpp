#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ckitchen::gfxsim {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kGuard = 64 * 1024;
constexpr size_t kGraveyardLimit = 4096;
// A byte that makes a large negative int8, a NaN-free but absurd bf16 and an unlikely pointer.
constexpr int kPoison = 0xcb;
// Larger allocations stay zero above this, so that reserving much and using little stays cheap.
constexpr uint64_t kPoisonLimit = 1ull << 30;

uint64_t round_up(uint64_t v, uint64_t to) {
    return (v + to - 1) / to * to;
}

}  // namespace

bool all_defined(const uint8_t* bits, uint64_t at, uint64_t bytes) {
    for (const uint64_t end = at + bytes; at < end;) {
        if (at % 8 == 0 && end - at >= 8) {
            if (__atomic_load_n(bits + at / 8, __ATOMIC_RELAXED) != 0xff) return false;
            at += 8;
        } else {
            if (!(__atomic_load_n(bits + at / 8, __ATOMIC_RELAXED) >> (at % 8) & 1)) return false;
            ++at;
        }
    }
    return true;
}

void set_defined(uint8_t* bits, uint64_t at, uint64_t bytes) {
    for (const uint64_t end = at + bytes; at < end;) {
        if (at % 8 == 0 && end - at >= 64) {
            std::memset(bits + at / 8, 0xff, (end - at) / 8);
            at += (end - at) / 8 * 8;
            continue;
        }
        const uint64_t n = std::min(8 - at % 8, end - at);
        const uint8_t mask = static_cast<uint8_t>(((1u << n) - 1) << (at % 8));
        if ((__atomic_load_n(bits + at / 8, __ATOMIC_RELAXED) & mask) != mask)
            __atomic_fetch_or(bits + at / 8, mask, __ATOMIC_RELAXED);
        at += n;
    }
}

MemoryMap& MemoryMap::instance() {
    // Never destroyed: a client may free memory from its own static destructors.
    static MemoryMap* map = new MemoryMap;
    return *map;
}

void* MemoryMap::allocate(uint64_t size, MemoryKind kind, int device, unsigned flags, uint64_t limit) {
    if (size == 0 || size > (1ull << 46)) return nullptr;
    if (kind == MemoryKind::kDevice && used(device) + size > limit) return nullptr;
    const uint64_t body = round_up(size, kPage);
    const uint64_t total = body + 2 * kGuard;
    void* map = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) return nullptr;
    uint8_t* base = static_cast<uint8_t*>(map) + kGuard;
    if (mprotect(base, body, PROT_READ | PROT_WRITE) != 0) {
        munmap(map, total);
        return nullptr;
    }
    if (kind == MemoryKind::kDevice || kind == MemoryKind::kHost)
        std::memset(base, kPoison, std::min(body, kPoisonLimit));
    std::lock_guard lock(mutex_);
    Allocation a;
    a.base = reinterpret_cast<uint64_t>(base);
    a.size = size;
    a.kind = kind;
    a.device = device;
    a.flags = flags;
    a.serial = next_serial_++;
    a.map_base = reinterpret_cast<uint64_t>(map);
    a.map_size = total;
    const char* undefined = std::getenv("GFXSIM_UNDEF");
    if ((kind == MemoryKind::kDevice || kind == MemoryKind::kKernarg) &&
        !(undefined && std::strcmp(undefined, "off") == 0)) {
        a.bits_size = round_up(size / 8 + 1, kPage);
        void* bits = mmap(nullptr, a.bits_size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (bits != MAP_FAILED) a.defined = a.bits = static_cast<uint8_t*>(bits);
    }
    // The kernel may hand out again a range whose former tenant is still remembered.
    for (auto it = by_base_.lower_bound(a.map_base);
         it != by_base_.end() && it->first < a.map_base + total;) {
        forget(it->second);
        it = by_base_.erase(it);
    }
    by_base_[a.base] = a;
    return base;
}

bool MemoryMap::release(void* p, MemoryKind kind) {
    std::lock_guard lock(mutex_);
    auto it = by_base_.find(reinterpret_cast<uint64_t>(p));
    if (it == by_base_.end() || !it->second.live || it->second.kind != kind) return false;
    Allocation& a = it->second;
    a.live = false;
    // Keeps the address range but gives the memory back, so that a stale access is recognised.
    mmap(reinterpret_cast<void*>(a.map_base), a.map_size, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    // A launch in another thread may still hold the map of written bytes: it stays, without its memory.
    if (a.bits) madvise(a.bits, a.bits_size, MADV_DONTNEED);
    graveyard_.push_back(a.base);
    if (graveyard_.size() > kGraveyardLimit) {
        auto old = by_base_.find(graveyard_.front());
        graveyard_.erase(graveyard_.begin());
        if (old != by_base_.end() && !old->second.live) {
            munmap(reinterpret_cast<void*>(old->second.map_base), old->second.map_size);
            forget(old->second);
            by_base_.erase(old);
        }
    }
    return true;
}

void MemoryMap::forget(const Allocation& a) {
    if (a.bits) munmap(a.bits, a.bits_size);
}

Allocation* MemoryMap::lookup_live(const void* p) {
    Allocation* a = const_cast<Allocation*>(lookup(reinterpret_cast<uint64_t>(p)));
    return a && a->live ? a : nullptr;
}

void MemoryMap::mark_defined(const void* p, uint64_t bytes) {
    std::lock_guard lock(mutex_);
    Allocation* a = lookup_live(p);
    if (!a || !a->defined) return;
    const uint64_t at = reinterpret_cast<uint64_t>(p) - a->base;
    if (at == 0 && bytes >= a->size)
        a->defined = nullptr;
    else
        set_defined(a->defined, at, std::min(bytes, a->size - at));
}

void MemoryMap::copy_defined(const void* dst, const void* src, uint64_t bytes) {
    {
        std::lock_guard lock(mutex_);
        const Allocation* from = lookup_live(src);
        if (from && from->defined) {
            const Allocation* to = lookup_live(dst);
            if (!to || !to->defined) return;
            const uint64_t f = reinterpret_cast<uint64_t>(src) - from->base,
                           t = reinterpret_cast<uint64_t>(dst) - to->base;
            const bool backwards = f < t;
            for (uint64_t k = 0; k < bytes; ++k) {
                const uint64_t i = backwards ? bytes - 1 - k : k;
                uint8_t& byte = to->defined[(t + i) / 8];
                const uint8_t mask = static_cast<uint8_t>(1u << ((t + i) % 8));
                byte = from->defined[(f + i) / 8] >> ((f + i) % 8) & 1 ? static_cast<uint8_t>(byte | mask)
                                                                       : static_cast<uint8_t>(byte & ~mask);
            }
            return;
        }
    }
    mark_defined(dst, bytes);
}

void MemoryMap::set_writable(const void* p, bool writable) {
    std::lock_guard lock(mutex_);
    auto it = by_base_.find(reinterpret_cast<uint64_t>(p));
    if (it != by_base_.end()) it->second.writable = writable;
}

const Allocation* MemoryMap::lookup(uint64_t address) const {
    auto it = by_base_.upper_bound(address);
    if (it == by_base_.begin()) return nullptr;
    --it;
    return address - it->second.base < it->second.size ? &it->second : nullptr;
}

bool MemoryMap::find(uint64_t address, Allocation& out) const {
    std::lock_guard lock(mutex_);
    const Allocation* a = lookup(address);
    if (a) out = *a;
    return a != nullptr;
}

uint64_t MemoryMap::used(int device) const {
    std::lock_guard lock(mutex_);
    uint64_t sum = 0;
    for (const auto& [base, a] : by_base_)
        if (a.live && a.kind == MemoryKind::kDevice && a.device == device) sum += a.size;
    return sum;
}

std::string MemoryMap::describe(uint64_t address) const {
    std::lock_guard lock(mutex_);
    const auto text = [](const Allocation& a) {
        static constexpr const char* kNames[] = {"device memory", "host memory", "code object",
                                                 "kernarg segment", "internal buffer"};
        char buffer[160];
        std::snprintf(buffer, sizeof buffer, "%s%s #%llu [0x%llx, +%llu bytes)", a.live ? "" : "freed ",
                      kNames[static_cast<int>(a.kind)], static_cast<unsigned long long>(a.serial),
                      static_cast<unsigned long long>(a.base), static_cast<unsigned long long>(a.size));
        return std::string(buffer);
    };
    char number[96];
    auto it = by_base_.upper_bound(address);
    std::string out;
    if (it != by_base_.begin()) {
        const Allocation& before = std::prev(it)->second;
        if (address - before.base < before.size) {
            std::snprintf(number, sizeof number, "byte %llu of ",
                          static_cast<unsigned long long>(address - before.base));
            return number + text(before);
        }
        std::snprintf(number, sizeof number, "%llu bytes past the end of ",
                      static_cast<unsigned long long>(address - before.base - before.size));
        out = number + text(before);
    }
    if (it != by_base_.end()) {
        std::snprintf(number, sizeof number, "%s%llu bytes before ", out.empty() ? "" : ", ",
                      static_cast<unsigned long long>(it->second.base - address));
        out += number + text(it->second);
    }
    return out.empty() ? "no allocation exists" : out;
}

}  // namespace ckitchen::gfxsim

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ckitchen::gfxsim {

enum class MemoryKind : uint8_t { kDevice, kHost, kCode, kKernarg, kInternal };

/// One simulated allocation. Simulated addresses are host addresses, so a copy is a memcpy.
struct Allocation {
    uint64_t base = 0;
    uint64_t size = 0;
    MemoryKind kind = MemoryKind::kDevice;
    int device = 0;
    bool live = true;
    bool writable = true;
    unsigned flags = 0;
    uint64_t serial = 0;
    // The mapping that holds the allocation, guard pages included.
    uint64_t map_base = 0;
    uint64_t map_size = 0;
    // A bit per byte that was written since the allocation; nullptr when all of them count as written.
    uint8_t* defined = nullptr;
    uint8_t* bits = nullptr;  // the mapping behind it
    uint64_t bits_size = 0;
};

/// Bits of a map with one bit a byte. Several threads may set bits of one map at a time.
bool all_defined(const uint8_t* bits, uint64_t at, uint64_t bytes);
void set_defined(uint8_t* bits, uint64_t at, uint64_t bytes);

/// All memory that a kernel may reach. Each allocation has its own mapping between two inaccessible guard
/// zones; freed ones stay listed (and inaccessible) for a while so that a later access can be named.
class MemoryMap {
  public:
    static MemoryMap& instance();

    /// nullptr when the host has no memory left or `size` would exceed `limit` of that device. `size` > 0.
    /// The new bytes (the first GiB of them) hold a poison pattern.
    void* allocate(uint64_t size, MemoryKind kind, int device, unsigned flags, uint64_t limit);
    /// False when `p` is not the base of a live allocation of that kind.
    bool release(void* p, MemoryKind kind);
    /// Somebody wrote these bytes.
    void mark_defined(const void* p, uint64_t bytes);
    /// These bytes were copied, written or not.
    void copy_defined(const void* dst, const void* src, uint64_t bytes);
    void set_writable(const void* p, bool writable);

    /// The allocation, live or freed, that contains `address`; false when none does.
    bool find(uint64_t address, Allocation& out) const;
    /// Bytes of device memory in use on one device.
    uint64_t used(int device) const;
    /// A sentence on what lies at and around an address.
    std::string describe(uint64_t address) const;

  private:
    void forget(const Allocation& a);
    Allocation* lookup_live(const void* p);
    const Allocation* lookup(uint64_t address) const;

    mutable std::mutex mutex_;
    std::map<uint64_t, Allocation> by_base_;
    std::vector<uint64_t> graveyard_;
    uint64_t next_serial_ = 1;
};

}  // namespace ckitchen::gfxsim

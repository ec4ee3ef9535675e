#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "code_image.hpp"
#include "counters.hpp"
#include "fault.hpp"
#include "inst.hpp"
#include "races.hpp"
#include "targets.hpp"

namespace ckitchen::gfxsim {

struct Workgroup;
struct Worker;

enum class WaveState : uint8_t { kRunning, kAtBarrier, kDone };

/// Which bits of a wave's registers nobody has written: ones are undefined.
struct Undefined {
    std::array<uint64_t, kRegisterWords> any{};  // registers with an undefined bit in some lane
    alignas(64) std::array<std::array<uint32_t, kLanes>, kVectorCount> v;
    std::array<uint32_t, kScalarCount> s;
    std::vector<uint32_t> scratch;  // as Wave::scratch

    static constexpr int scalar_bit(int reg) { return kVectorBits + reg; }
    bool test(int bit) const { return any[static_cast<size_t>(bit) / 64] >> (bit % 64) & 1; }
    void put(int bit, bool value) {
        uint64_t& word = any[static_cast<size_t>(bit) / 64];
        const uint64_t mask = uint64_t{1} << (bit % 64);
        word = value ? word | mask : word & ~mask;
    }
    bool touched(const Inst& inst) const {
        uint64_t hit = 0;
        for (unsigned i = 0; i < inst.touch_count; ++i) hit |= any[inst.touch_word[i]] & inst.touch_mask[i];
        return hit != 0;
    }
};

/// Architectural state of one wave32. A vector register is an array over lanes, so that a lane loop is a
/// vector loop of the host.
struct Wave {
    alignas(64) std::array<std::array<uint32_t, kLanes>, kVectorCount> v;
    std::array<uint32_t, kScalarCount> s;
    bool scc = false;
    WaveState state = WaveState::kRunning;
    bool barrier_signalled = false;       // signalled the barrier that is still open
    bool barrier_passed = false;          // the barrier that was signalled is complete and not yet waited for
    uint32_t mode = 0;                    // MODE register: round [3:0], denorm [7:4]
    std::array<uint32_t, 2> host_word{};  // the host's control word for float32, and for float16 and float64
    bool split_modes = false;             // they differ
    uint64_t pc = 0;                      // address of the instruction in execution
    uint64_t next_pc = 0;                 // of the one after it; branches change it
    uint64_t executed = 0;
    uint32_t id_in_group = 0;
    Workgroup* group = nullptr;
    Worker* worker = nullptr;
    const Target* target = nullptr;
    uint32_t scratch_lane_bytes = 0;
    std::vector<uint32_t> scratch;  // dword d of lane l at [d * 32 + l]
    Undefined undefined;

    uint32_t exec() const { return s[kExecLo]; }
    uint64_t s64(int reg) const { return uint64_t{s[reg + 1]} << 32 | s[reg]; }
};

/// A wave's barrier of one workgroup and the LDS that its waves share.
struct Workgroup {
    std::array<uint32_t, 3> id{};
    std::vector<uint8_t> lds;            // exactly the allocated bytes
    std::vector<uint8_t> undefined_lds;  // one bits are undefined; empty when nobody asks
    bool lds_defined = false;            // undefined_lds is known to be all zero
    unsigned lds_scans = 0;
    Races races;
    std::vector<Wave*> waves;
    uint32_t live_waves = 0;
    uint32_t signalled = 0;
};

/// Ranges of memory that were found live and accessible lately.
class AccessCache {
  public:
    struct Range {
        uint64_t base = 0, end = 0;
        bool writable = false;
        uint8_t* defined = nullptr;  // a bit per byte that was written; nullptr: all of them were
    };

    void clear() { ranges_ = {}; }
    /// The range around [address, address + bytes), or raises a finding for `lane`.
    const Range& get(uint64_t address, uint32_t bytes, bool write, int lane, int device) {
        for (const Range& r : ranges_)
            if (address - r.base < r.end - r.base && r.end - address >= bytes && (r.writable || !write))
                return r;
        return fill(address, bytes, write, lane, device);
    }

  private:
    const Range& fill(uint64_t address, uint32_t bytes, bool write, int lane, int device);

    std::array<Range, 8> ranges_{};
    unsigned next_ = 0;
};

/// One host thread's share of a launch.
struct Worker {
    AccessCache cache;
    int device = 0;
    bool strict_alignment = false;
    bool track_undefined = false;
    std::vector<uint64_t> counts;     // executions by code slot
    std::vector<MemoryCount> memory;  // by code slot, empty without statistics
};

}  // namespace ckitchen::gfxsim

#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "inst.hpp"

namespace ckitchen::gfxsim {

/// Accesses of the waves of one workgroup since its last barrier. Two waves that touch the same byte of LDS
/// or of global memory between the same two barriers, one of them with a plain store, race: nothing says who
/// is first. Atomic accesses do not race with each other; an atomic that returns a value may be a lock, so an
/// interval that has one is not judged.
class Races {
  public:
    void start(uint32_t waves, uint32_t lds_bytes);
    bool active() const { return active_; }
    /// To be called before a memory instruction is executed.
    void record(Wave& w, const Inst& inst);
    /// Ends the interval; raises the finding, if there is one.
    void close();

  private:
    enum Kind : uint8_t { kRead, kWrite, kAtomic, kKinds };
    struct Access {
        const Inst* inst;
        uint8_t wave;
        Kind kind;
        uint32_t lanes, bytes;
        uint64_t low, high;  // addresses of all lanes lie in [low, high)
        std::array<uint64_t, kLanes> at;
    };
    struct LdsAccess {
        const Inst* inst;
        uint8_t wave;
        Kind kind;
        uint32_t lanes, bytes;
        std::array<uint32_t, kLanes> at;
    };
    /// One wave's bytes of LDS of one kind, and the words of the map that are not zero.
    struct Bytes {
        std::vector<uint64_t> words;
        size_t begin = SIZE_MAX, end = 0;
    };
    struct Interval {
        std::vector<Bytes> lds;  // by wave and kind
        std::vector<LdsAccess> lds_log;
        std::vector<Access> log;
        bool lds_written = false, global_written = false, ordered = false;
    };
    struct Cell {
        uint64_t key = 0;
        uint32_t generation = 0;
        std::array<uint8_t, 4> writer{};  // wave + 1 of each byte
        std::array<uint8_t, 4> atomic{};
    };

    void record_lds(const Wave& w, const Inst& inst, Interval& to, Kind kind, uint32_t lanes,
                    const uint64_t* at, uint32_t bytes);
    void record_global(const Wave& w, const Inst& inst, Interval& to, Kind kind, uint32_t lanes,
                       const uint64_t* at, uint32_t bytes);
    void judge_lds(Interval& i);
    void judge_global(Interval& i);
    void judge_byte(const Interval& i, uint32_t byte) const;
    Cell* cell(uint64_t key, bool insert);
    void clear(Interval& i);

    bool active_ = false;
    uint32_t waves_ = 0, lds_bytes_ = 0;
    // A wave that has signalled a barrier but not waited for it already works in the next interval.
    std::array<Interval, 2> intervals_;
    unsigned current_ = 0;
    std::vector<uint64_t> seen_[kKinds];
    std::vector<Cell> cells_;
    uint32_t generation_ = 0;
};

}  // namespace ckitchen::gfxsim

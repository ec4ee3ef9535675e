#pragma once

#include <cstdint>
#include <vector>

#include "inst.hpp"

namespace ckitchen::gfxsim {

/// What the memory instructions of one code address asked for. A request is one executed instruction with an
/// active lane.
struct MemoryCount {
    uint64_t requests = 0;
    uint64_t bytes = 0;          // of active lanes
    uint64_t lines = 0;          // global: different 128-byte lines, summed over requests
    uint64_t half_lines = 0;     // global: different 64-byte halves; stores travel in these
    uint64_t lds_passes = 0;     // cycles of the LDS banks
    uint64_t lds_conflicts = 0;  // of these, the ones that a conflict-free pattern would not need

    MemoryCount& operator+=(const MemoryCount& o) {
        requests += o.requests;
        bytes += o.bytes;
        lines += o.lines;
        half_lines += o.half_lines;
        lds_passes += o.lds_passes;
        lds_conflicts += o.lds_conflicts;
        return *this;
    }
};

/// Counts one memory instruction; to be called before it is executed.
void count_memory(Wave& w, const Inst& inst, MemoryCount& to);

}  // namespace ckitchen::gfxsim

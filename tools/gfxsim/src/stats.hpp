#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "counters.hpp"
#include "launch.hpp"

namespace ckitchen::gfxsim {

/// Executions and memory traffic of a launch, by code slot.
struct LaunchCounts {
    std::vector<uint64_t> executed;
    std::vector<MemoryCount> memory;
};

/// How many workgroups of a kernel a workgroup processor (four SIMDs, 128 KiB of LDS) holds at a time.
struct Occupancy {
    enum class Limit : uint8_t { kWaves, kVgprs, kLds, kGroups };
    uint32_t groups = 0;
    double waves_per_simd = 0;
    Limit limit = Limit::kWaves;
};
Occupancy occupancy(const Kernel& kernel, const Target& target, uint32_t threads, uint64_t lds_bytes);

/// Appends one line of JSON about a launch to `path`; README.md lists the fields.
void write_stats(const std::string& path, const LaunchRequest& request, const LaunchCounts& counts,
                 uint32_t lds_bytes, uint32_t waves_per_group, int error);

}  // namespace ckitchen::gfxsim

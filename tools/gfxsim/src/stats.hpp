#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch.hpp"

namespace ckitchen::gfxsim {

/// Appends one line of JSON about a launch to `path`: executed instructions by class and by mnemonic, matrix
/// instructions by type, waves, registers, LDS. `counts` holds executions by code slot.
void write_stats(const std::string& path, const LaunchRequest& request, const std::vector<uint64_t>& counts,
                 uint32_t lds_bytes, uint32_t waves_per_group, int error);

}  // namespace ckitchen::gfxsim

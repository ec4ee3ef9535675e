#pragma once

#include <cstdint>
#include <string>

#include "launch.hpp"
#include "options.hpp"

namespace ckitchen::gfxsim {

/// Why GFXSIM_STOP cannot be met in a kernel that it names: its offset is no instruction's. Empty otherwise.
std::string stop_mistake(const Kernel& kernel, const Options& options);

/// Keeps what a launch made of GFXSIM_STOP and GFXSIM_TRACE_GROUP. `hits`: how often the instruction was come
/// to, `reached`: whether the launch stopped there.
void note_launch(const LaunchRequest& request, const Options& options, uint64_t hits, bool reached);

/// What was asked for and never came about, as lines for standard error: an address that no launch stopped
/// at, a workgroup that none had. Told when another is asked for, and at the end of the process.
std::string unmet_requests();

}  // namespace ckitchen::gfxsim

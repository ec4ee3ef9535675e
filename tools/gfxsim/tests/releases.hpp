#pragma once

#include <initializer_list>
#include <string>

#include "hip_client.hpp"

namespace gfxsim_test {

constexpr int kReleases[] = {52, 63, 71};

/// The library of a release, with a gfx1201 and a gfx1036; one copy a process.
const HipClient& client(int release);

/// The test programs, compiled for a target.
std::string program(const char* target);

}  // namespace gfxsim_test

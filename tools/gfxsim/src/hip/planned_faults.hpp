#pragma once

#include <chrono>
#include <string>

namespace ckitchen::gfxsim {

/// Failures that GFXSIM_FAULT asks for, a comma-separated list:
///   oom@n     the n-th allocation fails (oom@n+: and all later ones)
///   launch@n  the n-th launch ends as a kernel that crashed does (launch@n+: all later ones too)
///   lost@n    at the n-th launch the device is lost: from then on every call fails with error 999
///   query@n   the n-th query of a device's properties fails (query@n+: all later ones too)
///   slow=ms   each piece of work keeps its stream busy that long
/// Counting starts anew when the variable's text changes.
bool allocation_fails();
bool launch_fails();
bool query_fails();
/// To be asked at each launch, and `device_lost` at each call.
bool launch_loses_device();
bool device_lost();
/// What is not understood in the variable's present text; empty: nothing. Every call then fails.
std::string fault_mistake();
std::chrono::milliseconds extra_time();

}  // namespace ckitchen::gfxsim

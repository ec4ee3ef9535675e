#pragma once

#include "wave.hpp"

namespace ckitchen::gfxsim {

/// Puts the host's floating-point unit into the wave's mode: float32 denormals kept or flushed. Other
/// rounding than to nearest even, and flushed float16 or float64, are not simulated and raise a finding.
void apply_float_mode(const Wave& w);
/// Restores the host's default mode.
void reset_float_mode();

}  // namespace ckitchen::gfxsim

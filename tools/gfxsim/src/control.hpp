#pragma once

#include "wave.hpp"

namespace ckitchen::gfxsim {

/// Puts the host's floating-point unit into the wave's mode for float32: rounding, flushed denormals. Where
/// the mode for float16 and float64 is another one, Wave::split_modes is set and select_float_mode must be
/// called before each instruction. Flushing float16 is the instructions' own business.
void apply_float_mode(Wave& w);
void select_float_mode(const Wave& w, const Inst& inst);
/// Restores the host's default mode.
void reset_float_mode();

/// Rounds to nearest even, whatever the wave's mode says, while it lives.
class NearestEven {
  public:
    NearestEven(const Wave& w, const Inst& inst);
    ~NearestEven();
    NearestEven(const NearestEven&) = delete;
    NearestEven& operator=(const NearestEven&) = delete;

  private:
    uint32_t word_;
    bool changed_ = false;
};

}  // namespace ckitchen::gfxsim

#pragma once

#include <cstdint>

namespace ckitchen::gfxsim {

/// Upper words of the private segment's buffer descriptor on gfx103x. Code only passes the descriptor on (and
/// adds the wave's offset to its base), so any recognisable value serves.
constexpr uint32_t kScratchDescriptorWord2 = 0xffffffffu;
constexpr uint32_t kScratchDescriptorWord3 = 0x31c16000u;

}  // namespace ckitchen::gfxsim

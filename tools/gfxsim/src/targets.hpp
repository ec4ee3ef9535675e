#pragma once

#include <cstdint>
#include <string_view>

namespace ckitchen::gfxsim {

enum class Generation : uint8_t { kGfx103, kGfx11, kGfx12 };

/// One simulated processor: its ELF machine number, its generation and the figures that a runtime reports.
/// The figures are those of a product that carries the chip, not of a measurement.
struct Target {
    const char* name;
    uint32_t mach;
    Generation generation;
    int major, minor, step;
    int compute_units;
    uint64_t memory_bytes;
    int clock_khz;
    int l2_bytes;
    int bus_bits;
    bool integrated;
    const char* marketing_name;
    int vgprs_per_simd;
};

/// nullptr when the name is not one of the simulated targets.
const Target* find_target(std::string_view name);
/// Machine number of the generic target that the generation's processors belong to.
uint32_t generic_mach(Generation generation);
/// Name of any known AMDGPU machine number, for messages; "unknown" otherwise.
const char* mach_name(uint32_t mach);

}  // namespace ckitchen::gfxsim

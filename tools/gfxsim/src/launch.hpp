#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "code_object.hpp"
#include "options.hpp"

namespace ckitchen::gfxsim {

/// One kernel launch: grid in workgroups, block in work-items, the explicit arguments as laid out in the
/// kernarg segment (shorter or as long as it; the hidden ones are filled in).
struct LaunchRequest {
    const Kernel* kernel = nullptr;
    const Target* target = nullptr;
    int device = 0;
    std::array<uint32_t, 3> grid{1, 1, 1};
    std::array<uint32_t, 3> block{1, 1, 1};
    uint32_t dynamic_lds = 0;
    std::vector<uint8_t> arguments;
};

struct LaunchResult {
    int error = 0;       // a HIP error number
    std::string report;  // empty without a finding
};

/// Runs the kernel to its end. Writes the report and the statistics where the options say. Thread-safe.
LaunchResult run_launch(const LaunchRequest& request, const Options& options);

/// The whole kernarg segment: explicit arguments, then the hidden ones that the metadata asks for.
std::vector<uint8_t> build_kernarg(const LaunchRequest& request);

}  // namespace ckitchen::gfxsim

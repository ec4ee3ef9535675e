// How long an operator takes on a device.
#pragma once

#include <string>
#include <vector>

#include "cases/check.hpp"

namespace ckitchen::bench {

struct Measurement {
    std::string variant;
    int calls = 0;      // timed ones
    double median = 0;  // seconds of one call
    double fastest = 0;
    double bytes = 0;       // of all tensors, each read or written once
    double operations = 0;  // multiplications and additions of the definition
};

// Runs the problem until `seconds` have passed, at least five times, after one call that is not timed. GPUs
// are timed over batches that are long beside the cost of waiting for the stream. Throws cases::ApiError.
Measurement measure(cases::Device& device, const cases::Case& which, double seconds);

// Problem texts of sizes that image and video models have; smaller ones for the CPU.
std::vector<std::string> default_problems(ck_op op, bool cpu);

}  // namespace ckitchen::bench

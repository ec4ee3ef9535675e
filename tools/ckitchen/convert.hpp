// The conversion of a whole checkpoint: plan, read ahead, quantize, write behind.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "plan.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "session.hpp"
#include "weight_codec.hpp"

namespace ckitchen::cli {

struct ConvertOptions {
    std::string output;
    PlanOptions plan;
    std::uint64_t seed = 0;  // 0: round to nearest
    int threads = 0;         // that merge LoRA files; 0: one for each processor
    ProgressStyle progress = ProgressStyle::kQuiet;
    std::int64_t block_elements = 0;  // of a block; 0: what suits the device
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();  // of the command
};

struct Conversion {
    Plan plan;  // what was done in the end
    ConversionReport report;
};

// Converts `input` and renames the result to its name. A tensor with values that cannot be quantized is found
// when its turn comes; all further ones are then looked for, and the conversion starts again without them: a
// sound file, the usual case, is read only once. LoRA files are looked at before anything is written. Memory
// is bounded by a few blocks of rows, not by the file. On a GPU, reading, copies in, kernels, copies out and
// writing overlap; the result is the same as on the CPU. `session` is called once, when all is ready but the
// device; it may wait for that.
Conversion convert(const Checkpoint& input, const std::function<const Session&()>& session,
                   const ConvertOptions& options);

}  // namespace ckitchen::cli

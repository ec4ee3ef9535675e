// The conversion of a whole checkpoint: plan, read ahead, quantize, write behind.
#pragma once

#include <cstdint>
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
    std::int64_t block_elements = kBlockElements;  // that are in work at once
};

struct Conversion {
    Plan plan;  // what was done in the end
    ConversionReport report;
};

// Converts `input` and renames the result to its name. A tensor with values that cannot be quantized is found
// when its turn comes; all further ones are then looked for, and the conversion starts again without them: a
// sound file, the usual case, is read only once. LoRA files are looked at before anything is written. Memory
// is bounded by a few blocks of rows, not by the file. On a GPU, reading, copies in, kernels, copies out and
// writing overlap; the result is the same as on the CPU.
Conversion convert(const Checkpoint& input, const Session& session, const ConvertOptions& options);

}  // namespace ckitchen::cli

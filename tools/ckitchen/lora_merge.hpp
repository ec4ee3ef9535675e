// Adds LoRA files to a weight, rows at a time, in float32.
//
// For each file in the order given, with every operation rounded to float32 and no fused multiply-add:
//
//   product = 0;  for r = 0 ... rank - 1, ascending:  product = product + up[i][r] * down[r][j]
//   w[i][j] = w[i][j] + (strength * (alpha / rank)) * product
//
// Every element is computed by itself, so neither the rows that are taken at once nor the number of threads
// changes a bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pipeline.hpp"
#include "plan.hpp"

namespace ckitchen::cli {

// Looks at every value of the LoRA tensors that a plan merges. Fails with Exit::kInput, naming file and
// tensor, for NaN or infinity, and where strength * (alpha / rank) is not finite in float32.
void check_lora_values(const Plan& plan);

// Not thread-safe; uses `threads` threads (0: one for each processor).
class LoraMerger {
  public:
    explicit LoraMerger(int threads);

    // `rows` are ascending rows of the tensor and `data` their values in its dtype, [rows.size(), k] without
    // gaps. Returns the merged values: F32 for a tensor that will be quantized, rounded once to the tensor's
    // own dtype for one that is kept. Fails with Exit::kInput when a finite value becomes infinite, or, for
    // W4A8, 2^100 or more.
    Buffer merge(const PlannedTensor& tensor, TargetFormat format, std::span<const std::int64_t> rows,
                 std::span<const std::byte> data);

  private:
    void add(const LoraTerm& term, std::int64_t k, std::span<const std::int64_t> rows,
             std::span<float> weight);

    unsigned threads_;
    std::vector<float> product_;  // [rows, k]
    std::vector<float> up_;       // [rows, ranks of a tile]
    std::vector<float> down_;     // [ranks of a tile, k]
};

}  // namespace ckitchen::cli

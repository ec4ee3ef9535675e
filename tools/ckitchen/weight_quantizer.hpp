// Quantizes weights block of rows by block of rows, through the library.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "busy_time.hpp"
#include "device_memory.hpp"
#include "plan.hpp"

namespace ckitchen::cli {

// Where the time of a conversion went, over all quantizers together.
struct WorkTimes {
    BusyTime library;  // inside library calls, the work on the device included
    BusyTime device;   // copies or kernels were enqueued at the device
};

// One block of a quantized layer, in the order of layer_outputs(): codes or int8 values, then scales.
struct QuantizedBlock {
    Buffer weight;
    Buffer s_rel;    // W4A8
    Buffer channel;  // W4A8: s_channel; int8: weight_scale
    Buffer errors;   // of ck_int8_error for the decoded block: all rows' differences, then all originals
};

// A layer's 16 levels; none where it has no codebook.
using Codebook = std::vector<float>;
bool is_default_codebook(const Codebook& codebook);

// A device's stream, with the memory for a block. Blocks of any layers, in any order. For one thread at a
// time; several quantizers work side by side. Buffers come from `pool`.
class WeightQuantizer {
  public:
    WeightQuantizer(const Session& session, BufferPool& pool, WorkTimes& times, const PlanOptions& options,
                    std::uint64_t seed);

    // Fits the levels of a W4A8 layer to `sample`: the rows that codebook_sample_row() names, unrotated, in
    // tensor.value_dtype().
    Codebook fit_codebook(const PlannedTensor& tensor, std::span<const std::byte> sample);

    // Quantizes rows [row, row + rows); `data` is [rows, k] in tensor.value_dtype().
    QuantizedBlock quantize(const PlannedTensor& tensor, const Codebook& codebook, std::int64_t row,
                            std::int64_t rows, std::span<const std::byte> data);

  private:
    QuantizedBlock quantize_w4a8(const PlannedTensor& tensor, const Codebook& codebook, std::int64_t row,
                                 std::int64_t rows, std::span<const std::byte> data);
    QuantizedBlock quantize_int8(const PlannedTensor& tensor, std::int64_t rows,
                                 std::span<const std::byte> data);
    // Enqueues the sums of an int8 grid on the device: `x` are the given values, `q` and `scale` the grid.
    void compare(const PlannedTensor& tensor, std::int64_t rows, const void* x, const void* q,
                 const float* scale, Buffer& errors);

    const Session& session_;
    BufferPool& pool_;
    WorkTimes& times_;
    PlanOptions options_;
    std::uint64_t seed_;
    DeviceBuffer input_;
    DeviceBuffer weight_;
    DeviceBuffer s_rel_;
    DeviceBuffer channel_;
    DeviceBuffer levels_;
    DeviceBuffer decoded_;
    DeviceBuffer errors_;
    DeviceBuffer workspace_;
    Stream stream_;
};

// Whether the layers of such a plan have codebooks.
bool needs_codebook(const PlanOptions& options);

}  // namespace ckitchen::cli

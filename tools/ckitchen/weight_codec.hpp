// Quantizes and decodes weights block of rows by block of rows, through the library.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers.hpp"
#include "numbers.hpp"
#include "pipeline.hpp"
#include "plan.hpp"
#include "session.hpp"

namespace ckitchen::cli {

// Rows of a weight that are processed at once: about 4 million elements, at least one row. The result does
// not depend on it: rows are independent, and the random draws of stochastic rounding know their place in the
// whole tensor.
std::int64_t block_rows(std::int64_t k);

ck_dtype library_dtype(Dtype dtype);

// One block of a quantized layer, in the order of layer_outputs(): codes or int8 values, then scales.
struct QuantizedBlock {
    Buffer weight;
    Buffer s_rel;    // W4A8
    Buffer channel;  // W4A8: s_channel; int8: weight_scale
};

// Quantizes the layers of a plan one after another. Not thread-safe.
class WeightQuantizer {
  public:
    WeightQuantizer(const Session& session, const PlanOptions& options, std::uint64_t seed);

    // Starts a layer. For W4A8 with a codebook, `sample` holds the rows that codebook_sample_row() names,
    // unrotated, in tensor.value_dtype(), and the levels are fitted to them; otherwise it is empty.
    void begin(const PlannedTensor& tensor, std::span<const std::byte> sample);

    // Whether begin() needs a sample.
    bool needs_sample() const;

    // Quantizes rows [row, row + rows) and adds to the layer's error. `data` is [rows, k] in
    // tensor.value_dtype().
    QuantizedBlock quantize(std::int64_t row, std::int64_t rows, std::span<const std::byte> data);

    // Of the layer since begin().
    double relative_error() const { return error_.relative(); }
    std::span<const float> codebook() const { return codebook_; }
    bool codebook_is_default() const;

    // Seconds inside the library since construction.
    double library_seconds() const { return library_seconds_; }

  private:
    void fit_codebook(std::span<const std::byte> sample);
    QuantizedBlock quantize_w4a8(std::int64_t row, std::int64_t rows);
    QuantizedBlock quantize_int8(std::int64_t rows);
    void measure_w4a8(std::int64_t rows);
    void measure_int8(std::int64_t rows, const QuantizedBlock& block);
    void* reserve_workspace(ck_status status, std::uint64_t bytes, const char* what);

    const Session& session_;
    PlanOptions options_;
    std::uint64_t seed_;
    const PlannedTensor* tensor_ = nullptr;
    ErrorSums error_;
    std::vector<float> codebook_;
    std::vector<float> original_;
    std::vector<float> decoded_;
    DeviceBuffer input_;
    DeviceBuffer weight_;
    DeviceBuffer s_rel_;
    DeviceBuffer channel_;
    DeviceBuffer levels_;
    DeviceBuffer decoded_device_;
    DeviceBuffer workspace_;
    double library_seconds_ = 0;
};

// Decodes quantized layers to floats, un-rotated. Not thread-safe.
class WeightDecoder {
  public:
    WeightDecoder(const Session& session, Dtype out_dtype);

    // Starts a layer; reads its codebook or scalar scale. `layer` must outlive the layer's blocks.
    void begin(const DecodableLayer& layer);

    // Rows [row, row + rows) in the output's dtype. Reads from the checkpoint.
    Buffer decode(std::int64_t row, std::int64_t rows);

  private:
    Buffer decode_w4a8(std::int64_t row, std::int64_t rows);
    Buffer decode_int8(std::int64_t row, std::int64_t rows);

    const Session& session_;
    Dtype out_dtype_;
    const DecodableLayer* layer_ = nullptr;
    DeviceBuffer weight_;
    DeviceBuffer s_rel_;
    DeviceBuffer channel_;
    DeviceBuffer levels_;
    DeviceBuffer out_;
};

}  // namespace ckitchen::cli

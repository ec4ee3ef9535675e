// Weights block of rows by block of rows: what quantizing and decoding share, and the decoder.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "device_memory.hpp"
#include "layers.hpp"

namespace ckitchen::cli {

inline constexpr std::int64_t kBlockElements = 4194304;

// Rows of a weight that are processed at once: about `elements` elements, at least one row. The result does
// not depend on it: rows are independent, and the random draws of stochastic rounding know their place in the
// whole tensor.
std::int64_t block_rows(std::int64_t k, std::int64_t elements = kBlockElements);

ck_dtype library_dtype(Dtype dtype);

// "FILE: tensor "NAME": what".
std::string of_tensor(const SourceTensor& tensor, const char* what);

// out[i][j] = q[i][j] * scales[i], rows of k; one scale may stand for all rows.
void scale_int8_rows(std::span<const std::byte> q, std::span<const float> scales, std::int64_t k,
                     std::span<float> out);

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

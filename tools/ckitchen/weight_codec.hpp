// Weights block of rows by block of rows: what quantizing and decoding share, and the decoder.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "busy_time.hpp"
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

// Decodes quantized layers to floats, un-rotated: a device's stream, with the memory for a block. Blocks of
// any layers, in any order. For one thread at a time; several decoders work side by side. Buffers come from
// `pool`.
class WeightDecoder {
  public:
    WeightDecoder(const Session& session, BufferPool& pool, Dtype out_dtype);

    // Rows [row, row + rows) of a layer in the output's dtype. Reads from the checkpoint.
    Buffer decode(const DecodableLayer& layer, std::int64_t row, std::int64_t rows);

  private:
    Buffer decode_w4a8(const DecodableLayer& layer, std::int64_t row, std::int64_t rows);
    Buffer decode_int8(const DecodableLayer& layer, std::int64_t row, std::int64_t rows);
    Buffer read(const SourceTensor& tensor, std::uint64_t offset, std::uint64_t bytes);

    const Session& session_;
    BufferPool& pool_;
    Dtype out_dtype_;
    BusyTime busy_;
    DeviceBuffer weight_;
    DeviceBuffer s_rel_;
    DeviceBuffer channel_;
    DeviceBuffer levels_;
    DeviceBuffer out_;
    Stream stream_;
};

}  // namespace ckitchen::cli

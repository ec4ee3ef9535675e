// Element types of safetensors files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ckitchen::cli {

enum class Dtype {
    kF64,
    kF32,
    kF16,
    kBf16,
    kF8E4m3,
    kF8E5m2,
    kF8E8m0,
    kI64,
    kI32,
    kI16,
    kI8,
    kU64,
    kU32,
    kU16,
    kU8,
    kBool,
    kC64
};

// The format's spelling, for example "BF16".
std::string_view dtype_name(Dtype dtype);

// Nothing for a name that this program does not know.
std::optional<Dtype> parse_dtype(std::string_view name);

// Bytes of one element.
std::uint64_t dtype_size(Dtype dtype);

// F32, F16 or BF16: what the quantizers read.
bool is_quantizable_float(Dtype dtype);

}  // namespace ckitchen::cli

// Quantized layers inside a checkpoint: their markers, their tensors, what makes them valid.
//
// A layer L (the key prefix without ".weight") in one of the two formats that this program writes:
//
//   asym_w4a8_int8   L.weight I8 [N, K/2] packed codes, L.weight_s_rel F8_E4M3 (or U8) [N, K/g],
//                    L.weight_s_channel F32 [N], L.weight_codebook F32 [16] (absent: uniform levels)
//   int8_tensorwise  L.weight I8 [N, K], L.weight_scale F32 [N, 1] or a scalar
//
// Its marker is a JSON object, stored twice: as the U8 tensor L.comfy_quant and in __metadata__ under
// "_quantization_metadata" = {"layers": {"L": marker, ...}}. Readers take either alone.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safetensors.hpp"

namespace ckitchen::cli {

inline constexpr std::string_view kW4a8Format = "asym_w4a8_int8";
inline constexpr std::string_view kInt8Format = "int8_tensorwise";
inline constexpr std::string_view kQuantizationKey = "_quantization_metadata";
inline constexpr std::string_view kMarkerSuffix = ".comfy_quant";
inline constexpr std::string_view kWeightSuffix = ".weight";

struct Marker {
    std::string format;
    int group_size = 0;    // W4A8 only
    int rotate_group = 0;  // 0: not rotated
};

// {"format":...,"group_size":...,"convrot":true,"convrot_groupsize":...}, the fields that apply.
nlohmann::ordered_json marker_json(const Marker& marker);

// Takes what a loader would take; absent fields get the loader's defaults. False with a one-line error for
// what is no marker.
bool parse_marker(const nlohmann::json& value, Marker& marker, std::string& error);

// A layer that is marked as quantized or has the tensors of one.
struct QuantizedLayer {
    // Nothing when the layer has tensors of a quantized layer but no readable marker.
    std::optional<Marker> marker;
    std::string marker_error;          // why there is none, "" when there is one
    bool is_quantized = false;         // by its marker, or by a weight that is no float
    std::vector<std::string> tensors;  // names that belong to the layer: weight, scales, marker; not the bias
};

// By layer name. A file's "_quantization_metadata" that is not what it should be is passed over: the marker
// tensors are enough.
using QuantizedLayers = std::map<std::string, QuantizedLayer, std::less<>>;
QuantizedLayers find_quantized_layers(const Checkpoint& checkpoint);

// The "_quantization_metadata" of a checkpoint. Layers are kept as JSON text, sorted by name.
struct QuantizationMetadata {
    nlohmann::json other = nlohmann::json::object();  // fields beside "layers"
    std::map<std::string, std::string> layers;

    std::string text() const;
};

// Of all files together, the first file's where two disagree; without what is not what it should be.
QuantizationMetadata quantization_metadata(const Checkpoint& checkpoint);

// A line for each file whose "_quantization_metadata" was passed over.
std::vector<std::string> quantization_metadata_faults(const Checkpoint& checkpoint);

// Shapes and tensors of a layer in a format that this program decodes.
struct DecodableLayer {
    std::string name;
    Marker marker;
    std::int64_t n = 0;
    std::int64_t k = 0;
    const SourceTensor* weight = nullptr;
    const SourceTensor* s_rel = nullptr;      // W4A8
    const SourceTensor* s_channel = nullptr;  // W4A8
    const SourceTensor* codebook = nullptr;   // W4A8, NULL for uniform levels
    const SourceTensor* scale = nullptr;      // int8; one element or N
};

// Checks a layer's tensors against its marker. False with a one-line reason when the format is another one
// or the tensors do not fit.
bool resolve_layer(const Checkpoint& checkpoint, const std::string& name, const QuantizedLayer& layer,
                   DecodableLayer& out, std::string& error);

}  // namespace ckitchen::cli

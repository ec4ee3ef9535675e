#include "layers.hpp"

#include <array>

#include "failure.hpp"
#include "strict_json.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

using json = nlohmann::json;
using ordered_json = nlohmann::ordered_json;

// A marker is a hundred bytes; a larger tensor of that name is something else.
constexpr std::uint64_t kMaxMarkerBytes = 64 * 1024;
constexpr int kMetadataDepth = 16;
constexpr int kDefaultGroup = 16;
constexpr int kDefaultRotation = 256;
constexpr std::int64_t kLargestGroup = 1 << 20;

// Tensors that only a quantized layer has, ours and those of other programs.
constexpr std::array<std::string_view, 9> kSidecarSuffixes = {
    ".weight_s_rel",      ".weight_s_channel", ".weight_codebook", ".weight_scale", ".weight_scale_2",
    ".weight_zero_point", ".scale_weight",     ".scale_input",     ".input_scale",
};

std::string layer_of(std::string_view name, std::string_view suffix) {
    return std::string(name.substr(0, name.size() - suffix.size()));
}

bool parse_group(const json& value, const char* field, int fallback, int& out, std::string& error) {
    const auto found = value.find(field);
    if (found == value.end()) {
        out = fallback;
        return true;
    }
    const std::int64_t group = found->is_number_integer() ? found->get<std::int64_t>() : -1;
    if (group < 0 || group > kLargestGroup) {
        error = std::string("field \"") + field + "\" of the marker is not a group size";
        return false;
    }
    out = static_cast<int>(group);
    return true;
}

// The parsed value of one file's metadata entry; an empty object when it has none, or, with a reason in
// `fault`, one that cannot be used.
json file_quantization_metadata(const SafetensorsFile& file, std::string& fault) {
    fault.clear();
    const auto found = file.metadata().find(std::string(kQuantizationKey));
    if (found == file.metadata().end()) return json::object();
    json value;
    if (parse_strict_json(found->second, kMetadataDepth, value, fault)) {
        if (value.is_object() && (!value.contains("layers") || value["layers"].is_object())) return value;
        fault = "is not an object with \"layers\"";
    }
    return json::object();
}

json file_quantization_metadata(const SafetensorsFile& file) {
    std::string fault;
    return file_quantization_metadata(file, fault);
}

// A layer's marker as text. Markers of the formats that this program writes come out as it writes them, so
// that converting a converted file changes nothing; of others every field is kept.
std::string marker_text(const json& value) {
    Marker marker;
    std::string error;
    if (parse_marker(value, marker, error)) {
        const ordered_json canonical = marker_json(marker);
        if (json(canonical) == value) return canonical.dump();
    }
    return value.dump();
}

void read_marker_tensor(const SourceTensor& tensor, QuantizedLayer& layer) {
    const TensorInfo& info = *tensor.info;
    if (info.bytes() > kMaxMarkerBytes || dtype_size(info.dtype) != 1) {
        layer.marker_error = in_quotes(info.name) + " is too large or of the wrong dtype for a marker";
        return;
    }
    const std::vector<std::byte> bytes = tensor.load();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    json value;
    Marker marker;
    std::string error;
    if (!parse_strict_json(text, kMetadataDepth, value, error) || !parse_marker(value, marker, error)) {
        layer.marker_error = in_quotes(info.name) + ": " + error;
        return;
    }
    layer.marker = marker;
}

struct Expected {
    std::string_view suffix;
    const SourceTensor** tensor;
    bool required;
};

bool has_shape(const SourceTensor& tensor, const std::vector<std::int64_t>& shape) {
    return tensor.info->shape == shape;
}

std::string mismatch(const SourceTensor& tensor, const std::string& expected) {
    return in_quotes(tensor.info->name) + " is " + std::string(dtype_name(tensor.info->dtype)) + " " +
           shape_text(tensor.info->shape) + "; expected " + expected;
}

bool is_rotation_group(int group) {
    return group == 4 || group == 16 || group == 64 || group == 256 || group == 1024;
}

bool check_rotation(const DecodableLayer& layer, std::string& error) {
    const int group = layer.marker.rotate_group;
    if (group == 0 || (is_rotation_group(group) && layer.k % group == 0)) return true;
    error = "the rotation group " + std::to_string(group) + " does not fit K=" + std::to_string(layer.k);
    return false;
}

bool resolve_w4a8(DecodableLayer& layer, std::string& error) {
    const TensorInfo& weight = *layer.weight->info;
    if (dtype_size(weight.dtype) != 1 || weight.shape.size() != 2) {
        error = mismatch(*layer.weight, "I8 [N, K/2]");
        return false;
    }
    layer.n = weight.shape[0];
    if (__builtin_mul_overflow(weight.shape[1], 2, &layer.k)) {
        error = mismatch(*layer.weight, "fewer columns");
        return false;
    }
    const int group = layer.marker.group_size;
    if (group < 4 || (16 % group != 0 && group % 16 != 0) || layer.k % group != 0) {
        error = "the group size " + std::to_string(group) + " does not fit K=" + std::to_string(layer.k);
        return false;
    }
    const Dtype s_rel = layer.s_rel->info->dtype;
    if ((s_rel != Dtype::kF8E4m3 && s_rel != Dtype::kU8) ||
        !has_shape(*layer.s_rel, {layer.n, layer.k / group})) {
        error = mismatch(*layer.s_rel, "F8_E4M3 " + shape_text({layer.n, layer.k / group}));
        return false;
    }
    if (layer.s_channel->info->dtype != Dtype::kF32 || !has_shape(*layer.s_channel, {layer.n})) {
        error = mismatch(*layer.s_channel, "F32 " + shape_text({layer.n}));
        return false;
    }
    if (layer.codebook != nullptr &&
        (layer.codebook->info->dtype != Dtype::kF32 || !has_shape(*layer.codebook, {16}))) {
        error = mismatch(*layer.codebook, "F32 [16]");
        return false;
    }
    return check_rotation(layer, error);
}

bool resolve_int8(DecodableLayer& layer, std::string& error) {
    const TensorInfo& weight = *layer.weight->info;
    if (weight.dtype != Dtype::kI8 || weight.shape.size() != 2) {
        error = mismatch(*layer.weight, "I8 [N, K]");
        return false;
    }
    layer.n = weight.shape[0];
    layer.k = weight.shape[1];
    const SourceTensor& scale = *layer.scale;
    const bool fits = has_shape(scale, {}) || has_shape(scale, {1}) || has_shape(scale, {1, 1}) ||
                      has_shape(scale, {layer.n}) || has_shape(scale, {layer.n, 1});
    if (scale.info->dtype != Dtype::kF32 || !fits) {
        error = mismatch(scale, "F32 " + shape_text({layer.n, 1}) + " or a scalar");
        return false;
    }
    return check_rotation(layer, error);
}

}  // namespace

ordered_json marker_json(const Marker& marker) {
    ordered_json out;
    out["format"] = marker.format;
    if (marker.group_size != 0) out["group_size"] = marker.group_size;
    if (marker.rotate_group != 0) {
        out["convrot"] = true;
        out["convrot_groupsize"] = marker.rotate_group;
    }
    return out;
}

bool parse_marker(const json& value, Marker& marker, std::string& error) {
    if (!value.is_object() || !value.contains("format") || !value["format"].is_string()) {
        error = "the marker is not an object with a \"format\"";
        return false;
    }
    marker = Marker{};
    marker.format = value["format"].get<std::string>();
    const auto convrot = value.find("convrot");
    if (convrot != value.end() && !convrot->is_boolean()) {
        error = "field \"convrot\" of the marker is not a boolean";
        return false;
    }
    if (convrot != value.end() && convrot->get<bool>() &&
        !parse_group(value, "convrot_groupsize", kDefaultRotation, marker.rotate_group, error)) {
        return false;
    }
    return marker.format != kW4a8Format ||
           parse_group(value, "group_size", kDefaultGroup, marker.group_size, error);
}

QuantizedLayers find_quantized_layers(const Checkpoint& checkpoint) {
    QuantizedLayers layers;
    for (const auto& file : checkpoint.files()) {
        const json metadata = file_quantization_metadata(*file);
        if (!metadata.contains("layers")) continue;
        for (const auto& [name, value] : metadata["layers"].items()) {
            Marker marker;
            std::string error;
            QuantizedLayer& layer = layers[name];
            if (parse_marker(value, marker, error)) {
                layer.marker = marker;
            } else {
                layer.marker_error = error;
            }
        }
    }
    // The marker tensor counts where both are there: it travels with the layer when files are cut and merged.
    for (const SourceTensor& tensor : checkpoint.tensors()) {
        const std::string& name = tensor.info->name;
        if (name.ends_with(kMarkerSuffix)) {
            QuantizedLayer& layer = layers[layer_of(name, kMarkerSuffix)];
            read_marker_tensor(tensor, layer);
            layer.tensors.push_back(name);
        }
        for (const std::string_view suffix : kSidecarSuffixes) {
            if (name.ends_with(suffix)) layers[layer_of(name, suffix)].tensors.push_back(name);
        }
    }
    for (auto& [name, layer] : layers) {
        const std::string weight = name + std::string(kWeightSuffix);
        const SourceTensor* const found = checkpoint.find(weight);
        if (found != nullptr) layer.tensors.push_back(weight);
        layer.is_quantized = layer.marker || (found != nullptr && !is_quantizable_float(found->info->dtype));
        if (layer.marker) {
            layer.marker_error.clear();
        } else if (layer.marker_error.empty()) {
            layer.marker_error = "it has the tensors of a quantized layer but no marker";
        }
    }
    return layers;
}

std::string QuantizationMetadata::text() const {
    std::string out = "{";
    for (const auto& [key, value] : other.items()) {
        out += json(key).dump();
        out += ':';
        out += value.dump();
        out += ',';
    }
    out += "\"layers\":{";
    bool is_first = true;
    for (const auto& [name, marker] : layers) {
        if (!is_first) out += ',';
        is_first = false;
        out += json(name).dump();
        out += ':';
        out += marker;
    }
    out += "}}";
    return out;
}

QuantizationMetadata quantization_metadata(const Checkpoint& checkpoint) {
    QuantizationMetadata out;
    for (const auto& file : checkpoint.files()) {
        const json metadata = file_quantization_metadata(*file);
        for (const auto& [key, value] : metadata.items()) {
            if (key == "layers") {
                for (const auto& [layer, marker] : value.items())
                    out.layers.emplace(layer, marker_text(marker));
            } else {
                out.other.emplace(key, value);
            }
        }
    }
    return out;
}

std::vector<std::string> quantization_metadata_faults(const Checkpoint& checkpoint) {
    std::vector<std::string> lines;
    for (const auto& file : checkpoint.files()) {
        std::string fault;
        file_quantization_metadata(*file, fault);
        if (fault.empty()) continue;
        lines.push_back(printable(file->path()) + ": metadata " + std::string(kQuantizationKey) + ' ' +
                        fault + ": it is not read; layers without a marker tensor count as not marked");
    }
    return lines;
}

bool resolve_layer(const Checkpoint& checkpoint, const std::string& name, const QuantizedLayer& layer,
                   DecodableLayer& out, std::string& error) {
    if (!layer.marker) {
        error = layer.marker_error;
        return false;
    }
    out = DecodableLayer{};
    out.name = name;
    out.marker = *layer.marker;
    const bool is_w4a8 = out.marker.format == kW4a8Format;
    if (!is_w4a8 && out.marker.format != kInt8Format) {
        error = "the format " + in_quotes(out.marker.format) + " is not one that this program decodes";
        return false;
    }
    const std::vector<Expected> expected =
        is_w4a8
            ? std::vector<Expected>{{kWeightSuffix, &out.weight, true},
                                    {".weight_s_rel", &out.s_rel, true},
                                    {".weight_s_channel", &out.s_channel, true},
                                    {".weight_codebook", &out.codebook, false}}
            : std::vector<Expected>{{kWeightSuffix, &out.weight, true}, {".weight_scale", &out.scale, true}};
    for (const Expected& tensor : expected) {
        const std::string full = name + std::string(tensor.suffix);
        *tensor.tensor = checkpoint.find(full);
        if (*tensor.tensor == nullptr && tensor.required) {
            error = "tensor " + in_quotes(full) + " is missing";
            return false;
        }
    }
    return is_w4a8 ? resolve_w4a8(out, error) : resolve_int8(out, error);
}

}  // namespace ckitchen::cli

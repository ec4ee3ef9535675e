// ckitchen inspect: what a checkpoint holds.
#include <cstdio>
#include <memory>

#include "commands.hpp"
#include "layers.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

struct InspectOptions {
    std::string input;
    bool json = false;
    bool quiet = false;
};

std::string layer_text(const Marker& marker, const DecodableLayer* layer) {
    std::string out = printable(marker.format);
    if (layer != nullptr) out += " " + shape_text({layer->n, layer->k});
    if (marker.group_size != 0) out += ", groups of " + std::to_string(marker.group_size);
    if (layer != nullptr && marker.format == kW4a8Format) {
        out += layer->codebook == nullptr ? ", uniform levels" : ", codebook";
    }
    out += marker.rotate_group == 0 ? std::string(", not rotated")
                                    : ", rotation " + std::to_string(marker.rotate_group);
    return out;
}

nlohmann::ordered_json to_json(const Checkpoint& checkpoint) {
    nlohmann::ordered_json out;
    out["path"] = checkpoint.path();
    out["files"] = checkpoint.files().size();
    out["file_bytes"] = checkpoint.file_bytes();
    out["metadata"] = checkpoint.metadata();
    out["tensors"] = nlohmann::ordered_json::array();
    for (const SourceTensor& tensor : checkpoint.tensors()) {
        nlohmann::ordered_json row;
        row["name"] = tensor.info->name;
        row["dtype"] = dtype_name(tensor.info->dtype);
        row["shape"] = tensor.info->shape;
        row["bytes"] = tensor.info->bytes();
        out["tensors"].push_back(std::move(row));
    }
    out["layers"] = nlohmann::ordered_json::object();
    for (const auto& [name, layer] : find_quantized_layers(checkpoint)) {
        nlohmann::ordered_json row;
        DecodableLayer decodable;
        std::string error;
        const bool is_sound = resolve_layer(checkpoint, name, layer, decodable, error);
        if (layer.marker) row["marker"] = marker_json(*layer.marker);
        if (is_sound) {
            row["n"] = decodable.n;
            row["k"] = decodable.k;
        } else {
            row["note"] = error;
        }
        out["layers"][name] = std::move(row);
    }
    return out;
}

void print_table(const Checkpoint& checkpoint) {
    const QuantizedLayers layers = find_quantized_layers(checkpoint);
    std::size_t width = 0;
    for (const SourceTensor& tensor : checkpoint.tensors()) {
        width = std::max(width, code_points(printable(tensor.info->name)));
    }
    for (const SourceTensor& tensor : checkpoint.tensors()) {
        std::string name = printable(tensor.info->name);
        name.append(width - code_points(name), ' ');
        std::printf("%s  %-8s %-18s %s\n", name.c_str(), std::string(dtype_name(tensor.info->dtype)).c_str(),
                    shape_text(tensor.info->shape).c_str(), bytes_text(tensor.info->bytes()).c_str());
    }
    if (!layers.empty()) std::printf("\nquantized layers:\n");
    for (const auto& [name, layer] : layers) {
        DecodableLayer decodable;
        std::string error;
        const bool is_sound = resolve_layer(checkpoint, name, layer, decodable, error);
        std::string text = layer.marker ? layer_text(*layer.marker, is_sound ? &decodable : nullptr) : "";
        if (!is_sound) text += (text.empty() ? "" : ": ") + error;
        std::printf("  %s: %s\n", printable(name).c_str(), text.c_str());
    }
    if (!checkpoint.metadata().empty()) std::printf("\nmetadata:\n");
    for (const auto& [key, value] : checkpoint.metadata()) {
        std::printf("  %s: %s\n", printable(key).c_str(), printable(value).c_str());
    }
    std::printf("\n%zu tensors, %zu quantized layers, %s in %zu file%s\n", checkpoint.tensors().size(),
                layers.size(), bytes_text(checkpoint.file_bytes()).c_str(), checkpoint.files().size(),
                checkpoint.files().size() == 1 ? "" : "s");
}

Exit inspect(const InspectOptions& options) {
    const Checkpoint checkpoint(options.input);
    for (const std::string& fault : quantization_metadata_faults(checkpoint))
        std::fprintf(stderr, "%s\n", fault.c_str());
    if (options.json) {
        const auto text =
            to_json(checkpoint).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
        std::printf("%s\n", text.c_str());
    } else {
        print_table(checkpoint);
    }
    return Exit::kOk;
}

}  // namespace

void add_inspect(CLI::App& app, Run& run) {
    auto options = std::make_shared<InspectOptions>();
    CLI::App& command =
        *app.add_subcommand("inspect", "list the tensors and quantized layers of a checkpoint");
    command
        .add_option("input", options->input,
                    "a .safetensors file, a .safetensors.index.json, or their directory")
        ->required();
    command.add_flag("--json", options->json, "as JSON");
    add_quiet(command, options->quiet);
    command.footer(
        examples("  ckitchen inspect model-w4a8.safetensors\n"
                 "  ckitchen inspect --json model.safetensors.index.json\n"));
    command.callback([options, &run] { run = [options] { return inspect(*options); }; });
}

}  // namespace ckitchen::cli

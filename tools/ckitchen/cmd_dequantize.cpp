// ckitchen dequantize: quantized layers back to floats, everything else as it is.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "commands.hpp"
#include "layers.hpp"
#include "pipeline.hpp"
#include "progress.hpp"
#include "standard_output.hpp"
#include "text.hpp"
#include "weight_codec.hpp"

namespace ckitchen::cli {
namespace {

constexpr std::uint64_t kCopyBytes = 8 << 20;
constexpr std::size_t kWriteBehind = 8;

struct DequantizeOptions {
    std::string input;
    std::string output;
    std::string dtype = "bf16";
    bool quiet = false;
    BackendOptions backend;
};

Dtype parse_float(const std::string& name) {
    if (name == "f32") return Dtype::kF32;
    if (name == "f16") return Dtype::kF16;
    if (name == "bf16") return Dtype::kBf16;
    throw Failure(Exit::kUsage, "--dtype " + in_quotes(name) + ": must be f32, f16 or bf16");
}

// What becomes of a checkpoint: decoded layers and copied tensors.
struct Work {
    std::vector<DecodableLayer> layers;
    std::vector<const SourceTensor*> copies;
    std::vector<OutputTensor> outputs;
    Metadata metadata;
    std::uint64_t bytes = 0;
};

Work plan_work(const Checkpoint& input, Dtype dtype, Progress& progress) {
    Work work;
    for (const std::string& fault : quantization_metadata_faults(input)) progress.notice(fault);
    work.metadata = input.metadata();
    QuantizationMetadata quantization = quantization_metadata(input);
    std::set<std::string> replaced;
    for (const auto& [name, layer] : find_quantized_layers(input)) {
        DecodableLayer decodable;
        std::string error;
        if (!resolve_layer(input, name, layer, decodable, error)) {
            progress.notice(printable(input.path()) + ": layer " + in_quotes(name) +
                            " is kept as it is: " + error);
            continue;
        }
        replaced.insert(layer.tensors.begin(), layer.tensors.end());
        quantization.layers.erase(name);
        work.outputs.push_back({name + std::string(kWeightSuffix), dtype, {decodable.n, decodable.k}});
        work.layers.push_back(std::move(decodable));
    }
    for (const SourceTensor& tensor : input.tensors()) {
        work.bytes += tensor.info->bytes();
        if (replaced.contains(tensor.info->name)) continue;
        work.copies.push_back(&tensor);
        work.outputs.push_back({tensor.info->name, tensor.info->dtype, tensor.info->shape});
    }
    const std::string key(kQuantizationKey);
    work.metadata.erase(key);
    if (!quantization.layers.empty()) work.metadata[key] = quantization.text();
    return work;
}

Exit dequantize(const DequantizeOptions& options) {
    const Dtype dtype = parse_float(options.dtype);
    const Checkpoint input(options.input);
    Progress progress(options.quiet ? ProgressStyle::kQuiet : detect_progress_style(), 0);
    const Work work = plan_work(input, dtype, progress);
    const Session session(options.backend.session());
    SafetensorsWriter writer(options.output, work.outputs, work.metadata, input.file_ids());
    {
        WriteBehind write_behind(writer, kWriteBehind);
        progress.restart(work.bytes);
        WeightDecoder decoder(session, dtype);
        for (const DecodableLayer& layer : work.layers) {
            const std::string name = layer.name + std::string(kWeightSuffix);
            const TensorInfo& target = *writer.find(name);
            decoder.begin(layer);
            const std::uint64_t row_bytes = static_cast<std::uint64_t>(layer.k) * dtype_size(dtype);
            const std::int64_t step = block_rows(layer.k);
            for (std::int64_t row = 0; row < layer.n && layer.k > 0; row += step) {
                const std::int64_t rows = std::min(step, layer.n - row);
                write_behind.write(target, static_cast<std::uint64_t>(row) * row_bytes,
                                   decoder.decode(row, rows));
                progress.advance(name,
                                 static_cast<std::uint64_t>(rows) *
                                     (layer.weight->info->bytes() / static_cast<std::uint64_t>(layer.n)));
            }
            progress.line(printable(name) + " " + shape_text({layer.n, layer.k}) + " from " +
                          layer.marker.format);
        }
        for (const SourceTensor* source : work.copies) {
            const TensorInfo& target = *writer.find(source->info->name);
            for (std::uint64_t offset = 0; offset < target.bytes(); offset += kCopyBytes) {
                Buffer data(static_cast<std::size_t>(std::min(kCopyBytes, target.bytes() - offset)));
                source->read(offset, data.bytes());
                progress.advance(target.name, data.size());
                write_behind.write(target, offset, std::move(data));
            }
        }
        write_behind.finish();
    }
    writer.commit();
    std::printf("decoded %zu layers to %s, copied %zu tensors; file %s -> %s\n", work.layers.size(),
                options.dtype.c_str(), work.copies.size(), bytes_text(input.file_bytes()).c_str(),
                bytes_text(writer.file_bytes()).c_str());
    flush_standard_output_after(options.output);
    return Exit::kOk;
}

}  // namespace

void add_dequantize(CLI::App& app, Run& run) {
    auto options = std::make_shared<DequantizeOptions>();
    CLI::App& command =
        *app.add_subcommand("dequantize", "decode the quantized layers of a checkpoint to floats");
    command
        .add_option("input", options->input,
                    "a .safetensors file, a .safetensors.index.json, or their directory")
        ->required();
    command.add_option("-o,--output", options->output, kOutputHelp)->required();
    command.add_option("--dtype", options->dtype, "f32, f16 or bf16: of the decoded weights")
        ->capture_default_str();
    add_quiet(command, options->quiet);
    options->backend.add_to(command);
    command.footer(
        examples("  ckitchen dequantize model-w4a8.safetensors -o model-bf16.safetensors\n"
                 "  ckitchen dequantize model-int8.safetensors -o model.safetensors --dtype f32\n"));
    command.callback([options, &run] { run = [options] { return dequantize(*options); }; });
}

}  // namespace ckitchen::cli

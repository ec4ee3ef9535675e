// ckitchen dequantize: quantized layers back to floats, everything else as it is.
#include <algorithm>
#include <cstdio>
#include <deque>
#include <future>
#include <memory>
#include <set>
#include <thread>

#include "commands.hpp"
#include "crew.hpp"
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
    bool leaves_layers = false;  // quantized ones that cannot be decoded
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
            work.leaves_layers |= layer.is_quantized;
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

// Threads read and decode blocks, one writes them in their order. On a GPU the host's share of a block
// (reading it, and what INT8 needs besides) takes longest; the CPU backend has its own threads at work on
// each.
class Decoding {
  public:
    Decoding(const Session& session, Dtype dtype, SafetensorsWriter& writer, Progress& progress)
        : dtype_(dtype),
          writer_(writer),
          progress_(progress),
          pool_(session),
          write_behind_(writer, kWriteBehind) {
        const std::size_t processors = std::thread::hardware_concurrency();
        const std::size_t count = session.shares_memory() ? 2 : std::clamp<std::size_t>(processors / 2, 4, 8);
        for (std::size_t i = 0; i < count; ++i) decoders_.emplace_back(session, pool_, dtype);
    }

    void run(const Work& work) {
        {
            Crew<WeightDecoder> crew(decoders_);
            for (const DecodableLayer& layer : work.layers) cut_layer(layer, crew);
            for (const SourceTensor* source : work.copies) cut_copy(*source, crew);
            while (!pending_.empty()) take_first();
        }
        write_behind_.finish();
    }

  private:
    // A block on its way.
    struct Pending {
        const TensorInfo* target;
        std::uint64_t offset;
        std::uint64_t bytes;            // of the input
        const DecodableLayer* last_of;  // whose last block it is, or NULL
        std::future<Buffer> data;
    };

    void cut_layer(const DecodableLayer& layer, Crew<WeightDecoder>& crew) {
        const TensorInfo& target = *writer_.find(layer.name + std::string(kWeightSuffix));
        const std::uint64_t row_bytes = static_cast<std::uint64_t>(layer.k) * dtype_size(dtype_);
        const std::int64_t step = block_rows(layer.k, kBlockElements / 4);
        if (layer.n == 0 || layer.k == 0) report(layer);
        for (std::int64_t row = 0; row < layer.n && layer.k > 0; row += step) {
            const std::int64_t rows = std::min(step, layer.n - row);
            const std::uint64_t bytes = static_cast<std::uint64_t>(rows) *
                                        (layer.weight->info->bytes() / static_cast<std::uint64_t>(layer.n));
            push({&target, static_cast<std::uint64_t>(row) * row_bytes, bytes,
                  row + rows == layer.n ? &layer : nullptr,
                  crew.submit([&layer, row, rows](WeightDecoder& decoder) {
                      return decoder.decode(layer, row, rows);
                  })});
        }
    }

    void cut_copy(const SourceTensor& source, Crew<WeightDecoder>& crew) {
        const TensorInfo& target = *writer_.find(source.info->name);
        for (std::uint64_t offset = 0; offset < target.bytes(); offset += kCopyBytes) {
            const std::uint64_t bytes = std::min(kCopyBytes, target.bytes() - offset);
            push(
                {&target, offset, bytes, nullptr, crew.submit([this, &source, offset, bytes](WeightDecoder&) {
                     Buffer data = pool_.take(static_cast<std::size_t>(bytes));
                     source.read(offset, data.bytes());
                     return data;
                 })});
        }
    }

    void push(Pending pending) {
        pending_.push_back(std::move(pending));
        if (pending_.size() > 2 * decoders_.size()) take_first();
    }

    void take_first() {
        Pending first = std::move(pending_.front());
        pending_.pop_front();
        write_behind_.write(*first.target, first.offset, first.data.get());
        progress_.advance(first.target->name, first.bytes);
        if (first.last_of != nullptr) report(*first.last_of);
    }

    void report(const DecodableLayer& layer) {
        progress_.line(printable(layer.name + std::string(kWeightSuffix)) + " " +
                       shape_text({layer.n, layer.k}) + " from " + layer.marker.format);
    }

    Dtype dtype_;
    SafetensorsWriter& writer_;
    Progress& progress_;
    BufferPool pool_;
    std::deque<WeightDecoder> decoders_;
    std::deque<Pending> pending_;
    WriteBehind write_behind_;
};

Exit dequantize(const DequantizeOptions& options) {
    const Dtype dtype = parse_float(options.dtype);
    const Checkpoint input(options.input);
    Progress progress(options.quiet ? ProgressStyle::kQuiet : detect_progress_style(), 0);
    const Work work = plan_work(input, dtype, progress);
    SafetensorsWriter writer(options.output, work.outputs, work.metadata, input.file_ids());
    const Session session(options.backend.session());
    if (session.shares_memory() || writer.knows_room()) writer.wait_for_room();
    progress.restart(work.bytes);
    Decoding(session, dtype, writer, progress).run(work);
    writer.commit();
    std::printf("decoded %zu layers to %s, copied %zu tensors; file %s -> %s\n", work.layers.size(),
                options.dtype.c_str(), work.copies.size(), bytes_text(input.file_bytes()).c_str(),
                bytes_text(writer.file_bytes()).c_str());
    flush_standard_output_after(options.output);
    return work.leaves_layers ? Exit::kKept : Exit::kOk;
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

#include "convert.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <tuple>

#include "failure.hpp"
#include "pipeline.hpp"
#include "text.hpp"
#include "weight_codec.hpp"

namespace ckitchen::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kCopyBytes = 8 << 20;
// Blocks that wait between two threads. Two keep both sides busy; more would only cost memory.
constexpr std::size_t kReadAhead = 2;
constexpr std::size_t kWriteBehind = 8;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

enum class Piece { kCopy, kSample, kRows };

// A part of a tensor's bytes on its way from the file.
struct Chunk {
    std::size_t tensor = 0;  // index in the plan
    Piece piece = Piece::kCopy;
    std::uint64_t offset = 0;  // kCopy
    std::int64_t row = 0;      // kRows
    std::int64_t rows = 0;     // kRows
    Buffer data;
};

// Indices of the plan's tensors in the order of their bytes on the disk.
std::vector<std::size_t> disk_order(const Plan& plan, const Checkpoint& input) {
    std::map<const SafetensorsFile*, std::size_t> file_number;
    for (std::size_t i = 0; i < input.files().size(); ++i) file_number[input.files()[i].get()] = i;
    std::vector<std::size_t> order(plan.tensors.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto place = [&](std::size_t i) {
        const SourceTensor& source = *plan.tensors[i].source;
        return std::tuple(file_number[source.file], source.info->begin, i);
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    return order;
}

bool is_fault(const ValueFault& fault, TargetFormat format) {
    // INT8 takes every finite value.
    return fault.non_finite != 0 || (format == TargetFormat::kW4a8 && fault.too_large != 0);
}

ValueFault scan_tensor(const SourceTensor& source) {
    ValueFault total;
    const std::uint64_t bytes = source.info->bytes();
    for (std::uint64_t offset = 0; offset < bytes; offset += kCopyBytes) {
        Buffer data(static_cast<std::size_t>(std::min(kCopyBytes, bytes - offset)));
        source.read(offset, data.bytes());
        const ValueFault fault = scan_values(source.info->dtype, data.bytes());
        total.non_finite += fault.non_finite;
        total.too_large += fault.too_large;
    }
    return total;
}

// Pushes every tensor's pieces in the given order.
void read_all(const Plan& plan, const std::vector<std::size_t>& order, bool with_samples,
              BoundedQueue<Chunk>& queue) {
    for (const std::size_t index : order) {
        const PlannedTensor& tensor = plan.tensors[index];
        const SourceTensor& source = *tensor.source;
        const std::uint64_t bytes = source.info->bytes();
        if (!tensor.quantize) {
            for (std::uint64_t offset = 0; offset < bytes; offset += kCopyBytes) {
                Buffer data(static_cast<std::size_t>(std::min(kCopyBytes, bytes - offset)));
                source.read(offset, data.bytes());
                if (!queue.push({index, Piece::kCopy, offset, 0, 0, std::move(data)})) return;
            }
            continue;
        }
        const std::uint64_t row_bytes = static_cast<std::uint64_t>(tensor.k) * dtype_size(source.info->dtype);
        const std::int64_t sample_rows = codebook_sample_rows(tensor.n, tensor.k);
        // A tensor that is its own sample is one block, which then serves for both.
        if (with_samples && sample_rows < tensor.n) {
            Buffer data(static_cast<std::size_t>(static_cast<std::uint64_t>(sample_rows) * row_bytes));
            for (std::int64_t i = 0; i < sample_rows; ++i) {
                const auto row = static_cast<std::uint64_t>(codebook_sample_row(tensor.n, sample_rows, i));
                source.read(row * row_bytes,
                            data.bytes().subspan(static_cast<std::size_t>(i) * row_bytes, row_bytes));
            }
            if (!queue.push({index, Piece::kSample, 0, 0, 0, std::move(data)})) return;
        }
        const std::int64_t step = block_rows(tensor.k);
        for (std::int64_t row = 0; row < tensor.n; row += step) {
            const std::int64_t rows = std::min(step, tensor.n - row);
            Buffer data(static_cast<std::size_t>(static_cast<std::uint64_t>(rows) * row_bytes));
            source.read(static_cast<std::uint64_t>(row) * row_bytes, data.bytes());
            if (!queue.push({index, Piece::kRows, 0, row, rows, std::move(data)})) return;
        }
    }
}

// One pass over the checkpoint with one plan.
class Attempt {
  public:
    Attempt(const Plan& plan, const Session& session, const ConvertOptions& options,
            SafetensorsWriter& writer, Progress& progress, ConversionReport& report)
        : plan_(plan),
          writer_(writer),
          progress_(progress),
          report_(report),
          quantizer_(session, plan.options, options.seed),
          write_behind_(writer, kWriteBehind) {}

    // Nothing when all is written; otherwise the place in `order` of the tensor that cannot be quantized.
    std::optional<std::size_t> run(const std::vector<std::size_t>& order) {
        ReadAhead<Chunk> reader(kReadAhead, [&](BoundedQueue<Chunk>& queue) {
            read_all(plan_, order, quantizer_.needs_sample(), queue);
        });
        while (std::optional<Chunk> chunk = next(reader)) {
            if (!process(*chunk)) {
                return static_cast<std::size_t>(std::find(order.begin(), order.end(), chunk->tensor) -
                                                order.begin());
            }
        }
        const auto start = Clock::now();
        write_behind_.finish();
        report_.write_wait_seconds += seconds_since(start);
        report_.compute_seconds += quantizer_.library_seconds();
        return std::nullopt;
    }

  private:
    std::optional<Chunk> next(ReadAhead<Chunk>& reader) {
        const auto start = Clock::now();
        std::optional<Chunk> chunk = reader.next();
        report_.read_wait_seconds += seconds_since(start);
        return chunk;
    }

    void write(const std::string& name, std::uint64_t offset, Buffer data) {
        const TensorInfo* const target = writer_.find(name);
        if (target == nullptr) throw Failure(Exit::kInternal, "no output tensor " + in_quotes(name));
        const auto start = Clock::now();
        write_behind_.write(*target, offset, std::move(data));
        report_.write_wait_seconds += seconds_since(start);
    }

    // False when the values of the chunk cannot be quantized.
    bool process(Chunk& chunk) {
        const PlannedTensor& tensor = plan_.tensors[chunk.tensor];
        const std::string& name = tensor.source->info->name;
        const std::uint64_t bytes = chunk.data.size();
        switch (chunk.piece) {
            case Piece::kCopy:
                write(name, chunk.offset, std::move(chunk.data));
                break;
            case Piece::kSample:
                quantizer_.begin(tensor, chunk.data.bytes());
                begun_ = &tensor;
                return true;  // these rows come again
            case Piece::kRows:
                if (is_fault(scan_values(tensor.source->info->dtype, chunk.data.bytes()),
                             plan_.options.format)) {
                    return false;
                }
                if (begun_ != &tensor) {
                    quantizer_.begin(tensor, chunk.data.bytes());
                    begun_ = &tensor;
                }
                quantize_rows(tensor, chunk);
                break;
        }
        progress_.advance(name, bytes);
        return true;
    }

    void quantize_rows(const PlannedTensor& tensor, const Chunk& chunk) {
        QuantizedBlock block = quantizer_.quantize(chunk.row, chunk.rows, chunk.data.bytes());
        const auto row = static_cast<std::uint64_t>(chunk.row);
        const auto k = static_cast<std::uint64_t>(tensor.k);
        const std::string& layer = tensor.layer;
        if (plan_.options.format == TargetFormat::kW4a8) {
            write(layer + ".weight", row * (k / 2), std::move(block.weight));
            write(layer + ".weight_s_rel", row * (k / static_cast<std::uint64_t>(plan_.options.group_size)),
                  std::move(block.s_rel));
            write(layer + ".weight_s_channel", row * sizeof(float), std::move(block.channel));
        } else {
            write(layer + ".weight", row * k, std::move(block.weight));
            write(layer + ".weight_scale", row * sizeof(float), std::move(block.channel));
        }
        if (chunk.row + chunk.rows == tensor.n) finish_layer(tensor);
    }

    void finish_layer(const PlannedTensor& tensor) {
        const std::string& layer = tensor.layer;
        if (quantizer_.needs_sample()) {
            write(layer + ".weight_codebook", 0, copy_of(std::as_bytes(quantizer_.codebook())));
        }
        const std::string marker = marker_json(tensor.marker).dump();
        write(layer + std::string(kMarkerSuffix), 0, copy_of(std::as_bytes(std::span(marker))));

        LayerResult result;
        result.tensor = tensor.source->info->name;
        result.n = tensor.n;
        result.k = tensor.k;
        result.dtype = tensor.source->info->dtype;
        result.rotate_group = tensor.marker.rotate_group;
        result.default_codebook = quantizer_.needs_sample() && quantizer_.codebook_is_default();
        result.relative_error = quantizer_.relative_error();
        result.bytes_in = tensor.source->info->bytes();
        for (const OutputTensor& output : layer_outputs(plan_.options, tensor)) {
            std::uint64_t bytes = 0;
            tensor_bytes(output.dtype, output.shape, bytes);
            result.bytes_out += bytes;
        }
        progress_.line(format("%zu/%zu %s %s %s error %.5f", report_.layers.size() + 1,
                              plan_.quantized_count(), printable(result.tensor).c_str(),
                              std::string(dtype_name(result.dtype)).c_str(),
                              shape_text({result.n, result.k}).c_str(), result.relative_error));
        report_.layers.push_back(std::move(result));
    }

    const Plan& plan_;
    SafetensorsWriter& writer_;
    Progress& progress_;
    ConversionReport& report_;
    WeightQuantizer quantizer_;
    WriteBehind write_behind_;
    const PlannedTensor* begun_ = nullptr;
};

// Looks at every tensor to be quantized from place `first` of `order` on.
void find_faults(const Plan& plan, const std::vector<std::size_t>& order, std::size_t first,
                 std::map<std::string, ValueFault>& faults, Progress& progress) {
    for (std::size_t i = first; i < order.size(); ++i) {
        const PlannedTensor& tensor = plan.tensors[order[i]];
        if (!tensor.quantize) continue;
        const ValueFault fault = scan_tensor(*tensor.source);
        if (!is_fault(fault, plan.options.format)) continue;
        const std::string& name = tensor.source->info->name;
        faults[name] = fault;
        progress.notice(printable(tensor.source->file->path()) + ": tensor " + in_quotes(name) + ": " +
                        (fault.non_finite != 0
                             ? std::to_string(fault.non_finite) + " NaN or infinite values"
                             : std::to_string(fault.too_large) + " values of 2^100 or more") +
                        ": it is kept as it is");
    }
}

std::string describe(const ConvertOptions& options) {
    const PlanOptions& plan = options.plan;
    if (plan.format == TargetFormat::kInt8) {
        return plan.rotate == 0 ? "INT8, a scale for each row" : "INT8 with ConvRot, a scale for each row";
    }
    std::string out = plan.uniform ? "W4A8, uniform levels" : "W4A8, codebook";
    out += ", groups of " + std::to_string(plan.group_size);
    out +=
        options.seed == 0 ? ", rounded to nearest" : ", stochastic with seed " + std::to_string(options.seed);
    return out;
}

}  // namespace

Conversion convert(const Checkpoint& input, const Session& session, const ConvertOptions& options) {
    const auto start = Clock::now();
    Conversion out;
    ConversionReport& report = out.report;
    report.input = input.path();
    report.output = options.output;
    report.format = options.plan.format == TargetFormat::kW4a8 ? "w4a8" : "int8";
    report.description = describe(options);
    report.backend = session.backend();
    report.device = session.device();
    report.seed = options.seed;
    report.file_bytes_in = input.file_bytes();

    PlanOptions plan_options = options.plan;
    Progress progress(options.progress, 0);
    for (const std::string& key : input.metadata_conflicts()) {
        progress.notice(printable(input.path()) + ": shards disagree about the metadata " + in_quotes(key) +
                        "; the first shard's counts");
    }
    while (true) {
        out.plan = make_plan(input, plan_options);
        const std::vector<std::size_t> order = disk_order(out.plan, input);
        progress.restart(out.plan.data_bytes_in);
        report.layers.clear();
        SafetensorsWriter writer(options.output, out.plan.outputs, out.plan.metadata, input.file_ids());
        const std::optional<std::size_t> stopped =
            Attempt(out.plan, session, options, writer, progress, report).run(order);
        if (!stopped) {
            writer.commit();
            report.file_bytes_out = writer.file_bytes();
            break;
        }
        find_faults(out.plan, order, *stopped, plan_options.faults, progress);
    }
    std::sort(report.layers.begin(), report.layers.end(),
              [](const LayerResult& a, const LayerResult& b) { return a.tensor < b.tensor; });
    report.seconds = seconds_since(start);
    report.peak_memory_bytes = peak_memory();
    return out;
}

}  // namespace ckitchen::cli

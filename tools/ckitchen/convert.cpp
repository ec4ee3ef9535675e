#include "convert.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <numeric>
#include <optional>
#include <tuple>

#include "crew.hpp"
#include "device_memory.hpp"
#include "failure.hpp"
#include "lora_merge.hpp"
#include "pipeline.hpp"
#include "text.hpp"
#include "weight_codec.hpp"
#include "weight_quantizer.hpp"

namespace ckitchen::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kCopyBytes = 8 << 20;
// Blocks that wait between two threads. Two keep both sides busy; more would only cost memory.
constexpr std::size_t kReadAhead = 2;
constexpr std::size_t kWriteBehind = 8;
// On a GPU one block is copied in while the kernels of a second run, a third is copied out and the errors of
// a fourth are added up. The CPU backend has all threads at work on one block.
constexpr std::size_t kDeviceQuantizers = 4;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

enum class Piece { kCopy, kSample, kRows, kUnfit };

// A part of a tensor's bytes on its way from the file, merged with what is to be merged into it.
struct Chunk {
    std::size_t tensor = 0;  // index in the plan
    Piece piece = Piece::kCopy;
    std::uint64_t offset = 0;  // kCopy
    std::int64_t row = 0;      // kRows
    std::int64_t rows = 0;     // kRows
    Buffer data;               // empty for kUnfit: the values cannot be quantized
    std::uint64_t bytes = 0;   // of the file that are done with this chunk
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

// What the threads of a conversion share.
struct Shared {
    const Plan& plan;
    const Session& session;
    const ConvertOptions& options;
    BufferPool& pool;
};

// Reads a checkpoint front to back on a thread of its own, but for the samples: a layer's comes before the
// rows of the layer in front of it, so that its codebook is fitted meanwhile. push() of the queue says when
// to stop, and so do the functions here: they return false.
class Reader {
  public:
    Reader(const Shared& shared, LoraMerger& merger, BoundedQueue<Chunk>& queue)
        : shared_(shared), plan_(shared.plan), merger_(merger), queue_(queue) {}

    // Pushes every tensor's pieces in the given order.
    void read_all(const std::vector<std::size_t>& order) {
        std::size_t sampled = 0;  // places of `order` before this one have their samples pushed
        const auto sample_next = [&] {
            while (sampled < order.size() && !needs_sample(order[sampled])) ++sampled;
            return sampled == order.size() || read_sample(order[sampled++]);
        };
        for (std::size_t place = 0; place < order.size(); ++place) {
            const std::size_t index = order[place];
            if (needs_sample(index)) {
                // The layer's own, unless it came already, and the next one's.
                while (sampled <= place) {
                    if (!sample_next()) return;
                }
                if (!sample_next()) return;
            }
            const PlannedTensor& tensor = plan_.tensors[index];
            const bool go_on = tensor.quantize        ? read_layer(index)
                               : tensor.loras.empty() ? read_bytes(index)
                                                      : read_merged(index);
            if (!go_on) return;
        }
    }

  private:
    // A tensor that is its own sample is one block, which then serves for both.
    bool needs_sample(std::size_t index) const {
        const PlannedTensor& tensor = plan_.tensors[index];
        return tensor.quantize && needs_codebook(plan_.options) &&
               (codebook_sample_rows(tensor.n, tensor.k) < tensor.n || block_rows_of(tensor.k) < tensor.n);
    }

    std::int64_t block_rows_of(std::int64_t k) const { return block_rows(k, shared_.options.block_elements); }

    // A tensor that is kept as it is.
    bool read_bytes(std::size_t index) {
        const SourceTensor& source = *plan_.tensors[index].source;
        const std::uint64_t bytes = source.info->bytes();
        for (std::uint64_t offset = 0; offset < bytes; offset += kCopyBytes) {
            Buffer data = shared_.pool.take(static_cast<std::size_t>(std::min(kCopyBytes, bytes - offset)));
            source.read(offset, data.bytes());
            const std::uint64_t size = data.size();
            if (!queue_.push({index, Piece::kCopy, offset, 0, 0, std::move(data), size})) return false;
        }
        return true;
    }

    // A matrix that is kept in its own dtype, with something merged into it.
    bool read_merged(std::size_t index) {
        const PlannedTensor& tensor = plan_.tensors[index];
        const std::int64_t n = tensor.source->info->elements() == 0 ? 0 : tensor.source->info->shape[0];
        const std::int64_t step = block_rows_of(tensor.source->info->shape[1]);
        for (std::int64_t row = 0; row < n; row += step) {
            const std::vector<std::int64_t> rows = consecutive(row, std::min(step, n - row));
            Buffer data = merger_.merge(tensor, plan_.options.format, rows, read_rows(tensor, rows).bytes());
            const std::uint64_t size = data.size();
            const std::uint64_t offset = static_cast<std::uint64_t>(row) * row_bytes(tensor);
            if (!queue_.push({index, Piece::kCopy, offset, 0, 0, std::move(data), size})) return false;
        }
        return true;
    }

    bool read_sample(std::size_t index) {
        const PlannedTensor& tensor = plan_.tensors[index];
        const std::int64_t sample_rows = codebook_sample_rows(tensor.n, tensor.k);
        std::vector<std::int64_t> rows(static_cast<std::size_t>(sample_rows));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i] = codebook_sample_row(tensor.n, sample_rows, static_cast<std::int64_t>(i));
        }
        return push_values(index, Piece::kSample, rows);
    }

    bool read_layer(std::size_t index) {
        const PlannedTensor& tensor = plan_.tensors[index];
        const std::int64_t step = block_rows_of(tensor.k);
        for (std::int64_t row = 0; row < tensor.n; row += step) {
            const std::vector<std::int64_t> rows = consecutive(row, std::min(step, tensor.n - row));
            if (!push_values(index, Piece::kRows, rows)) return false;
        }
        return true;
    }

    bool push_values(std::size_t index, Piece piece, const std::vector<std::int64_t>& rows) {
        const PlannedTensor& tensor = plan_.tensors[index];
        Buffer data = read_rows(tensor, rows);
        const std::uint64_t size = data.size();
        const auto count = static_cast<std::int64_t>(rows.size());
        if (!tensor.loras.empty()) {
            // Before merging: what a LoRA adds to NaN says nothing about the LoRA.
            if (is_fault(scan_values(tensor.source->info->dtype, data.bytes()), plan_.options.format)) {
                return queue_.push({index, Piece::kUnfit, 0, 0, 0, Buffer(), 0});
            }
            data = merger_.merge(tensor, plan_.options.format, rows, data.bytes());
        }
        return queue_.push({index, piece, 0, rows.front(), count, std::move(data), size});
    }

    static std::uint64_t row_bytes(const PlannedTensor& tensor) {
        const TensorInfo& info = *tensor.source->info;
        return static_cast<std::uint64_t>(info.shape[1]) * dtype_size(info.dtype);
    }

    static std::vector<std::int64_t> consecutive(std::int64_t first, std::int64_t count) {
        std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
        std::iota(rows.begin(), rows.end(), first);
        return rows;
    }

    // Ascending rows; consecutive ones in one read.
    Buffer read_rows(const PlannedTensor& tensor, const std::vector<std::int64_t>& rows) const {
        const auto size = static_cast<std::size_t>(row_bytes(tensor));
        Buffer data = shared_.pool.take(rows.size() * size);
        const auto read = [&](std::size_t first, std::size_t count) {
            tensor.source->read(static_cast<std::uint64_t>(rows[first]) * size,
                                data.bytes().subspan(first * size, count * size));
        };
        if (rows.back() - rows.front() + 1 == static_cast<std::int64_t>(rows.size())) {
            read(0, rows.size());
        } else {
            for (std::size_t i = 0; i < rows.size(); ++i) read(i, 1);
        }
        return data;
    }

    const Shared& shared_;
    const Plan& plan_;
    LoraMerger& merger_;
    BoundedQueue<Chunk>& queue_;
};

// A block on its way through a quantizer.
struct Outcome {
    bool is_fit = true;    // otherwise the values cannot be quantized, and nothing below is set
    Codebook codebook;     // of the layer
    QuantizedBlock block;  // kRows
};

// A chunk and what becomes of it.
struct Pending {
    Chunk chunk;                  // without its data when a quantizer has them
    std::future<Outcome> result;  // kSample and kRows
};

// A layer between its first chunk and its last.
struct OpenLayer {
    std::shared_future<Codebook> codebook;  // fitted to its sample; not valid where its only block is that
    ErrorSums errors;
};

// One pass over the checkpoint with one plan: a thread reads, others quantize, one writes. This one hands the
// chunks out and takes the results in the same order.
class Attempt {
  public:
    Attempt(const Shared& shared, SafetensorsWriter& writer, Progress& progress, ConversionReport& report)
        : shared_(shared),
          plan_(shared.plan),
          writer_(writer),
          progress_(progress),
          report_(report),
          merger_(shared.options.threads),
          write_behind_(writer, kWriteBehind) {
        const std::size_t count = shared.session.shares_memory() ? 1 : kDeviceQuantizers;
        for (std::size_t i = 0; i < count; ++i) {
            quantizers_.emplace_back(shared.session, shared.pool, times_, plan_.options, shared.options.seed);
        }
        window_ = 2 * count;
    }

    // Nothing when all is written; otherwise the place in `order` of the tensor that cannot be quantized.
    std::optional<std::size_t> run(const std::vector<std::size_t>& order) {
        const auto place_of = [&](std::size_t tensor) {
            return static_cast<std::size_t>(std::find(order.begin(), order.end(), tensor) - order.begin());
        };
        {
            Crew<WeightQuantizer> crew(quantizers_);
            ReadAhead<Chunk> reader(kReadAhead, [&](BoundedQueue<Chunk>& queue) {
                Reader(shared_, merger_, queue).read_all(order);
            });
            std::deque<Pending> pending;
            while (true) {
                std::optional<Chunk> chunk = next(reader);
                if (chunk) pending.push_back(hand_out(std::move(*chunk), crew));
                while (!pending.empty() && (!chunk || pending.size() > window_)) {
                    const std::size_t tensor = pending.front().chunk.tensor;
                    if (!take_in(pending.front())) return place_of(tensor);
                    pending.pop_front();
                }
                if (!chunk) break;
            }
        }
        const auto start = Clock::now();
        write_behind_.finish();
        report_.write_wait_seconds += seconds_since(start);
        report_.compute_seconds += times_.library.seconds();
        report_.device_seconds += times_.device.seconds();
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

    Pending hand_out(Chunk chunk, Crew<WeightQuantizer>& crew) {
        Pending out;
        const PlannedTensor& tensor = plan_.tensors[chunk.tensor];
        if (chunk.piece == Piece::kSample) {
            auto fitted = std::make_shared<std::promise<Codebook>>();
            layers_[chunk.tensor].codebook = fitted->get_future().share();
            out.result =
                crew.submit([&tensor, fitted, data = std::move(chunk.data)](WeightQuantizer& quantizer) {
                    try {
                        fitted->set_value(quantizer.fit_codebook(tensor, data.bytes()));
                    } catch (...) {
                        // Who waits for the levels fails as well.
                        fitted->set_exception(std::current_exception());
                        throw;
                    }
                    return Outcome();
                });
        } else if (chunk.piece == Piece::kRows) {
            const OpenLayer& layer = layers_[chunk.tensor];
            out.result =
                crew.submit([this, &tensor, codebook = layer.codebook, row = chunk.row, rows = chunk.rows,
                             data = std::move(chunk.data)](WeightQuantizer& quantizer) {
                    return quantize_rows(quantizer, tensor, codebook, row, rows, data.bytes());
                });
        }
        out.chunk = std::move(chunk);
        return out;
    }

    // On a thread of the crew.
    Outcome quantize_rows(WeightQuantizer& quantizer, const PlannedTensor& tensor,
                          const std::shared_future<Codebook>& codebook, std::int64_t row, std::int64_t rows,
                          std::span<const std::byte> data) const {
        Outcome out;
        if (is_fault(scan_values(tensor.value_dtype(), data), plan_.options.format)) {
            out.is_fit = false;
            return out;
        }
        if (codebook.valid()) {
            out.codebook = codebook.get();
        } else if (needs_codebook(plan_.options)) {
            out.codebook = quantizer.fit_codebook(tensor, data);
        }
        out.block = quantizer.quantize(tensor, out.codebook, row, rows, data);
        return out;
    }

    // False when the values of the chunk cannot be quantized.
    bool take_in(Pending& pending) {
        Chunk& chunk = pending.chunk;
        const PlannedTensor& tensor = plan_.tensors[chunk.tensor];
        const std::string& name = tensor.source->info->name;
        switch (chunk.piece) {
            case Piece::kUnfit:
                return false;
            case Piece::kCopy:
                write(name, chunk.offset, std::move(chunk.data));
                break;
            case Piece::kSample:
                pending.result.get();
                return true;  // these rows come again
            case Piece::kRows: {
                Outcome outcome = pending.result.get();
                if (!outcome.is_fit) return false;
                write_rows(tensor, chunk, outcome);
                break;
            }
        }
        progress_.advance(name, chunk.bytes);
        return true;
    }

    void write_rows(const PlannedTensor& tensor, const Chunk& chunk, Outcome& outcome) {
        QuantizedBlock& block = outcome.block;
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
        ErrorSums& errors = layers_[chunk.tensor].errors;
        errors.add(block.errors);
        if (chunk.row + chunk.rows != tensor.n) return;
        finish_layer(tensor, outcome.codebook, errors);
        layers_.erase(chunk.tensor);
    }

    void finish_layer(const PlannedTensor& tensor, const Codebook& codebook, const ErrorSums& errors) {
        const std::string& layer = tensor.layer;
        if (needs_codebook(plan_.options)) {
            write(layer + ".weight_codebook", 0, copy_of(std::as_bytes(std::span(codebook))));
        }
        const std::string marker = marker_json(tensor.marker).dump();
        write(layer + std::string(kMarkerSuffix), 0, copy_of(std::as_bytes(std::span(marker))));

        LayerResult result;
        result.tensor = tensor.source->info->name;
        result.n = tensor.n;
        result.k = tensor.k;
        result.dtype = tensor.source->info->dtype;
        result.rotate_group = tensor.marker.rotate_group;
        result.default_codebook = is_default_codebook(codebook);
        result.relative_error = errors.relative();
        result.loras = tensor.loras.size();
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

    const Shared& shared_;
    const Plan& plan_;
    SafetensorsWriter& writer_;
    Progress& progress_;
    ConversionReport& report_;
    WorkTimes times_;
    std::deque<WeightQuantizer> quantizers_;
    std::size_t window_ = 0;
    std::map<std::size_t, OpenLayer> layers_;  // by index in the plan
    LoraMerger merger_;
    WriteBehind write_behind_;
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
                        ": it is kept " + (tensor.loras.empty() ? "as it is" : "unquantized"));
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
    std::vector<FileId> inputs = input.file_ids();
    for (const auto& lora : plan_options.loras) inputs.push_back(lora->id());
    Progress progress(options.progress, 0);
    for (const std::string& key : input.metadata_conflicts()) {
        progress.notice(printable(input.path()) + ": shards disagree about the metadata " + in_quotes(key) +
                        "; the first shard's counts");
    }
    out.plan = make_plan(input, plan_options);
    check_lora_values(out.plan);
    for (const std::string& notice : out.plan.notices) progress.notice(notice);
    BufferPool pool(session);
    const Shared shared{out.plan, session, options, pool};
    while (true) {
        const std::vector<std::size_t> order = disk_order(out.plan, input);
        progress.restart(out.plan.data_bytes_in);
        report.layers.clear();
        SafetensorsWriter writer(options.output, out.plan.outputs, out.plan.metadata, inputs);
        const std::optional<std::size_t> stopped = Attempt(shared, writer, progress, report).run(order);
        if (!stopped) {
            writer.commit();
            report.file_bytes_out = writer.file_bytes();
            break;
        }
        find_faults(out.plan, order, *stopped, plan_options.faults, progress);
        out.plan = make_plan(input, plan_options);
    }
    std::sort(report.layers.begin(), report.layers.end(),
              [](const LayerResult& a, const LayerResult& b) { return a.tensor < b.tensor; });
    report.seconds = seconds_since(start);
    if (!session.shares_memory()) report.device_idle_share = 1 - report.device_seconds / report.seconds;
    report.peak_memory_bytes = peak_memory();
    report.buffer_bytes = pool.allocated_bytes();
    return out;
}

}  // namespace ckitchen::cli

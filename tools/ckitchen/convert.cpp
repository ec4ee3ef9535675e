#include "convert.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <tuple>

#include "crew.hpp"
#include "device_memory.hpp"
#include "failure.hpp"
#include "lora_merge.hpp"
#include "numbers.hpp"
#include "pipeline.hpp"
#include "text.hpp"
#include "weight_codec.hpp"
#include "weight_quantizer.hpp"

namespace ckitchen::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kCopyBytes = 8 << 20;

// How a conversion is spread over threads.
struct Team {
    std::size_t readers = 1;
    std::size_t quantizers = 1;
    std::size_t window = 4;         // blocks between being read and being written
    std::size_t samples_ahead = 1;  // layers whose codebooks are fitted before their turn
    std::size_t write_behind = 8;   // pieces of blocks
    std::int64_t block_elements = kBlockElements;
};

// The CPU backend has all threads at work on one block, the larger the better. On a GPU a block is a matter
// of microseconds, and what the host does about it (reading it, looking for NaN) takes longest: as many
// blocks are in work as there are processors for, small enough for their caches. To fit a codebook takes as
// long as several layers.
Team team_for(const Session& session) {
    Team team;
    if (session.shares_memory()) return team;
    const std::size_t processors = std::thread::hardware_concurrency();
    team.readers = std::clamp<std::size_t>(processors / 2, 2, 8);
    team.quantizers = std::clamp<std::size_t>(processors / 2, 4, 8);
    team.window = team.readers + 2 * team.quantizers;
    team.samples_ahead = 4;
    team.write_behind = 4 * team.quantizers;
    team.block_elements = kBlockElements / 4;
    return team;
}

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

enum class Piece { kBytes, kMergedRows, kSample, kRows };

// A part of a tensor.
struct Chunk {
    std::size_t tensor = 0;  // index in the plan
    Piece piece = Piece::kBytes;
    std::uint64_t offset = 0;  // of kBytes and kMergedRows in the output's tensor
    std::uint64_t size = 0;    // kBytes
    std::int64_t row = 0;      // kMergedRows and kRows
    std::int64_t rows = 0;     // of the values
};

// What is read of it, merged with what is to be merged into it.
struct Values {
    bool is_fit = true;  // otherwise they cannot be quantized, and nothing below is set
    Buffer data;
    std::uint64_t bytes = 0;  // of the file
};
// The quantizer moves the values out of it.
using Loaded = std::shared_future<std::shared_ptr<Values>>;

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
    const Team& team;
    BufferPool& pool;
};

std::uint64_t row_bytes(const PlannedTensor& tensor) {
    const TensorInfo& info = *tensor.source->info;
    return static_cast<std::uint64_t>(info.shape[1]) * dtype_size(info.dtype);
}

// Cuts the tensors of a plan into chunks in the order in which they are worked on: front to back, but for the
// samples, which come some layers before the rows, so that the codebook is fitted meanwhile.
class Cutter {
  public:
    explicit Cutter(const Shared& shared) : plan_(shared.plan), team_(shared.team) {}

    std::vector<Chunk> cut(const std::vector<std::size_t>& order) {
        std::vector<std::size_t> sampled;
        for (const std::size_t index : order) {
            if (needs_sample(index)) sampled.push_back(index);
        }
        std::size_t next = 0;          // of `sampled` to be cut
        std::size_t sampled_rows = 0;  // of `sampled` whose rows have been cut
        for (const std::size_t index : order) {
            if (needs_sample(index)) {
                const std::size_t end = std::min(sampled.size(), ++sampled_rows + team_.samples_ahead);
                while (next < end) cut_sample(sampled[next++]);
            }
            const PlannedTensor& tensor = plan_.tensors[index];
            if (tensor.quantize) {
                cut_rows(index, Piece::kRows, tensor.n, tensor.k);
            } else if (tensor.loras.empty()) {
                cut_bytes(index);
            } else {
                const TensorInfo& info = *tensor.source->info;
                cut_rows(index, Piece::kMergedRows, info.elements() == 0 ? 0 : info.shape[0], info.shape[1]);
            }
        }
        return std::move(chunks_);
    }

  private:
    // A tensor that is its own sample is one block, which then serves for both.
    bool needs_sample(std::size_t index) const {
        const PlannedTensor& tensor = plan_.tensors[index];
        return tensor.quantize && needs_codebook(plan_.options) &&
               (codebook_sample_rows(tensor.n, tensor.k) < tensor.n ||
                block_rows(tensor.k, team_.block_elements) < tensor.n);
    }

    void cut_sample(std::size_t index) {
        const PlannedTensor& tensor = plan_.tensors[index];
        Chunk chunk{index, Piece::kSample};
        chunk.rows = codebook_sample_rows(tensor.n, tensor.k);
        chunks_.push_back(chunk);
    }

    // A tensor that is kept as it is.
    void cut_bytes(std::size_t index) {
        const std::uint64_t bytes = plan_.tensors[index].source->info->bytes();
        for (std::uint64_t offset = 0; offset < bytes; offset += kCopyBytes) {
            chunks_.push_back({index, Piece::kBytes, offset, std::min(kCopyBytes, bytes - offset)});
        }
    }

    void cut_rows(std::size_t index, Piece piece, std::int64_t n, std::int64_t k) {
        const std::int64_t step = block_rows(k, team_.block_elements);
        for (std::int64_t row = 0; row < n; row += step) {
            const std::uint64_t offset = static_cast<std::uint64_t>(row) * row_bytes(plan_.tensors[index]);
            chunks_.push_back({index, piece, offset, 0, row, std::min(step, n - row)});
        }
    }

    const Plan& plan_;
    const Team& team_;
    std::vector<Chunk> chunks_;
};

// Reads chunks and looks at their values. Thread-safe.
class Reader {
  public:
    explicit Reader(const Shared& shared)
        : plan_(shared.plan), pool_(shared.pool), merger_(shared.options.threads) {}

    Values read(const Chunk& chunk) {
        const PlannedTensor& tensor = plan_.tensors[chunk.tensor];
        Values out;
        if (chunk.piece == Piece::kBytes) {
            out.data = pool_.take(static_cast<std::size_t>(chunk.size));
            tensor.source->read(chunk.offset, out.data.bytes());
            out.bytes = chunk.size;
            return out;
        }
        const std::vector<std::int64_t> rows = rows_of(chunk, tensor);
        out.data = read_rows(tensor, rows);
        out.bytes = out.data.size();
        // Before merging, which sees to it that none come in: what a LoRA adds to NaN says nothing about the
        // LoRA.
        if (tensor.quantize &&
            is_fault(scan_values(tensor.source->info->dtype, out.data.bytes()), plan_.options.format)) {
            out = Values{};
            out.is_fit = false;
            return out;
        }
        if (tensor.loras.empty()) return out;
        const std::lock_guard lock(merging_);
        out.data = merger_.merge(tensor, plan_.options.format, rows, out.data.bytes());
        return out;
    }

  private:
    static std::vector<std::int64_t> rows_of(const Chunk& chunk, const PlannedTensor& tensor) {
        std::vector<std::int64_t> rows(static_cast<std::size_t>(chunk.rows));
        std::iota(rows.begin(), rows.end(), chunk.row);
        if (chunk.piece == Piece::kSample) {
            for (std::int64_t& row : rows) row = codebook_sample_row(tensor.n, chunk.rows, row);
        }
        return rows;
    }

    // Ascending rows; consecutive ones in one read.
    Buffer read_rows(const PlannedTensor& tensor, const std::vector<std::int64_t>& rows) const {
        const auto size = static_cast<std::size_t>(row_bytes(tensor));
        Buffer data = pool_.take(rows.size() * size);
        for (std::size_t first = 0, end = 0; first < rows.size(); first = end) {
            for (end = first + 1; end < rows.size() && rows[end] == rows[end - 1] + 1;) ++end;
            tensor.source->read(static_cast<std::uint64_t>(rows[first]) * size,
                                data.bytes().subspan(first * size, (end - first) * size));
        }
        return data;
    }

    const Plan& plan_;
    BufferPool& pool_;
    std::mutex merging_;
    LoraMerger merger_;  // uses many threads by itself
};

// A block on its way through a quantizer.
struct Outcome {
    bool is_fit = true;  // otherwise the values cannot be quantized, and nothing below is set
    Codebook codebook;   // of the layer
    QuantizedBlock block;
    std::uint64_t bytes = 0;  // of the file
};

// A chunk and what becomes of it.
struct Pending {
    Chunk chunk;
    Loaded loaded;
    std::future<Outcome> result;  // kRows
};

// A layer between its first chunk and its last.
struct OpenLayer {
    // Fitted to its sample, nothing where that cannot be quantized; not valid where its only block is that.
    std::shared_future<std::optional<Codebook>> codebook;
    ErrorSums errors;
};

// One pass over the checkpoint with one plan: some threads read, others quantize, one writes. This one hands
// the chunks out and takes the results in the same order.
class Attempt {
  public:
    Attempt(const Shared& shared, SafetensorsWriter& writer, Progress& progress, ConversionReport& report)
        : shared_(shared),
          plan_(shared.plan),
          writer_(writer),
          progress_(progress),
          report_(report),
          reader_(shared),
          readers_(shared.team.readers, &reader_),
          write_behind_(writer, shared.team.write_behind) {
        for (std::size_t i = 0; i < shared.team.quantizers; ++i) {
            quantizers_.emplace_back(shared.session, shared.pool, times_, plan_.options, shared.options.seed);
        }
    }

    // Nothing when all is written; otherwise the place in `order` of the tensor that cannot be quantized.
    std::optional<std::size_t> run(const std::vector<std::size_t>& order) {
        const auto place_of = [&](std::size_t tensor) {
            return static_cast<std::size_t>(std::find(order.begin(), order.end(), tensor) - order.begin());
        };
        {
            // The readers end last: quantizers wait for what they read.
            Crew<Reader*> reading(readers_);
            Crew<WeightQuantizer> quantizing(quantizers_);
            std::deque<Pending> pending;
            const auto take_first = [&]() -> std::optional<std::size_t> {
                const std::size_t tensor = pending.front().chunk.tensor;
                if (!take_in(pending.front())) return place_of(tensor);
                pending.pop_front();
                return std::nullopt;
            };
            for (const Chunk& chunk : Cutter(shared_).cut(order)) {
                Loaded loaded = reading
                                    .submit([chunk](Reader*& reader) {
                                        return std::make_shared<Values>(reader->read(chunk));
                                    })
                                    .share();
                if (chunk.piece == Piece::kSample) {
                    fit_codebook(chunk, loaded, quantizing);
                    continue;
                }
                pending.push_back(hand_out(chunk, std::move(loaded), quantizing));
                if (pending.size() <= shared_.team.window) continue;
                if (const auto stopped = take_first()) return stopped;
            }
            while (!pending.empty()) {
                if (const auto stopped = take_first()) return stopped;
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
    void write(const std::string& name, std::uint64_t offset, Buffer data) {
        const TensorInfo* const target = writer_.find(name);
        if (target == nullptr) throw Failure(Exit::kInternal, "no output tensor " + in_quotes(name));
        const auto start = Clock::now();
        write_behind_.write(*target, offset, std::move(data));
        report_.write_wait_seconds += seconds_since(start);
    }

    // A failure is met by the rows of the layer, which wait for the levels.
    void fit_codebook(const Chunk& chunk, const Loaded& loaded, Crew<WeightQuantizer>& crew) {
        const PlannedTensor& tensor = plan_.tensors[chunk.tensor];
        layers_[chunk.tensor].codebook =
            crew.submit([&tensor, loaded](WeightQuantizer& quantizer) -> std::optional<Codebook> {
                    const Values sample = std::move(*loaded.get());
                    if (!sample.is_fit) return std::nullopt;
                    return quantizer.fit_codebook(tensor, sample.data.bytes());
                })
                .share();
    }

    Pending hand_out(const Chunk& chunk, Loaded loaded, Crew<WeightQuantizer>& crew) {
        Pending out{chunk, std::move(loaded), {}};
        if (chunk.piece == Piece::kRows) {
            out.result = crew.submit([this, chunk, loaded = out.loaded,
                                      codebook = layers_[chunk.tensor].codebook](WeightQuantizer& quantizer) {
                return quantize_rows(quantizer, chunk, loaded, codebook);
            });
        }
        return out;
    }

    // On a thread of the crew.
    Outcome quantize_rows(WeightQuantizer& quantizer, const Chunk& chunk, const Loaded& loaded,
                          const std::shared_future<std::optional<Codebook>>& codebook) const {
        const PlannedTensor& tensor = plan_.tensors[chunk.tensor];
        const Values values = std::move(*loaded.get());
        const std::span<const std::byte> data = values.data.bytes();
        Outcome out;
        out.bytes = values.bytes;
        out.is_fit = values.is_fit;
        if (!out.is_fit) return out;
        if (codebook.valid()) {
            const std::optional<Codebook>& fitted = codebook.get();
            out.is_fit = fitted.has_value();
            if (!out.is_fit) return out;
            out.codebook = *fitted;
        } else if (needs_codebook(plan_.options)) {
            out.codebook = quantizer.fit_codebook(tensor, data);
        }
        out.block = quantizer.quantize(tensor, out.codebook, chunk.row, chunk.rows, data);
        return out;
    }

    // False when the values of the chunk cannot be quantized.
    bool take_in(Pending& pending) {
        const Chunk& chunk = pending.chunk;
        const PlannedTensor& tensor = plan_.tensors[chunk.tensor];
        const std::string& name = tensor.source->info->name;
        const auto start = Clock::now();
        pending.loaded.wait();
        report_.read_wait_seconds += seconds_since(start);
        std::uint64_t bytes = 0;
        if (chunk.piece == Piece::kRows) {
            Outcome outcome = pending.result.get();
            if (!outcome.is_fit) return false;
            bytes = outcome.bytes;
            write_rows(tensor, chunk, outcome);
        } else {
            Values& values = *pending.loaded.get();
            bytes = values.bytes;
            write(name, chunk.offset, std::move(values.data));
        }
        progress_.advance(name, bytes);
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
        // Row by row: the sum does not depend on how a layer is cut into blocks.
        errors.add_rows({reinterpret_cast<const double*>(block.errors.bytes().data()),
                         2 * static_cast<std::size_t>(chunk.rows)});
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
    Reader reader_;
    std::deque<Reader*> readers_;
    std::deque<WeightQuantizer> quantizers_;
    std::map<std::size_t, OpenLayer> layers_;  // by index in the plan
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

Conversion convert(const Checkpoint& input, const std::function<const Session&()>& session_when_up,
                   const ConvertOptions& options) {
    Conversion out;
    ConversionReport& report = out.report;
    report.input = input.path();
    report.output = options.output;
    report.format = options.plan.format == TargetFormat::kW4a8 ? "w4a8" : "int8";
    report.description = describe(options);
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
    auto writer =
        std::make_unique<SafetensorsWriter>(options.output, out.plan.outputs, out.plan.metadata, inputs);
    const Session& session = session_when_up();
    // Before the first layer is told to be done, where that costs nothing.
    if (session.shares_memory() || writer->knows_room()) writer->wait_for_room();
    report.backend = session.backend();
    report.device = session.device();
    Team team = team_for(session);
    if (options.block_elements != 0) team.block_elements = options.block_elements;
    BufferPool pool(session);
    const Shared shared{out.plan, session, options, team, pool};
    while (true) {
        const std::vector<std::size_t> order = disk_order(out.plan, input);
        progress.restart(out.plan.data_bytes_in);
        report.layers.clear();
        const std::optional<std::size_t> stopped = Attempt(shared, *writer, progress, report).run(order);
        if (!stopped) break;
        writer.reset();
        find_faults(out.plan, order, *stopped, plan_options.faults, progress);
        out.plan = make_plan(input, plan_options);
        writer =
            std::make_unique<SafetensorsWriter>(options.output, out.plan.outputs, out.plan.metadata, inputs);
    }
    writer->commit();
    report.file_bytes_out = writer->file_bytes();
    std::sort(report.layers.begin(), report.layers.end(),
              [](const LayerResult& a, const LayerResult& b) { return a.tensor < b.tensor; });
    report.seconds = seconds_since(options.start);
    if (!session.shares_memory()) report.device_idle_share = 1 - report.device_seconds / report.seconds;
    report.peak_memory_bytes = peak_memory();
    report.buffer_bytes = pool.allocated_bytes();
    return out;
}

}  // namespace ckitchen::cli

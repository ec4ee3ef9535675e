#include "plan.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "failure.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

constexpr std::int64_t kColumnUnit = 16;  // both formats' loaders read columns in units of this
constexpr std::array kRotations = {256, 64, 16};

enum class Match { kContains, kPrefix, kSuffix, kWhole };

struct KeepRow {
    Match match;
    std::string_view text;
    std::string_view pattern;
};

// Written out instead of one regular expression: each row has its own text for the report.
constexpr std::array kKeepRows = {
    KeepRow{Match::kContains, "embed", ".*embed.*"},
    KeepRow{Match::kContains, "norm", ".*norm.*"},
    KeepRow{Match::kContains, "modulation", ".*modulation.*"},
    KeepRow{Match::kContains, "adaln", ".*ada_?ln.*"},
    KeepRow{Match::kContains, "ada_ln", ".*ada_?ln.*"},
    KeepRow{Match::kContains, "pos_", ".*pos_.*"},
    KeepRow{Match::kPrefix, "time_", "time_.*"},
    KeepRow{Match::kPrefix, "timestep", "timestep.*"},
    KeepRow{Match::kPrefix, "final", "final.*"},
    KeepRow{Match::kWhole, "proj_out", "proj_out"},
    KeepRow{Match::kWhole, "lm_head", "lm_head"},
    KeepRow{Match::kSuffix, "_head", ".*_head"},
    KeepRow{Match::kWhole, "img_in", "img_in"},
    KeepRow{Match::kWhole, "txt_in", "txt_in"},
    KeepRow{Match::kWhole, "x_in", "x_in"},
    KeepRow{Match::kWhole, "vector_in", "vector_in"},
    KeepRow{Match::kWhole, "guidance_in", "guidance_in"},
    KeepRow{Match::kWhole, "time_in", "time_in"},
    KeepRow{Match::kWhole, "context_in", "context_in"},
    KeepRow{Match::kWhole, "patch_in", "patch_in"},
};

bool matches(const KeepRow& row, std::string_view segment) {
    switch (row.match) {
        case Match::kContains:
            return segment.find(row.text) != std::string_view::npos;
        case Match::kPrefix:
            return segment.starts_with(row.text);
        case Match::kSuffix:
            return segment.ends_with(row.text);
        case Match::kWhole:
            return segment == row.text;
    }
    return false;
}

const NamePattern* first_match(const std::vector<NamePattern>& patterns, const std::string& name) {
    for (const NamePattern& pattern : patterns) {
        if (pattern.matches(name)) return &pattern;
    }
    return nullptr;
}

void check_options(const PlanOptions& options) {
    const int group = options.group_size;
    if (options.format == TargetFormat::kW4a8 && (group < 4 || (16 % group != 0 && group % 16 != 0))) {
        throw Failure(Exit::kUsage,
                      "--group-size " + std::to_string(group) + ": must be 4, 8 or a multiple of 16");
    }
    if (!options.rotate) return;
    const int rotate = *options.rotate;
    if (rotate != 0 && std::find(kRotations.begin(), kRotations.end(), rotate) == kRotations.end()) {
        throw Failure(Exit::kUsage,
                      "--rotate " + std::to_string(rotate) + ": must be auto, none, 16, 64 or 256");
    }
    if (rotate == 0 && options.format == TargetFormat::kW4a8) {
        throw Failure(Exit::kUsage,
                      "--rotate none: a W4A8 layer is always rotated; none is for --format int8");
    }
}

std::string not_divisible(std::int64_t k, const std::string& by) {
    return "K=" + std::to_string(k) + " is not divisible by " + by;
}

// Decides a tensor that may become a quantized layer, in the order in which a user would look for the cause.
class Planner {
  public:
    Planner(const Checkpoint& checkpoint, const PlanOptions& options)
        : options_(options), layers_(find_quantized_layers(checkpoint)) {
        for (const auto& [name, layer] : layers_) {
            for (const std::string& tensor : layer.tensors) layer_of_.emplace(tensor, name);
        }
    }

    PlannedTensor decide(const SourceTensor& source) const {
        PlannedTensor out;
        out.source = &source;
        out.quantize = !keep(source, out);
        if (!out.quantize) return out;
        const TensorInfo& info = *source.info;
        out.layer = info.name.substr(0, info.name.size() - kWeightSuffix.size());
        out.n = info.shape[0];
        out.k = info.shape[1];
        out.marker.rotate_group = rotation(out.k);
        const bool is_w4a8 = options_.format == TargetFormat::kW4a8;
        out.marker.format = is_w4a8 ? kW4a8Format : kInt8Format;
        out.marker.group_size = is_w4a8 ? options_.group_size : 0;
        return out;
    }

  private:
    int rotation(std::int64_t k) const {
        if (options_.rotate) return *options_.rotate;
        for (const int group : kRotations) {
            if (k % group == 0) return group;
        }
        return 0;
    }

    static bool because(PlannedTensor& out, Keep reason, std::string detail) {
        out.reason = reason;
        out.detail = std::move(detail);
        return true;
    }

    bool keep(const SourceTensor& source, PlannedTensor& out) const {
        const TensorInfo& info = *source.info;
        if (const auto owner = layer_of_.find(info.name); owner != layer_of_.end()) {
            const QuantizedLayer& layer = layers_.find(owner->second)->second;
            const std::string name = "layer " + in_quotes(owner->second) + ", ";
            if (layer.marker)
                return because(out, Keep::kAlreadyQuantized, name + printable(layer.marker->format));
            if (layer.is_quantized) return because(out, Keep::kAlreadyQuantized, name + "no marker");
            return because(out, Keep::kUnmarked, name + layer.marker_error);
        }
        if (!info.name.ends_with(kWeightSuffix)) return because(out, Keep::kNotWeight, "");
        if (!is_quantizable_float(info.dtype)) {
            return because(out, Keep::kDtype, std::string(dtype_name(info.dtype)));
        }
        if (info.shape.size() != 2)
            return because(out, Keep::kRank, std::to_string(info.shape.size()) + "-D");
        if (info.elements() == 0) return because(out, Keep::kEmpty, shape_text(info.shape));
        if (const NamePattern* pattern = first_match(options_.exclude, info.name)) {
            return because(out, Keep::kExcluded, printable(pattern->text()));
        }
        if (first_match(options_.include, info.name) == nullptr) {
            const std::string_view pattern = default_keep_pattern(info.name);
            if (!pattern.empty()) return because(out, Keep::kName, std::string(pattern));
        }
        return keep_for_columns(info.shape[1], out) || keep_for_values(info.name, out);
    }

    bool keep_for_columns(std::int64_t k, PlannedTensor& out) const {
        if (k % kColumnUnit != 0)
            return because(out, Keep::kDivisibility, not_divisible(k, std::to_string(kColumnUnit)));
        if (options_.format == TargetFormat::kW4a8 && k % options_.group_size != 0) {
            return because(out, Keep::kDivisibility,
                           not_divisible(k, "the group size " + std::to_string(options_.group_size)));
        }
        const int rotate = rotation(k);
        if (rotate != 0 && k % rotate != 0) {
            return because(out, Keep::kDivisibility,
                           not_divisible(k, "the rotation group " + std::to_string(rotate)));
        }
        return false;
    }

    bool keep_for_values(const std::string& name, PlannedTensor& out) const {
        const auto found = options_.faults.find(name);
        if (found == options_.faults.end()) return false;
        const ValueFault& fault = found->second;
        if (fault.non_finite != 0) {
            return because(out, Keep::kNonFinite,
                           std::to_string(fault.non_finite) + " NaN or infinite values");
        }
        return because(out, Keep::kMagnitude, std::to_string(fault.too_large) + " values of 2^100 or more");
    }

    const PlanOptions& options_;
    QuantizedLayers layers_;
    std::map<std::string, std::string> layer_of_;  // tensor name -> layer
};

std::string layer_name(const PlannedTensor& tensor) {
    const std::string& name = tensor.source->info->name;
    return name.substr(0, name.size() - kWeightSuffix.size());
}

// Why nothing can be merged into the tensor; "" when it can.
std::string merge_obstacle(const PlannedTensor& tensor) {
    const TensorInfo& info = *tensor.source->info;
    const std::string name = "tensor " + in_quotes(info.name);
    if (!tensor.quantize && tensor.reason == Keep::kAlreadyQuantized) return name + " is quantized already";
    if (!is_quantizable_float(info.dtype)) {
        return name + " is " + std::string(dtype_name(info.dtype)) + ", not F32, F16 or BF16";
    }
    if (info.shape.size() != 2) return name + " has shape " + shape_text(info.shape) + ", not a matrix's";
    return "";
}

// Hands every module of a LoRA file to the tensor that it changes. A file that changes none was made for
// another model: a checkpoint without it is not what was asked for.
void attach_lora(const LoraFile& file, const LayerNames& names, Plan& plan) {
    const std::size_t first_unused = plan.unused_loras.size();
    bool is_merged = false;
    for (const LoraModule& module : file.modules()) {
        const auto unused = [&](const std::string& reason) {
            plan.unused_loras.push_back({file.path(), module.tensors(), reason});
        };
        if (!module.is_pair()) {
            unused("not part of a LoRA pair");
            continue;
        }
        const std::vector<std::size_t> found = names.find(module.name);
        if (found.empty()) {
            unused("no layer of the checkpoint has this name");
            continue;
        }
        PlannedTensor& tensor = plan.tensors[found[0]];
        const std::string layer = layer_name(tensor);
        if (found.size() > 1) {
            throw Failure(Exit::kInput, of_lora(file, *module.up) + "names both layer " + in_quotes(layer) +
                                            " and layer " + in_quotes(layer_name(plan.tensors[found[1]])));
        }
        if (const std::string obstacle = merge_obstacle(tensor); !obstacle.empty()) {
            unused(obstacle);
            continue;
        }
        if (!tensor.loras.empty() && tensor.loras.back().file == &file) {
            throw Failure(Exit::kInput, of_lora(file, *module.up) + "and tensor " +
                                            in_quotes(tensor.loras.back().module->up->name) +
                                            " both change layer " + in_quotes(layer));
        }
        const std::vector<std::int64_t>& shape = tensor.source->info->shape;
        tensor.loras.push_back(make_lora_term(file, module, layer, shape[0], shape[1]));
        is_merged = true;
    }
    if (is_merged) return;
    const std::size_t count = plan.unused_loras.size() - first_unused;
    throw Failure(Exit::kInput, plan.unused_loras[first_unused].text() +
                                    format("; of the file's %zu modules none can be merged", count));
}

void attach_loras(Plan& plan) {
    if (plan.options.loras.empty()) return;
    LayerNames names;
    for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
        if (plan.tensors[i].source->info->name.ends_with(kWeightSuffix)) {
            names.add(layer_name(plan.tensors[i]), i);
        }
    }
    for (const auto& file : plan.options.loras) attach_lora(*file, names, plan);
}

void find_unused_patterns(const Checkpoint& checkpoint, Plan& plan) {
    for (const auto* patterns : {&plan.options.include, &plan.options.exclude}) {
        for (const NamePattern& pattern : *patterns) {
            const auto& tensors = checkpoint.tensors();
            const bool finds = std::any_of(tensors.begin(), tensors.end(), [&](const SourceTensor& tensor) {
                return pattern.matches(tensor.info->name);
            });
            if (!finds) plan.unused_patterns.push_back(pattern);
        }
    }
}

// A tensor that the user may have expected to be quantized is named.
std::vector<std::string> notices_of(const Checkpoint& checkpoint, const Plan& plan) {
    std::vector<std::string> notices = quantization_metadata_faults(checkpoint);
    for (const PlannedTensor& tensor : plan.tensors) {
        const TensorInfo& info = *tensor.source->info;
        if (tensor.quantize || !info.name.ends_with(kWeightSuffix)) continue;
        const bool is_marked = tensor.reason == Keep::kAlreadyQuantized && is_quantizable_float(info.dtype);
        if (!is_marked && tensor.reason != Keep::kUnmarked) continue;
        notices.push_back(printable(tensor.source->file->path()) + ": tensor " + in_quotes(info.name) +
                          " is kept as it is: " + tensor.detail + (is_marked ? " by its marker" : "") +
                          ", and its dtype is " + std::string(dtype_name(info.dtype)));
    }
    for (const UnusedLora& unused : plan.unused_loras) notices.push_back(unused.text());
    for (const NamePattern& pattern : plan.unused_patterns) notices.push_back(unused_text(pattern));
    if (plan.quantized_count() == 0)
        notices.push_back(printable(checkpoint.path()) + ": no tensor can be quantized, all are kept");
    return notices;
}

}  // namespace

std::string_view keep_text(Keep reason) {
    switch (reason) {
        case Keep::kNotWeight:
            return "not a weight";
        case Keep::kDtype:
            return "not F32, F16 or BF16";
        case Keep::kRank:
            return "not a matrix";
        case Keep::kEmpty:
            return "empty";
        case Keep::kExcluded:
            return "excluded by --exclude";
        case Keep::kName:
            return "name on the keep list";
        case Keep::kDivisibility:
            return "width does not fit";
        case Keep::kAlreadyQuantized:
            return "already quantized";
        case Keep::kUnmarked:
            return "quantized or not: no marker";
        case Keep::kNonFinite:
            return "NaN or infinity";
        case Keep::kMagnitude:
            return "values too large";
    }
    return "";
}

std::string_view keep_key(Keep reason) {
    switch (reason) {
        case Keep::kNotWeight:
            return "not_weight";
        case Keep::kDtype:
            return "dtype";
        case Keep::kRank:
            return "rank";
        case Keep::kEmpty:
            return "empty";
        case Keep::kExcluded:
            return "excluded";
        case Keep::kName:
            return "name";
        case Keep::kDivisibility:
            return "width";
        case Keep::kAlreadyQuantized:
            return "already_quantized";
        case Keep::kUnmarked:
            return "unmarked";
        case Keep::kNonFinite:
            return "non_finite";
        case Keep::kMagnitude:
            return "magnitude";
    }
    return "";
}

std::string_view default_keep_pattern(std::string_view name) {
    std::string lower(name);
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    std::string_view rest = lower;
    while (true) {
        const std::size_t dot = rest.find('.');
        const std::string_view segment = rest.substr(0, dot);
        for (const KeepRow& row : kKeepRows) {
            if (matches(row, segment)) return row.pattern;
        }
        if (dot == std::string_view::npos) return "";
        rest.remove_prefix(dot + 1);
    }
}

std::vector<std::string_view> default_keep_patterns() {
    std::vector<std::string_view> patterns;
    for (const KeepRow& row : kKeepRows) {
        if (patterns.empty() || patterns.back() != row.pattern) patterns.push_back(row.pattern);
    }
    return patterns;
}

std::string unused_text(const NamePattern& pattern) {
    return pattern.option() + " " + in_quotes(pattern.text()) + ": finds no tensor's name";
}

std::size_t Plan::quantized_count() const {
    return static_cast<std::size_t>(std::count_if(
        tensors.begin(), tensors.end(), [](const PlannedTensor& tensor) { return tensor.quantize; }));
}

std::size_t Plan::merged_count(const LoraFile* file) const {
    const auto is_merged = [&](const PlannedTensor& tensor) {
        return std::any_of(tensor.loras.begin(), tensor.loras.end(),
                           [&](const LoraTerm& term) { return term.file == file; });
    };
    return static_cast<std::size_t>(std::count_if(tensors.begin(), tensors.end(), is_merged));
}

std::vector<OutputTensor> layer_outputs(const PlanOptions& options, const PlannedTensor& tensor) {
    const std::string& layer = tensor.layer;
    const std::int64_t n = tensor.n;
    const std::int64_t k = tensor.k;
    std::vector<OutputTensor> out;
    if (options.format == TargetFormat::kW4a8) {
        out.push_back({layer + ".weight", Dtype::kI8, {n, k / 2}});
        out.push_back({layer + ".weight_s_rel", Dtype::kF8E4m3, {n, k / options.group_size}});
        out.push_back({layer + ".weight_s_channel", Dtype::kF32, {n}});
        if (!options.uniform) out.push_back({layer + ".weight_codebook", Dtype::kF32, {16}});
    } else {
        out.push_back({layer + ".weight", Dtype::kI8, {n, k}});
        out.push_back({layer + ".weight_scale", Dtype::kF32, {n, 1}});
    }
    const std::string marker = marker_json(tensor.marker).dump();
    out.push_back(
        {layer + std::string(kMarkerSuffix), Dtype::kU8, {static_cast<std::int64_t>(marker.size())}});
    return out;
}

std::int64_t codebook_sample_rows(std::int64_t n, std::int64_t k) {
    constexpr std::int64_t kSampleElements = 4194304;
    return std::min(n, std::max<std::int64_t>(1, kSampleElements / k));
}

std::int64_t codebook_sample_row(std::int64_t n, std::int64_t rows, std::int64_t i) {
    // No overflow: i * k <= 4194304 (or i is 0), and n * k elements lie in one file.
    return i * n / rows;
}

Plan make_plan(const Checkpoint& checkpoint, const PlanOptions& options) {
    check_options(options);
    Plan plan;
    plan.options = options;
    plan.metadata = checkpoint.metadata();
    QuantizationMetadata quantization = quantization_metadata(checkpoint);
    const Planner planner(checkpoint, plan.options);
    for (const SourceTensor& source : checkpoint.tensors()) {
        PlannedTensor tensor = planner.decide(source);
        plan.data_bytes_in += source.info->bytes();
        if (tensor.quantize) {
            for (OutputTensor& output : layer_outputs(plan.options, tensor))
                plan.outputs.push_back(std::move(output));
            quantization.layers[tensor.layer] = marker_json(tensor.marker).dump();
        } else {
            plan.outputs.push_back({source.info->name, source.info->dtype, source.info->shape});
        }
        plan.tensors.push_back(std::move(tensor));
    }
    attach_loras(plan);
    find_unused_patterns(checkpoint, plan);
    plan.notices = notices_of(checkpoint, plan);
    for (const OutputTensor& output : plan.outputs) {
        std::uint64_t bytes = 0;
        tensor_bytes(output.dtype, output.shape, bytes);
        plan.data_bytes_out += bytes;
    }
    if (!quantization.layers.empty()) plan.metadata[std::string(kQuantizationKey)] = quantization.text();
    return plan;
}

}  // namespace ckitchen::cli

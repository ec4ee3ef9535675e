#include "report.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <map>

#include "text.hpp"

namespace ckitchen::cli {
namespace {

constexpr std::size_t kNamesPerReason = 10;

struct KeptGroup {
    std::vector<const PlannedTensor*> tensors;
    std::uint64_t bytes = 0;
};

std::map<Keep, KeptGroup> kept_groups(const Plan& plan) {
    std::map<Keep, KeptGroup> groups;
    for (const PlannedTensor& tensor : plan.tensors) {
        if (tensor.quantize) continue;
        KeptGroup& group = groups[tensor.reason];
        group.tensors.push_back(&tensor);
        group.bytes += tensor.source->info->bytes();
    }
    return groups;
}

// Reasons that a user may want to act on name their tensors; the others only count them.
bool names_its_tensors(Keep reason) {
    switch (reason) {
        case Keep::kDivisibility:
        case Keep::kNonFinite:
        case Keep::kMagnitude:
        case Keep::kName:
            return true;
        default:
            return false;
    }
}

std::string kept_table(const Plan& plan) {
    std::string out;
    for (const auto& [reason, group] : kept_groups(plan)) {
        out += format("  %-24s %6zu   %s\n", std::string(keep_text(reason)).c_str(), group.tensors.size(),
                      bytes_text(group.bytes).c_str());
        if (!names_its_tensors(reason)) continue;
        const std::size_t shown = std::min(group.tensors.size(), kNamesPerReason);
        for (std::size_t i = 0; i < shown; ++i) {
            const PlannedTensor& tensor = *group.tensors[i];
            out += "    " + printable(tensor.source->info->name) + ": " + tensor.detail + "\n";
        }
        if (shown < group.tensors.size())
            out += format("    ... and %zu more\n", group.tensors.size() - shown);
    }
    return out;
}

std::string merge_text(std::size_t loras) {
    return format(", merge %zu LoRA%s", loras, loras == 1 ? "" : "s");
}

// A line for each LoRA file and one for each module that changes nothing.
std::string lora_table(const Plan& plan) {
    std::string out;
    for (const auto& lora : plan.options.loras) {
        const std::size_t count = plan.merged_count(lora.get());
        out += format("LoRA %s, strength %g: merged into %zu tensor%s\n", printable(lora->path()).c_str(),
                      static_cast<double>(lora->strength()), count, count == 1 ? "" : "s");
    }
    for (const UnusedLora& unused : plan.unused_loras) out += "  " + unused.text() + "\n";
    return out;
}

// A line for each pattern that finds nothing.
std::string pattern_table(const Plan& plan) {
    std::string out;
    for (const NamePattern& pattern : plan.unused_patterns) out += unused_text(pattern) + "\n";
    return out;
}

double megabytes_per_second(std::uint64_t bytes, double seconds) {
    return seconds > 0 ? static_cast<double>(bytes) / 1e6 / seconds : 0;
}

std::string idle_text(const ConversionReport& report) {
    return report.device_idle_share ? format(" (idle %.0f %% of the time)", 100 * *report.device_idle_share)
                                    : std::string();
}

}  // namespace

std::size_t worst_layer(const std::vector<LayerResult>& layers) {
    const auto worst = std::max_element(
        layers.begin(), layers.end(),
        [](const LayerResult& a, const LayerResult& b) { return a.relative_error < b.relative_error; });
    return static_cast<std::size_t>(worst - layers.begin());
}

double mean_error(const std::vector<LayerResult>& layers) {
    double sum = 0;
    for (const LayerResult& layer : layers) sum += layer.relative_error;
    return layers.empty() ? 0 : sum / static_cast<double>(layers.size());
}

std::string plan_table(const Plan& plan) {
    std::string out;
    for (const PlannedTensor& tensor : plan.tensors) {
        const TensorInfo& info = *tensor.source->info;
        const std::string what = std::string(dtype_name(info.dtype)) + " " + shape_text(info.shape);
        std::string action;
        if (tensor.quantize) {
            action = "quantize " + tensor.marker.format;
            action += tensor.marker.rotate_group == 0 ? std::string(", not rotated")
                                                      : format(", rotation %d", tensor.marker.rotate_group);
        } else {
            action = "keep: " + std::string(keep_text(tensor.reason));
            if (!tensor.detail.empty()) action += " (" + tensor.detail + ")";
        }
        if (!tensor.loras.empty()) action += merge_text(tensor.loras.size());
        out += format("%-24s %s: %s\n", what.c_str(), printable(info.name).c_str(), action.c_str());
    }
    const std::size_t quantized = plan.quantized_count();
    out += format("%zu tensors to quantize, %zu kept; tensor data %s -> %s\n", quantized,
                  plan.tensors.size() - quantized, bytes_text(plan.data_bytes_in).c_str(),
                  bytes_text(plan.data_bytes_out).c_str());
    out += lora_table(plan);
    out += pattern_table(plan);
    out += "Values are looked at only when converting: a tensor with NaN or infinity will be kept.\n";
    return out;
}

std::string report_table(const Plan& plan, const ConversionReport& report) {
    std::string out;
    out += format("quantized %zu layers: %s\n", report.layers.size(), report.description.c_str());
    if (!report.layers.empty()) {
        const LayerResult& worst = report.layers[worst_layer(report.layers)];
        out += format("  relative L2 error       mean %.5f, worst %.5f in %s\n", mean_error(report.layers),
                      worst.relative_error, printable(worst.tensor).c_str());
        std::uint64_t in = 0;
        std::uint64_t bytes_out = 0;
        for (const LayerResult& layer : report.layers) {
            in += layer.bytes_in;
            bytes_out += layer.bytes_out;
        }
        out += format("  size                    %s -> %s\n", bytes_text(in).c_str(),
                      bytes_text(bytes_out).c_str());
    }
    out += format("kept %zu tensors\n", plan.tensors.size() - report.layers.size());
    out += kept_table(plan);
    out += lora_table(plan);
    out += pattern_table(plan);
    out += format(
        "file %s -> %s (%.1f %%) in %s, %.0f MB/s, on %s%s, peak memory %s\n",
        bytes_text(report.file_bytes_in).c_str(), bytes_text(report.file_bytes_out).c_str(),
        report.file_bytes_in == 0
            ? 0.0
            : 100.0 * static_cast<double>(report.file_bytes_out) / static_cast<double>(report.file_bytes_in),
        seconds_text(report.seconds).c_str(), megabytes_per_second(report.file_bytes_in, report.seconds),
        report.backend.c_str(), idle_text(report).c_str(), bytes_text(report.peak_memory_bytes).c_str());
    return out;
}

nlohmann::ordered_json report_json(const Plan& plan, const ConversionReport& report) {
    nlohmann::ordered_json out;
    out["input"] = report.input;
    out["output"] = report.output;
    out["format"] = report.format;
    out["description"] = report.description;
    if (report.seed != 0) out["seed"] = report.seed;
    out["backend"] = report.backend;
    out["device"] = report.device;
    out["file_bytes_in"] = report.file_bytes_in;
    out["file_bytes_out"] = report.file_bytes_out;
    out["seconds"] = report.seconds;
    out["gigabytes_per_second"] = megabytes_per_second(report.file_bytes_in, report.seconds) / 1000;
    out["compute_seconds"] = report.compute_seconds;
    if (report.device_idle_share) {
        out["device_seconds"] = report.device_seconds;
        out["device_idle_share"] = *report.device_idle_share;
    }
    out["read_wait_seconds"] = report.read_wait_seconds;
    out["write_wait_seconds"] = report.write_wait_seconds;
    out["peak_memory_bytes"] = report.peak_memory_bytes;
    out["buffer_bytes"] = report.buffer_bytes;
    out["layer_count"] = report.layers.size();
    if (!report.layers.empty()) {
        const LayerResult& worst = report.layers[worst_layer(report.layers)];
        out["relative_error_mean"] = mean_error(report.layers);
        out["relative_error_worst"] = worst.relative_error;
        out["relative_error_worst_tensor"] = worst.tensor;
    }
    out["layers"] = nlohmann::ordered_json::array();
    for (const LayerResult& layer : report.layers) {
        nlohmann::ordered_json row;
        row["tensor"] = layer.tensor;
        row["dtype"] = dtype_name(layer.dtype);
        row["n"] = layer.n;
        row["k"] = layer.k;
        row["rotate_group"] = layer.rotate_group;
        if (report.format == "w4a8" && !plan.options.uniform)
            row["default_codebook"] = layer.default_codebook;
        row["relative_error"] = layer.relative_error;
        if (layer.loras != 0) row["loras"] = layer.loras;
        row["bytes_in"] = layer.bytes_in;
        row["bytes_out"] = layer.bytes_out;
        out["layers"].push_back(std::move(row));
    }
    out["kept"] = nlohmann::ordered_json::array();
    for (const PlannedTensor& tensor : plan.tensors) {
        if (tensor.quantize) continue;
        nlohmann::ordered_json row;
        row["tensor"] = tensor.source->info->name;
        row["dtype"] = dtype_name(tensor.source->info->dtype);
        row["shape"] = tensor.source->info->shape;
        row["reason"] = keep_key(tensor.reason);
        row["detail"] = tensor.detail.empty() ? keep_text(tensor.reason) : std::string_view(tensor.detail);
        row["bytes"] = tensor.source->info->bytes();
        if (!tensor.loras.empty()) row["loras"] = tensor.loras.size();
        out["kept"].push_back(std::move(row));
    }
    for (const NamePattern& pattern : plan.unused_patterns) {
        nlohmann::ordered_json row;
        row["option"] = pattern.option();
        row["pattern"] = pattern.text();
        out["patterns_unused"].push_back(std::move(row));
    }
    if (plan.options.loras.empty()) return out;
    out["loras"] = nlohmann::ordered_json::array();
    for (const auto& lora : plan.options.loras) {
        nlohmann::ordered_json row;
        row["file"] = lora->path();
        row["strength"] = lora->strength();
        row["merged_tensors"] = plan.merged_count(lora.get());
        out["loras"].push_back(std::move(row));
    }
    out["loras_unused"] = nlohmann::ordered_json::array();
    for (const UnusedLora& unused : plan.unused_loras) {
        nlohmann::ordered_json row;
        row["file"] = unused.file;
        row["tensors"] = unused.tensors;
        row["reason"] = unused.reason;
        out["loras_unused"].push_back(std::move(row));
    }
    return out;
}

std::uint64_t peak_memory() {
    struct rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace ckitchen::cli

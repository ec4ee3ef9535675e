// What a conversion did: the table at the end and the JSON file of --report.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "plan.hpp"

namespace ckitchen::cli {

struct LayerResult {
    std::string tensor;
    std::int64_t n = 0;
    std::int64_t k = 0;
    Dtype dtype = Dtype::kF32;
    int rotate_group = 0;
    bool default_codebook = false;  // W4A8: the fitted levels were the default ones
    double relative_error = 0;      // ||decoded - w|| / ||w||, w with LoRAs merged; 0 for a zero tensor
    std::size_t loras = 0;          // merged into it
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
};

struct ConversionReport {
    std::string input;
    std::string output;
    std::string format;       // "w4a8" or "int8"
    std::string description;  // "W4A8, codebook, groups of 16, rounded to nearest"
    std::string backend;      // "cpu"
    std::string device;
    std::uint64_t seed = 0;
    std::vector<LayerResult> layers;
    std::uint64_t file_bytes_in = 0;
    std::uint64_t file_bytes_out = 0;
    double seconds = 0;  // whole command
    double compute_seconds =
        0;  // some thread was inside library calls, copies to and from the device included
    double device_seconds = 0;                // copies or kernels were enqueued at the device
    std::optional<double> device_idle_share;  // of a GPU: the part of `seconds` in which nothing was
    double read_wait_seconds = 0;             // the block whose turn it was had not been read yet
    double write_wait_seconds = 0;            // finished blocks waited for those before them to be written
    std::uint64_t peak_memory_bytes = 0;
    std::uint64_t buffer_bytes = 0;  // of it: blocks on their way, page-locked where a GPU copies them
};

// Index of the layer with the largest error; the first of equals. layers must not be empty.
std::size_t worst_layer(const std::vector<LayerResult>& layers);
double mean_error(const std::vector<LayerResult>& layers);

// The plan of --dry-run: one line a tensor and the totals.
std::string plan_table(const Plan& plan);

// The table at the end, with a line break after every line.
std::string report_table(const Plan& plan, const ConversionReport& report);

nlohmann::ordered_json report_json(const Plan& plan, const ConversionReport& report);

// Highest resident size of this process so far.
std::uint64_t peak_memory();

}  // namespace ckitchen::cli

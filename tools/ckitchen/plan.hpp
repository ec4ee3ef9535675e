// What happens to each tensor of a checkpoint, decided before anything is computed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "layers.hpp"
#include "lora.hpp"
#include "name_pattern.hpp"
#include "safetensors.hpp"

namespace ckitchen::cli {

enum class TargetFormat { kW4a8, kInt8 };

// Why a tensor is copied as it is.
enum class Keep {
    kNotWeight,         // the name does not end in ".weight"
    kDtype,             // not F32, F16 or BF16
    kRank,              // not a matrix
    kEmpty,             // an extent of 0
    kExcluded,          // --exclude
    kName,              // a name that the default list keeps
    kDivisibility,      // K does not fit the format, the group or the rotation
    kAlreadyQuantized,  // a quantized layer's weight, scale or marker
    kUnmarked,          // a float weight with a quantized layer's tensors beside it, or those tensors
    kNonFinite,         // NaN or infinity
    kMagnitude,         // 2^100 or more, for which the W4A8 scales are not defined
};

// A few words for a table, for example "name on the keep list".
std::string_view keep_text(Keep reason);
// One word for the JSON report, for example "name".
std::string_view keep_key(Keep reason);

// The part of the default list that keeps this name, for example ".*norm.*"; "" when none does. A name is
// kept when one of its dot-separated segments matches, without regard to case, one of
//   .*embed.*  .*norm.*  .*modulation.*  .*ada_?ln.*  .*pos_.*  time_.*  timestep.*  final.*  proj_out
//   lm_head  .*_head  (img|txt|x|vector|guidance|time|context|patch)_in
std::string_view default_keep_pattern(std::string_view name);
// All of them, each once.
std::vector<std::string_view> default_keep_patterns();

// What was found in a tensor's values that forbids quantizing it.
struct ValueFault {
    std::uint64_t non_finite = 0;
    std::uint64_t too_large = 0;  // |w| >= 2^100
};

struct PlanOptions {
    TargetFormat format = TargetFormat::kW4a8;
    std::optional<int> rotate;  // nothing: the largest of 256, 64 and 16 that divides K; 0: none
    int group_size = 16;        // W4A8: columns of one s_rel
    bool uniform = false;       // W4A8: uniform levels instead of a codebook
    std::vector<NamePattern> include;
    std::vector<NamePattern> exclude;
    std::map<std::string, ValueFault> faults;  // tensors that an earlier attempt found unfit
    LoraFiles loras;                           // to merge, in this order
};

struct PlannedTensor {
    const SourceTensor* source = nullptr;
    bool quantize = false;
    // When kept:
    Keep reason = Keep::kNotWeight;
    std::string detail;
    // When quantized:
    std::string layer;
    Marker marker;
    std::int64_t n = 0;
    std::int64_t k = 0;
    // Quantized or kept: what is merged into it first, in the order of PlanOptions::loras.
    std::vector<LoraTerm> loras;

    // Of the values that are quantized or written: a sum with a LoRA is quantized as the float32 that it is.
    Dtype value_dtype() const { return quantize && !loras.empty() ? Dtype::kF32 : source->info->dtype; }
};

struct Plan {
    PlanOptions options;
    std::vector<PlannedTensor> tensors;  // every tensor of the input, by name
    std::vector<OutputTensor> outputs;
    std::vector<UnusedLora> unused_loras;      // by file, then by module
    std::vector<NamePattern> unused_patterns;  // of --include and --exclude that find no tensor's name
    std::vector<std::string> notices;          // a line each of what the user should know beside the table
    Metadata metadata;
    std::uint64_t data_bytes_in = 0;
    std::uint64_t data_bytes_out = 0;

    std::size_t quantized_count() const;
    // Tensors into which `file`, one of the options' LoRA files, is merged.
    std::size_t merged_count(const LoraFile* file) const;
};

// `--exclude "PATTERN": finds no tensor's name`
std::string unused_text(const NamePattern& pattern);

// The output's tensors of a layer that will be quantized.
std::vector<OutputTensor> layer_outputs(const PlanOptions& options, const PlannedTensor& tensor);

// Rows of a weight [n, k] that choosing a codebook looks at: min(n, max(1, 4194304 div k)); row i of them is
// row floor(i * n / rows) of the weight.
std::int64_t codebook_sample_rows(std::int64_t n, std::int64_t k);
std::int64_t codebook_sample_row(std::int64_t n, std::int64_t rows, std::int64_t i);

// Fails with Exit::kUsage for options that contradict each other and with Exit::kInput for a checkpoint that
// a LoRA file does not fit (see make_lora_term()) or in which it changes nothing. `checkpoint` must outlive
// the plan.
Plan make_plan(const Checkpoint& checkpoint, const PlanOptions& options);

}  // namespace ckitchen::cli

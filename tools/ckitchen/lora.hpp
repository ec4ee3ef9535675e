// LoRA files: which tensors belong together, and which layer of a checkpoint they change.
//
// A module M of a LoRA file is a pair of matrices, up [N, rank] and down [rank, K], and an optional alpha:
//
//   M.lora_up.weight  M.lora_down.weight  M.alpha     or     M.lora_B.weight  M.lora_A.weight  M.alpha
//
// It changes the weight [N, K] of a layer L by strength * (alpha / rank) * up down; alpha is rank where it is
// absent. M names L in the first of these ways that finds a layer:
//
//   1. M is L.
//   2. M and L are equal without the prefixes that training programs and loaders put before a model's own
//      names: "base_model.model." first, then one of "model.diffusion_model.", "diffusion_model.",
//      "transformer.", "unet." and "model.".
//   3. M begins with "lora_unet_", "lora_transformer_" or "lycoris_", and the rest is L, with or without the
//      prefixes of 2, with '_' for every '.'.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "safetensors.hpp"

namespace ckitchen::cli {

// What --lora says: FILE or FILE:STRENGTH.
struct LoraChoice {
    std::string path;
    float strength = 1;
};

// The part after the last ':' is the strength when it is a number. Fails with Exit::kUsage when it is not,
// and no file has the whole text as its name, or when it is not in float32's range.
LoraChoice parse_lora(const std::string& text);

struct LoraModule {
    std::string name;
    const TensorInfo* up = nullptr;
    const TensorInfo* down = nullptr;
    const TensorInfo* alpha = nullptr;  // NULL: alpha is the rank
    // A tensor that makes the module another method than LoRA (DoRA's magnitudes, a Tucker core); NULL for
    // none.
    const TensorInfo* other_method = nullptr;

    bool is_pair() const { return up != nullptr && down != nullptr; }
    // Names of the module's tensors, in the order of the members.
    std::vector<std::string> tensors() const;
};

// One open LoRA file. Fails with Exit::kInput when it is no sound safetensors file, has no pair, or has a
// module with one half of a pair or with both spellings.
class LoraFile {
  public:
    explicit LoraFile(const LoraChoice& choice);
    LoraFile(const LoraFile&) = delete;
    LoraFile& operator=(const LoraFile&) = delete;

    const std::string& path() const { return file_.path(); }
    FileId id() const { return file_.id(); }
    float strength() const { return strength_; }
    const SafetensorsFile& file() const { return file_; }
    // By name. What is in the file and is no part of a pair is here too, as modules that are no pair.
    const std::vector<LoraModule>& modules() const { return modules_; }

  private:
    SafetensorsFile file_;
    float strength_;
    std::vector<LoraModule> modules_;
};

using LoraFiles = std::vector<std::shared_ptr<const LoraFile>>;

// A module that changes a weight.
struct LoraTerm {
    const LoraFile* file = nullptr;
    const LoraModule* module = nullptr;
    std::int64_t rank = 0;
};

// A module that changes nothing, and why.
struct UnusedLora {
    std::string file;
    std::vector<std::string> tensors;
    std::string reason;

    // `FILE: "tensor", "tensor": reason`
    std::string text() const;
};

// "FILE: tensor "NAME": ", the beginning of a text about a tensor of a LoRA file.
std::string of_lora(const LoraFile& file, const TensorInfo& tensor);

// Checks a module against the weight [n, k] of `layer`. Fails with Exit::kInput when it is not plain LoRA, or
// its dtypes (F32, F16 or BF16; alpha F64, F32, F16, BF16 or I64, one element) or its shapes do not fit.
LoraTerm make_lora_term(const LoraFile& file, const LoraModule& module, const std::string& layer,
                        std::int64_t n, std::int64_t k);

// Finds layers by the names that LoRA files give them.
class LayerNames {
  public:
    void add(const std::string& layer, std::size_t index);

    // The indices that were added for the layers that `module` names: none, one, or, where the name does not
    // tell layers apart, several.
    std::vector<std::size_t> find(const std::string& module) const;

  private:
    using Index = std::unordered_map<std::string, std::vector<std::size_t>>;

    Index exact_;
    Index bare_;         // without prefixes
    Index underscored_;  // with '_' for '.'
};

}  // namespace ckitchen::cli

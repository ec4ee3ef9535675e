#include "lora.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>

#include "failure.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

enum class Role { kUp, kDown, kAlpha, kOtherMethod };

struct Suffix {
    std::string_view text;
    Role role;
    std::string_view partner;  // of a half: the suffix of the other one
};

constexpr std::array kSuffixes = {
    Suffix{".lora_up.weight", Role::kUp, ".lora_down.weight"},
    Suffix{".lora_down.weight", Role::kDown, ".lora_up.weight"},
    Suffix{".lora_B.weight", Role::kUp, ".lora_A.weight"},
    Suffix{".lora_A.weight", Role::kDown, ".lora_B.weight"},
    Suffix{".alpha", Role::kAlpha, ""},
    Suffix{".dora_scale", Role::kOtherMethod, ""},
    Suffix{".lora_magnitude_vector", Role::kOtherMethod, ""},
    Suffix{".lora_magnitude_vector.weight", Role::kOtherMethod, ""},
    Suffix{".lora_mid.weight", Role::kOtherMethod, ""},
};

constexpr std::string_view kAdapterPrefix = "base_model.model.";
// A prefix that another one ends with comes after it.
constexpr std::array<std::string_view, 5> kPrefixes = {"model.diffusion_model.", "diffusion_model.",
                                                       "transformer.", "unet.", "model."};
constexpr std::array<std::string_view, 3> kUnderscoredPrefixes = {"lora_unet_", "lora_transformer_",
                                                                  "lycoris_"};

const Suffix* suffix_of(std::string_view name) {
    for (const Suffix& suffix : kSuffixes) {
        if (name.size() > suffix.text.size() && name.ends_with(suffix.text)) return &suffix;
    }
    return nullptr;
}

std::string without_prefixes(std::string_view name) {
    if (name.starts_with(kAdapterPrefix)) name.remove_prefix(kAdapterPrefix.size());
    for (const std::string_view prefix : kPrefixes) {
        if (name.starts_with(prefix)) return std::string(name.substr(prefix.size()));
    }
    return std::string(name);
}

std::string with_underscores(std::string_view name) {
    std::string out(name);
    std::replace(out.begin(), out.end(), '.', '_');
    return out;
}

void add_once(std::vector<std::size_t>& indices, std::size_t index) {
    if (std::find(indices.begin(), indices.end(), index) == indices.end()) indices.push_back(index);
}

[[noreturn]] void refuse(const LoraFile& file, const TensorInfo& tensor, const std::string& why) {
    throw Failure(Exit::kInput, of_lora(file, tensor) + why);
}

void check_matrix(const LoraFile& file, const TensorInfo& tensor) {
    if (!is_quantizable_float(tensor.dtype)) {
        refuse(file, tensor, "is " + std::string(dtype_name(tensor.dtype)) + ", must be F32, F16 or BF16");
    }
    if (tensor.shape.size() != 2) {
        refuse(file, tensor, "has shape " + shape_text(tensor.shape) + ", must be a matrix");
    }
}

void check_alpha(const LoraFile& file, const TensorInfo& alpha) {
    if (!is_quantizable_float(alpha.dtype) && alpha.dtype != Dtype::kF64 && alpha.dtype != Dtype::kI64) {
        refuse(file, alpha,
               "is " + std::string(dtype_name(alpha.dtype)) + ", must be F64, F32, F16, BF16 or I64");
    }
    if (alpha.elements() != 1) {
        refuse(file, alpha, "has shape " + shape_text(alpha.shape) + ", must be one number");
    }
}

}  // namespace

LoraChoice parse_lora(const std::string& text) {
    LoraChoice out;
    out.path = text;
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || text.find('/', colon) != std::string::npos) return out;
    const char* const begin = text.data() + colon + 1;
    const char* const end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(begin, end, out.strength);
    if (parsed == end && begin != end && error == std::errc() && std::isfinite(out.strength)) {
        out.path.resize(colon);
        return out;
    }
    std::error_code ignored;
    if (!std::filesystem::exists(text, ignored)) {
        throw Failure(
            Exit::kUsage,
            "--lora " + in_quotes(text) + ": the strength " + in_quotes(text.substr(colon + 1)) +
                " must be a decimal number that float32 holds: 0 or a magnitude of 1.4e-45 to 3.4e38");
    }
    out.strength = 1;
    return out;
}

std::vector<std::string> LoraModule::tensors() const {
    std::vector<std::string> out;
    for (const TensorInfo* tensor : {up, down, alpha, other_method}) {
        if (tensor != nullptr) out.push_back(tensor->name);
    }
    if (out.empty()) out.push_back(name);
    return out;
}

LoraFile::LoraFile(const LoraChoice& choice) : file_(choice.path), strength_(choice.strength) {
    std::map<std::string, LoraModule> modules;
    for (const TensorInfo& tensor : file_.tensors()) {
        const Suffix* const suffix = suffix_of(tensor.name);
        // A tensor that is none of ours is a module of its own, under its whole name.
        const std::string name =
            tensor.name.substr(0, tensor.name.size() - (suffix == nullptr ? 0 : suffix->text.size()));
        LoraModule& module = modules[name];
        module.name = name;
        if (suffix == nullptr) continue;
        if (suffix->role == Role::kAlpha) {
            module.alpha = &tensor;
        } else if (suffix->role == Role::kOtherMethod) {
            module.other_method = &tensor;
        } else {
            const std::string partner = name + std::string(suffix->partner);
            if (file_.find(partner) == nullptr) {
                refuse(*this, tensor, "its other half " + in_quotes(partner) + " is missing");
            }
            const TensorInfo*& half = suffix->role == Role::kUp ? module.up : module.down;
            if (half != nullptr) refuse(*this, tensor, "is a second " + in_quotes(half->name));
            half = &tensor;
        }
    }
    bool has_pair = false;
    for (auto& [name, module] : modules) {
        has_pair = has_pair || module.is_pair();
        modules_.push_back(std::move(module));
    }
    if (!has_pair) {
        throw Failure(Exit::kInput, printable(path()) +
                                        ": has no pair *.lora_up.weight and *.lora_down.weight, or "
                                        "*.lora_B.weight and *.lora_A.weight");
    }
}

std::string UnusedLora::text() const {
    std::string out = printable(file) + ": ";
    for (std::size_t i = 0; i < tensors.size(); ++i) out += (i == 0 ? "" : ", ") + in_quotes(tensors[i]);
    return out + ": not merged: " + reason;
}

std::string of_lora(const LoraFile& file, const TensorInfo& tensor) {
    return printable(file.path()) + ": tensor " + in_quotes(tensor.name) + ": ";
}

LoraTerm make_lora_term(const LoraFile& file, const LoraModule& module, const std::string& layer,
                        std::int64_t n, std::int64_t k) {
    if (module.other_method != nullptr) {
        refuse(file, *module.other_method, "belongs to another method than LoRA; only LoRA is merged");
    }
    check_matrix(file, *module.up);
    check_matrix(file, *module.down);
    if (module.alpha != nullptr) check_alpha(file, *module.alpha);
    const std::int64_t rank = module.down->shape[0];
    const std::string weight = "the weight " + shape_text({n, k}) + " of layer " + in_quotes(layer);
    if (rank < 1 || module.down->shape[1] != k) {
        refuse(file, *module.down,
               "has shape " + shape_text(module.down->shape) + ", must be [rank, " + std::to_string(k) +
                   "] for " + weight);
    }
    if (module.up->shape != std::vector<std::int64_t>{n, rank}) {
        refuse(file, *module.up,
               "has shape " + shape_text(module.up->shape) + ", must be " + shape_text({n, rank}) + " for " +
                   weight + " and " + in_quotes(module.down->name));
    }
    return {&file, &module, rank};
}

void LayerNames::add(const std::string& layer, std::size_t index) {
    const std::string bare = without_prefixes(layer);
    add_once(exact_[layer], index);
    add_once(bare_[bare], index);
    add_once(underscored_[with_underscores(layer)], index);
    add_once(underscored_[with_underscores(bare)], index);
}

std::vector<std::size_t> LayerNames::find(const std::string& module) const {
    const auto look_up = [](const Index& index, const std::string& name) {
        const auto found = index.find(name);
        return found == index.end() ? std::vector<std::size_t>() : found->second;
    };
    std::vector<std::size_t> out = look_up(exact_, module);
    if (out.empty()) out = look_up(bare_, without_prefixes(module));
    for (const std::string_view prefix : kUnderscoredPrefixes) {
        if (out.empty() && module.starts_with(prefix)) {
            out = look_up(underscored_, with_underscores(module.substr(prefix.size())));
        }
    }
    return out;
}

}  // namespace ckitchen::cli

#include "core/env.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace ckitchen {
namespace {

constexpr EnvVariable kVariables[] = {
    {"CKITCHEN_BACKEND", "auto, cpu, hip, cuda", "what CK_BACKEND_AUTO means"},
    {"CKITCHEN_THREADS", "1 to 1024", "threads of CPU contexts that ask for the default"},
    {"CKITCHEN_DISABLE", "op,op,...", "operators that answer CK_ERROR_OP_DISABLED, names without ck_"},
    {"CKITCHEN_FORCE_VARIANT", "variant name", "the only variant that its operator may run"},
    {"CKITCHEN_TUNING", "file", "preferences between variants instead of the built-in ones"},
    {"CKITCHEN_INT8_TILED_A", "0, 1",
     "1: int8_linear may quantize into the matrix unit's order (RDNA3, RDNA4)"},
    {"CKITCHEN_CODE_OBJECT_DIR", "folder",
     "device code that adds to or replaces what is built in: <gfx>.elf, <sm>/<module>.ptx"},
    {"CKITCHEN_CACHE_DIR", "folder, off",
     "where code that the HIP runtime's compiler made is kept, ckitchen in XDG_CACHE_HOME or ~/.cache by "
     "default"},
    {"CKITCHEN_HIP_LIBRARY", "path, SONAME, off", "the HIP runtime to open instead of searching for it"},
    {"CKITCHEN_CUDA_LIBRARY", "path, SONAME, off", "the CUDA driver to open instead of libcuda.so.1"},
    {"CKITCHEN_LOG", "off, error, warn, info, dispatch, debug, trace", "log level on stderr, off by default"},
};

struct Choice {
    std::string_view text;
    int value;
};

template <std::size_t N>
bool choose(std::string_view text, const Choice (&choices)[N], int& value) {
    for (const Choice& choice : choices) {
        if (choice.text == text) {
            value = choice.value;
            return true;
        }
    }
    return false;
}

constexpr Choice kBackends[] = {
    {"auto", CK_BACKEND_AUTO}, {"cpu", CK_BACKEND_CPU}, {"hip", CK_BACKEND_HIP}, {"cuda", CK_BACKEND_CUDA}};
constexpr Choice kLevels[] = {{"off", CK_LOG_OFF},    {"error", CK_LOG_ERROR},       {"warn", CK_LOG_WARN},
                              {"info", CK_LOG_INFO},  {"dispatch", CK_LOG_DISPATCH}, {"debug", CK_LOG_DEBUG},
                              {"trace", CK_LOG_TRACE}};

const char* process_environment(const char* name) {
#if defined(__GLIBC__)
    return secure_getenv(name);
#else
    return std::getenv(name);
#endif
}

}  // namespace

std::span<const EnvVariable> env_variables() {
    return kVariables;
}

Env Env::parse(const char* (*get)(const char* name)) {
    Env result;
    // An empty value is the same as an unset variable.
    const auto value_of = [&](const char* name) -> std::string_view {
        const char* value = get(name);
        return value ? std::string_view(value) : std::string_view();
    };
    const auto reject = [&](const char* name, std::string_view value) {
        if (!result.status.ok()) return;
        for (const EnvVariable& variable : kVariables) {
            if (std::strcmp(variable.name, name) == 0)
                result.status =
                    error(CK_ERROR_INVALID_CONFIGURATION, "environment variable {} is '{}', must be {}", name,
                          value, variable.values);
        }
    };

    if (auto text = value_of("CKITCHEN_BACKEND"); !text.empty()) {
        int value = 0;
        if (choose(text, kBackends, value))
            result.backend = value;
        else
            reject("CKITCHEN_BACKEND", text);
    }
    if (auto text = value_of("CKITCHEN_LOG"); !text.empty()) {
        if (!choose(text, kLevels, result.log_level)) reject("CKITCHEN_LOG", text);
    }
    if (auto text = value_of("CKITCHEN_THREADS"); !text.empty()) {
        int value = 0;
        const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (failed != std::errc() || end != text.data() + text.size() || value < 1 || value > 1024)
            reject("CKITCHEN_THREADS", text);
        else
            result.threads = value;
    }
    if (auto text = value_of("CKITCHEN_INT8_TILED_A"); !text.empty()) {
        if (text != "0" && text != "1") reject("CKITCHEN_INT8_TILED_A", text);
        result.int8_tiled_a = text == "1";
    }
    result.disable = value_of("CKITCHEN_DISABLE");
    result.force_variant = value_of("CKITCHEN_FORCE_VARIANT");
    result.tuning = value_of("CKITCHEN_TUNING");
    result.code_object_dir = value_of("CKITCHEN_CODE_OBJECT_DIR");
    result.cache_dir = value_of("CKITCHEN_CACHE_DIR");
    // What is no absolute path there counts as unset, as the XDG base directories have it.
    if (const auto cache = value_of("XDG_CACHE_HOME"); result.cache_dir.empty() && cache.starts_with('/'))
        result.cache_dir = std::string(cache) + "/ckitchen";
    // Accounts of services have a home that is not there, and is not ours to make.
    if (const std::string home(value_of("HOME")); result.cache_dir.empty() && home.starts_with('/')) {
        std::error_code failed;
        if (std::filesystem::is_directory(home, failed)) result.cache_dir = home + "/.cache/ckitchen";
    }
    if (result.cache_dir == "off") result.cache_dir.clear();
    result.hip_library = value_of("CKITCHEN_HIP_LIBRARY");
    result.cuda_library = value_of("CKITCHEN_CUDA_LIBRARY");
    result.rocm_path = value_of("ROCM_PATH");
    result.gfx_override = !value_of("HSA_OVERRIDE_GFX_VERSION").empty();
    return result;
}

const Env& env() {
    static const Env parsed = Env::parse(process_environment);
    return parsed;
}

}  // namespace ckitchen

// Every environment variable of the library. They are read once, on first use, and not at all in set-uid
// processes. This is the only place that calls getenv.
#pragma once

#include <span>
#include <string>

#include "core/status.hpp"

namespace ckitchen {

struct EnvVariable {
    const char* name;
    const char* values;
    const char* meaning;
};

// For documentation: the README's table and `ckitchen info`.
std::span<const EnvVariable> env_variables();

struct Env {
    ck_backend backend = CK_BACKEND_AUTO;
    int threads = 0;
    int log_level = CK_LOG_OFF;
    std::string disable;        // checked against the list of operators at context creation
    std::string force_variant;  // checked against the device's variants at context creation
    std::string tuning;         // a file, read at context creation
    std::string code_object_dir;
    std::string cache_dir;  // where compiled code is kept; empty: nowhere
    std::string hip_library;
    std::string cuda_library;
    std::string rocm_path;  // ROCM_PATH
    bool int8_tiled_a = false;
    bool gfx_override = false;  // HSA_OVERRIDE_GFX_VERSION is set
    Status status;              // the first value that was not understood

    // Reads the process's environment, or `get` in tests.
    static Env parse(const char* (*get)(const char* name));
};

const Env& env();

}  // namespace ckitchen

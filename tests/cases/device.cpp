#include "cases/device.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ckitchen::cases {

void expect_ok(ck_status status, const char* what) {
    if (status != CK_OK)
        throw ApiError(std::string(what) + ": " + ck_status_string(status) + ": " + ck_last_error(), status);
}

Device::Device(const std::string& name, const std::string& runtime, int32_t threads)
    : name_(name), properties_(CK_INIT(ck_device_properties)) {
    ck_context_options options = CK_INIT(ck_context_options);
    options.threads = threads;
    const std::string simulator = "sim:";
    if (name == "cpu") {
        options.backend = CK_BACKEND_CPU;
    } else if (name == "hip" || name == "cuda") {
        options.backend = name == "hip" ? CK_BACKEND_HIP : CK_BACKEND_CUDA;
        if (!runtime.empty()) options.runtime_path = runtime.c_str();
    } else if (name.compare(0, simulator.size(), simulator) == 0 && name.size() > simulator.size()) {
        if (runtime.empty()) throw ApiError("backend " + name + " needs the simulator's runtime library");
        ::setenv("GFXSIM_DEVICES", name.c_str() + simulator.size(), 1);
        launches_ =
            std::filesystem::temp_directory_path() / ("ckitchen-launches-" + std::to_string(::getpid()));
        ::setenv("GFXSIM_STATS", launches_.c_str(), 1);
        options.backend = CK_BACKEND_HIP;
        options.runtime_path = runtime.c_str();
        simulated_ = true;
    } else {
        throw ApiError("backend '" + name + "' is not cpu, hip, cuda or sim:<gfx>");
    }
    expect_ok(ck_context_create(&options, &context_), ("backend " + name).c_str());
    try {
        expect_ok(ck_context_info(context_, &properties_), "ck_context_info");
        if (properties_.backend != options.backend) throw ApiError("backend " + name + ": got another one");
        if (simulated_ && name.substr(simulator.size()) != properties_.arch)
            throw ApiError("backend " + name + ": the device is a " + properties_.arch);
    } catch (...) {
        ck_context_destroy(context_);
        throw;
    }
}

Device::Device(ck_context* context)
    : owned_(false), context_(context), properties_(CK_INIT(ck_device_properties)) {
    expect_ok(ck_context_info(context_, &properties_), "ck_context_info");
    name_ = properties_.backend == CK_BACKEND_HIP    ? "hip"
            : properties_.backend == CK_BACKEND_CUDA ? "cuda"
                                                     : "cpu";
}

Device::~Device() {
    if (owned_) ck_context_destroy(context_);
    std::error_code ignored;
    if (!launches_.empty()) std::filesystem::remove(launches_, ignored);
}

std::vector<std::string> Device::launched() {
    std::vector<std::string> kernels;
    std::ifstream file(launches_, std::ios::binary);
    file.seekg(launches_read_);
    const std::string key = "\"kernel\":\"";
    for (std::string line; std::getline(file, line);) {
        launches_read_ += static_cast<std::streamoff>(line.size()) + 1;
        const size_t begin = line.find(key);
        if (begin == std::string::npos) throw ApiError("a launch without a kernel's name: " + line);
        const size_t end = line.find('"', begin + key.size());
        kernels.push_back(line.substr(begin + key.size(), end - begin - key.size()));
    }
    return kernels;
}

}  // namespace ckitchen::cases

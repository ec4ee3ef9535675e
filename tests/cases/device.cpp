#include "cases/device.hpp"

#include <cstdlib>

namespace ckitchen::cases {

void expect_ok(ck_status status, const char* what) {
    if (status != CK_OK)
        throw ApiError(std::string(what) + ": " + ck_status_string(status) + ": " + ck_last_error());
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
}

}  // namespace ckitchen::cases

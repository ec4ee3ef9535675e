#include "session.hpp"

#include <cstring>

#include "text.hpp"

namespace ckitchen::cli {

ck_backend parse_backend(const std::string& name) {
    if (name == "auto") return CK_BACKEND_AUTO;
    if (name == "cpu") return CK_BACKEND_CPU;
    if (name == "hip") return CK_BACKEND_HIP;
    if (name == "cuda") return CK_BACKEND_CUDA;
    throw Failure(Exit::kUsage, "--backend " + in_quotes(name) + ": must be auto, cpu, hip or cuda");
}

std::string backend_name(ck_backend backend) {
    switch (backend) {
        case CK_BACKEND_AUTO:
            return "auto";
        case CK_BACKEND_CPU:
            return "cpu";
        case CK_BACKEND_HIP:
            return "hip";
        case CK_BACKEND_CUDA:
            return "cuda";
        default:
            return "backend " + std::to_string(backend);
    }
}

Exit failure_status(ck_status status) {
    return status == CK_ERROR_OUT_OF_MEMORY ? Exit::kResources : Exit::kBackend;
}

void check(ck_status status, const std::string& what) {
    if (status == CK_OK) return;
    throw Failure(failure_status(status),
                  what + ": " + ck_status_string(status) + ": " + printable(ck_last_error(), 1000));
}

Session::Session(const SessionOptions& options) {
    ck_context_options context_options = CK_INIT(ck_context_options);
    context_options.backend = options.backend;
    context_options.ordinal = options.device;
    context_options.threads = options.threads;
    const ck_status created = ck_context_create(&context_options, &context_);
    if (created != CK_OK) {
        // The library's text names its own flag where the CPU would do.
        const bool offers_cpu = std::strstr(ck_last_error(), "CK_CONTEXT_ALLOW_CPU_FALLBACK") != nullptr;
        throw Failure(failure_status(created), "cannot use backend " + backend_name(options.backend) + ": " +
                                                   ck_status_string(created) + ": " +
                                                   printable(ck_last_error(), 1000) +
                                                   (offers_cpu ? " (here: --backend cpu)" : ""));
    }
    properties_ = CK_INIT(ck_device_properties);
    const ck_status status = ck_context_info(context_, &properties_);
    if (status != CK_OK) {
        ck_context_destroy(context_);
        check(status, "cannot describe the device");
    }
}

Session::~Session() {
    ck_context_destroy(context_);
}

std::string Session::backend() const {
    return backend_name(properties_.backend);
}

}  // namespace ckitchen::cli

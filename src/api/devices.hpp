// The devices of every backend, and the making of a backend for one of them.
#pragma once

#include <memory>
#include <string>

#include "core/context.hpp"

namespace ckitchen::api {

// Devices of one backend (CPU, HIP or CUDA), unusable ones included. A backend whose runtime is missing or
// has no device has none: `reason` says why.
int32_t device_count(ck_backend backend, std::string* reason = nullptr);
Status device_properties(ck_backend backend, int32_t ordinal, ck_device_properties& properties);

struct BackendRequest {
    ck_backend backend = CK_BACKEND_AUTO;
    int32_t ordinal = 0;
    int threads = 0;
    bool allow_cpu_fallback = false;
    const char* runtime_path = nullptr;
};
Status make_backend(const BackendRequest& request, std::unique_ptr<Backend>& backend);

// Fills in the context's variants and the order in which preferences want them.
Status add_variants(ck_context& context);

}  // namespace ckitchen::api

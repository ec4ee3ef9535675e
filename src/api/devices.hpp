// The devices of every backend, and the making of a backend for one of them.
#pragma once

#include <memory>
#include <vector>

#include "core/backend.hpp"

namespace ckitchen::api {

// Backend is CPU, HIP or CUDA.
int32_t device_count(ck_backend backend);
Status device_properties(ck_backend backend, int32_t ordinal, ck_device_properties& properties);

// Backend may be AUTO.
struct BackendRequest {
    ck_backend backend = CK_BACKEND_AUTO;
    int32_t ordinal = 0;
    int threads = 0;
    bool allow_cpu_fallback = false;
    const char* runtime_path = nullptr;
};
Status make_backend(const BackendRequest& request, std::unique_ptr<Backend>& backend);

// The variants that a backend's device could run, in the order of preference within an operator.
std::vector<Variant> device_variants(const Backend& backend);

}  // namespace ckitchen::api

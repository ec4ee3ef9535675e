// Section 3 of ckitchen.h.
#include "api/devices.hpp"

#include "api/guard.hpp"
#include "core/struct_io.hpp"
#include "cpu/backend.hpp"
#include "ops/operator.hpp"

namespace ckitchen::api {
namespace {

Status check_backend(ck_backend backend) {
    if (backend < CK_BACKEND_AUTO || backend > CK_BACKEND_CUDA)
        return invalid_argument("backend is {}, must be {} to {}", backend, int{CK_BACKEND_AUTO},
                                int{CK_BACKEND_CUDA});
    return {};
}

}  // namespace

int32_t device_count(ck_backend backend) {
    return backend == CK_BACKEND_CPU ? 1 : 0;
}

Status device_properties(ck_backend, int32_t, ck_device_properties& properties) {
    properties = cpu::cpu_properties();
    return {};
}

Status make_backend(const BackendRequest& request, std::unique_ptr<Backend>& backend) {
    if (request.backend == CK_BACKEND_HIP || request.backend == CK_BACKEND_CUDA)
        return error(CK_ERROR_NO_RUNTIME, "backend {} is not part of this build",
                     request.backend == CK_BACKEND_HIP ? "hip" : "cuda");
    if (request.ordinal != 0)
        return error(CK_ERROR_NO_DEVICE, "ordinal is {}, the CPU is one device: must be 0", request.ordinal);
    backend = std::make_unique<cpu::CpuBackend>(request.threads);
    return {};
}

std::vector<Variant> device_variants(const Backend&) {
    std::vector<Variant> result;
    for (const ops::OperatorEntry& entry : ops::operators())
        result.push_back({entry.op, entry.cpu_variant, nullptr});
    return result;
}

}  // namespace ckitchen::api

using namespace ckitchen;

extern "C" {

ck_status ck_device_count(ck_backend backend, int32_t* count) {
    return api::guarded("ck_device_count", [&]() -> Status {
        CK_RETURN_IF_ERROR(api::check_backend(backend));
        if (!count) return invalid_argument("count is NULL");
        if (backend == CK_BACKEND_AUTO)
            *count = api::device_count(CK_BACKEND_HIP) + api::device_count(CK_BACKEND_CUDA) +
                     api::device_count(CK_BACKEND_CPU);
        else
            *count = api::device_count(backend);
        return {};
    });
}

ck_status ck_device_info(ck_backend backend, int32_t ordinal, ck_device_properties* info) {
    return api::guarded("ck_device_info", [&]() -> Status {
        CK_RETURN_IF_ERROR(api::check_backend(backend));
        CK_RETURN_IF_ERROR(check_output_struct(info, "info", layout_of<ck_device_properties>()));
        if (ordinal < 0) return invalid_argument("ordinal is {}, must be at least 0", ordinal);
        int32_t left = ordinal;
        int32_t total = 0;
        for (ck_backend candidate : {CK_BACKEND_HIP, CK_BACKEND_CUDA, CK_BACKEND_CPU}) {
            if (backend != CK_BACKEND_AUTO && backend != candidate) continue;
            const int32_t count = api::device_count(candidate);
            total += count;
            if (left < count) {
                ck_device_properties properties{};
                CK_RETURN_IF_ERROR(api::device_properties(candidate, left, properties));
                return write_struct(properties, info, "info");
            }
            left -= count;
        }
        return error(CK_ERROR_NO_DEVICE, "ordinal is {}, there are {} devices", ordinal, total);
    });
}

const char* ck_builtin_targets(void) {
    return "";
}

}  // extern "C"

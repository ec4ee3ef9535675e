// Section 3 of ckitchen.h.
#include "api/devices.hpp"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "api/guard.hpp"
#include "core/env.hpp"
#include "core/struct_io.hpp"
#include "cpu/backend.hpp"
#include "ops/operator.hpp"
#include "runtime/gpu_backend.hpp"

namespace ckitchen::api {
namespace {

Status check_backend(ck_backend backend) {
    if (backend < CK_BACKEND_AUTO || backend > CK_BACKEND_CUDA)
        return invalid_argument("backend is {}, must be {} to {}", backend, int{CK_BACKEND_AUTO},
                                int{CK_BACKEND_CUDA});
    return {};
}

}  // namespace

namespace {

struct NamedLibrary {
    const char* variable;
    const std::string& value;
};

// What the environment names for a backend's runtime: empty where it is to be searched for.
NamedLibrary named_library(ck_backend backend) {
    if (backend == CK_BACKEND_HIP) return {"CKITCHEN_HIP_LIBRARY", env().hip_library};
    return {"CKITCHEN_CUDA_LIBRARY", env().cuda_library};
}

Status open_driver(ck_backend backend, const char* path, runtime::Driver*& driver) {
    if (const NamedLibrary named = named_library(backend); !path && named.value == "off")
        return error(CK_ERROR_NO_RUNTIME, "environment variable {} is 'off'", named.variable);
    return backend == CK_BACKEND_HIP ? runtime::open_hip(path, driver) : runtime::open_cuda(path, driver);
}

const char* backend_name(ck_backend backend) {
    constexpr const char* kNames[] = {"auto", "cpu", "hip", "cuda"};
    return kNames[backend];
}

Status make_gpu(runtime::Driver& driver, int32_t ordinal, std::unique_ptr<Backend>& result) {
    int count = 0;
    CK_RETURN_IF_ERROR(driver.device_count(count));
    if (ordinal >= count)
        return error(CK_ERROR_NO_DEVICE, "ordinal is {}, {} has {} devices", ordinal, driver.description(),
                     count);
    runtime::GpuDevice* device = nullptr;
    CK_RETURN_IF_ERROR(runtime::gpu_device(driver, ordinal, device));
    if (device->properties().usable != CK_OK)
        return error(device->properties().usable, "device {} ({}): {}", ordinal, device->properties().name,
                     device->properties().unusable_reason);
    result = std::make_unique<runtime::GpuBackend>(*device);
    return {};
}

// The GPU runtimes that "any device" looks at: HIP before CUDA. A path names one library, which is opened as
// whichever of the two it is; without one a runtime that is not there has no devices, unless the user named
// it.
Status open_any(const char* path, std::vector<runtime::Driver*>& drivers) {
    Status failures[2];
    std::size_t tried = 0;
    for (ck_backend backend : {CK_BACKEND_HIP, CK_BACKEND_CUDA}) {
        runtime::Driver* driver = nullptr;
        Status& status = failures[tried++];
        status = open_driver(backend, path, driver);
        if (status.ok()) {
            drivers.push_back(driver);
            continue;
        }
        if (status.code() == CK_ERROR_FORKED) return status;
        if (path && status.code() == CK_ERROR_NO_DEVICE) return {};
        if (const NamedLibrary named = named_library(backend);
            !path && status.code() != CK_ERROR_NO_DEVICE && !named.value.empty() && named.value != "off")
            return error(status.code(), "environment variable {} is '{}': {}", named.variable, named.value,
                         status.message());
        log(CK_LOG_INFO, "{}: {}", backend_name(backend), status.message());
    }
    if (!path || !drivers.empty()) return {};
    const ck_status code =
        failures[0].code() == failures[1].code() ? failures[0].code() : CK_ERROR_INVALID_ARGUMENT;
    return error(code, "options.runtime_path is '{}': as a HIP runtime: {}; as a CUDA driver: {}", path,
                 failures[0].message(), failures[1].message());
}

// The first usable GPU: HIP before CUDA, discrete before integrated. No backend and success: no GPU is there.
Status make_any_gpu(const char* path, std::unique_ptr<Backend>& result, bool& present) {
    std::vector<runtime::Driver*> drivers;
    const Status opened = open_any(path, drivers);
    present = opened.code() == CK_ERROR_FORKED;
    CK_RETURN_IF_ERROR(opened);
    ck_status code = CK_ERROR_NO_DEVICE;
    int found = 0;
    std::string reasons;
    for (runtime::Driver* driver : drivers) {
        int count = 0;
        if (const Status status = driver->device_count(count); !status.ok())
            log(CK_LOG_INFO, "{}: {}", driver->description(), status.message());
        for (const bool integrated : {false, true}) {
            for (int32_t ordinal = 0; ordinal < count; ++ordinal) {
                runtime::GpuDevice* device = nullptr;
                Status status = runtime::gpu_device(*driver, ordinal, device);
                // A device that does not answer counts among the discrete ones.
                const bool is_integrated =
                    status.ok() && (device->properties().flags & CK_DEVICE_INTEGRATED) != 0;
                if (is_integrated != integrated) continue;
                ++found;
                present = true;
                if (status.ok()) status = make_gpu(*driver, ordinal, result);
                if (status.ok()) return {};
                code = status.code();
                reasons += (reasons.empty() ? "" : "; ") + std::string(backend_name(driver->backend())) +
                           " " + std::to_string(ordinal) + ": " + status.message();
            }
        }
    }
    if (!present) return {};
    return error(code,
                 "{} GPUs are present and none is usable ({}); CK_CONTEXT_ALLOW_CPU_FALLBACK takes the CPU",
                 found, reasons);
}

// The built-in preferences matter to GPUs alone; a file that the user names is checked whatever the device.
Status load_preferences(bool is_cpu, Preferences& preferences) {
    const std::string& path = env().tuning;
    if (path.empty()) {
        if (is_cpu) return {};
        return Preferences::parse(default_tuning(), "built-in preferences", preferences);
    }
    const std::string what = "environment variable CKITCHEN_TUNING is '" + path + "', ";
    constexpr uintmax_t kLargestFile = uintmax_t{16} << 20;
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed))
        return error(CK_ERROR_INVALID_CONFIGURATION, "{}which is no file", what);
    if (const uintmax_t size = std::filesystem::file_size(path, failed); failed || size > kLargestFile)
        return error(CK_ERROR_INVALID_CONFIGURATION, "{}which is larger than {} bytes", what, kLargestFile);
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file) return error(CK_ERROR_INVALID_CONFIGURATION, "{}which could not be read", what);
    return Preferences::parse(text, what + "which", preferences);
}

}  // namespace

int32_t device_count(ck_backend backend, std::string* reason) {
    if (backend == CK_BACKEND_CPU) return 1;
    runtime::Driver* driver = nullptr;
    int count = 0;
    Status status = open_driver(backend, nullptr, driver);
    if (status.ok()) status = driver->device_count(count);
    if (status.ok()) return count;
    log(CK_LOG_INFO, "{}: {}", backend_name(backend), status.message());
    if (reason) *reason = status.message();
    return 0;
}

Status device_properties(ck_backend backend, int32_t ordinal, ck_device_properties& properties) {
    if (backend == CK_BACKEND_CPU) {
        properties = cpu::cpu_properties();
        return {};
    }
    runtime::Driver* driver = nullptr;
    CK_RETURN_IF_ERROR(open_driver(backend, nullptr, driver));
    runtime::GpuDevice* device = nullptr;
    CK_RETURN_IF_ERROR(runtime::gpu_device(*driver, ordinal, device));
    properties = device->properties();
    return {};
}

Status make_backend(const BackendRequest& request, std::unique_ptr<Backend>& backend) {
    // An empty path is as good as none.
    const char* path = request.runtime_path && *request.runtime_path ? request.runtime_path : nullptr;
    if (request.backend == CK_BACKEND_HIP || request.backend == CK_BACKEND_CUDA) {
        runtime::Driver* driver = nullptr;
        CK_RETURN_IF_ERROR(open_driver(request.backend, path, driver));
        return make_gpu(*driver, request.ordinal, backend);
    }
    if (request.backend == CK_BACKEND_AUTO) {
        bool present = false;
        Status status = make_any_gpu(path, backend, present);
        if (status.ok() && backend) return {};
        if (!status.ok() && !(present && request.allow_cpu_fallback)) return status;
        if (present) log(CK_LOG_WARN, "taking the CPU: {}", status.message());
    }
    if (request.ordinal != 0)
        return error(CK_ERROR_NO_DEVICE, "ordinal is {}, the CPU is one device: must be 0", request.ordinal);
    backend = std::make_unique<cpu::CpuBackend>(request.threads);
    return {};
}

Status add_variants(ck_context& context) {
    const bool is_cpu = context.kind() == CK_BACKEND_CPU;
    Preferences preferences;
    CK_RETURN_IF_ERROR(load_preferences(is_cpu, preferences));
    uint64_t features = 0;
    std::string key = "cpu";
    if (!is_cpu) {
        runtime::GpuDevice& device = static_cast<runtime::GpuBackend&>(*context.backend).device();
        features = device.features();
        key = device.preference_key();
    }
    for (const ops::OperatorEntry& entry : ops::operators()) {
        std::vector<VariantSlot*> slots;
        if (is_cpu) {
            slots.push_back(&context.variants.emplace_back(Variant{entry.op, entry.cpu_variant, nullptr}));
        } else if (entry.device_rows) {
            for (const ops::DeviceRow& row : entry.device_rows()) {
                if ((features & runtime::feature_bit(row.feature)) == 0) continue;
                if (row.needs_tiled_a && !env().int8_tiled_a) continue;
                slots.push_back(&context.variants.emplace_back(Variant{entry.op, row.name, row.row}));
            }
        }
        const std::string name = find_op(entry.op)->name;
        const std::string preferred = entry.preferences ? entry.preferences : name;
        static const std::vector<PreferenceRule> kNoRules;
        CK_RETURN_IF_ERROR(resolve_rules(is_cpu ? kNoRules : preferences.rules(preferred, key),
                                         entry.metric_names, name + "_", slots,
                                         context.rules[static_cast<std::size_t>(entry.op)]));
    }
    return {};
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
    return runtime::builtin_targets();
}

}  // extern "C"

// Section 4 of ckitchen.h.
#include <algorithm>
#include <memory>
#include <string_view>

#include "api/devices.hpp"
#include "api/guard.hpp"
#include "core/env.hpp"
#include "core/problem_text.hpp"
#include "core/struct_io.hpp"
#include "runtime/object_store.hpp"

namespace ckitchen::api {
namespace {

Status disable_operators(ck_context& context, std::string_view list, const char* source) {
    while (!list.empty()) {
        const std::size_t comma = list.find(',');
        const std::string_view name = list.substr(0, comma);
        list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
        if (name.empty()) continue;
        const OpName* op = find_op(name);
        if (!op)
            return error(CK_ERROR_INVALID_CONFIGURATION, "{} names '{}', which is no operator", source, name);
        context.disabled[static_cast<std::size_t>(op->op)] = true;
    }
    return {};
}

Status force_variant(ck_context& context, const std::string& name) {
    if (name.empty()) return {};
    for (const VariantSlot& slot : context.variants) {
        if (name != slot.variant.name) continue;
        context.forced[static_cast<std::size_t>(slot.variant.op)] = slot.variant.name;
        return {};
    }
    return error(CK_ERROR_INVALID_CONFIGURATION,
                 "environment variable CKITCHEN_FORCE_VARIANT is '{}', which is no "
                 "variant of device {} ({})",
                 name, context.backend->properties().ordinal, context.backend->properties().arch);
}

Status create(const ck_context_options& options, std::unique_ptr<ck_context>& result) {
    const Env& environment = env();
    CK_RETURN_IF_ERROR(environment.status);
    CK_RETURN_IF_ERROR(runtime::check_code_object_dir());
    BackendRequest request;
    if (options.backend < CK_BACKEND_AUTO || options.backend > CK_BACKEND_CUDA)
        return invalid_argument("options.backend is {}, must be {} to {}", options.backend,
                                int{CK_BACKEND_AUTO}, int{CK_BACKEND_CUDA});
    if (options.ordinal < 0)
        return invalid_argument("options.ordinal is {}, must be at least 0", options.ordinal);
    if (options.backend == CK_BACKEND_AUTO && options.ordinal != 0)
        return invalid_argument("options.ordinal is {}, must be 0 with CK_BACKEND_AUTO", options.ordinal);
    if (options.threads < 0 || options.threads > 1024)
        return invalid_argument("options.threads is {}, must be 0 to 1024", options.threads);
    if ((options.flags & ~uint32_t{CK_CONTEXT_ALLOW_CPU_FALLBACK}) != 0)
        return invalid_argument("options.flags is {:#x}, only the bits {:#x} are known", options.flags,
                                uint32_t{CK_CONTEXT_ALLOW_CPU_FALLBACK});
    request.backend = options.backend == CK_BACKEND_AUTO ? environment.backend : options.backend;
    request.ordinal = options.ordinal;
    request.threads = options.threads ? options.threads : environment.threads;
    request.allow_cpu_fallback = (options.flags & CK_CONTEXT_ALLOW_CPU_FALLBACK) != 0;
    request.runtime_path = options.runtime_path;

    auto context = std::make_unique<ck_context>();
    CK_RETURN_IF_ERROR(
        disable_operators(*context, environment.disable, "environment variable CKITCHEN_DISABLE"));
    if (options.disable) CK_RETURN_IF_ERROR(disable_operators(*context, options.disable, "options.disable"));
    CK_RETURN_IF_ERROR(make_backend(request, context->backend));
    CK_RETURN_IF_ERROR(add_variants(*context));
    CK_RETURN_IF_ERROR(force_variant(*context, environment.force_variant));
    result = std::move(context);
    return {};
}

}  // namespace
}  // namespace ckitchen::api

using namespace ckitchen;

extern "C" {

ck_status ck_context_create(const ck_context_options* options, ck_context** context) {
    return api::guarded("ck_context_create", [&]() -> Status {
        if (!context) return invalid_argument("context is NULL");
        *context = nullptr;
        ck_context_options read{};
        if (options) CK_RETURN_IF_ERROR(read_struct(options, "options", read));
        std::unique_ptr<ck_context> made;
        CK_RETURN_IF_ERROR(api::create(read, made));
        *context = made.release();
        return {};
    });
}

void ck_context_destroy(ck_context* context) {
    delete context;
}

ck_status ck_context_info(const ck_context* context, ck_device_properties* info) {
    return api::guarded("ck_context_info", context, [&](const ck_context& c) -> Status {
        return write_struct(c.backend->properties(), info, "info");
    });
}

}  // extern "C"

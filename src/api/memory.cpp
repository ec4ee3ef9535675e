// Section 5 of ckitchen.h.
#include "api/guard.hpp"
#include "core/region.hpp"

using namespace ckitchen;

namespace {

// What is wrong with a copy's arguments, or with its context.
Status check_copy(ck_context& context, const void* destination, const void* source, uint64_t bytes,
                  ck_copy_kind kind) {
    if (kind < CK_COPY_HOST_TO_DEVICE || kind > CK_COPY_DEVICE_TO_DEVICE)
        return invalid_argument("kind is {}, must be {} to {}", kind, int{CK_COPY_HOST_TO_DEVICE},
                                int{CK_COPY_DEVICE_TO_DEVICE});
    if (bytes == 0) return context.backend->check();
    if (bytes > uint64_t{INT64_MAX}) return invalid_argument("bytes is {}, must fit 63 bits", bytes);
    const auto size = static_cast<int64_t>(bytes);
    Regions regions;
    regions.output("destination", destination, 1, size, size, 1);
    regions.input("source", source, 1, size, size, 1);
    CK_RETURN_IF_ERROR(regions.check(false));
    CK_RETURN_IF_ERROR(regions.check_overlap());
    return context.backend->check();
}

}  // namespace

extern "C" {

ck_status ck_malloc(ck_context* context, uint64_t bytes, void** pointer) {
    return api::guarded("ck_malloc", context, [&](ck_context& c) -> Status {
        if (!pointer) return invalid_argument("pointer is NULL");
        *pointer = nullptr;
        CK_RETURN_IF_ERROR(c.backend->check());
        return bytes == 0 ? Status() : c.backend->allocate(bytes, pointer);
    });
}

ck_status ck_free(ck_context* context, void* pointer) {
    return api::guarded("ck_free", context, [&](ck_context& c) -> Status {
        if (!pointer) return {};
        CK_RETURN_IF_ERROR(c.backend->check());
        return c.backend->release(pointer);
    });
}

ck_status ck_host_malloc(ck_context* context, uint64_t bytes, void** pointer) {
    return api::guarded("ck_host_malloc", context, [&](ck_context& c) -> Status {
        if (!pointer) return invalid_argument("pointer is NULL");
        *pointer = nullptr;
        CK_RETURN_IF_ERROR(c.backend->check());
        return bytes == 0 ? Status() : c.backend->allocate_host(bytes, pointer);
    });
}

ck_status ck_host_free(ck_context* context, void* pointer) {
    return api::guarded("ck_host_free", context, [&](ck_context& c) -> Status {
        if (!pointer) return {};
        CK_RETURN_IF_ERROR(c.backend->check());
        return c.backend->release_host(pointer);
    });
}

ck_status ck_copy(ck_context* context, void* destination, const void* source, uint64_t bytes,
                  ck_copy_kind kind, void* stream) {
    return api::guarded("ck_copy", context, [&](ck_context& c) -> Status {
        CK_RETURN_IF_ERROR(check_copy(c, destination, source, bytes, kind));
        return bytes == 0 ? Status() : c.backend->copy(destination, source, bytes, kind, stream);
    });
}

ck_status ck_copy_async(ck_context* context, void* destination, const void* source, uint64_t bytes,
                        ck_copy_kind kind, void* stream) {
    return api::guarded("ck_copy_async", context, [&](ck_context& c) -> Status {
        CK_RETURN_IF_ERROR(check_copy(c, destination, source, bytes, kind));
        return bytes == 0 ? Status() : c.backend->enqueue_copy(destination, source, bytes, kind, stream);
    });
}

ck_status ck_stream_create(ck_context* context, void** stream) {
    return api::guarded("ck_stream_create", context, [&](ck_context& c) -> Status {
        if (!stream) return invalid_argument("stream is NULL");
        *stream = nullptr;
        CK_RETURN_IF_ERROR(c.backend->check());
        return c.backend->create_stream(stream);
    });
}

ck_status ck_stream_destroy(ck_context* context, void* stream) {
    return api::guarded("ck_stream_destroy", context, [&](ck_context& c) -> Status {
        if (!stream) return {};
        CK_RETURN_IF_ERROR(c.backend->check());
        return c.backend->destroy_stream(stream);
    });
}

ck_status ck_synchronize(ck_context* context, void* stream) {
    return api::guarded("ck_synchronize", context, [&](ck_context& c) -> Status {
        CK_RETURN_IF_ERROR(c.backend->check());
        return c.backend->synchronize(stream);
    });
}

}  // extern "C"

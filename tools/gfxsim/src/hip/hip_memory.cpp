// Memory, copies, fills, pointer queries.
#include <cstring>

#include "runtime.hpp"

using namespace ckitchen::gfxsim;

namespace {

/// What clients can allocate: a driver keeps a part for itself.
uint64_t usable_memory(const Target& t) {
    return t.memory_bytes - t.memory_bytes / 16;
}

/// True when [p, p + bytes) may be touched: inside one live allocation, or outside of all (plain host
/// memory).
bool accessible(const void* p, size_t bytes, bool& ours) {
    Allocation a;
    const uint64_t address = reinterpret_cast<uint64_t>(p);
    ours = MemoryMap::instance().find(address, a);
    return !ours || (a.live && bytes <= a.base + a.size - address);
}

int copy(void* dst, const void* src, size_t bytes, int kind) {
    if (bytes == 0) return kSuccess;
    if (!dst || !src || kind < kHostToHost || kind > kCopyDefault) return kInvalidValue;
    bool dst_ours = false, src_ours = false;
    if (!accessible(dst, bytes, dst_ours) || !accessible(src, bytes, src_ours)) return kInvalidValue;
    if ((kind == kHostToDevice || kind == kDeviceToDevice) && !dst_ours) return kInvalidValue;
    if ((kind == kDeviceToHost || kind == kDeviceToDevice) && !src_ours) return kInvalidValue;
    std::memmove(dst, src, bytes);
    if (dst_ours) MemoryMap::instance().copy_defined(dst, src, bytes);
    return kSuccess;
}

int fill(void* dst, const void* pattern, size_t width, size_t count) {
    if (count == 0) return kSuccess;
    bool ours = false;
    if (!dst || count > SIZE_MAX / width || !accessible(dst, width * count, ours) || !ours)
        return kInvalidValue;
    if (width == 1) {
        std::memset(dst, *static_cast<const uint8_t*>(pattern), count);
    } else {
        for (size_t i = 0; i < count; ++i)
            std::memcpy(static_cast<uint8_t*>(dst) + i * width, pattern, width);
    }
    MemoryMap::instance().mark_defined(dst, width * count);
    return kSuccess;
}

int allocate(Runtime& rt, void** p, size_t bytes, MemoryKind kind, unsigned flags) {
    if (!p) return kInvalidValue;
    *p = nullptr;
    if (bytes == 0) return kSuccess;
    if (allocation_fails()) return kOutOfMemory;
    const int device = thread_state().device;
    *p = MemoryMap::instance().allocate(bytes, kind, device, flags, usable_memory(*rt.device(device).target));
    return *p ? kSuccess : kOutOfMemory;
}

int release(void* p, MemoryKind kind) {
    if (!p) return kSuccess;
    return MemoryMap::instance().release(p, kind) ? kSuccess : kInvalidValue;
}

/// An asynchronous call: recorded while the stream captures, else done at once.
template <class F>
int on_stream(void* handle, F work) {
    return guarded([&](Runtime& rt) -> int {
        HipStream* s = rt.stream(handle);
        if (!s) return kFlavor >= 70 ? kContextIsDestroyed : kInvalidValue;
        return rt.submit(*s, work);
    });
}

struct PointerAttributes {
    int type;
    int device;
    void* device_pointer;
    void* host_pointer;
    int is_managed;
    unsigned allocation_flags;
};
static_assert(sizeof(PointerAttributes) == 32);

}  // namespace

GFXSIM_API int hipMalloc(void** p, size_t bytes) {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_in_capture(kStreamCaptureUnsupported, false)) return error;
        return allocate(rt, p, bytes, MemoryKind::kDevice, 0);
    });
}

GFXSIM_API int hipFree(void* p) {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_in_capture(kStreamCaptureUnsupported, false)) return error;
        return release(p, MemoryKind::kDevice);
    });
}

GFXSIM_API int hipHostMalloc(void** p, size_t bytes, unsigned flags) {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_in_capture(kStreamCaptureUnsupported, false)) return error;
        return allocate(rt, p, bytes, MemoryKind::kHost, flags);
    });
}

GFXSIM_API int hipHostFree(void* p) {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_in_capture(kStreamCaptureUnsupported, false)) return error;
        return release(p, MemoryKind::kHost);
    });
}

GFXSIM_API int hipMallocAsync(void** p, size_t bytes, void* stream) {
    return guarded([&](Runtime& rt) -> int {
        if (!rt.stream(stream)) return kInvalidValue;
        return allocate(rt, p, bytes, MemoryKind::kDevice, 0);
    });
}

GFXSIM_API int hipFreeAsync(void* p, void* stream) {
    return on_stream(stream, [p]() -> int { return release(p, MemoryKind::kDevice); });
}

GFXSIM_API int hipMemGetInfo(size_t* free_bytes, size_t* total) {
    return guarded([&](Runtime& rt) -> int {
        if (!free_bytes || !total) return kInvalidValue;
        const int device = thread_state().device;
        *total = rt.device(device).target->memory_bytes;
        *free_bytes = usable_memory(*rt.device(device).target) - MemoryMap::instance().used(device);
        return kSuccess;
    });
}

GFXSIM_API int hipMemcpy(void* dst, const void* src, size_t bytes, int kind) {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_in_capture(kStreamCaptureImplicit, true)) return error;
        rt.wait_for_device(thread_state().device);
        if (const int error = rt.take_pending(thread_state().device)) return error;
        return copy(dst, src, bytes, kind);
    });
}

GFXSIM_API int hipMemcpyAsync(void* dst, const void* src, size_t bytes, int kind, void* stream) {
    return on_stream(stream, [=]() -> int { return copy(dst, src, bytes, kind); });
}

GFXSIM_API int hipMemset(void* dst, int value, size_t bytes) {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_in_capture(kStreamCaptureImplicit, true)) return error;
        const uint8_t byte = static_cast<uint8_t>(value);
        return fill(dst, &byte, 1, bytes);
    });
}

GFXSIM_API int hipMemsetAsync(void* dst, int value, size_t bytes, void* stream) {
    return on_stream(stream, [=]() -> int {
        const uint8_t byte = static_cast<uint8_t>(value);
        return fill(dst, &byte, 1, bytes);
    });
}

GFXSIM_API int hipMemsetD32Async(void* dst, int value, size_t count, void* stream) {
    return on_stream(stream, [=]() -> int { return fill(dst, &value, 4, count); });
}

GFXSIM_API int hipPointerGetAttributes(void* out, const void* p) {
    return guarded([&](Runtime&) -> int {
        if (!out) return kInvalidValue;
        PointerAttributes r{};
        if (!p) {
            if (kFlavor < 70) return kInvalidValue;
        }
        Allocation a;
        if (!p || !MemoryMap::instance().find(reinterpret_cast<uint64_t>(p), a) || !a.live ||
            (a.kind != MemoryKind::kDevice && a.kind != MemoryKind::kHost && a.kind != MemoryKind::kCode)) {
            if (kFlavor < 60) return kInvalidValue;
            r.device = -2;
            std::memcpy(out, &r, sizeof r);
            return kSuccess;
        }
        const bool host = a.kind == MemoryKind::kHost;
        // Release 6 renumbered the memory types.
        r.type = (host ? 0 : 1) + (kFlavor >= 60 ? 1 : 0);
        r.device = a.device;
        r.device_pointer = const_cast<void*>(p);
        r.host_pointer = host ? const_cast<void*>(p) : nullptr;
        r.allocation_flags = a.flags;
        std::memcpy(out, &r, sizeof r);
        return kSuccess;
    });
}

GFXSIM_API int hipPointerGetAttribute(void* out, int attribute, const void* p) {
    return guarded([&](Runtime&) -> int {
        Allocation a;
        if (!out || !p || !MemoryMap::instance().find(reinterpret_cast<uint64_t>(p), a) || !a.live)
            return kInvalidValue;
        const bool host = a.kind == MemoryKind::kHost;
        switch (attribute) {
            case 2: {  // memory type
                const int type = (host ? 0 : 1) + (kFlavor >= 60 ? 1 : 0);
                std::memcpy(out, &type, sizeof type);
                return kSuccess;
            }
            case 3:  // device pointer
                std::memcpy(out, &p, sizeof p);
                return kSuccess;
            case 4:  // host pointer
                if (!host) return kInvalidValue;
                std::memcpy(out, &p, sizeof p);
                return kSuccess;
            case 9:  // device ordinal
                std::memcpy(out, &a.device, sizeof a.device);
                return kSuccess;
            case 11:  // range start
                std::memcpy(out, &a.base, sizeof a.base);
                return kSuccess;
            case 12:  // range size
                std::memcpy(out, &a.size, sizeof a.size);
                return kSuccess;
            default:
                return kInvalidValue;
        }
    });
}

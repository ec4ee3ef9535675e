// Memory, copies, fills, pointer queries.
#include <cstring>

#include "transfers.hpp"

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

/// Rows of a copy and the distances between their begins.
struct Rows {
    size_t width = 0;
    size_t height = 1;
    size_t dst_pitch = 0;
    size_t src_pitch = 0;

    bool empty() const { return width == 0 || height == 0; }
    /// Bytes from the first to the last, SIZE_MAX when they are more than that.
    size_t span(size_t pitch) const {
        size_t bytes = 0;
        if (__builtin_mul_overflow(height - 1, pitch, &bytes) || __builtin_add_overflow(bytes, width, &bytes))
            return SIZE_MAX;
        return bytes;
    }
};

/// May these bytes be copied? Says which of the two is memory of the runtime.
int check_copy(void* dst, const void* src, const Rows& rows, int kind, bool& dst_ours, bool& src_ours) {
    if (!dst || !src || kind < kHostToHost || kind > kCopyDefault) return kInvalidValue;
    if (!accessible(dst, rows.span(rows.dst_pitch), dst_ours) ||
        !accessible(src, rows.span(rows.src_pitch), src_ours))
        return kInvalidValue;
    if ((kind == kHostToDevice || kind == kDeviceToDevice) && !dst_ours) return kInvalidValue;
    if ((kind == kDeviceToHost || kind == kDeviceToDevice) && !src_ours) return kInvalidValue;
    return kSuccess;
}

/// What was right when the copy was asked for may have been freed since.
int do_copy(void* dst, const void* src, const Rows& rows) {
    bool dst_ours = false, src_ours = false;
    if (!accessible(dst, rows.span(rows.dst_pitch), dst_ours) ||
        !accessible(src, rows.span(rows.src_pitch), src_ours))
        return kIllegalAddress;
    for (size_t row = 0; row < rows.height; ++row) {
        uint8_t* to = static_cast<uint8_t*>(dst) + row * rows.dst_pitch;
        const uint8_t* from = static_cast<const uint8_t*>(src) + row * rows.src_pitch;
        std::memmove(to, from, rows.width);
        if (dst_ours) MemoryMap::instance().copy_defined(to, from, rows.width);
    }
    return kSuccess;
}

int check_fill(void* dst, size_t width, size_t count) {
    bool ours = false;
    if (!dst || count > SIZE_MAX / width || !accessible(dst, width * count, ours) || !ours)
        return kInvalidValue;
    return kSuccess;
}

int do_fill(void* dst, int value, size_t width, size_t count) {
    bool ours = false;
    if (!accessible(dst, width * count, ours) || !ours) return kIllegalAddress;
    if (width == 1) {
        std::memset(dst, static_cast<uint8_t>(value), count);
    } else {
        for (size_t i = 0; i < count; ++i) std::memcpy(static_cast<uint8_t*>(dst) + i * width, &value, width);
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

/// Memory is given back when nothing of its device is under way any more.
int release(Runtime& rt, void* p, MemoryKind kind) {
    if (!p) return kSuccess;
    Allocation a;
    if (MemoryMap::instance().find(reinterpret_cast<uint64_t>(p), a) && rt.valid_device(a.device))
        rt.wait_for_device(a.device);
    return MemoryMap::instance().release(p, kind) ? kSuccess : kInvalidValue;
}

int no_stream() {
    return kFlavor >= 70 ? kContextIsDestroyed : kInvalidValue;
}

/// A synchronous call: at its turn on the null stream, within the call.
template <class F>
int on_null_stream(Runtime& rt, F work) {
    if (const int error = rt.refuse_in_capture(kStreamCaptureImplicit, true)) return error;
    const int device = thread_state().device;
    rt.wait_for_stream(rt.device(device).null_stream);
    if (const int error = rt.take_pending(device)) return error;
    return work();
}

int copy_rows_now(Runtime& rt, void* dst, const void* src, const Rows& rows, int kind) {
    return on_null_stream(rt, [&]() -> int {
        if (rows.empty()) return kSuccess;
        bool dst_ours = false, src_ours = false;
        if (const int error = check_copy(dst, src, rows, kind, dst_ours, src_ours)) return error;
        return do_copy(dst, src, rows);
    });
}

int copy_rows_on_stream(Runtime& rt, void* dst, const void* src, const Rows& rows, int kind, void* stream) {
    HipStream* s = rt.stream(stream);
    if (!s) return no_stream();
    if (rows.empty()) return kSuccess;
    bool dst_ours = false, src_ours = false;
    if (const int error = check_copy(dst, src, rows, kind, dst_ours, src_ours)) return error;
    if (const int error = rt.submit(*s, {[=](const Options&) { return do_copy(dst, src, rows); }, nullptr}))
        return error;
    // Memory that the runtime did not allocate is pageable: the copy is over when the call returns.
    bool captured = false;
    {
        std::lock_guard lock(rt.mutex);
        captured = s->capture != nullptr;
    }
    if (!captured && !(dst_ours && src_ours)) rt.wait_for_stream(*s);
    return kSuccess;
}

int fill(void* dst, int value, size_t width, size_t count) {
    return guarded([&](Runtime& rt) -> int {
        return on_null_stream(rt, [&]() -> int {
            if (count == 0) return kSuccess;
            if (const int error = check_fill(dst, width, count)) return error;
            return do_fill(dst, value, width, count);
        });
    });
}

int fill_async(void* dst, int value, size_t width, size_t count, void* stream) {
    return guarded([&](Runtime& rt) -> int {
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        if (count == 0) return kSuccess;
        if (const int error = check_fill(dst, width, count)) return error;
        return rt.submit(*s, {[=](const Options&) { return do_fill(dst, value, width, count); }, nullptr});
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

namespace ckitchen::gfxsim {

int copy_now(Runtime& rt, void* dst, const void* src, size_t bytes, int kind) {
    return copy_rows_now(rt, dst, src, {bytes}, kind);
}

int copy_on_stream(Runtime& rt, void* dst, const void* src, size_t bytes, int kind, void* stream) {
    return copy_rows_on_stream(rt, dst, src, {bytes}, kind, stream);
}

}  // namespace ckitchen::gfxsim

GFXSIM_API int hipMalloc(void** p, size_t bytes) {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_in_capture(kStreamCaptureUnsupported, false)) return error;
        return allocate(rt, p, bytes, MemoryKind::kDevice, 0);
    });
}

GFXSIM_API int hipFree(void* p) {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_in_capture(kStreamCaptureUnsupported, false)) return error;
        return release(rt, p, MemoryKind::kDevice);
    });
}

GFXSIM_API int hipHostMalloc(void** p, size_t bytes, unsigned flags) {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_in_capture(kStreamCaptureUnsupported, false)) return error;
        return allocate(rt, p, bytes, MemoryKind::kHost, flags);
    });
}

GFXSIM_API int hipHostAlloc(void** p, size_t bytes, unsigned flags) {
    return hipHostMalloc(p, bytes, flags);
}

GFXSIM_API int hipMallocHost(void** p, size_t bytes) {
    return hipHostMalloc(p, bytes, 0);
}

// Both processors know host memory by the same address.
GFXSIM_API int hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
    return guarded([&](Runtime&) -> int {
        Allocation a;
        if (!device || flags != 0 || !MemoryMap::instance().find(reinterpret_cast<uint64_t>(host), a) ||
            !a.live || a.kind != MemoryKind::kHost)
            return kInvalidValue;
        *device = host;
        return kSuccess;
    });
}

GFXSIM_API int hipHostFree(void* p) {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_in_capture(kStreamCaptureUnsupported, false)) return error;
        return release(rt, p, MemoryKind::kHost);
    });
}

GFXSIM_API int hipMallocAsync(void** p, size_t bytes, void* stream) {
    return guarded([&](Runtime& rt) -> int {
        if (!rt.stream(stream)) return kInvalidValue;
        return allocate(rt, p, bytes, MemoryKind::kDevice, 0);
    });
}

GFXSIM_API int hipFreeAsync(void* p, void* stream) {
    return guarded([&](Runtime& rt) -> int {
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        if (!p) return kSuccess;
        Allocation a;
        if (!MemoryMap::instance().find(reinterpret_cast<uint64_t>(p), a) || !a.live ||
            a.base != reinterpret_cast<uint64_t>(p) || a.kind != MemoryKind::kDevice)
            return kInvalidValue;
        // A graph keeps its memory for its next launch.
        bool captured = false;
        {
            std::lock_guard lock(rt.mutex);
            captured = s->status() == kCaptureActive;
        }
        if (captured) return kSuccess;
        return rt.submit(*s, {[p](const Options&) -> int {
                                  return MemoryMap::instance().release(p, MemoryKind::kDevice)
                                             ? kSuccess
                                             : kIllegalAddress;
                              },
                              nullptr});
    });
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
    return guarded([&](Runtime& rt) -> int { return copy_now(rt, dst, src, bytes, kind); });
}

GFXSIM_API int hipMemcpyAsync(void* dst, const void* src, size_t bytes, int kind, void* stream) {
    return guarded([&](Runtime& rt) -> int { return copy_on_stream(rt, dst, src, bytes, kind, stream); });
}

// A copy on a stream that is over when the call returns.
GFXSIM_API int hipMemcpyWithStream(void* dst, const void* src, size_t bytes, int kind, void* stream) {
    return guarded([&](Runtime& rt) -> int {
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        if (const int error = rt.refuse_wait_in_capture(s)) return error;
        if (const int error = copy_on_stream(rt, dst, src, bytes, kind, stream)) return error;
        rt.wait_for_stream(*s);
        return rt.take_pending(s->device);
    });
}

GFXSIM_API int hipMemcpy2D(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                           size_t height, int kind) {
    return guarded([&](Runtime& rt) -> int {
        if (dst_pitch < width || src_pitch < width) return kInvalidPitchValue;
        return copy_rows_now(rt, dst, src, {width, height, dst_pitch, src_pitch}, kind);
    });
}

GFXSIM_API int hipMemcpy2DAsync(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width,
                                size_t height, int kind, void* stream) {
    return guarded([&](Runtime& rt) -> int {
        if (dst_pitch < width || src_pitch < width) return kInvalidPitchValue;
        return copy_rows_on_stream(rt, dst, src, {width, height, dst_pitch, src_pitch}, kind, stream);
    });
}

#define GFXSIM_COPY(name, kind)                                                    \
    GFXSIM_API int name(void* dst, void* src, size_t bytes) {                      \
        return hipMemcpy(dst, src, bytes, kind);                                   \
    }                                                                              \
    GFXSIM_API int name##Async(void* dst, void* src, size_t bytes, void* stream) { \
        return hipMemcpyAsync(dst, src, bytes, kind, stream);                      \
    }
GFXSIM_COPY(hipMemcpyHtoD, kHostToDevice)
GFXSIM_COPY(hipMemcpyDtoH, kDeviceToHost)
GFXSIM_COPY(hipMemcpyDtoD, kDeviceToDevice)
#undef GFXSIM_COPY

#define GFXSIM_FILL(name, Value, width)                                              \
    GFXSIM_API int name(void* dst, Value value, size_t count) {                      \
        return fill(dst, value, width, count);                                       \
    }                                                                                \
    GFXSIM_API int name##Async(void* dst, Value value, size_t count, void* stream) { \
        return fill_async(dst, value, width, count, stream);                         \
    }
GFXSIM_FILL(hipMemset, int, 1)
GFXSIM_FILL(hipMemsetD8, unsigned char, 1)
GFXSIM_FILL(hipMemsetD16, unsigned short, 2)
GFXSIM_FILL(hipMemsetD32, int, 4)
#undef GFXSIM_FILL

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

// Initialisation, versions, devices, properties, attributes, contexts.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "runtime.hpp"

using namespace ckitchen::gfxsim;

namespace {

constexpr int kRuntimeVersion = kFlavor == 52 ? 50221153 : kFlavor == 63 ? 60342131 : 70125424;
constexpr int kLdsBytes = 64 * 1024;
constexpr int kMaxThreads = 1024;

/// Multiprocessors as the runtime reports them: workgroup processors hold two compute units each.
int multiprocessors(const Target& t) {
    return t.compute_units / 2 > 0 ? t.compute_units / 2 : 1;
}

template <class T>
void put(uint8_t* base, size_t offset, T value) {
    std::memcpy(base + offset, &value, sizeof value);
}

void put_text(uint8_t* base, size_t offset, const char* text) {
    std::memset(base + offset, 0, 256);
    std::strncpy(reinterpret_cast<char*>(base) + offset, text, 255);
}

/// hipDeviceProp_t of releases 5 (792 bytes).
void fill_r0000(uint8_t* p, const HipDevice& d, int ordinal) {
    const Target& t = *d.target;
    std::memset(p, 0, 792);
    put_text(p, 0, d.name.c_str());
    put<uint64_t>(p, 256, t.memory_bytes);
    put<uint64_t>(p, 264, kLdsBytes);
    put<int>(p, 272, 65536);
    put<int>(p, 276, 32);
    put<int>(p, 280, kMaxThreads);
    for (int i = 0; i < 3; ++i) put<int>(p, 284 + 4 * i, kMaxThreads);
    for (int i = 0; i < 3; ++i) put<int>(p, 296 + 4 * i, i == 0 ? 2147483647 : 65536);
    put<int>(p, 308, t.clock_khz);
    put<int>(p, 312, 1000000);
    put<int>(p, 316, t.bus_bits);
    put<int>(p, 328, t.major);
    put<int>(p, 332, t.minor);
    put<int>(p, 336, multiprocessors(t));
    put<int>(p, 340, t.l2_bytes);
    put<int>(p, 344, 2048);
    put<int>(p, 368, ordinal + 3);
    put<uint64_t>(p, 376, kLdsBytes);
    put<int>(p, 392, t.major * 100 + t.minor * 10 + t.step);
    put_text(p, 396, d.arch.c_str());
    put<int>(p, 652, t.integrated);
    put<int>(p, 656, 1);
}

/// hipDeviceProp_tR0600 (1472 bytes).
[[maybe_unused]] void fill_r0600(uint8_t* p, const HipDevice& d, int ordinal) {
    const Target& t = *d.target;
    std::memset(p, 0, 1472);
    put_text(p, 0, d.name.c_str());
    for (int i = 0; i < 16; ++i) p[256 + i] = static_cast<uint8_t>(0x10 + i + ordinal);
    put<uint64_t>(p, 288, t.memory_bytes);
    put<uint64_t>(p, 296, kLdsBytes);
    put<int>(p, 304, 65536);
    put<int>(p, 308, 32);
    put<int>(p, 320, kMaxThreads);
    for (int i = 0; i < 3; ++i) put<int>(p, 324 + 4 * i, kMaxThreads);
    for (int i = 0; i < 3; ++i) put<int>(p, 336 + 4 * i, i == 0 ? 2147483647 : 65536);
    put<int>(p, 348, t.clock_khz);
    put<int>(p, 360, t.major);
    put<int>(p, 364, t.minor);
    put<int>(p, 388, multiprocessors(t));
    put<int>(p, 396, t.integrated);
    put<int>(p, 584, ordinal + 3);
    put<int>(p, 608, 1000000);
    put<int>(p, 612, t.bus_bits);
    put<int>(p, 616, t.l2_bytes);
    put<int>(p, 624, 2048);
    put<int>(p, 688, 1);
    put<uint64_t>(p, 696, kLdsBytes);
    put_text(p, 1160, d.arch.c_str());
    put<uint64_t>(p, 1416, kLdsBytes);
}

int attribute(const Target& t, int ordinal, int id, int& out) {
    switch (id) {
        case 5:
            out = t.clock_khz;
            break;
        case 9:
            out = 0;
            break;
        case 10:
            out = 1;
            break;
        case 16:
            out = t.integrated;
            break;
        case 19:
            out = t.l2_bytes;
            break;
        case 23:
            out = t.major;
            break;
        case 24:
            out = 1;
            break;
        case 26:
        case 27:
        case 28:
            out = kMaxThreads;
            break;
        case 29:
            out = 2147483647;
            break;
        case 30:
        case 31:
            out = 65536;
            break;
        case 56:
            out = kMaxThreads;
            break;
        case 57:
            out = 2048;
            break;
        case 59:
            out = t.bus_bits;
            break;
        case 60:
            out = 1000000;
            break;
        case 61:
            out = t.minor;
            break;
        case 63:
            out = multiprocessors(t);
            break;
        case 67:
            out = ordinal + 3;
            break;
        case 68:
            out = 0;
            break;
        case 69:
            if (kFlavor < 60) return kInvalidValue;
            out = 0;
            break;
        case 71:
            out = 65536;
            break;
        case 74:
            out = kLdsBytes;
            break;
        case 75:
            if (kFlavor < 60) return kInvalidValue;
            out = kLdsBytes;
            break;
        case 87:
            out = 32;
            break;
        case 88:
            out = 1;
            break;
        case 10002:
            out = kLdsBytes;
            break;
        case 10012:
            out = 0;
            break;
        case 10015:
            out = multiprocessors(t);
            break;
        case 10017:
            if (kFlavor < 60) return kInvalidValue;
            out = 100000;
            break;
        case 10018:
            if (kFlavor < 70) return kInvalidValue;
            out = 1;
            break;
        default:
            return kInvalidValue;
    }
    return kSuccess;
}

int get_r0000(void* p, int ordinal) {
    return guarded([&](Runtime& rt) -> int {
        if (!p) return kInvalidValue;
        if (!rt.valid_device(ordinal)) return kInvalidDevice;
        if (query_fails()) return kUnknownError;
        fill_r0000(static_cast<uint8_t*>(p), rt.device(ordinal), ordinal);
        return kSuccess;
    });
}

}  // namespace

GFXSIM_API int hipInit(unsigned flags) {
    if (flags != 0) return record(kInvalidValue);
    return record(Runtime::instance().device_count() ? kSuccess : kFlavor < 60 ? kInvalidDevice : kNoDevice);
}

GFXSIM_API int hipDriverGetVersion(int* version) {
    if (!version) return record(kInvalidValue);
    *version = kRuntimeVersion;
    return record(kSuccess);
}

GFXSIM_API int hipRuntimeGetVersion(int* version) {
    return hipDriverGetVersion(version);
}

GFXSIM_API int hipGetDeviceCount(int* count) {
    if (!count) return record(kInvalidValue);
    *count = Runtime::instance().device_count();
    return record(*count ? kSuccess : kNoDevice);
}

GFXSIM_API int hipGetDevice(int* ordinal) {
    return guarded([&](Runtime&) -> int {
        if (!ordinal) return kInvalidValue;
        *ordinal = thread_state().device;
        return kSuccess;
    });
}

GFXSIM_API int hipSetDevice(int ordinal) {
    return guarded([&](Runtime& rt) -> int {
        if (!rt.valid_device(ordinal)) return kInvalidDevice;
        thread_state().device = ordinal;
        return kSuccess;
    });
}

GFXSIM_API int hipDeviceGet(int* device, int ordinal) {
    return guarded([&](Runtime& rt) -> int {
        if (!device) return kInvalidValue;
        if (!rt.valid_device(ordinal)) return kInvalidDevice;
        *device = ordinal;
        return kSuccess;
    });
}

GFXSIM_API int hipDeviceGetName(char* name, int length, int ordinal) {
    return guarded([&](Runtime& rt) -> int {
        if (!rt.valid_device(ordinal)) return kInvalidDevice;
        if (!name || length <= 0) return kInvalidValue;
        std::snprintf(name, static_cast<size_t>(length), "%s", rt.device(ordinal).name.c_str());
        return kSuccess;
    });
}

GFXSIM_API int hipDeviceGetAttribute(int* value, int id, int ordinal) {
    return guarded([&](Runtime& rt) -> int {
        if (!value) return kInvalidValue;
        if (!rt.valid_device(ordinal)) return kInvalidDevice;
        int v = 0;
        const int error = attribute(*rt.device(ordinal).target, ordinal, id, v);
        if (error == kSuccess) *value = v;
        return error;
    });
}

GFXSIM_API int hipDeviceTotalMem(size_t* bytes, int ordinal) {
    return guarded([&](Runtime& rt) -> int {
        if (!rt.valid_device(ordinal)) return kInvalidDevice;
        if (!bytes) return kInvalidValue;
        *bytes = rt.device(ordinal).target->memory_bytes;
        return kSuccess;
    });
}

GFXSIM_API int hipDeviceGetPCIBusId(char* text, int length, int ordinal) {
    return guarded([&](Runtime& rt) -> int {
        if (!rt.valid_device(ordinal)) return kInvalidDevice;
        if (!text || length < 13) return kInvalidValue;
        std::snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", ordinal + 3);
        return kSuccess;
    });
}

GFXSIM_API int hipDeviceGetUuid(void* uuid, int ordinal) {
    return guarded([&](Runtime& rt) -> int {
        if (!rt.valid_device(ordinal)) return kInvalidDevice;
        if (!uuid) return kInvalidValue;
        for (int i = 0; i < 16; ++i)
            static_cast<uint8_t*>(uuid)[i] = static_cast<uint8_t>(0x10 + i + ordinal);
        return kSuccess;
    });
}

GFXSIM_API int hipDeviceSynchronize() {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_in_capture(kStreamCaptureUnsupported, true)) return error;
        rt.wait_for_device(thread_state().device);
        return rt.take_pending(thread_state().device);
    });
}

// The plain name keeps the layout of release 5 in every release.
GFXSIM_API int hipGetDeviceProperties(void* p, int ordinal) {
    return get_r0000(p, ordinal);
}

#if GFXSIM_FLAVOR >= 60
GFXSIM_API int hipGetDevicePropertiesR0000(void* p, int ordinal) {
    return get_r0000(p, ordinal);
}

GFXSIM_API int hipGetDevicePropertiesR0600(void* p, int ordinal) {
    return guarded([&](Runtime& rt) -> int {
        if (!p) return kInvalidValue;
        if (!rt.valid_device(ordinal)) return kInvalidDevice;
        if (query_fails()) return kUnknownError;
        fill_r0600(static_cast<uint8_t*>(p), rt.device(ordinal), ordinal);
        return kSuccess;
    });
}
#endif

// A context is the device itself.
GFXSIM_API int hipDevicePrimaryCtxRetain(void** context, int ordinal) {
    return guarded([&](Runtime& rt) -> int {
        if (!context) return kInvalidValue;
        if (!rt.valid_device(ordinal)) return kInvalidDevice;
        *context = &rt.device(ordinal);
        return kSuccess;
    });
}

GFXSIM_API int hipDevicePrimaryCtxRelease(int ordinal) {
    return guarded([&](Runtime& rt) -> int { return rt.valid_device(ordinal) ? kSuccess : kInvalidDevice; });
}

GFXSIM_API int hipDevicePrimaryCtxGetState(int ordinal, unsigned* flags, int* active) {
    return guarded([&](Runtime& rt) -> int {
        if (!rt.valid_device(ordinal)) return kInvalidDevice;
        if (flags) *flags = 0;
        if (active) *active = ordinal == thread_state().device;
        return kSuccess;
    });
}

GFXSIM_API int hipCtxGetCurrent(void** context) {
    return guarded([&](Runtime& rt) -> int {
        if (!context) return kInvalidValue;
        *context = &rt.device(thread_state().device);
        return kSuccess;
    });
}

GFXSIM_API int hipCtxSetCurrent(void* context) {
    return guarded([&](Runtime& rt) -> int {
        if (!context) return kSuccess;
        for (int i = 0; i < rt.device_count(); ++i)
            if (&rt.device(i) == context) {
                thread_state().device = i;
                return kSuccess;
            }
        return kInvalidContext;
    });
}

#if GFXSIM_FLAVOR >= 60
// By the name in the source, which means the struct of the release that the client was built against.
GFXSIM_API int hipGetProcAddress(const char* name, void** function, int version, uint64_t, int* status) {
    if (!name || !function) return record(kInvalidValue);
    const bool new_struct = version >= 600 && std::strcmp(name, "hipGetDeviceProperties") == 0;
    // Up to 6.3 through the library's bare name, which may be another copy or none.
    void* library = nullptr;
    if (kFlavor < 70) {
        library = dlopen("libamdhip64.so", RTLD_NOW | RTLD_LOCAL);
    } else {
        Dl_info self;
        if (dladdr(reinterpret_cast<const void*>(&hipInit), &self))
            library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    }
    *function = library ? dlsym(library, new_struct ? "hipGetDevicePropertiesR0600" : name) : nullptr;
    if (status) *status = *function ? 0 : 1;
    return record(*function ? kSuccess : kNotFound);
}
#endif

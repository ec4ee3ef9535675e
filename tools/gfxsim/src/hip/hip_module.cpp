// Modules, functions and launches.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../stats.hpp"
#include "runtime.hpp"

using namespace ckitchen::gfxsim;

namespace {

constexpr int kLdsBytes = 64 * 1024;

/// Newest code object version that the release loads.
constexpr int kVersionLimit = kFlavor == 52 ? 5 : 6;

int load_error(LoadStatus status) {
    switch (status) {
        case LoadStatus::kOk:
            return kSuccess;
        case LoadStatus::kNotAnObject:
            return kFlavor < 63 ? kInvalidKernelFile : kInvalidImage;
        case LoadStatus::kWrongTarget:
        case LoadStatus::kVersionTooNew:
            return kFlavor < 61 ? kSharedObjectInitFailed : kNoBinaryForGpu;
        case LoadStatus::kOutOfMemory:
            return kOutOfMemory;
        case LoadStatus::kMalformed:
            return kFlavor < 63 ? kSharedObjectInitFailed : kInvalidImage;
    }
    return kUnknownError;
}

int check_dimensions(const Kernel& k, const uint32_t (&g)[3], const uint32_t (&b)[3]) {
    for (int i = 0; i < 3; ++i)
        if (g[i] == 0) return kInvalidValue;
    for (int i = 0; i < 3; ++i)
        if (b[i] == 0) return kFlavor == 63 ? kInvalidConfiguration : kInvalidValue;
    for (int i = 0; i < 3; ++i)
        if (uint64_t{g[i]} * b[i] >= 1ull << 32) return kInvalidConfiguration;
    if (kFlavor >= 60 && (g[1] > 65536 || g[2] > 65536)) return kInvalidValue;
    const uint64_t threads = uint64_t{b[0]} * b[1] * b[2];
    if (b[0] > 1024 || b[1] > 1024 || b[2] > 1024 || threads > 1024)
        return kFlavor < 60 ? kInvalidConfiguration : kInvalidValue;
    if (threads > k.max_workgroup_size) return kLaunchFailure;
    return kSuccess;
}

/// Explicit argument bytes from one pointer per argument, or from the launch-parameter list
/// {1, buffer, 2, &size, 3}.
int collect_arguments(const Kernel& k, void** params, void** extra, std::vector<uint8_t>& out) {
    if (params && extra) return kInvalidValue;
    out.assign(k.explicit_args_size, 0);
    if (params) {
        size_t i = 0;
        for (const KernelArg& a : k.args) {
            if (a.hidden()) continue;
            if (!params[i]) return kInvalidValue;
            std::memcpy(out.data() + a.offset, params[i], a.size);
            ++i;
        }
        return kSuccess;
    }
    if (!extra) return k.explicit_args_size ? kInvalidValue : kSuccess;
    const void* buffer = nullptr;
    size_t size = 0;
    for (int i = 0; extra[i] != reinterpret_cast<void*>(3); i += 2) {
        if (extra[i] == reinterpret_cast<void*>(1))
            buffer = extra[i + 1];
        else if (extra[i] == reinterpret_cast<void*>(2) && extra[i + 1])
            size = *static_cast<const size_t*>(extra[i + 1]);
        else
            return kInvalidValue;
        if (i >= 8) return kInvalidValue;
    }
    if (kFlavor >= 70 && size == 0 && k.explicit_args_size) return kInvalidValue;
    if (kFlavor >= 70 && size != 0 && !k.explicit_args_size) return kLaunchOutOfResources;
    if (size && !buffer) return kInvalidValue;
    std::memcpy(out.data(), buffer, std::min(size, out.size()));
    return kSuccess;
}

int launch(void* f, const uint32_t (&grid)[3], const uint32_t (&block)[3], uint32_t dynamic_lds,
           void* stream_handle, void** params, void** extra) {
    return guarded([&](Runtime& rt) -> int {
        HipFunction* function = rt.function(f);
        if (!function) return kInvalidHandle;
        HipStream* stream = rt.stream(stream_handle);
        if (!stream) return kFlavor >= 70 ? kContextIsDestroyed : kInvalidValue;
        const Kernel& k = *function->kernel;
        if (kFlavor >= 70 && stream->device != thread_state().device) return kInvalidHandle;
        if (stream->device != function->module->device) return kInvalidDevice;
        if (const int error = check_dimensions(k, grid, block)) return error;
        if (kFlavor >= 60 && dynamic_lds > kLdsBytes) return kInvalidValue;
        LaunchRequest request;
        request.kernel = &k;
        request.target = rt.device(stream->device).target;
        request.device = stream->device;
        for (int i = 0; i < 3; ++i) {
            request.grid[i] = grid[i];
            request.block[i] = block[i];
        }
        request.dynamic_lds = dynamic_lds;
        if (const int error = collect_arguments(k, params, extra, request.arguments)) return error;
        // Release 5.2 does not record module launches: they run at once even while the stream captures.
        Work work;
        work.module = function->module;
        work.kernel = &k;
        work.run = [request = std::move(request)](const Options& options) {
            return run_launch(request, options).error;
        };
        return rt.submit(*stream, std::move(work), kFlavor >= 53);
    });
}

}  // namespace

GFXSIM_API int hipModuleLoadData(void** module, const void* image) {
    return guarded([&](Runtime& rt) -> int {
        if (!module || !image) return kInvalidValue;
        const int device = thread_state().device;
        HipDevice& d = rt.device(device);
        auto m = std::make_unique<HipModule>();
        if (const int error = m->image.resolve(image, d.arch)) return error;
        LoadStatus status = LoadStatus::kWrongTarget;
        std::string why = "nothing is code for " + d.arch;
        if (d.arch == d.target->name)
            m->object = CodeObject::load(m->image.elf(), *d.target, device, kVersionLimit, status, why);
        if (!m->object) {
            if (const char* level = std::getenv("AMD_LOG_LEVEL"); level && std::atoi(level) > 0)
                std::fprintf(stderr, "gfxsim: code object refused: %s\n", why.c_str());
            return load_error(status);
        }
        m->device = device;
        std::lock_guard lock(rt.mutex);
        rt.modules.insert(m.get());
        *module = m.release();
        return kSuccess;
    });
}

GFXSIM_API int hipModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
    return hipModuleLoadData(module, image);
}

GFXSIM_API int hipModuleUnload(void* module) {
    return guarded([&](Runtime& rt) -> int {
        if (kFlavor >= 70)
            if (const int error = rt.refuse_in_capture(kStreamCaptureUnsupported, false)) return error;
        std::lock_guard lock(rt.mutex);
        if (!rt.modules.count(module)) return kInvalidHandle;
        if (static_cast<HipModule*>(module)->in_flight.use_count() > 1) {
            // The real releases do not look: the GPU would go on in freed memory.
            std::fprintf(stderr, "gfxsim: a module is unloaded while its kernels run\n");
            std::abort();
        }
        rt.modules.erase(module);
        std::unique_ptr<HipModule> m(static_cast<HipModule*>(module));
        m->image.require_intact();
        for (const auto& [name, f] : m->functions) rt.functions.erase(f.get());
        return kSuccess;
    });
}

GFXSIM_API int hipModuleGetFunction(void** function, void* module, const char* name) {
    return guarded([&](Runtime& rt) -> int {
        if (!function || !name) return kInvalidValue;
        std::lock_guard lock(rt.mutex);
        if (!rt.modules.count(module)) return kInvalidHandle;
        HipModule& m = *static_cast<HipModule*>(module);
        if (kFlavor < 70 && m.device != thread_state().device) {
            // The real releases before 7 abort here as well.
            std::fprintf(stderr,
                         "gfxsim: Device mismatch from where this module is loaded (device %d, current %d)\n",
                         m.device, thread_state().device);
            std::abort();
        }
        m.image.require_intact();
        const Kernel* k = m.object->find_kernel(name);
        if (!k) return kNotFound;
        std::unique_ptr<HipFunction>& f = m.functions[name];
        if (!f) {
            f = std::make_unique<HipFunction>();
            f->kernel = k;
            f->module = &m;
            rt.functions.insert(f.get());
        }
        *function = f.get();
        return kSuccess;
    });
}

GFXSIM_API int hipModuleGetGlobal(void** address, size_t* bytes, void* module, const char* name) {
    return guarded([&](Runtime& rt) -> int {
        if (!name || (!address && !bytes)) return kInvalidValue;
        std::lock_guard lock(rt.mutex);
        if (!rt.modules.count(module)) return kInvalidHandle;
        const Global* g = static_cast<HipModule*>(module)->object->find_global(name);
        if (!g) return kNotFound;
        if (address) *address = reinterpret_cast<void*>(g->address);
        if (bytes) *bytes = g->size;
        return kSuccess;
    });
}

GFXSIM_API int hipModuleLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                     unsigned bz, unsigned shared, void* stream, void** params,
                                     void** extra) {
    return launch(f, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, extra);
}

#if GFXSIM_FLAVOR >= 55
GFXSIM_API int hipModuleLaunchCooperativeKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                                unsigned by, unsigned bz, unsigned shared, void* stream,
                                                void** params) {
    return launch(f, {gx, gy, gz}, {bx, by, bz}, shared, stream, params, nullptr);
}
#endif

GFXSIM_API int hipFuncGetAttribute(int* value, int attribute, void* f) {
    return guarded([&](Runtime& rt) -> int {
        if (!value) return kInvalidValue;
        HipFunction* function = rt.function(f);
        if (!function) return kInvalidDeviceFunction;
        const Kernel& k = *function->kernel;
        switch (attribute) {
            case 0:
                *value = static_cast<int>(k.max_workgroup_size);
                break;
            case 1:
                *value = static_cast<int>(k.group_segment_size);
                break;
            case 2:
                *value = 0;
                break;
            case 3:
                *value = static_cast<int>(k.private_segment_size);
                break;
            case 4:
                *value = static_cast<int>(k.vgpr_count);
                break;
            case 8:
                *value = kLdsBytes - static_cast<int>(k.group_segment_size);
                break;
            default:
                return kInvalidValue;
        }
        return kSuccess;
    });
}

GFXSIM_API int hipFuncSetAttribute(const void* f, int, int) {
    return guarded([&](Runtime& rt) -> int {
        if (!f) return kFlavor < 63 ? kSuccess : kInvalidDeviceFunction;
        // 6.3 takes host stubs only, and a module's function is none.
        if (kFlavor == 63) return kInvalidSymbol;
        if (kFlavor >= 70) return rt.function(const_cast<void*>(f)) ? kSuccess : kInvalidDeviceFunction;
        return kSuccess;
    });
}

GFXSIM_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* f, int block_size,
                                                                  size_t shared) {
    return guarded([&](Runtime& rt) -> int {
        if (!blocks || block_size <= 0) return kInvalidValue;
        HipFunction* function = rt.function(f);
        if (!function) return kInvalidDeviceFunction;
        const Kernel& k = *function->kernel;
        const Target& t = *rt.device(function->module->device).target;
        *blocks = static_cast<int>(
            occupancy(k, t, static_cast<uint32_t>(block_size), k.group_segment_size + shared).groups);
        return kSuccess;
    });
}

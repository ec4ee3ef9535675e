// Modules, functions and launches.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../stats.hpp"
#include "modules.hpp"

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

int check_dimensions(const Kernel& k, const LaunchShape& shape) {
    const auto& g = shape.grid;
    const auto& b = shape.block;
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

int launch_by_handle(void* f, const LaunchShape& shape, void* stream_handle, void** params, void** extra) {
    return guarded([&](Runtime& rt) -> int {
        HipFunction* function = rt.function(f);
        if (!function) return kInvalidHandle;
        HipStream* stream = nullptr;
        if (const int error = launch_stream(rt, stream_handle, stream)) return error;
        if (stream->device != function->module->device) return kInvalidDevice;
        // Release 5.2 does not record module launches: they run at once even while the stream captures.
        return launch(rt, *stream, *function, shape, params, extra, kFlavor >= 53);
    });
}

/// Memory of the runtime with the contents of a file and, so that a file cut short is not read beyond its
/// end, an inaccessible page right behind it.
class FileContents {
  public:
    FileContents() = default;
    ~FileContents() {
        if (memory_) munmap(memory_, reserved_);
    }
    FileContents(const FileContents&) = delete;
    FileContents& operator=(const FileContents&) = delete;

    int read(const char* path) {
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) return kFileNotFound;
        const int error = read(file);
        close(file);
        return error;
    }
    const void* data() const { return data_; }

  private:
    int read(int file) {
        struct stat status;
        if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return kFileNotFound;
        if (status.st_size == 0) return load_error(LoadStatus::kNotAnObject);
        const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        const size_t size = static_cast<size_t>(status.st_size);
        const size_t readable = (size + page - 1) / page * page;
        void* memory =
            mmap(nullptr, readable + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return kOutOfMemory;
        memory_ = memory;
        reserved_ = readable + page;
        if (mprotect(memory_, readable, PROT_READ | PROT_WRITE) != 0) return kOutOfMemory;
        data_ = static_cast<uint8_t*>(memory_) + (readable - size);
        for (size_t done = 0; done < size;) {
            const ssize_t n = ::read(file, data_ + done, size - done);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return kFileNotFound;
            done += static_cast<size_t>(n);
        }
        return kSuccess;
    }

    void* memory_ = nullptr;
    size_t reserved_ = 0;
    uint8_t* data_ = nullptr;  // up to the last accessible byte
};

/// A module that keeps the file that it came from.
struct FileModule : HipModule {
    FileContents file;
};

}  // namespace

namespace ckitchen::gfxsim {

int load_module(Runtime& rt, std::unique_ptr<HipModule> module, const void* image, int device,
                HipModule*& loaded) {
    HipDevice& d = rt.device(device);
    if (const int error = module->image.resolve(image, d.arch)) return error;
    LoadStatus status = LoadStatus::kWrongTarget;
    std::string why = "nothing is code for " + d.arch;
    if (d.arch == d.target->name)
        module->object = CodeObject::load(module->image.elf(), *d.target, device, kVersionLimit, status, why);
    if (!module->object) {
        if (const char* level = std::getenv("AMD_LOG_LEVEL"); level && std::atoi(level) > 0)
            std::fprintf(stderr, "gfxsim: code object refused: %s\n", why.c_str());
        return load_error(status);
    }
    module->device = device;
    std::lock_guard lock(rt.mutex);
    rt.modules.insert(module.get());
    loaded = module.release();
    return kSuccess;
}

std::unique_ptr<HipModule> take_module(Runtime& rt, void* handle) {
    std::lock_guard lock(rt.mutex);
    if (!rt.modules.count(handle)) return nullptr;
    if (static_cast<HipModule*>(handle)->in_flight.use_count() > 1) {
        // The real releases do not look: the GPU would go on in freed memory.
        std::fprintf(stderr, "gfxsim: a module is unloaded while its kernels run\n");
        std::abort();
    }
    rt.modules.erase(handle);
    std::unique_ptr<HipModule> module(static_cast<HipModule*>(handle));
    module->image.require_intact();
    for (const auto& [name, f] : module->functions) rt.functions.erase(f.get());
    return module;
}

int find_function(Runtime& rt, HipModule& module, const std::string& name, HipFunction*& function) {
    module.image.require_intact();
    const Kernel* kernel = module.object->find_kernel(name);
    if (!kernel) return kNotFound;
    std::lock_guard lock(rt.mutex);
    std::unique_ptr<HipFunction>& f = module.functions[name];
    if (!f) {
        f = std::make_unique<HipFunction>();
        f->kernel = kernel;
        f->module = &module;
        rt.functions.insert(f.get());
    }
    function = f.get();
    return kSuccess;
}

int launch_stream(Runtime& rt, void* handle, HipStream*& stream) {
    stream = rt.stream(handle);
    if (!stream) return kFlavor >= 70 ? kContextIsDestroyed : kInvalidValue;
    if (kFlavor >= 70 && stream->device != thread_state().device) return kInvalidHandle;
    return kSuccess;
}

int launch(Runtime& rt, HipStream& stream, const HipFunction& function, const LaunchShape& shape,
           void** params, void** extra, bool recordable) {
    const Kernel& k = *function.kernel;
    if (const int error = check_dimensions(k, shape)) return error;
    if (kFlavor >= 60 && shape.dynamic_lds > kLdsBytes) return kInvalidValue;
    LaunchRequest request;
    request.kernel = &k;
    request.target = rt.device(stream.device).target;
    request.device = stream.device;
    request.grid = shape.grid;
    request.block = shape.block;
    request.dynamic_lds = shape.dynamic_lds;
    if (const int error = collect_arguments(k, params, extra, request.arguments)) return error;
    Work work;
    work.module = function.module;
    work.kernel = &k;
    work.run = [request = std::move(request)](const Options& options) {
        return run_launch(request, options).error;
    };
    return rt.submit(stream, std::move(work), recordable);
}

int most_dynamic_lds(const Kernel& kernel) {
    return kLdsBytes - static_cast<int>(kernel.group_segment_size);
}

int resident_groups(Runtime& rt, const HipFunction& function, int block_size, size_t dynamic_lds) {
    const Kernel& k = *function.kernel;
    const Target& t = *rt.device(function.module->device).target;
    return static_cast<int>(
        occupancy(k, t, static_cast<uint32_t>(block_size), k.group_segment_size + dynamic_lds).groups);
}

}  // namespace ckitchen::gfxsim

GFXSIM_API int hipModuleLoadData(void** module, const void* image) {
    return guarded([&](Runtime& rt) -> int {
        if (!module || !image) return kInvalidValue;
        HipModule* loaded = nullptr;
        const int error =
            load_module(rt, std::make_unique<HipModule>(), image, thread_state().device, loaded);
        if (!error) *module = loaded;
        return error;
    });
}

GFXSIM_API int hipModuleLoad(void** module, const char* path) {
    return guarded([&](Runtime& rt) -> int {
        if (!module || !path || !*path) return kInvalidValue;
        auto from_file = std::make_unique<FileModule>();
        if (const int error = from_file->file.read(path)) return error;
        const void* image = from_file->file.data();
        HipModule* loaded = nullptr;
        const int error = load_module(rt, std::move(from_file), image, thread_state().device, loaded);
        if (!error) *module = loaded;
        return error;
    });
}

GFXSIM_API int hipModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
    return hipModuleLoadData(module, image);
}

GFXSIM_API int hipModuleUnload(void* module) {
    return guarded([&](Runtime& rt) -> int {
        if (kFlavor >= 70)
            if (const int error = rt.refuse_in_capture(kStreamCaptureUnsupported, false)) return error;
        return take_module(rt, module) ? kSuccess : kInvalidHandle;
    });
}

GFXSIM_API int hipModuleGetFunction(void** function, void* module, const char* name) {
    return guarded([&](Runtime& rt) -> int {
        if (!function || !name) return kInvalidValue;
        HipModule* m = nullptr;
        {
            std::lock_guard lock(rt.mutex);
            if (!rt.modules.count(module)) return kInvalidHandle;
            m = static_cast<HipModule*>(module);
        }
        if (kFlavor < 70 && m->device != thread_state().device) {
            // The real releases before 7 abort here as well.
            std::fprintf(stderr,
                         "gfxsim: Device mismatch from where this module is loaded (device %d, current %d)\n",
                         m->device, thread_state().device);
            std::abort();
        }
        HipFunction* found = nullptr;
        const int error = find_function(rt, *m, name, found);
        if (!error) *function = found;
        return error;
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
    return launch_by_handle(f, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, params, extra);
}

#if GFXSIM_FLAVOR >= 55
GFXSIM_API int hipModuleLaunchCooperativeKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                                unsigned by, unsigned bz, unsigned shared, void* stream,
                                                void** params) {
    return launch_by_handle(f, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, params, nullptr);
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
                *value = most_dynamic_lds(k);
                break;
            default:
                return kInvalidValue;
        }
        return kSuccess;
    });
}

GFXSIM_API int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* f, int block_size,
                                                                  size_t shared) {
    return guarded([&](Runtime& rt) -> int {
        if (!blocks || block_size <= 0) return kInvalidValue;
        HipFunction* function = rt.function(f);
        if (!function) return kInvalidDeviceFunction;
        *blocks = resident_groups(rt, *function, block_size, shared);
        return kSuccess;
    });
}

// The CUDA driver behind runtime::Driver: libcuda.so.1 alone, no toolkit, no CUDA runtime. Uses each device's
// primary context, which is the one that the CUDA runtime (and so PyTorch) uses.
#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "core/env.hpp"
#include "core/log.hpp"
#include "runtime/driver.hpp"
#include "runtime/library.hpp"

namespace ckitchen::runtime {
namespace {

constexpr int kSuccess = 0;
constexpr int kErrorOutOfMemory = 2;
constexpr int kErrorNoDevice = 100;
constexpr int kErrorInvalidDevice = 101;
constexpr int kErrorIllegalAddress = 700;
constexpr int kErrorLaunchTimeOut = 702;
constexpr int kErrorFirstFault = 714;  // hardware stack, illegal instruction, misaligned address, ...
constexpr int kErrorLastFault = 719;

constexpr int kAttributeMultiprocessorCount = 16;
constexpr int kAttributeIntegrated = 18;
constexpr int kAttributeComputeCapabilityMajor = 75;
constexpr int kAttributeComputeCapabilityMinor = 76;
constexpr int kAttributeMaxSharedMemoryOptin = 97;
constexpr int kCaptureModeRelaxed = 2;
constexpr unsigned kHostAllocPortable = 1;
constexpr unsigned kStreamNonBlocking = 1;

constexpr int kFunctionStaticSharedBytes = 1;
constexpr int kFunctionMaxDynamicSharedBytes = 8;

// Of cuTensorMapEncodeTiled.
constexpr int kMapUint8 = 0;
constexpr int kMapNotInterleaved = 0;
constexpr int kMapNotSwizzled = 0;
constexpr int kMapSwizzle128 = 3;
constexpr int kMapPromoteTo256 = 3;  // what L2 reads from memory at once
constexpr int kMapZeroOutside = 0;

using DevicePointer = uint64_t;

// Of cuLaunchKernelEx: the kernel may start when the one before it allows it.
constexpr int kLaunchAttributeBeside = 6;
// From 12.3 on a graph has edges of that kind too.
constexpr int kBesideVersion = 12030;

struct LaunchAttribute {
    int id;
    int unused;
    int value;
    char rest[60];
};

struct LaunchConfig {
    unsigned groups[3];
    unsigned threads[3];
    unsigned dynamic_bytes;
    void* stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56,
              "CUlaunchAttribute, CUlaunchConfig");

struct CudaApi {
    int (*Init)(unsigned);
    int (*DriverGetVersion)(int*);
    int (*DeviceGetCount)(int*);
    int (*DeviceGet)(int*, int);
    int (*DeviceGetName)(char*, int, int);
    int (*DeviceGetAttribute)(int*, int, int);
    int (*DeviceTotalMem)(std::size_t*, int);
    int (*DevicePrimaryCtxRetain)(void**, int);
    int (*CtxGetCurrent)(void**);
    int (*CtxSetCurrent)(void*);
    int (*ModuleLoadData)(void**, const void*);
    int (*ModuleGetFunction)(void**, void*, const char*);
    int (*CtxGetDevice)(int*);
    int (*FuncGetAttribute)(int*, int, void*);
    int (*FuncSetAttribute)(void*, int, int);
    int (*LaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                        void**, void**);
    int (*MemAlloc)(DevicePointer*, std::size_t);
    int (*MemFree)(DevicePointer);
    int (*MemHostAlloc)(void**, std::size_t, unsigned);
    int (*MemFreeHost)(void*);
    int (*MemcpyHtoDAsync)(DevicePointer, const void*, std::size_t, void*);
    int (*MemcpyDtoHAsync)(void*, DevicePointer, std::size_t, void*);
    int (*MemcpyDtoDAsync)(DevicePointer, DevicePointer, std::size_t, void*);
    int (*StreamCreate)(void**, unsigned);
    int (*StreamDestroy)(void*);
    int (*StreamSynchronize)(void*);
    int (*StreamIsCapturing)(void*, int*);
    int (*ThreadExchangeStreamCaptureMode)(int*);
    int (*GetErrorName)(int, const char**);
    int (*GetErrorString)(int, const char**);
    // From driver 12.0 on, as the code that needs it.
    int (*TensorMapEncodeTiled)(void*, int, unsigned, void*, const uint64_t*, const uint64_t*,
                                const uint32_t*, const uint32_t*, int, int, int, int);
    // From driver 11.8 on; without it no kernel starts beside another.
    int (*LaunchKernelEx)(const LaunchConfig*, void*, void**, void**);
};

class CudaDriver final : public Driver {
  public:
    static Status create(const char* path, std::unique_ptr<CudaDriver>& result) {
        auto driver = std::make_unique<CudaDriver>();
        LibraryNames names;
        names.stem = "libcuda";
        names.sonames = {"libcuda.so.1"};
        CK_RETURN_IF_ERROR(Library::open(path, names, driver->library_));
        CK_RETURN_IF_ERROR(driver->load_symbols());
        if (const int rc = driver->cu_.Init(0); rc != kSuccess) return driver->failure(rc, "cuInit");
        int version = 0;
        if (const int rc = driver->cu_.DriverGetVersion(&version); rc != kSuccess)
            return driver->failure(rc, "cuDriverGetVersion");
        driver->launches_beside_ = driver->cu_.LaunchKernelEx && version >= kBesideVersion;
        driver->description_ =
            format_text("CUDA driver {}.{} ({})",
                        fmt::make_format_args(version / 1000, version / 10 % 100, driver->library_.path()));
        log(CK_LOG_INFO, "opened {}", driver->description_);
        result = std::move(driver);
        return {};
    }

    ck_backend backend() const override { return CK_BACKEND_CUDA; }
    const std::string& description() const override { return description_; }
    const Library& library() const { return library_; }
    bool graphs_record_launches() const override { return true; }

    Status device_count(int& count) override {
        count = 0;
        const int rc = cu_.DeviceGetCount(&count);
        if (rc == kSuccess || is_no_device(rc)) return {};
        return failure(rc, "cuDeviceGetCount");
    }

    Status device_facts(int ordinal, DeviceFacts& facts) override {
        facts = {};
        int device = 0;
        CK_RETURN_IF_ERROR(check(cu_.DeviceGet(&device, ordinal), "cuDeviceGet"));
        std::array<char, 256> name{};
        CK_RETURN_IF_ERROR(check(cu_.DeviceGetName(name.data(), static_cast<int>(name.size()) - 1, device),
                                 "cuDeviceGetName"));
        facts.name = name.data();
        std::size_t memory = 0;
        CK_RETURN_IF_ERROR(check(cu_.DeviceTotalMem(&memory, device), "cuDeviceTotalMem"));
        facts.memory_bytes = static_cast<int64_t>(memory);
        int major = 0;
        int minor = 0;
        CK_RETURN_IF_ERROR(check(cu_.DeviceGetAttribute(&major, kAttributeComputeCapabilityMajor, device),
                                 "cuDeviceGetAttribute"));
        CK_RETURN_IF_ERROR(check(cu_.DeviceGetAttribute(&minor, kAttributeComputeCapabilityMinor, device),
                                 "cuDeviceGetAttribute"));
        facts.compute_capability = major * 10 + minor;
        facts.arch = "sm_" + std::to_string(facts.compute_capability);
        facts.compute_units = attribute(kAttributeMultiprocessorCount, device);
        facts.shared_memory_bytes = attribute(kAttributeMaxSharedMemoryOptin, device);
        facts.integrated = attribute(kAttributeIntegrated, device) != 0;
        return {};
    }

    Status enter(int ordinal, uintptr_t& previous) override {
        void* context = nullptr;
        CK_RETURN_IF_ERROR(primary_context(ordinal, context));
        void* current = nullptr;
        CK_RETURN_IF_ERROR(check(cu_.CtxGetCurrent(&current), "cuCtxGetCurrent"));
        previous = kNothingToDo;
        if (current == context) return {};
        CK_RETURN_IF_ERROR(check(cu_.CtxSetCurrent(context), "cuCtxSetCurrent"));
        previous = reinterpret_cast<uintptr_t>(current);
        return {};
    }

    void leave(uintptr_t previous) override {
        if (previous != kNothingToDo) cu_.CtxSetCurrent(reinterpret_cast<void*>(previous));
    }

    Status load_module(const void* image, std::size_t, Module& module) override {
        return check(cu_.ModuleLoadData(&module, image), "cuModuleLoadData");
    }

    Status get_function(Module module, const char* name, Function& function) override {
        CK_RETURN_IF_ERROR(check(cu_.ModuleGetFunction(&function, module, name), "cuModuleGetFunction"));
        // A launch may ask for all the shared memory that there is; without this it gets 48 KiB.
        int device = 0;
        int static_bytes = 0;
        CK_RETURN_IF_ERROR(check(cu_.CtxGetDevice(&device), "cuCtxGetDevice"));
        CK_RETURN_IF_ERROR(check(cu_.FuncGetAttribute(&static_bytes, kFunctionStaticSharedBytes, function),
                                 "cuFuncGetAttribute"));
        return check(cu_.FuncSetAttribute(function, kFunctionMaxDynamicSharedBytes,
                                          attribute(kAttributeMaxSharedMemoryOptin, device) - static_bytes),
                     "cuFuncSetAttribute");
    }

    bool launches_beside() const override { return launches_beside_; }

    Status launch(Function function, uint32_t groups, uint32_t threads, uint32_t dynamic_bytes,
                  const void* args, void* stream, LaunchOrder order) override {
        void* parameters[] = {const_cast<void*>(args)};
        if (order == LaunchOrder::Beside) {
            LaunchAttribute beside{kLaunchAttributeBeside, 0, 1, {}};
            const LaunchConfig config{{groups, 1, 1}, {threads, 1, 1}, dynamic_bytes, stream, &beside, 1};
            const int rc = cu_.LaunchKernelEx(&config, function, parameters, nullptr);
            return rc == kSuccess ? Status() : failure(rc, "cuLaunchKernelEx");
        }
        const int rc = cu_.LaunchKernel(function, groups, 1, 1, threads, 1, 1, dynamic_bytes, stream,
                                        parameters, nullptr);
        return rc == kSuccess ? Status() : failure(rc, "cuLaunchKernel");
    }

    Status describe_tiles(const ByteTiles& tiles, void* map) override {
        if (!cu_.TensorMapEncodeTiled)
            return error(CK_ERROR_NO_RUNTIME, "{} has no cuTensorMapEncodeTiled: driver 12.0 or newer has it",
                         description_);
        const uint64_t extents[] = {tiles.columns, tiles.rows};
        const uint64_t strides[] = {tiles.row_bytes};
        const uint32_t tile[] = {tiles.tile_columns, tiles.tile_rows};
        const uint32_t steps[] = {1, 1};
        const int rc = cu_.TensorMapEncodeTiled(map, kMapUint8, 2, reinterpret_cast<void*>(tiles.address),
                                                extents, strides, tile, steps, kMapNotInterleaved,
                                                tiles.swizzled ? kMapSwizzle128 : kMapNotSwizzled,
                                                kMapPromoteTo256, kMapZeroOutside);
        return rc == kSuccess ? Status() : failure(rc, "cuTensorMapEncodeTiled");
    }

    Status allocate(uint64_t bytes, void** pointer) override {
        DevicePointer address = 0;
        CK_RETURN_IF_ERROR(check(cu_.MemAlloc(&address, bytes), "cuMemAlloc"));
        *pointer = reinterpret_cast<void*>(address);
        return {};
    }

    Status release(void* pointer) override {
        return check(cu_.MemFree(reinterpret_cast<DevicePointer>(pointer)), "cuMemFree");
    }

    Status allocate_host(uint64_t bytes, void** pointer) override {
        return check(cu_.MemHostAlloc(pointer, bytes, kHostAllocPortable), "cuMemHostAlloc");
    }
    Status release_host(void* pointer) override { return check(cu_.MemFreeHost(pointer), "cuMemFreeHost"); }

    Status create_stream(void** stream) override {
        return check(cu_.StreamCreate(stream, kStreamNonBlocking), "cuStreamCreate");
    }
    Status destroy_stream(void* stream) override {
        return check(cu_.StreamDestroy(stream), "cuStreamDestroy");
    }

    Status enqueue_copy(void* destination, const void* source, uint64_t bytes, ck_copy_kind kind,
                        void* stream) override {
        const auto to = reinterpret_cast<DevicePointer>(destination);
        const auto from = reinterpret_cast<DevicePointer>(source);
        int rc = kSuccess;
        if (kind == CK_COPY_HOST_TO_DEVICE)
            rc = cu_.MemcpyHtoDAsync(to, source, bytes, stream);
        else if (kind == CK_COPY_DEVICE_TO_HOST)
            rc = cu_.MemcpyDtoHAsync(destination, from, bytes, stream);
        else
            rc = cu_.MemcpyDtoDAsync(to, from, bytes, stream);
        return check(rc, "cuMemcpyAsync");
    }

    Status synchronize(void* stream) override {
        return check(cu_.StreamSynchronize(stream), "cuStreamSynchronize");
    }

    bool is_capturing(void* stream) override {
        int status = 0;
        return cu_.StreamIsCapturing(stream, &status) != kSuccess || status != 0;
    }

    int relax_capture() override {
        int mode = kCaptureModeRelaxed;
        cu_.ThreadExchangeStreamCaptureMode(&mode);
        return mode;
    }

    void restore_capture(int mode) override { cu_.ThreadExchangeStreamCaptureMode(&mode); }

    Status compiler(RuntimeCompiler*&) override {
        return error(CK_ERROR_UNSUPPORTED_ARCH, "a CUDA driver compiles PTX only");
    }

  private:
    static constexpr uintptr_t kNothingToDo = ~uintptr_t{0};

    static bool is_no_device(int rc) { return rc == kErrorNoDevice || rc == kErrorInvalidDevice; }

    Status load_symbols() {
        const char* missing = nullptr;
        const auto need = [&](const char* name, auto& pointer) {
            if (!library_.load(name, pointer) && !missing) missing = name;
        };
        need("cuInit", cu_.Init);
        need("cuDriverGetVersion", cu_.DriverGetVersion);
        need("cuDeviceGetCount", cu_.DeviceGetCount);
        need("cuDeviceGet", cu_.DeviceGet);
        need("cuDeviceGetName", cu_.DeviceGetName);
        need("cuDeviceGetAttribute", cu_.DeviceGetAttribute);
        need("cuDeviceTotalMem_v2", cu_.DeviceTotalMem);
        need("cuDevicePrimaryCtxRetain", cu_.DevicePrimaryCtxRetain);
        need("cuCtxGetCurrent", cu_.CtxGetCurrent);
        need("cuCtxSetCurrent", cu_.CtxSetCurrent);
        need("cuModuleLoadData", cu_.ModuleLoadData);
        need("cuModuleGetFunction", cu_.ModuleGetFunction);
        need("cuCtxGetDevice", cu_.CtxGetDevice);
        need("cuFuncGetAttribute", cu_.FuncGetAttribute);
        need("cuFuncSetAttribute", cu_.FuncSetAttribute);
        need("cuLaunchKernel", cu_.LaunchKernel);
        need("cuMemAlloc_v2", cu_.MemAlloc);
        need("cuMemFree_v2", cu_.MemFree);
        need("cuMemHostAlloc", cu_.MemHostAlloc);
        need("cuMemFreeHost", cu_.MemFreeHost);
        need("cuMemcpyHtoDAsync_v2", cu_.MemcpyHtoDAsync);
        need("cuMemcpyDtoHAsync_v2", cu_.MemcpyDtoHAsync);
        need("cuMemcpyDtoDAsync_v2", cu_.MemcpyDtoDAsync);
        need("cuStreamCreate", cu_.StreamCreate);
        need("cuStreamDestroy_v2", cu_.StreamDestroy);
        need("cuStreamSynchronize", cu_.StreamSynchronize);
        need("cuStreamIsCapturing", cu_.StreamIsCapturing);
        need("cuThreadExchangeStreamCaptureMode", cu_.ThreadExchangeStreamCaptureMode);
        need("cuGetErrorName", cu_.GetErrorName);
        need("cuGetErrorString", cu_.GetErrorString);
        library_.load("cuTensorMapEncodeTiled", cu_.TensorMapEncodeTiled);
        library_.load("cuLaunchKernelEx", cu_.LaunchKernelEx);
        if (missing)
            return error(CK_ERROR_NO_RUNTIME, "{} has no {}: not a CUDA driver that this library can use",
                         library_.path(), missing);
        return {};
    }

    // Retained once per device and never released: the host's own use of it goes on after ours.
    Status primary_context(int ordinal, void*& context) {
        std::lock_guard lock(mutex_);
        if (static_cast<std::size_t>(ordinal) >= contexts_.size()) contexts_.resize(ordinal + 1, nullptr);
        if (!contexts_[ordinal]) {
            int device = 0;
            CK_RETURN_IF_ERROR(check(cu_.DeviceGet(&device, ordinal), "cuDeviceGet"));
            CK_RETURN_IF_ERROR(
                check(cu_.DevicePrimaryCtxRetain(&contexts_[ordinal], device), "cuDevicePrimaryCtxRetain"));
        }
        context = contexts_[ordinal];
        return {};
    }

    int attribute(int id, int device) {
        int value = 0;
        return cu_.DeviceGetAttribute(&value, id, device) == kSuccess ? value : 0;
    }

    Status check(int rc, const char* call) { return rc == kSuccess ? Status() : failure(rc, call); }

    Status failure(int rc, const char* call) {
        ck_status code = CK_ERROR_DRIVER;
        if (rc == kErrorOutOfMemory)
            code = CK_ERROR_OUT_OF_MEMORY;
        else if (is_no_device(rc))
            code = CK_ERROR_NO_DEVICE;
        else if (rc == kErrorIllegalAddress || rc == kErrorLaunchTimeOut ||
                 (rc >= kErrorFirstFault && rc <= kErrorLastFault))
            code = CK_ERROR_DEVICE_LOST;
        const char* name = nullptr;
        const char* words = nullptr;
        cu_.GetErrorName(rc, &name);
        cu_.GetErrorString(rc, &words);
        return error(code, "{} returned {} ({}): {}", call, rc, name ? name : "?", words ? words : "?");
    }

    Library library_;
    CudaApi cu_{};
    bool launches_beside_ = false;
    std::string description_;
    std::mutex mutex_;
    std::vector<void*> contexts_;
};

}  // namespace

Status open_cuda(const char* path, Driver*& driver) {
    static std::mutex mutex;
    static CudaDriver* opened = nullptr;  // as in open_hip
    std::lock_guard lock(mutex);
    if (!opened) {
        std::unique_ptr<CudaDriver> made;
        CK_RETURN_IF_ERROR(CudaDriver::create(path && *path ? path : env().cuda_library.c_str(), made));
        opened = made.release();
    } else if (path && *path && !opened->library().is(path)) {
        return invalid_argument(
            "options.runtime_path is '{}', this process has opened {}: one CUDA driver a process", path,
            opened->library().path());
    }
    if (opened->forked()) return opened->forked_error();
    driver = opened;
    return {};
}

}  // namespace ckitchen::runtime

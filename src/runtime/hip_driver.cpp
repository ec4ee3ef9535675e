// The HIP runtime behind runtime::Driver. Written against the ABI that releases 5.0 and later share: no HIP
// header is used, since those describe one release and this library meets all of them.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "core/env.hpp"
#include "core/log.hpp"
#include "runtime/driver.hpp"
#include "runtime/library.hpp"
#include "runtime/runtime_compiler.hpp"

namespace ckitchen::runtime {
namespace {

constexpr int kSuccess = 0;
constexpr int kErrorOutOfMemory = 2;
constexpr int kErrorNotInitialized = 3;
constexpr int kErrorInsufficientDriver = 35;
constexpr int kErrorNoDevice = 100;
constexpr int kErrorInvalidDevice = 101;
constexpr int kErrorIllegalAddress = 700;
constexpr int kErrorLaunchTimeOut = 702;
constexpr int kErrorAssert = 710;
constexpr int kErrorLaunchFailure = 719;

constexpr int kAttributeIntegrated = 16;
constexpr int kAttributeMultiprocessorCount = 63;
constexpr int kAttributeMaxSharedMemoryPerBlock = 74;
constexpr int kCaptureModeRelaxed = 2;
constexpr unsigned kHostMallocPortable = 1;
constexpr unsigned kStreamNonBlocking = 1;

// Version as hipRuntimeGetVersion has it: major * 10^7 + minor * 10^5 + patch.
constexpr int kOldestVersion = 50000000;
// Launches through the module API are recorded by captures from here on; earlier ones run at once.
constexpr int kCaptureVersion = 50300000;

struct HipApi {
    int (*Init)(unsigned);
    int (*RuntimeGetVersion)(int*);
    int (*GetDeviceCount)(int*);
    int (*GetDevice)(int*);
    int (*SetDevice)(int);
    int (*DeviceGetAttribute)(int*, int, int);
    int (*DeviceGetName)(char*, int, int);
    int (*DeviceTotalMem)(std::size_t*, int);
    int (*GetDeviceProperties)(void*, int);
    int (*ModuleLoadData)(void**, const void*);
    int (*ModuleGetFunction)(void**, void*, const char*);
    int (*ModuleLaunchKernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              void*, void**, void**);
    int (*Malloc)(void**, std::size_t);
    int (*Free)(void*);
    int (*HostMalloc)(void**, std::size_t, unsigned);
    int (*HostFree)(void*);
    int (*MemcpyAsync)(void*, const void*, std::size_t, int, void*);
    int (*StreamCreateWithFlags)(void**, unsigned);
    int (*StreamDestroy)(void*);
    int (*StreamSynchronize)(void*);
    int (*StreamIsCapturing)(void*, int*);
    int (*GetLastError)();
    const char* (*GetErrorName)(int);
    const char* (*GetErrorString)(int);
    int (*ThreadExchangeStreamCaptureMode)(int*);  // optional, since 5.2
};

class HipDriver final : public Driver {
  public:
    static Status create(const char* path, std::unique_ptr<HipDriver>& result) {
        auto driver = std::make_unique<HipDriver>();
        LibraryNames names;
        names.stem = "libamdhip64";
        names.sonames = {"libamdhip64.so.10", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                         "libamdhip64.so"};
        if (!env().rocm_path.empty()) names.folders.push_back(env().rocm_path + "/lib");
        names.folders.emplace_back("/opt/rocm/lib");
        CK_RETURN_IF_ERROR(Library::open(path, names, driver->library_));
        CK_RETURN_IF_ERROR(driver->load_symbols());
        int version = 0;
        if (const int rc = driver->hip_.RuntimeGetVersion(&version); rc != kSuccess)
            return driver->failure(rc, "hipRuntimeGetVersion");
        if (version < kOldestVersion)
            return error(CK_ERROR_NO_RUNTIME, "{} is HIP {}.{}, must be 5.0 or newer",
                         driver->library_.path(), version / 10000000, version / 100000 % 100);
        driver->version_ = version;
        driver->description_ = format_text(
            "HIP {}.{} ({})",
            fmt::make_format_args(version / 10000000, version / 100000 % 100, driver->library_.path()));
        log(CK_LOG_INFO, "opened {}", driver->description_);
        result = std::move(driver);
        return {};
    }

    ck_backend backend() const override { return CK_BACKEND_HIP; }
    const std::string& description() const override { return description_; }
    const Library& library() const { return library_; }
    bool graphs_record_launches() const override { return version_ >= kCaptureVersion; }

    Status device_count(int& count) override {
        count = 0;
        const int rc = hip_.GetDeviceCount(&count);
        if (rc == kSuccess) return {};
        count = 0;
        if (is_no_device(rc)) {
            hip_.GetLastError();
            return {};
        }
        return failure(rc, "hipGetDeviceCount");
    }

    Status device_facts(int ordinal, DeviceFacts& facts) override {
        facts = {};
        CK_RETURN_IF_ERROR(read_arch(ordinal, facts.arch));
        std::array<char, 256> name{};
        if (check_quietly(hip_.DeviceGetName(name.data(), static_cast<int>(name.size()) - 1, ordinal)))
            facts.name = name.data();
        std::size_t memory = 0;
        if (check_quietly(hip_.DeviceTotalMem(&memory, ordinal)))
            facts.memory_bytes = static_cast<int64_t>(memory);
        facts.compute_units = attribute(kAttributeMultiprocessorCount, ordinal);
        facts.shared_memory_bytes = attribute(kAttributeMaxSharedMemoryPerBlock, ordinal);
        facts.integrated = attribute(kAttributeIntegrated, ordinal) != 0;
        return {};
    }

    Status enter(int ordinal, uintptr_t& previous) override {
        int current = 0;
        if (const int rc = hip_.GetDevice(&current); rc != kSuccess) return failure(rc, "hipGetDevice");
        if (current != ordinal) {
            if (const int rc = hip_.SetDevice(ordinal); rc != kSuccess) return failure(rc, "hipSetDevice");
        }
        // The ordinal to return to, or -1 when nothing has to be done.
        previous = static_cast<uintptr_t>(current != ordinal ? current : -1);
        return {};
    }

    void leave(uintptr_t previous) override {
        if (static_cast<int>(previous) >= 0) check_quietly(hip_.SetDevice(static_cast<int>(previous)));
    }

    Status load_module(const void* image, std::size_t, Module& module) override {
        return check(hip_.ModuleLoadData(&module, image), "hipModuleLoadData");
    }

    Status get_function(Module module, const char* name, Function& function) override {
        return check(hip_.ModuleGetFunction(&function, module, name), "hipModuleGetFunction");
    }

    bool launches_beside() const override { return false; }

    Status launch(Function function, uint32_t groups, uint32_t threads, uint32_t dynamic_bytes,
                  const void* args, void* stream, LaunchOrder) override {
        void* parameters[] = {const_cast<void*>(args)};
        const int rc = hip_.ModuleLaunchKernel(function, groups, 1, 1, threads, 1, 1, dynamic_bytes, stream,
                                               parameters, nullptr);
        return rc == kSuccess ? Status() : failure(rc, "hipModuleLaunchKernel");
    }

    Status describe_tiles(const ByteTiles&, void*) override {
        return error(CK_ERROR_INTERNAL, "{} knows no tensor maps", description_);
    }

    Status allocate(uint64_t bytes, void** pointer) override {
        return check(hip_.Malloc(pointer, bytes), "hipMalloc");
    }
    Status release(void* pointer) override { return check(hip_.Free(pointer), "hipFree"); }

    Status allocate_host(uint64_t bytes, void** pointer) override {
        return check(hip_.HostMalloc(pointer, bytes, kHostMallocPortable), "hipHostMalloc");
    }
    Status release_host(void* pointer) override { return check(hip_.HostFree(pointer), "hipHostFree"); }

    Status create_stream(void** stream) override {
        return check(hip_.StreamCreateWithFlags(stream, kStreamNonBlocking), "hipStreamCreateWithFlags");
    }
    Status destroy_stream(void* stream) override {
        return check(hip_.StreamDestroy(stream), "hipStreamDestroy");
    }

    Status enqueue_copy(void* destination, const void* source, uint64_t bytes, ck_copy_kind kind,
                        void* stream) override {
        // ck_copy_kind has HIP's numbers.
        return check(hip_.MemcpyAsync(destination, source, bytes, kind, stream), "hipMemcpyAsync");
    }

    Status synchronize(void* stream) override {
        return check(hip_.StreamSynchronize(stream), "hipStreamSynchronize");
    }

    bool is_capturing(void* stream) override {
        int status = 0;
        // An error (the null stream while another one captures) says that something captures.
        return !check_quietly(hip_.StreamIsCapturing(stream, &status)) || status != 0;
    }

    int relax_capture() override {
        int mode = kCaptureModeRelaxed;
        if (hip_.ThreadExchangeStreamCaptureMode) check_quietly(hip_.ThreadExchangeStreamCaptureMode(&mode));
        return mode;
    }

    void restore_capture(int mode) override {
        if (hip_.ThreadExchangeStreamCaptureMode) check_quietly(hip_.ThreadExchangeStreamCaptureMode(&mode));
    }

    Status compiler(RuntimeCompiler*& compiler) override {
        std::lock_guard lock(compiler_mutex_);
        if (!compiler_) CK_RETURN_IF_ERROR(RuntimeCompiler::open(library_, version_ / 10000000, compiler_));
        compiler = compiler_.get();
        return {};
    }

  private:
    static bool is_no_device(int rc) {
        return rc == kErrorNotInitialized || rc == kErrorInsufficientDriver || rc == kErrorNoDevice ||
               rc == kErrorInvalidDevice;
    }

    Status load_symbols() {
        const char* missing = nullptr;
        const auto need = [&](const char* name, auto& pointer) {
            if (!library_.load(name, pointer) && !missing) missing = name;
        };
        need("hipInit", hip_.Init);
        need("hipRuntimeGetVersion", hip_.RuntimeGetVersion);
        need("hipGetDeviceCount", hip_.GetDeviceCount);
        need("hipGetDevice", hip_.GetDevice);
        need("hipSetDevice", hip_.SetDevice);
        need("hipDeviceGetAttribute", hip_.DeviceGetAttribute);
        need("hipDeviceGetName", hip_.DeviceGetName);
        need("hipDeviceTotalMem", hip_.DeviceTotalMem);
        need("hipModuleLoadData", hip_.ModuleLoadData);
        need("hipModuleGetFunction", hip_.ModuleGetFunction);
        need("hipModuleLaunchKernel", hip_.ModuleLaunchKernel);
        need("hipMalloc", hip_.Malloc);
        need("hipFree", hip_.Free);
        need("hipHostMalloc", hip_.HostMalloc);
        need("hipHostFree", hip_.HostFree);
        need("hipMemcpyAsync", hip_.MemcpyAsync);
        need("hipStreamCreateWithFlags", hip_.StreamCreateWithFlags);
        need("hipStreamDestroy", hip_.StreamDestroy);
        need("hipStreamSynchronize", hip_.StreamSynchronize);
        need("hipStreamIsCapturing", hip_.StreamIsCapturing);
        need("hipGetLastError", hip_.GetLastError);
        need("hipGetErrorName", hip_.GetErrorName);
        need("hipGetErrorString", hip_.GetErrorString);
        // The plain name fills the old struct in every release; only the suffixed one fills the new struct.
        if (library_.load("hipGetDevicePropertiesR0600", hip_.GetDeviceProperties)) {
            arch_offset_ = 1160;
        } else {
            need("hipGetDeviceProperties", hip_.GetDeviceProperties);
            arch_offset_ = 396;
        }
        library_.load("hipThreadExchangeStreamCaptureMode", hip_.ThreadExchangeStreamCaptureMode);
        if (missing)
            return error(CK_ERROR_NO_RUNTIME, "{} has no {}: not a HIP runtime of release 5.0 or newer",
                         library_.path(), missing);
        return {};
    }

    Status read_arch(int ordinal, std::string& arch) {
        // Larger than the struct of any release, and checked before it is believed.
        alignas(16) std::array<char, 4096> properties{};
        if (const int rc = hip_.GetDeviceProperties(properties.data(), ordinal); rc != kSuccess)
            return failure(rc, "hipGetDeviceProperties");
        constexpr std::size_t kArchSize = 256;
        const char* text = properties.data() + arch_offset_;
        const std::size_t length = strnlen(text, kArchSize);
        if (length == kArchSize || std::strncmp(text, "gfx", 3) != 0)
            return error(CK_ERROR_DRIVER, "hipGetDeviceProperties of {} gave no gfx name at offset {}",
                         description_, arch_offset_);
        arch.assign(text, length);
        arch = arch.substr(0, arch.find(':'));
        return {};
    }

    int attribute(int id, int ordinal) {
        int value = 0;
        return check_quietly(hip_.DeviceGetAttribute(&value, id, ordinal)) ? value : 0;
    }

    // For calls whose failure is tolerated: it must not stay behind as the thread's last error, which hosts
    // check.
    bool check_quietly(int rc) {
        if (rc == kSuccess) return true;
        hip_.GetLastError();
        return false;
    }

    Status check(int rc, const char* call) { return rc == kSuccess ? Status() : failure(rc, call); }

    Status failure(int rc, const char* call) {
        hip_.GetLastError();
        ck_status code = CK_ERROR_DRIVER;
        if (rc == kErrorOutOfMemory)
            code = CK_ERROR_OUT_OF_MEMORY;
        else if (is_no_device(rc))
            code = CK_ERROR_NO_DEVICE;
        else if (rc == kErrorIllegalAddress || rc == kErrorLaunchTimeOut || rc == kErrorAssert ||
                 rc == kErrorLaunchFailure)
            code = CK_ERROR_DEVICE_LOST;
        const char* name = hip_.GetErrorName(rc);
        const char* words = hip_.GetErrorString(rc);
        return error(code, "{} returned {} ({}): {}", call, rc, name ? name : "?", words ? words : "?");
    }

    Library library_;
    HipApi hip_{};
    int version_ = 0;
    std::size_t arch_offset_ = 0;
    std::string description_;
    std::mutex compiler_mutex_;
    std::unique_ptr<RuntimeCompiler> compiler_;
};

}  // namespace

Status open_hip(const char* path, Driver*& driver) {
    static std::mutex mutex;
    static HipDriver* opened = nullptr;  // never closed: handles and code live in it until the process ends
    std::lock_guard lock(mutex);
    if (!opened) {
        std::unique_ptr<HipDriver> made;
        CK_RETURN_IF_ERROR(HipDriver::create(path && *path ? path : env().hip_library.c_str(), made));
        opened = made.release();
    } else if (path && *path && !opened->library().is(path)) {
        return invalid_argument(
            "options.runtime_path is '{}', this process has opened {}: one HIP runtime a process", path,
            opened->library().path());
    }
    if (opened->forked()) return opened->forked_error();
    driver = opened;
    return {};
}

}  // namespace ckitchen::runtime

// The library and its host in one process with a simulated HIP runtime: what must go on working when the host
// has several runtimes, devices, threads and captures, when calls fail, when memory runs out. Run one case a
// process: what the library has opened stays open. CKITCHEN_HIP_LIBRARY names the runtime, RELEASE is 52, 63
// or 71.
#define CATCH_CONFIG_MAIN
#include <ckitchen.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "failing_new.hpp"

namespace {

using Catch::Contains;

const int release = std::atoi(std::getenv("RELEASE"));
const std::string library = std::getenv("CKITCHEN_HIP_LIBRARY");

// The host's own use of the runtime.
class Hip {
  public:
    explicit Hip(const std::string& path = library) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
        REQUIRE(handle_);
    }
    template <typename... A>
    int operator()(const char* name, A... arguments) const {
        void* symbol = dlsym(handle_, name);
        // Called on several threads at once, which Catch's assertions cannot be.
        if (!symbol) throw std::runtime_error(std::string("no symbol ") + name);
        return reinterpret_cast<int (*)(A...)>(symbol)(arguments...);
    }

    const void* address(const char* name) const { return dlsym(handle_, name); }

  private:
    void* handle_;
};

struct Context {
    explicit Context(ck_backend backend = CK_BACKEND_HIP, int ordinal = 0, const char* path = nullptr,
                     uint32_t flags = 0) {
        ck_context_options options = CK_INIT(ck_context_options);
        options.backend = backend;
        options.ordinal = ordinal;
        options.runtime_path = path;
        options.flags = flags;
        status = ck_context_create(&options, &handle);
        if (status != CK_OK) error = ck_last_error();
        CHECK((handle != nullptr) == (status == CK_OK));
    }
    ~Context() { ck_context_destroy(handle); }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    std::string arch() const {
        ck_device_properties properties = CK_INIT(ck_device_properties);
        REQUIRE(ck_context_info(handle, &properties) == CK_OK);
        return properties.arch;
    }

    ck_context* handle = nullptr;
    ck_status status;
    std::string error;
};

// A small product on a context's device.
class Product {
  public:
    explicit Product(const Context& context) : context_(context.handle) {
        std::vector<int8_t> a(kM * kK), b(kN * kK);
        for (int i = 0; i < kM * kK; ++i) a[i] = static_cast<int8_t>(i * 37 + 11);
        for (int i = 0; i < kN * kK; ++i) b[i] = static_cast<int8_t>(i * 91 + 5);
        wanted_.resize(kM * kN);
        for (int i = 0; i < kM; ++i)
            for (int j = 0; j < kN; ++j)
                for (int k = 0; k < kK; ++k) wanted_[i * kN + j] += a[i * kK + k] * b[j * kK + k];
        REQUIRE(ck_malloc(context_, a.size(), &a_) == CK_OK);
        REQUIRE(ck_malloc(context_, b.size(), &b_) == CK_OK);
        REQUIRE(ck_malloc(context_, bytes(), &c_) == CK_OK);
        REQUIRE(ck_copy(context_, a_, a.data(), a.size(), CK_COPY_HOST_TO_DEVICE, nullptr) == CK_OK);
        REQUIRE(ck_copy(context_, b_, b.data(), b.size(), CK_COPY_HOST_TO_DEVICE, nullptr) == CK_OK);
        args.out_dtype = CK_I32;
        args.m = kM;
        args.n = kN;
        args.k = kK;
        args.a = a_;
        args.b = b_;
        args.c = c_;
    }
    // Memory of a lost device is not asked for: the process ends soon.
    ~Product() {
        for (void* p : {a_, b_, c_}) ck_free(context_, p);
    }
    Product(const Product&) = delete;
    Product& operator=(const Product&) = delete;

    ck_status run(void* stream = nullptr) const { return ck_int8_gemm(context_, &args, stream); }
    ck_status prepare() const {
        ck_problem problem = CK_INIT(ck_problem);
        problem.op = CK_OP_INT8_GEMM;
        problem.args = &args;
        return ck_prepare(context_, &problem, 1);
    }
    void clear() const {
        const std::vector<int32_t> zero(kM * kN, -1);
        REQUIRE(ck_copy(context_, c_, zero.data(), bytes(), CK_COPY_HOST_TO_DEVICE, nullptr) == CK_OK);
    }
    bool right() const {
        std::vector<int32_t> c(kM * kN);
        if (ck_copy(context_, c.data(), c_, bytes(), CK_COPY_DEVICE_TO_HOST, nullptr) != CK_OK) return false;
        return c == wanted_;
    }

    ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);

  private:
    static constexpr int kM = 37, kN = 29, kK = 83;
    static uint64_t bytes() { return sizeof(int32_t) * kM * kN; }

    ck_context* context_;
    std::vector<int32_t> wanted_;
    void *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
};

void fault(const char* plan) {
    if (plan)
        setenv("GFXSIM_FAULT", plan, 1);
    else
        unsetenv("GFXSIM_FAULT");
}

std::string temporary_folder() {
    std::string path = (std::filesystem::temp_directory_path() / "ckitchen runtime XXXXXX").string();
    REQUIRE(mkdtemp(path.data()));
    return path;
}

// The exit status of a child process.
template <typename Body>
int in_child(Body body) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) _exit(body());
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

std::vector<std::string> log_lines;

void keep_log(void*, int32_t, const char* line) {
    log_lines.emplace_back(line);
}

bool logged(const std::string& text) {
    for (const std::string& line : log_lines)
        if (line.find(text) != std::string::npos) return true;
    return false;
}

}  // namespace

TEST_CASE("path: one library of a kind a process") {
    unsetenv("CKITCHEN_HIP_LIBRARY");
    setenv("CKITCHEN_CUDA_LIBRARY", "off", 1);
    // What cannot be opened is no silent CPU, and not the end of it.
    const Context nothing(CK_BACKEND_AUTO, 0, "/nonexistent/libamdhip64.so");
    CHECK(nothing.status == CK_ERROR_NO_RUNTIME);
    CHECK_THAT(nothing.error, Contains("options.runtime_path is '/nonexistent/libamdhip64.so'"));
    CHECK(Context(CK_BACKEND_AUTO, 0, "libm.so.6").status == CK_ERROR_NO_RUNTIME);
    CHECK(Context(CK_BACKEND_AUTO, 0, "libm.so.6", CK_CONTEXT_ALLOW_CPU_FALLBACK).status ==
          CK_ERROR_NO_RUNTIME);
    CHECK(Context(CK_BACKEND_HIP, 0, "libm.so.6").status == CK_ERROR_NO_RUNTIME);
    const Context first(CK_BACKEND_AUTO, 0, library.c_str());
    REQUIRE(first.status == CK_OK);
    CHECK(first.arch() == "gfx1201");
    // The same again, by its path, by its SONAME, by nothing.
    CHECK(Context(CK_BACKEND_HIP, 0, library.c_str()).status == CK_OK);
    const std::string soname = "libamdhip64.so." + std::to_string(release / 10);
    CHECK(Context(CK_BACKEND_HIP, 0, soname.c_str()).status == CK_OK);
    CHECK(Context(CK_BACKEND_HIP).status == CK_OK);
    CHECK(Context(CK_BACKEND_HIP, 0, "").status == CK_OK);
    const std::string folder = temporary_folder();
    std::filesystem::copy_file(library, folder + "/libamdhip64.so");
    const std::string other = folder + "/libamdhip64.so";
    for (const ck_backend backend : {CK_BACKEND_HIP, CK_BACKEND_AUTO}) {
        const Context second(backend, 0, other.c_str());
        CHECK(second.status == CK_ERROR_INVALID_ARGUMENT);
        CHECK_THAT(second.error, Contains(other) && Contains(library));
    }
    CHECK(Product(first).run() == CK_OK);
    std::filesystem::remove_all(folder);
}

TEST_CASE("two_copies: the one that a wheel brought is taken and told") {
    unsetenv("CKITCHEN_HIP_LIBRARY");
    const std::string folder = temporary_folder();
    std::filesystem::create_directories(folder + "/torch/lib");
    const std::string wheel = folder + "/torch/lib/libamdhip64.so";
    std::filesystem::copy_file(library, wheel);
    const Hip first, second(wheel);
    REQUIRE(ck_set_log_callback(keep_log, nullptr, CK_LOG_INFO) == CK_OK);
    const Context context;
    REQUIRE(context.status == CK_OK);
    CHECK(logged("2 copies of libamdhip64"));
    CHECK(logged("(" + wheel + ")"));
    const Product product(context);
    CHECK(product.run() == CK_OK);
    CHECK(product.right());
    std::filesystem::remove_all(folder);
}

TEST_CASE("mixed: each device answers for itself, from any thread, whatever is current") {
    setenv("GFXSIM_DEVICES", "gfx1036,gfx1100", 1);
    const Hip hip;
    CHECK(Context(CK_BACKEND_AUTO).arch() == "gfx1100");  // discrete before integrated
    const Context small(CK_BACKEND_HIP, 0), large(CK_BACKEND_HIP, 1);
    REQUIRE(small.status == CK_OK);
    REQUIRE(large.status == CK_OK);
    CHECK(small.arch() == "gfx1036");
    CHECK(large.arch() == "gfx1100");
    const Product on_small(small), on_large(large);
    std::atomic<int> wrong{0};
    const auto use = [&](const Context& context, const Product& product, int ordinal, const char* variant) {
        // The other device is current on this thread, and stays so.
        if (hip("hipSetDevice", 1 - ordinal) != 0) ++wrong;
        void* stream = nullptr;
        if (ck_stream_create(context.handle, &stream) != CK_OK) ++wrong;
        for (int i = 0; i < 5; ++i) {
            int current = -1;
            if (product.run(stream) != CK_OK || ck_synchronize(context.handle, stream) != CK_OK) ++wrong;
            if (!product.right() || std::strncmp(ck_last_variant(), variant, std::strlen(variant)) != 0)
                ++wrong;
            if (hip("hipGetDevice", &current) != 0 || current != 1 - ordinal) ++wrong;
        }
        if (ck_stream_destroy(context.handle, stream) != CK_OK) ++wrong;
    };
    std::thread a(use, std::cref(small), std::cref(on_small), 0, "int8_gemm_dot4");
    std::thread b(use, std::cref(large), std::cref(on_large), 1, "int8_gemm_wmma11");
    a.join();
    b.join();
    CHECK(wrong == 0);
}

TEST_CASE("fork: a child is refused, unless nothing was opened before") {
    setenv("CKITCHEN_CUDA_LIBRARY", "off", 1);
    CHECK(in_child([] {
              const Context context;
              return context.status == CK_OK && Product(context).run() == CK_OK ? 0 : 1;
          }) == 0);
    const Context context;
    REQUIRE(context.status == CK_OK);
    const Product product(context);
    REQUIRE(product.run() == CK_OK);
    CHECK(in_child([&] {
              void* p = nullptr;
              ck_support_info info = CK_INIT(ck_support_info);
              if (product.run() != CK_ERROR_FORKED || product.prepare() != CK_ERROR_FORKED) return 1;
              if (ck_malloc(context.handle, 16, &p) != CK_ERROR_FORKED) return 2;
              if (ck_synchronize(context.handle, nullptr) != CK_ERROR_FORKED) return 3;
              if (ck_int8_gemm_supported(context.handle, &product.args, &info) == CK_OK &&
                  info.status != CK_ERROR_FORKED)
                  return 4;
              if (Context(CK_BACKEND_HIP).status != CK_ERROR_FORKED) return 5;
              if (Context(CK_BACKEND_AUTO).status != CK_ERROR_FORKED) return 6;
              if (Context(CK_BACKEND_AUTO, 0, nullptr, CK_CONTEXT_ALLOW_CPU_FALLBACK).arch().empty())
                  return 7;
              if (Context(CK_BACKEND_CPU).status != CK_OK) return 8;
              int32_t count = -1;
              if (ck_device_count(CK_BACKEND_HIP, &count) != CK_OK || count != 0) return 9;
              return 0;
          }) == 0);
    CHECK(product.run() == CK_OK);
    CHECK(product.right());
}

TEST_CASE("capture: what is prepared is recorded, the rest refused, no capture broken") {
    const Hip hip;
    const Context context;
    REQUIRE(context.status == CK_OK);
    const Product product(context);
    void *stream = nullptr, *graph = nullptr, *exec = nullptr;
    REQUIRE(hip("hipStreamCreateWithFlags", &stream, 1u) == 0);
    for (const int mode : {0, 1, 2}) {
        INFO("mode " << mode);
        REQUIRE(hip("hipStreamBeginCapture", stream, mode) == 0);
        if (mode == 0) {
            CHECK(product.run(stream) == CK_ERROR_NOT_PREPARED);
            CHECK_THAT(ck_last_error(), Contains("ck_prepare"));
        }
        // Neither this thread nor another one does any harm to the capture.
        const auto others = [&] {
            void* p = nullptr;
            int8_t byte = 1;
            CHECK(product.prepare() == CK_OK);
            CHECK(ck_malloc(context.handle, 16, &p) == CK_OK);
            CHECK(ck_copy(context.handle, p, &byte, 1, CK_COPY_HOST_TO_DEVICE, nullptr) == CK_OK);
            CHECK(ck_synchronize(context.handle, nullptr) == CK_OK);
            CHECK(ck_free(context.handle, p) == CK_OK);
            CHECK(Context().status == CK_OK);
        };
        others();
        std::thread(others).join();
        int8_t byte = 1;
        CHECK(ck_copy(context.handle, product.args.c, &byte, 1, CK_COPY_HOST_TO_DEVICE, stream) ==
              CK_ERROR_NOT_PREPARED);
        CHECK(ck_synchronize(context.handle, stream) == CK_ERROR_NOT_PREPARED);
        const ck_status recorded = product.run(stream);
        CHECK(recorded == (release < 53 ? CK_ERROR_NOT_PREPARED : CK_OK));
        if (release < 53) CHECK_THAT(ck_last_error(), Contains("does not record launches"));
        CHECK(hip("hipGetLastError") == 0);
        REQUIRE(hip("hipStreamEndCapture", stream, &graph) == 0);
        if (release < 53) continue;
        product.clear();
        CHECK_FALSE(product.right());
        REQUIRE(hip("hipGraphInstantiate", &exec, graph, static_cast<void**>(nullptr),
                    static_cast<char*>(nullptr), std::size_t{0}) == 0);
        CHECK(hip("hipGraphLaunch", exec, stream) == 0);
        CHECK(hip("hipStreamSynchronize", stream) == 0);
        CHECK(product.right());
    }
}

TEST_CASE("sticky: the host's last error is left as it was found") {
    const Hip hip;
    {
        const Context context;
        const Product product(context);
        REQUIRE(product.run() == CK_OK);
        CHECK(hip("hipGetLastError") == 0);
        // Releases before 7 forget an error at the next call that succeeds, whoever makes it.
        CHECK(hip("hipSetDevice", 99) == 101);
        CHECK(product.run() == CK_OK);
        CHECK(ck_synchronize(context.handle, nullptr) == CK_OK);
        CHECK(product.right());
        CHECK(hip("hipGetLastError") == (release < 70 ? 0 : 101));
        // What failed in the library is told by the library and not left behind.
        void* p = nullptr;
        fault("oom@1");
        CHECK(ck_malloc(context.handle, 16, &p) == CK_ERROR_OUT_OF_MEMORY);
        fault(nullptr);
        CHECK(hip("hipGetLastError") == 0);
        CHECK(ck_copy(context.handle, product.args.c, p, 16, CK_COPY_HOST_TO_DEVICE, nullptr) != CK_OK);
        CHECK(hip("hipGetLastError") == 0);
        CHECK(product.run(reinterpret_cast<void*>(0x1234)) != CK_OK);
        CHECK(hip("hipGetLastError") == 0);
    }
    CHECK(Context(CK_BACKEND_HIP, 7).status == CK_ERROR_NO_DEVICE);
    CHECK(hip("hipGetLastError") == 0);
}

TEST_CASE("lost: a fault is told by every later call, and ends nothing else") {
    const Context context, other;
    REQUIRE(context.status == CK_OK);
    const Product product(context), same_device(other);
    REQUIRE(product.run() == CK_OK);
    fault("launch@1");
    CHECK(product.run() == CK_OK);  // enqueued
    CHECK(ck_synchronize(context.handle, nullptr) == CK_ERROR_DEVICE_LOST);
    fault(nullptr);
    CHECK_THAT(ck_last_error(), Contains("719"));
    void* p = nullptr;
    CHECK(product.run() == CK_ERROR_DEVICE_LOST);
    CHECK_THAT(ck_last_error(), Contains("gfx1201") && Contains("faulted earlier"));
    CHECK(ck_malloc(context.handle, 16, &p) == CK_ERROR_DEVICE_LOST);
    CHECK(p == nullptr);
    CHECK(product.prepare() == CK_ERROR_DEVICE_LOST);
    // Up to release 6 the device itself recovers.
    CHECK(same_device.run() == (release < 70 ? CK_OK : CK_ERROR_DEVICE_LOST));
    CHECK(Context(CK_BACKEND_CPU).status == CK_OK);
}

TEST_CASE("gone: a device that answers nothing any more") {
    const Context context;
    REQUIRE(context.status == CK_OK);
    const Product product(context);
    fault("lost@1");
    CHECK(product.run() == CK_ERROR_DRIVER);
    CHECK_THAT(ck_last_error(), Contains("999"));
    void* p = nullptr;
    CHECK(ck_malloc(context.handle, 16, &p) == CK_ERROR_DRIVER);
    CHECK(ck_synchronize(context.handle, nullptr) == CK_ERROR_DRIVER);
    fault(nullptr);
    CHECK(product.run() == CK_OK);
    CHECK(product.right());
}

TEST_CASE("memory: the device's runs out, and comes back") {
    const Context context;
    REQUIRE(context.status == CK_OK);
    for (int n = 1; n <= 3; ++n) {
        fault(("oom@" + std::to_string(n)).c_str());
        void* p[3] = {};
        for (int i = 0; i < 3; ++i) {
            CHECK(ck_malloc(context.handle, 64, &p[i]) == (i + 1 == n ? CK_ERROR_OUT_OF_MEMORY : CK_OK));
            CHECK((p[i] == nullptr) == (i + 1 == n));
        }
        for (void* q : p) CHECK(ck_free(context.handle, q) == CK_OK);
    }
    fault("oom@1+");
    void* p = nullptr;
    CHECK(ck_host_malloc(context.handle, 64, &p) == CK_ERROR_OUT_OF_MEMORY);
    CHECK(p == nullptr);
    fault(nullptr);
    CHECK(ck_malloc(context.handle, uint64_t{1} << 40, &p) == CK_ERROR_OUT_OF_MEMORY);
    const Product product(context);
    CHECK(product.run() == CK_OK);
    CHECK(product.right());
}

TEST_CASE("host_memory: every allocation of the library may fail") {
    // Each failure in turn, until the call gets by without: the runtime is opened, the device probed, the
    // preferences read, the code loaded, and none of it half. The runtime's own memory is its own affair.
    const Hip hip;
    spared_library = hip.address("hipInit");
    const auto survives = [](auto call) {
        int refused = 0;
        for (long n = 0;; ++n) {
            REQUIRE(n < 100000);
            allocations_left = n;
            const ck_status status = call();
            const bool used_up = allocations_left < 0;
            allocations_left = -1;
            if (!used_up) {
                CHECK(status == CK_OK);
                return refused;
            }
            if (status == CK_OK) continue;  // it did without
            // An allocation of the runtime's own comes back as its error.
            CHECK((status == CK_ERROR_OUT_OF_MEMORY || status == CK_ERROR_NO_RUNTIME));
            ++refused;
        }
    };
    ck_context* context = nullptr;
    ck_context_options options = CK_INIT(ck_context_options);
    options.backend = CK_BACKEND_HIP;
    const int creations = survives([&] {
        ck_context_destroy(context);
        context = nullptr;
        return ck_context_create(&options, &context);
    });
    CHECK(creations > 50);
    ck_context_destroy(context);
    const Context made;
    REQUIRE(made.status == CK_OK);
    const Product product(made);
    survives([&] { return product.prepare(); });
    survives([&] { return product.run(); });
    CHECK(ck_synchronize(made.handle, nullptr) == CK_OK);
    CHECK(product.right());
}

TEST_CASE("probe: a failed one is not remembered") {
    setenv("CKITCHEN_CUDA_LIBRARY", "off", 1);
    ck_device_properties properties = CK_INIT(ck_device_properties);
    fault("query@1+");
    CHECK(ck_device_info(CK_BACKEND_HIP, 0, &properties) == CK_ERROR_DRIVER);
    CHECK(Context(CK_BACKEND_HIP).status == CK_ERROR_DRIVER);
    // A GPU is there that cannot be used: no silent CPU.
    const Context any(CK_BACKEND_AUTO);
    CHECK(any.status == CK_ERROR_DRIVER);
    CHECK_THAT(any.error, Contains("hipGetDeviceProperties returned 999"));
    CHECK(Context(CK_BACKEND_AUTO, 0, nullptr, CK_CONTEXT_ALLOW_CPU_FALLBACK).status == CK_OK);
    fault(nullptr);
    REQUIRE(ck_device_info(CK_BACKEND_HIP, 0, &properties) == CK_OK);
    CHECK(std::string(properties.arch) == "gfx1201");
    const Context context(CK_BACKEND_AUTO);
    REQUIRE(context.status == CK_OK);
    CHECK(context.arch() == "gfx1201");
    const Product product(context);
    CHECK(product.run() == CK_OK);
    CHECK(product.right());
}

// In a library that has the sources and no code.
TEST_CASE("compiled: the runtime's compiler makes what is not built in") {
    setenv("CKITCHEN_CUDA_LIBRARY", "off", 1);
    setenv("GFXSIM_DEVICES", "gfx1036,gfx1201", 1);
    CHECK(std::string(ck_builtin_targets()).empty());
    // The compiler of release 5 would end the process if it were asked for a gfx1201.
    const Context newer(CK_BACKEND_HIP, 1);
    CHECK(newer.status == (release < 60 ? CK_ERROR_UNSUPPORTED_ARCH : CK_OK));
    if (release < 60) CHECK_THAT(newer.error, Contains("libamd_comgr.so.2 does not know gfx1201"));
    const Context context(CK_BACKEND_HIP, 0), cpu(CK_BACKEND_CPU);
    REQUIRE(context.status == CK_OK);
    ck_device_properties properties = CK_INIT(ck_device_properties);
    REQUIRE(ck_context_info(context.handle, &properties) == CK_OK);
    CHECK((properties.flags & CK_DEVICE_COMPILED) != 0);
    CHECK_THAT(properties.features, Contains("dot4"));
    // Row quantization on the GPU and on the CPU, to the bit.
    constexpr int kRows = 5, kK = 300;
    std::vector<float> x(kRows * kK), scales[2] = {std::vector<float>(kRows), std::vector<float>(kRows)};
    std::vector<int8_t> q[2] = {std::vector<int8_t>(kRows * kK), std::vector<int8_t>(kRows * kK)};
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(static_cast<int>(i * 7919 % 2003) - 1001);
    for (const Context* which : {&context, &cpu}) {
        void *dx = nullptr, *dq = nullptr, *ds = nullptr;
        ck_context* c = which->handle;
        REQUIRE(ck_malloc(c, x.size() * 4, &dx) == CK_OK);
        REQUIRE(ck_malloc(c, x.size(), &dq) == CK_OK);
        REQUIRE(ck_malloc(c, kRows * 4, &ds) == CK_OK);
        REQUIRE(ck_copy(c, dx, x.data(), x.size() * 4, CK_COPY_HOST_TO_DEVICE, nullptr) == CK_OK);
        ck_int8_quantize_args args = CK_INIT(ck_int8_quantize_args);
        args.dtype = CK_F32;
        args.rows = kRows;
        args.k = kK;
        args.x = dx;
        args.q = dq;
        args.scale = static_cast<float*>(ds);
        const ck_status status = ck_int8_quantize(c, &args, nullptr);
        INFO(ck_last_error());
        REQUIRE(status == CK_OK);
        const int i = which == &cpu;
        REQUIRE(ck_copy(c, q[i].data(), dq, x.size(), CK_COPY_DEVICE_TO_HOST, nullptr) == CK_OK);
        REQUIRE(ck_copy(c, scales[i].data(), ds, kRows * 4, CK_COPY_DEVICE_TO_HOST, nullptr) == CK_OK);
    }
    CHECK(q[0] == q[1]);
    CHECK(scales[0] == scales[1]);
}

// In the same library; each process of its own, for code that is loaded stays.
TEST_CASE("kept: what was compiled once is compiled by no later process") {
    setenv("CKITCHEN_CUDA_LIBRARY", "off", 1);
    setenv("GFXSIM_DEVICES", "gfx1036", 1);
    const std::string folder = temporary_folder();
    const auto prepare = [] {
        const Context context;
        ck_rotate_args args = CK_INIT(ck_rotate_args);
        args.dtype = CK_F32;
        args.rows = 3;
        args.k = 16;
        args.group = 16;
        ck_problem problem = CK_INIT(ck_problem);
        problem.op = CK_OP_ROTATE;
        problem.args = &args;
        return static_cast<int>(ck_prepare(context.handle, &problem, 1));
    };
    const auto files = [&] {
        const auto end = std::filesystem::directory_iterator();
        std::error_code none;
        return std::distance(std::filesystem::directory_iterator(folder + "/a/b", none), end);
    };
    setenv("CKITCHEN_CACHE_DIR", (folder + "/a/b").c_str(), 1);
    CHECK(in_child(prepare) == CK_OK);
    CHECK(files() == 1);
    setenv("GFXSIM_CLANG", "/nonexistent/clang++", 1);
    CHECK(in_child(prepare) == CK_OK);
    setenv("CKITCHEN_CACHE_DIR", "off", 1);
    CHECK(in_child(prepare) == CK_ERROR_DRIVER);
    // What is damaged is compiled and replaced.
    setenv("CKITCHEN_CACHE_DIR", (folder + "/a/b").c_str(), 1);
    const std::string file = std::filesystem::directory_iterator(folder + "/a/b")->path();
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
    CHECK(in_child(prepare) == CK_ERROR_DRIVER);
    unsetenv("GFXSIM_CLANG");
    CHECK(in_child(prepare) == CK_OK);
    setenv("GFXSIM_CLANG", "/nonexistent/clang++", 1);
    CHECK(in_child(prepare) == CK_OK);
    CHECK(files() == 1);
    std::filesystem::remove_all(folder);
}

TEST_CASE("unknown: a device that nothing is known of is told, beside one that works") {
    setenv("CKITCHEN_CUDA_LIBRARY", "off", 1);
    setenv("GFXSIM_DEVICES", "idle:gfx1170,gfx1201", 1);
    const Context unknown(CK_BACKEND_HIP, 0);
    CHECK(unknown.status == CK_ERROR_UNSUPPORTED_ARCH);
    CHECK_THAT(unknown.error, Contains("gfx1170") && Contains("built in:") && Contains("gfx1201"));
    ck_device_properties properties = CK_INIT(ck_device_properties);
    REQUIRE(ck_device_info(CK_BACKEND_HIP, 0, &properties) == CK_OK);
    CHECK(properties.usable == CK_ERROR_UNSUPPORTED_ARCH);
    CHECK(std::strlen(properties.unusable_reason) > 20);
    CHECK(Context(CK_BACKEND_AUTO).arch() == "gfx1201");
}

namespace {

// What a context without further options says of a product that nothing takes.
std::string refused(int64_t m, int64_t n) {
    setenv("GFXSIM_DEVICES", "gfx1201", 1);
    const Context context;
    REQUIRE(context.status == CK_OK);
    ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
    args.out_dtype = CK_BF16;
    args.m = m;
    args.n = n;
    args.k = 16;
    ck_support_info info = CK_INIT(ck_support_info);
    REQUIRE(ck_int8_gemm_supported(context.handle, &args, &info) == CK_OK);
    CHECK(info.status == CK_ERROR_UNSUPPORTED_PROBLEM);
    // A call says the same.
    CHECK(ck_int8_gemm(context.handle, &args, nullptr) == CK_ERROR_UNSUPPORTED_PROBLEM);
    CHECK(ck_last_error() == std::string("ck_int8_gemm: ") + info.reason);
    return info.reason;
}

}  // namespace

TEST_CASE("refused: a problem that no variant takes is told with its values, in whole items") {
    CHECK_THAT(refused(1, int64_t{1} << 38),
               Catch::Matches("int8_gemm has no variant on gfx1201 for this problem: int8_gemm_\\w+: "
                              "m is 1, n is 274877906944: more than [0-9]+ tiles of [0-9x ]+;.* and "
                              "[0-9]+ more"));
}

TEST_CASE("forced: a variant that was forced and does not take the problem says why") {
    setenv("CKITCHEN_FORCE_VARIANT", "int8_gemm_gemv_8", 1);
    CHECK(refused(9, 16) ==
          "int8_gemm has no variant on gfx1201 for this problem with int8_gemm_gemv_8 forced: "
          "int8_gemm_gemv_8: m is 9, at most 8");
}

TEST_CASE("folder: device code from a folder, in a path with a space") {
    const std::string folder = temporary_folder();
    setenv("CKITCHEN_CODE_OBJECT_DIR", folder.c_str(), 1);
    setenv("GFXSIM_DEVICES", "gfx1201,gfx1036", 1);
    std::filesystem::copy_file(std::getenv("CODE_OBJECT_GFX1201"), folder + "/gfx1201.elf");
    std::filesystem::copy_file(std::getenv("CODE_OBJECT_GFX1201"), folder + "/gfx1036.elf");
    const Context right(CK_BACKEND_HIP, 0), wrong(CK_BACKEND_HIP, 1);
    REQUIRE(right.status == CK_OK);
    const Product product(right);
    CHECK(product.run() == CK_OK);
    CHECK(product.right());
    REQUIRE(wrong.status == CK_OK);
    const Product refused(wrong);
    CHECK(refused.run() == CK_ERROR_DRIVER);
    CHECK_THAT(ck_last_error(), Contains(folder + "/gfx1036.elf is for machine 0x4e, gfx1036 is 0x45"));
    std::filesystem::remove_all(folder);
}

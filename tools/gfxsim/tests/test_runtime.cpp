// The entry points of each release's library, as its own process-wide instance.
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "releases.hpp"

using namespace gfxsim_test;

namespace {

int load(const HipClient& hip, const std::string& image) {
    void* m = nullptr;
    const int error = hip("hipModuleLoadData", &m, static_cast<const void*>(image.data()));
    if (error == 0) hip("hipModuleUnload", m);
    return error;
}

template <class T>
T at(const std::vector<unsigned char>& bytes, size_t offset) {
    T v;
    std::memcpy(&v, bytes.data() + offset, sizeof v);
    return v;
}

}  // namespace

TEST_CASE("devices and properties", "[runtime]") {
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        int n = 0, v = 0;
        REQUIRE(hip("hipInit", 0u) == 0);
        REQUIRE(hip("hipGetDeviceCount", &n) == 0);
        CHECK(n == 2);
        REQUIRE(hip("hipRuntimeGetVersion", &v) == 0);
        CHECK(v / 10000000 == release / 10);
        CHECK(v / 100000 % 100 == release % 10);
        CHECK((hip.find<int(void*, int)>("hipGetDevicePropertiesR0600") != nullptr) == (release >= 60));
        CHECK((hip.find<int()>("hipExtGetLastError") != nullptr) == (release >= 60));
        CHECK((hip.find<int()>("hipStreamGetDevice") != nullptr) == (release >= 56));
        // Exactly 792 bytes are written.
        std::vector<unsigned char> r0000(2048, 0xee);
        REQUIRE(hip("hipGetDeviceProperties", static_cast<void*>(r0000.data()), 1) == 0);
        CHECK(std::string(reinterpret_cast<char*>(r0000.data()) + 396) == "gfx1036");
        CHECK(at<int>(r0000, 276) == 32);
        CHECK(at<int>(r0000, 392) == 1036);
        CHECK(at<int>(r0000, 652) == 1);
        CHECK(at<size_t>(r0000, 264) == 65536);
        for (size_t i = 792; i < r0000.size(); ++i) REQUIRE(r0000[i] == 0xee);
        if (release >= 60) {
            std::vector<unsigned char> r0600(2048, 0xee);
            REQUIRE(hip("hipGetDevicePropertiesR0600", static_cast<void*>(r0600.data()), 0) == 0);
            CHECK(std::string(reinterpret_cast<char*>(r0600.data()) + 1160) == "gfx1201");
            CHECK(at<int>(r0600, 308) == 32);
            CHECK(at<int>(r0600, 360) == 12);
            for (size_t i = 1472; i < r0600.size(); ++i) REQUIRE(r0600[i] == 0xee);
        }
        CHECK(hip("hipDeviceGetAttribute", &v, 23, 0) == 0);
        CHECK(v == 12);
        CHECK(hip("hipDeviceGetAttribute", &v, 74, 1) == 0);
        CHECK(v == 65536);
        CHECK(hip("hipDeviceGetAttribute", &v, 123456, 0) == 1);
        CHECK(hip("hipGetDeviceProperties", static_cast<void*>(r0000.data()), 2) == 101);
        CHECK(hip("hipSetDevice", 7) == 101);
        char bus[32];
        CHECK(hip("hipDeviceGetPCIBusId", bus, 32, 1) == 0);
        CHECK(std::string(bus) == "0000:04:00.0");
    }
}

TEST_CASE("last error", "[runtime]") {
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipGetLastError");
        CHECK(hip("hipSetDevice", 99) == 101);
        int n = 0;
        CHECK(hip("hipGetDeviceCount", &n) == 0);
        // Up to release 6 a later success overwrites the error, from 7 on it stays until it is read.
        CHECK(hip("hipGetLastError") == (release >= 70 ? 101 : 0));
        CHECK(hip("hipGetLastError") == 0);
    }
    auto* name = client(63).find<const char*(int)>("hipGetErrorName");
    CHECK(std::string(name(700)) == "hipErrorIllegalAddress");
    CHECK(std::string(name(123456)) == "hipErrorUnknown");
}

TEST_CASE("pointer attributes", "[runtime]") {
    struct Attributes {
        int type, device;
        void *device_pointer, *host_pointer;
        int managed;
        unsigned flags;
    };
    static_assert(sizeof(Attributes) == 32);
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 1);
        char *d = nullptr, *h = nullptr;
        REQUIRE(hip("hipMalloc", &d, size_t{1000}) == 0);
        REQUIRE(hip("hipHostMalloc", &h, size_t{1000}, 0u) == 0);
        Attributes a;
        REQUIRE(hip("hipPointerGetAttributes", static_cast<void*>(&a), static_cast<const void*>(d + 10)) ==
                0);
        CHECK(a.type == (release >= 60 ? 2 : 1));
        CHECK(a.device == 1);
        CHECK(a.device_pointer == d + 10);
        CHECK(a.host_pointer == nullptr);
        REQUIRE(hip("hipPointerGetAttributes", static_cast<void*>(&a), static_cast<const void*>(h)) == 0);
        CHECK(a.type == (release >= 60 ? 1 : 0));
        CHECK(a.host_pointer == h);
        int local = 0;
        const int plain =
            hip("hipPointerGetAttributes", static_cast<void*>(&a), static_cast<const void*>(&local));
        CHECK(plain == (release >= 60 ? 0 : 1));
        if (release >= 60) {
            CHECK(a.type == 0);
            CHECK(a.device == -2);
        }
        CHECK(hip("hipPointerGetAttributes", static_cast<void*>(&a), static_cast<const void*>(nullptr)) ==
              (release >= 70 ? 0 : 1));
        CHECK(hip("hipFree", static_cast<void*>(d)) == 0);
        CHECK(hip("hipFree", static_cast<void*>(d)) == 1);
        CHECK(hip("hipHostFree", static_cast<void*>(h)) == 0);
        hip("hipGetLastError");
        hip("hipSetDevice", 0);
    }
}

TEST_CASE("memory limits and copies", "[runtime]") {
    const HipClient& hip = client(63);
    size_t before = 0, total = 0, after = 0;
    void* p = nullptr;
    REQUIRE(hip("hipMemGetInfo", &before, &total) == 0);
    CHECK(total == size_t{16} << 30);
    CHECK(hip("hipMalloc", &p, total) == 2);
    REQUIRE(hip("hipMalloc", &p, size_t{4096}) == 0);
    REQUIRE(hip("hipMemGetInfo", &after, &total) == 0);
    CHECK(before - after == 4096);
    std::vector<unsigned char> host(4096);
    REQUIRE(hip("hipMemset", p, 0x5a, size_t{4096}) == 0);
    REQUIRE(hip("hipMemsetD32Async", p, 0x01020304, size_t{2}, static_cast<void*>(nullptr)) == 0);
    REQUIRE(hip("hipMemcpy", static_cast<void*>(host.data()), static_cast<const void*>(p), size_t{4096}, 2) ==
            0);
    CHECK(host[0] == 4);
    CHECK(host[7] == 1);
    CHECK(host[8] == 0x5a);
    CHECK(hip("hipMemcpy", static_cast<void*>(host.data()), static_cast<const void*>(p), size_t{4097}, 2) ==
          1);
    CHECK(hip("hipMemset", p, 0, size_t{4097}) == 1);
    REQUIRE(hip("hipFree", p) == 0);
}

TEST_CASE("copies and fills by their direction and width", "[runtime]") {
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        void *p = nullptr, *q = nullptr, *stream = nullptr;
        REQUIRE(hip("hipMalloc", &p, size_t{16}) == 0);
        REQUIRE(hip("hipMalloc", &q, size_t{16}) == 0);
        REQUIRE(hip("hipStreamCreateWithFlags", &stream, 1u) == 0);
        std::array<uint16_t, 8> in{1, 2, 3, 4, 5, 6, 7, 8}, out{};
        void *from = in.data(), *to = out.data();
        CHECK(hip("hipMemcpyHtoD", p, from, size_t{16}) == 0);
        CHECK(hip("hipMemcpyDtoD", q, p, size_t{16}) == 0);
        CHECK(hip("hipMemcpyDtoH", to, q, size_t{16}) == 0);
        CHECK(out == in);
        CHECK(hip("hipMemsetD8", q, static_cast<unsigned char>(0xab), size_t{2}) == 0);
        CHECK(hip("hipMemsetD16", static_cast<void*>(static_cast<char*>(q) + 2),
                  static_cast<uint16_t>(0x1234), size_t{2}) == 0);
        CHECK(hip("hipMemsetD32", static_cast<void*>(static_cast<char*>(q) + 8), 0x55667788, size_t{2}) == 0);
        CHECK(hip("hipMemcpyWithStream", to, static_cast<const void*>(q), size_t{16}, 2, stream) == 0);
        CHECK(out == std::array<uint16_t, 8>{0xabab, 0x1234, 0x1234, 4, 0x7788, 0x5566, 0x7788, 0x5566});
        CHECK(hip("hipMemcpyHtoDAsync", p, from, size_t{16}, stream) == 0);
        CHECK(hip("hipMemcpyDtoDAsync", q, p, size_t{16}, stream) == 0);
        CHECK(hip("hipMemsetD16Async", q, static_cast<uint16_t>(9), size_t{3}, stream) == 0);
        CHECK(hip("hipMemsetD8Async", q, static_cast<unsigned char>(7), size_t{1}, stream) == 0);
        CHECK(hip("hipMemcpyDtoHAsync", to, q, size_t{16}, stream) == 0);
        CHECK(out == std::array<uint16_t, 8>{7, 9, 9, 4, 5, 6, 7, 8});
        // Host memory is no device memory, and no width reaches beyond it.
        CHECK(hip("hipMemcpyHtoD", to, from, size_t{16}) == 1);
        CHECK(hip("hipMemcpyDtoH", to, from, size_t{16}) == 1);
        CHECK(hip("hipMemcpyDtoD", p, from, size_t{16}) == 1);
        CHECK(hip("hipMemsetD16", q, static_cast<uint16_t>(1), size_t{9}) == 1);
        CHECK(hip("hipMemsetD32", q, 1, SIZE_MAX) == 1);
        CHECK(hip("hipMemsetD32", q, 1, size_t{0}) == 0);
        CHECK(hip("hipMemcpyWithStream", to, static_cast<const void*>(q), size_t{16}, 2, from) ==
              (release >= 70 ? 709 : 1));
        CHECK(hip("hipFree", p) == 0);
        CHECK(hip("hipFree", q) == 0);
        CHECK(hip("hipStreamDestroy", stream) == 0);
        hip("hipGetLastError");
    }
}

TEST_CASE("copies of rows", "[runtime]") {
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        void *p = nullptr, *host = nullptr, *seen = nullptr, *stream = nullptr;
        REQUIRE(hip("hipMalloc", &p, size_t{24}) == 0);
        REQUIRE(hip("hipHostAlloc", &host, size_t{24}, 0u) == 0);
        REQUIRE(hip("hipStreamCreateWithFlags", &stream, 1u) == 0);
        CHECK(hip("hipHostGetDevicePointer", &seen, host, 0u) == 0);
        CHECK(seen == host);
        CHECK(hip("hipHostGetDevicePointer", &seen, p, 0u) == 1);
        unsigned flags = 7;
        CHECK(hip("hipStreamGetFlags", stream, &flags) == 0);
        CHECK(flags == 1);
        CHECK(hip("hipStreamGetFlags", static_cast<void*>(nullptr), &flags) == 0);
        CHECK(flags == 0);
        // Three rows of two of a picture of four, to rows of ten in memory of 24 bytes.
        const std::string picture = "abcdABCD1234", blank(24, '.');
        const auto* pixels = static_cast<const void*>(picture.data() + 1);
        const auto copy = [&](size_t dst_pitch, size_t width, size_t height) {
            return hip("hipMemcpy2D", p, dst_pitch, pixels, size_t{4}, width, height, 1);
        };
        const auto contents = [&] {
            std::string out(24, ' ');
            CHECK(hip("hipMemcpy", static_cast<void*>(out.data()), static_cast<const void*>(p), size_t{24},
                      2) == 0);
            return out;
        };
        REQUIRE(hip("hipMemcpy", p, static_cast<const void*>(blank.data()), size_t{24}, 1) == 0);
        CHECK(copy(10, 2, 3) == 0);
        CHECK(contents() == "bc........BC........23..");
        CHECK(hip("hipMemcpy2DAsync", host, size_t{2}, static_cast<const void*>(p), size_t{10}, size_t{2},
                  size_t{3}, 2, stream) == 0);
        CHECK(hip("hipStreamSynchronize", stream) == 0);
        CHECK(std::string(static_cast<const char*>(host), 6) == "bcBC23");
        // One row more, a row wider than its pitch, sizes that overflow; nothing at all.
        CHECK(copy(11, 2, 3) == 0);
        CHECK(copy(11, 3, 3) == 1);
        CHECK(copy(10, 2, 4) == 1);
        CHECK(copy(1, 2, 1) == 12);
        CHECK(copy(SIZE_MAX, 2, 3) == 1);
        CHECK(copy(10, 0, 3) == 0);
        CHECK(copy(10, 2, 0) == 0);
        CHECK(hip("hipFree", p) == 0);
        CHECK(hip("hipHostFree", host) == 0);
        CHECK(hip("hipStreamDestroy", stream) == 0);
        hip("hipGetLastError");
    }
}

TEST_CASE("code objects that do not fit", "[runtime]") {
    const std::string good = read_file(program("gfx1201")), foreign = read_file(program("gfx1100"));
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        CHECK(load(hip, good) == 0);
        CHECK(load(hip, foreign) == (release < 61 ? 303 : 209));
        CHECK(load(hip, std::string(4096, 'x')) == (release < 63 ? 218 : 200));
        std::string newer = good;
        newer[EI_ABIVERSION] = 5;
        CHECK(load(hip, newer) == (release < 61 ? 303 : 209));
        void* m = nullptr;
        CHECK(hip("hipModuleLoadData", &m, static_cast<const void*>(nullptr)) == 1);
        REQUIRE(hip("hipModuleLoadData", &m, static_cast<const void*>(good.data())) == 0);
        void* f = nullptr;
        CHECK(hip("hipModuleGetFunction", &f, m, "no_such_kernel") == 500);
        CHECK(hip("hipModuleGetFunction", &f, m, "vector_add") == 0);
        CHECK(hip("hipModuleUnload", m) == 0);
        CHECK(hip("hipModuleUnload", m) == 400);
        CHECK(hip("hipModuleLaunchKernel", f, 1u, 1u, 1u, 1u, 1u, 1u, 0u, static_cast<void*>(nullptr),
                  static_cast<void**>(nullptr), static_cast<void**>(nullptr)) == 400);
    }
}

TEST_CASE("damaged code objects are refused without a crash", "[runtime]") {
    const HipClient& hip = client(63);
    hip("hipSetDevice", 0);
    const std::string good = read_file(program("gfx1201"));
    // A file cut short at the edge of readable memory.
    const size_t page = 4096, span = (good.size() + page - 1) / page * page;
    char* map = static_cast<char*>(
        mmap(nullptr, span + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(map != MAP_FAILED);
    mprotect(map + span, page, PROT_NONE);
    for (size_t keep = 16; keep < good.size(); keep += 997) {
        char* begin = map + span - keep;
        std::memcpy(begin, good.data(), keep);
        void* m = nullptr;
        REQUIRE(hip("hipModuleLoadData", &m, static_cast<const void*>(begin)) != 0);
    }
    munmap(map, span + page);
    // Flipped bytes anywhere: any answer but a crash.
    unsigned state = 12345;
    for (int n = 0; n < 3000; ++n) {
        std::string bad = good;
        for (int k = 0; k < 3; ++k) {
            state = state * 1664525 + 1013904223;
            const size_t where = n % 2 ? state % 4096 : state % bad.size();
            state = state * 1664525 + 1013904223;
            bad[where % bad.size()] = static_cast<char>(state >> 24);
        }
        load(hip, bad);
    }
    hip("hipGetLastError");
}

TEST_CASE("launch checks", "[runtime]") {
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        const Module m(hip, program("gfx1201"));
        DeviceArray<float> p(hip, std::vector<float>(256, 1.0f));
        int n = 256;
        void *a = p.get(), *f = nullptr;
        void* arguments[] = {&a, &a, &a, &n};
        REQUIRE(hip("hipModuleGetFunction", &f, m.handle(), "vector_add") == 0);
        const auto launch = [&](unsigned gx, unsigned gy, unsigned bx, unsigned shared, void** params,
                                void** extra) {
            return hip("hipModuleLaunchKernel", f, gx, gy, 1u, bx, 1u, 1u, shared,
                       static_cast<void*>(nullptr), params, extra);
        };
        void** none = nullptr;
        CHECK(launch(1, 1, 256, 0, arguments, none) == 0);
        CHECK(p.read()[255] == 2.0f);  // a copy waits for the null stream
        CHECK(launch(0, 1, 256, 0, arguments, none) == 1);
        CHECK(launch(1, 1, 0, 0, arguments, none) == (release == 63 ? 9 : 1));
        CHECK(launch(1, 1, 2048, 0, arguments, none) == (release < 60 ? 9 : 1));
        CHECK(launch(1, 1, 512, 0, arguments, none) == 719);  // above the kernel's own bound
        CHECK(launch(1u << 31, 1, 256, 0, arguments, none) == 9);
        CHECK(launch(1, 1, 256, 0, none, none) == 1);
        struct {
            void *a, *b, *c;
            int n;
        } packed = {a, a, a, n};
        size_t size = sizeof packed;
        void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &size,
                         reinterpret_cast<void*>(3)};
        CHECK(launch(1, 1, 256, 0, none, extra) == 0);
        CHECK(p.read()[255] == 4.0f);
        CHECK(launch(1, 1, 256, 0, arguments, extra) == 1);
        int value = 0;
        CHECK(hip("hipFuncGetAttribute", &value, 0, f) == 0);
        CHECK(value == 256);
        // Launching on a stream of another device.
        void* stream = nullptr;
        hip("hipSetDevice", 1);
        REQUIRE(hip("hipStreamCreateWithFlags", &stream, 1u) == 0);
        hip("hipSetDevice", 0);
        CHECK(hip("hipModuleLaunchKernel", f, 1u, 1u, 1u, 256u, 1u, 1u, 0u, stream, arguments, none) ==
              (release >= 70 ? 400 : 101));
        CHECK(hip("hipStreamDestroy", stream) == 0);
        hip("hipGetLastError");
    }
}

TEST_CASE("capture and graphs", "[runtime]") {
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        const Module m(hip, program("gfx1201"));
        DeviceArray<float> p(hip, std::vector<float>(256, 1.0f));
        void *stream = nullptr, *graph = nullptr, *exec = nullptr, *f = nullptr, *q = nullptr, *a = p.get();
        int n = 256, status = -1;
        void* arguments[] = {&a, &a, &a, &n};
        REQUIRE(hip("hipModuleGetFunction", &f, m.handle(), "vector_add") == 0);
        REQUIRE(hip("hipStreamCreateWithFlags", &stream, 1u) == 0);
        const auto launch = [&] {
            return hip("hipModuleLaunchKernel", f, 1u, 1u, 1u, 256u, 1u, 1u, 0u, stream, arguments,
                       static_cast<void**>(nullptr));
        };
        CHECK(hip("hipStreamIsCapturing", stream, &status) == 0);
        CHECK(status == 0);
        REQUIRE(hip("hipStreamBeginCapture", stream, 0) == 0);
        CHECK(hip("hipStreamIsCapturing", stream, &status) == 0);
        CHECK(status == 1);
        CHECK(launch() == 0);
        CHECK(launch() == 0);
        // Relaxed threads may allocate meanwhile.
        int mode = 2;
        CHECK(hip("hipThreadExchangeStreamCaptureMode", &mode) == 0);
        CHECK(hip("hipMalloc", &q, size_t{64}) == 0);
        CHECK(hip("hipThreadExchangeStreamCaptureMode", &mode) == 0);
        REQUIRE(hip("hipStreamEndCapture", stream, &graph) == 0);
        // Release 5.2 runs module launches at once instead of recording them.
        CHECK(hip("hipStreamSynchronize", stream) == 0);
        CHECK(p.read()[0] == (release < 53 ? 4.0f : 1.0f));
        REQUIRE(hip("hipGraphInstantiate", &exec, graph, static_cast<void**>(nullptr),
                    static_cast<char*>(nullptr), size_t{0}) == 0);
        CHECK(hip("hipGraphLaunch", exec, stream) == 0);
        CHECK(hip("hipStreamSynchronize", stream) == 0);
        CHECK(p.read()[0] == 4.0f);
        CHECK(hip("hipGraphExecDestroy", exec) == 0);
        CHECK(hip("hipGraphDestroy", graph) == 0);
        // A forbidden call ends the capture.
        REQUIRE(hip("hipStreamBeginCapture", stream, 0) == 0);
        void* r = nullptr;
        CHECK(hip("hipMalloc", &r, size_t{64}) == 900);
        CHECK(hip("hipStreamIsCapturing", stream, &status) == 0);
        CHECK(status == 2);
        CHECK(hip("hipStreamEndCapture", stream, &graph) == 901);
        CHECK(hip("hipStreamSynchronize", stream) == 0);
        CHECK(hip("hipFree", q) == 0);
        CHECK(hip("hipStreamDestroy", stream) == 0);
        hip("hipGetLastError");
    }
}

TEST_CASE("launch without execution", "[runtime]") {
    const HipClient& hip = client(63);
    hip("hipSetDevice", 0);
    const Module m(hip, program("gfx1201"));
    DeviceArray<float> p(hip, std::vector<float>(256, 1.0f));
    setenv("GFXSIM_EXEC", "off", 1);
    CHECK(m.launch("vector_add", 1, 1, 256, p.get(), p.get(), p.get(), 256) == 0);
    unsetenv("GFXSIM_EXEC");
    CHECK(p.read()[0] == 1.0f);
}

template <class F>
std::string statistics_of(F launch) {
    std::string path = (std::filesystem::temp_directory_path() / "gfxsim-stats-XXXXXX").string();
    const int file = mkstemp(path.data());
    REQUIRE(file >= 0);
    close(file);
    setenv("GFXSIM_STATS", path.c_str(), 1);
    launch();
    unsetenv("GFXSIM_STATS");
    const std::string json = read_file(path);
    std::filesystem::remove(path);
    return json;
}

// A copy of 1048576 doubles by workgroups of 256, whose counters a profiler read on a gfx1152: 32768 waves
// with one load and one store each, 65536 reads of 128 bytes, 131072 writes of 64 bytes.
TEST_CASE("counters of a vector copy", "[runtime]") {
    const HipClient& hip = client(63);
    hip("hipSetDevice", 0);
    const Module m(hip, program("gfx1201"));
    const int n = 1048576;
    DeviceArray<double> a(hip, std::vector<double>(n, 1.0)), c(hip, std::vector<double>(n));
    const std::string json =
        statistics_of([&] { CHECK(m.launch("vec_copy", n / 256, 1, 256, a.get(), c.get(), n) == 0); });
    CHECK_THAT(json, Catch::Contains("\"waves\":32768,") && Catch::Contains("\"vmem_load\":32768,") &&
                         Catch::Contains("\"vmem_store\":32768,"));
    CHECK_THAT(json, Catch::Contains("\"loads\":{\"requests\":32768,\"bytes\":8388608,\"lines_128\":65536,"));
    CHECK_THAT(json, Catch::Contains("\"stores\":{\"requests\":32768,\"bytes\":8388608,\"lines_128\":65536,"
                                     "\"lines_64\":131072}"));
    CHECK_THAT(json, Catch::Contains("\"waves_per_simd\":16.00,\"limit\":\"waves\""));
    CHECK_THAT(json, Catch::Contains("\"hottest_loop\":null"));
}

TEST_CASE("the hottest loop", "[runtime]") {
    const HipClient& hip = client(63);
    hip("hipSetDevice", 0);
    const Module m(hip, program("gfx1201"));
    const int n = 16, k = 4096;
    DeviceArray<char> a(hip, std::vector<char>(16 * k, 3)), b(hip, std::vector<char>(16 * k, 5));
    DeviceArray<int> c(hip, std::vector<int>(16 * 16));
    const std::string json = statistics_of(
        [&] { CHECK(m.launch("matmul_wmma_iu8", 1, 1, 32, a.get(), b.get(), c.get(), n, k, 3) == 0); });
    const size_t loop = json.find("\"hottest_loop\":{");
    REQUIRE(loop != json.npos);
    const std::string inside = json.substr(loop, json.find("\"by_mnemonic\"") - loop);
    CHECK_THAT(inside, Catch::Contains("\"wmma\":{\"v_wmma_i32_16x16x16_iu8\":256}"));
    // Each of the 512 loads takes 8 bytes a lane from 16 rows.
    CHECK_THAT(inside, Catch::Contains("\"loads\":{\"requests\":512,\"bytes\":131072,\"lines_128\":8192,"));
    // 8 waves, 46 barriers of two instructions.
    DeviceArray<unsigned> keys(hip, std::vector<unsigned>(512, 3));
    CHECK_THAT(statistics_of([&] { m.launch("sort512", 1, 1, 256, keys.get(), keys.get()); }),
               Catch::Contains("\"barriers\":736,"));
}

TEST_CASE("statistics", "[runtime]") {
    const HipClient& hip = client(63);
    hip("hipSetDevice", 0);
    const Module m(hip, program("gfx1201"));
    DeviceArray<float> p(hip, std::vector<float>(1024, 1.0f));
    const std::string json = statistics_of(
        [&] { CHECK(m.launch("vector_add", 4, 1, 256, p.get(), p.get(), p.get(), 1024) == 0); });
    CHECK_THAT(json, Catch::Contains("\"kernel\":\"vector_add\"") && Catch::Contains("\"waves\":32") &&
                         Catch::Contains("\"vmem_load\":64") && Catch::Contains("\"vmem_store\":32") &&
                         Catch::Contains("\"global_store_b32\":32"));
}

TEST_CASE("failures on demand", "[runtime]") {
    for (const int release : {52, 63, 71}) {
        INFO(release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        void* p = nullptr;
        setenv("GFXSIM_FAULT", "oom@2", 1);
        CHECK(hip("hipMalloc", &p, size_t{64}) == 0);
        CHECK(hip("hipFree", p) == 0);
        CHECK(hip("hipMalloc", &p, size_t{64}) == 2);
        CHECK(p == nullptr);
        CHECK(hip("hipMalloc", &p, size_t{64}) == 0);
        CHECK(hip("hipFree", p) == 0);
        setenv("GFXSIM_FAULT", "oom@1+", 1);
        CHECK(hip("hipMalloc", &p, size_t{64}) == 2);
        CHECK(hip("hipHostMalloc", &p, size_t{64}, 0u) == 2);
        setenv("GFXSIM_FAULT", "query@2", 1);
        std::vector<unsigned char> properties(792);
        CHECK(hip("hipGetDeviceProperties", static_cast<void*>(properties.data()), 0) == 0);
        CHECK(hip("hipGetDeviceProperties", static_cast<void*>(properties.data()), 0) == 999);
        CHECK(hip("hipGetDeviceProperties", static_cast<void*>(properties.data()), 0) == 0);
        unsetenv("GFXSIM_FAULT");
        hip("hipGetLastError");
        const Module m(hip, program("gfx1201"));
        DeviceArray<float> a(hip, std::vector<float>(256, 1.0f));
        const auto launch = [&] { return m.launch("vector_add", 1, 1, 256, a.get(), a.get(), a.get(), 256); };
        // A lost device answers nothing any more; without the variable it is back.
        setenv("GFXSIM_FAULT", "lost@2", 1);
        CHECK(launch() == 0);
        CHECK(launch() == 999);
        CHECK(hip("hipDeviceSynchronize") == 999);
        CHECK(hip("hipMalloc", &p, size_t{64}) == 999);
        unsetenv("GFXSIM_FAULT");
        CHECK(launch() == 0);
        if (release < 70) {
            setenv("GFXSIM_FAULT", "launch@2", 1);
            CHECK(launch() == 0);
            CHECK(launch() == 719);
            CHECK(launch() == 0);
            unsetenv("GFXSIM_FAULT");
        }
    }
}

TEST_CASE("a child of fork", "[runtime]") {
    const HipClient& hip = client(63);
    hip("hipSetDevice", 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        void* p = nullptr;
        _exit(hip("hipMalloc", &p, size_t{64}) == 3 && hip("hipDeviceSynchronize") == 3 ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(hip("hipDeviceSynchronize") == 0);
}

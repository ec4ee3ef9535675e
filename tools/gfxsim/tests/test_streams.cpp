// Streams, events, captures and graphs of each release: what runs when, and what is refused.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "child.hpp"
#include "releases.hpp"

using namespace gfxsim_test;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Each piece of work takes that long while the object lives.
class Slow {
  public:
    explicit Slow(const char* milliseconds) {
        setenv("GFXSIM_FAULT", (std::string("slow=") + milliseconds).c_str(), 1);
    }
    ~Slow() { unsetenv("GFXSIM_FAULT"); }
};

struct Stream {
    Stream(const HipClient& hip, unsigned flags) : hip(hip) {
        REQUIRE(hip("hipStreamCreateWithFlags", &handle, flags) == 0);
    }
    ~Stream() { hip("hipStreamDestroy", handle); }
    const HipClient& hip;
    void* handle = nullptr;
};

struct Event {
    explicit Event(const HipClient& hip) : hip(hip) {
        REQUIRE(hip("hipEventCreateWithFlags", &handle, 0u) == 0);
    }
    ~Event() { hip("hipEventDestroy", handle); }
    const HipClient& hip;
    void* handle = nullptr;
};

/// Device memory of one int, and pinned memory of one that copies may run behind the call's back with.
struct Word {
    explicit Word(const HipClient& hip, int value) : hip(hip) {
        REQUIRE(hip("hipMalloc", &device, sizeof(int)) == 0);
        REQUIRE(hip("hipHostMalloc", &pinned, sizeof(int), 0u) == 0);
        *pinned = -1;
        set(value);
    }
    ~Word() {
        hip("hipFree", static_cast<void*>(device));
        hip("hipHostFree", static_cast<void*>(pinned));
    }
    void set(int value) const {
        REQUIRE(hip("hipMemcpy", static_cast<void*>(device), static_cast<const void*>(&value), sizeof value,
                    1) == 0);
    }
    int fill(int value, void* stream) const {
        return hip("hipMemsetD32Async", static_cast<void*>(device), value, size_t{1}, stream);
    }
    int fetch(void* stream) const {
        return hip("hipMemcpyAsync", static_cast<void*>(pinned), static_cast<const void*>(device),
                   sizeof(int), 2, stream);
    }
    /// What a copy that is under way has not written yet: a race on purpose, kept from the thread sanitizer.
    [[gnu::no_sanitize("thread"), gnu::noinline]] int pinned_before_copy() const {
        return *static_cast<volatile int*>(pinned);
    }
    const HipClient& hip;
    int* device = nullptr;
    int* pinned = nullptr;
};

}  // namespace

TEST_CASE("work goes on behind the call that enqueues it, in order", "[streams]") {
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        hip("hipGetLastError");
        const Word word(hip, 7);
        const Stream s(hip, 1);
        CHECK(hip("hipStreamQuery", s.handle) == 0);
        const auto start = Clock::now();
        {
            const Slow slow("60");
            CHECK(word.fill(1, s.handle) == 0);
            CHECK(word.fill(2, s.handle) == 0);
            CHECK(word.fetch(s.handle) == 0);
        }
        CHECK(hip("hipStreamQuery", s.handle) == 600);
        CHECK(word.pinned_before_copy() == -1);
        CHECK(seconds_since(start) < 0.16);
        CHECK(hip("hipStreamSynchronize", s.handle) == 0);
        CHECK(seconds_since(start) >= 0.18);
        CHECK(*word.pinned == 2);
        CHECK(hip("hipStreamQuery", s.handle) == 0);
        // 600 is no error to keep.
        CHECK(hip("hipGetLastError") == 0);
    }
}

TEST_CASE("streams run beside each other, and events order them", "[streams]") {
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        const Word a(hip, 1), b(hip, 2);
        const Stream first(hip, 1), second(hip, 1);
        const Event before(hip), after(hip);
        {
            const Slow slow("80");
            CHECK(hip("hipEventRecord", before.handle, first.handle) == 0);
            CHECK(a.fill(3, first.handle) == 0);
            CHECK(hip("hipEventRecord", after.handle, first.handle) == 0);
        }
        CHECK(b.fill(4, second.handle) == 0);
        CHECK(hip("hipStreamSynchronize", second.handle) == 0);  // does not wait for the first
        CHECK(hip("hipStreamQuery", first.handle) == 600);
        CHECK(hip("hipEventQuery", after.handle) == 600);
        float ms = 0;
        CHECK(hip("hipEventElapsedTime", &ms, before.handle, after.handle) == 600);
        CHECK(hip("hipStreamWaitEvent", second.handle, after.handle, 0u) == 0);
        CHECK(a.fetch(second.handle) == 0);
        CHECK(a.pinned_before_copy() == -1);
        CHECK(hip("hipStreamSynchronize", second.handle) == 0);
        CHECK(*a.pinned == 3);
        CHECK(hip("hipEventQuery", after.handle) == 0);
        CHECK(hip("hipEventSynchronize", after.handle) == 0);
        CHECK(hip("hipEventElapsedTime", &ms, before.handle, after.handle) == 0);
        CHECK(ms >= 80);
        CHECK(ms < 5000);
        // An event that nothing was recorded into holds nothing up and has no time.
        const Event fresh(hip);
        CHECK(hip("hipEventQuery", fresh.handle) == 0);
        CHECK(hip("hipStreamWaitEvent", second.handle, fresh.handle, 0u) == 0);
        CHECK(hip("hipEventElapsedTime", &ms, fresh.handle, after.handle) == 400);
        hip("hipGetLastError");
    }
}

TEST_CASE("the null stream and blocking streams wait for each other", "[streams]") {
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        const Word word(hip, 1);
        const Stream blocking(hip, 0), free(hip, 1);
        {
            const Slow slow("80");
            CHECK(word.fill(5, blocking.handle) == 0);
        }
        CHECK(hip("hipStreamQuery", static_cast<void*>(nullptr)) == 600);
        CHECK(word.fetch(nullptr) == 0);
        CHECK(hip("hipStreamSynchronize", static_cast<void*>(nullptr)) == 0);
        CHECK(*word.pinned == 5);
        {
            const Slow slow("80");
            CHECK(word.fill(6, nullptr) == 0);
        }
        CHECK(word.fetch(blocking.handle) == 0);
        CHECK(hip("hipStreamQuery", free.handle) == 0);
        CHECK(hip("hipStreamSynchronize", blocking.handle) == 0);
        CHECK(*word.pinned == 6);
        // A non-blocking stream and the null stream do not know each other.
        {
            const Slow slow("150");
            CHECK(word.fill(7, free.handle) == 0);
        }
        const auto start = Clock::now();
        CHECK(hip("hipStreamSynchronize", static_cast<void*>(nullptr)) == 0);
        CHECK(seconds_since(start) < 0.1);
        CHECK(hip("hipDeviceSynchronize") == 0);
        CHECK(hip("hipStreamQuery", free.handle) == 0);
        // Each thread has a stream of its own under the handle 2.
        void* own = reinterpret_cast<void*>(2);
        {
            const Slow slow("100");
            CHECK(word.fill(8, own) == 0);
        }
        CHECK(hip("hipStreamQuery", own) == 600);
        std::thread([&] { CHECK(hip("hipStreamQuery", own) == 0); }).join();
        CHECK(hip("hipDeviceSynchronize") == 0);
        CHECK(hip("hipStreamQuery", own) == 0);
        hip("hipGetLastError");
    }
}

TEST_CASE("pageable copies are over when they return, freeing waits", "[streams]") {
    const HipClient& hip = client(63);
    hip("hipSetDevice", 0);
    const Stream s(hip, 1);
    void* p = nullptr;
    int host = 0;
    REQUIRE(hip("hipMalloc", &p, size_t{4}) == 0);
    {
        const Slow slow("50");
        CHECK(hip("hipMemsetD32Async", p, 9, size_t{1}, s.handle) == 0);
        CHECK(hip("hipMemcpyAsync", static_cast<void*>(&host), static_cast<const void*>(p), size_t{4}, 2,
                  s.handle) == 0);
        CHECK(host == 9);
        CHECK(hip("hipMemsetD32Async", p, 10, size_t{1}, s.handle) == 0);
    }
    CHECK(hip("hipFree", p) == 0);
    CHECK(hip("hipStreamQuery", s.handle) == 0);
    CHECK(hip("hipStreamSynchronize", s.handle) == 0);  // the fill found its memory
    REQUIRE(hip("hipMallocAsync", &p, size_t{4}, s.handle) == 0);
    CHECK(hip("hipFreeAsync", p, s.handle) == 0);
    CHECK(hip("hipStreamSynchronize", s.handle) == 0);
    CHECK(hip("hipFreeAsync", p, s.handle) == 1);
}

TEST_CASE("a kernel's fault is told by the call that waits for it", "[streams]") {
    for (const int release : {52, 63}) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        const Stream s(hip, 1);
        const Module m(hip, program("gfx1201"));
        DeviceArray<float> a(hip, std::vector<float>(256));
        void *f = nullptr, *p = a.get();
        int n = 256;
        void* arguments[] = {&p, &p, &p, &n};
        REQUIRE(hip("hipModuleGetFunction", &f, m.handle(), "vector_add") == 0);
        setenv("GFXSIM_FAULT", "launch@1", 1);
        CHECK(hip("hipModuleLaunchKernel", f, 1u, 1u, 1u, 256u, 1u, 1u, 0u, s.handle, arguments,
                  static_cast<void**>(nullptr)) == 0);
        unsetenv("GFXSIM_FAULT");
        CHECK(hip("hipStreamSynchronize", s.handle) == 719);
        CHECK(hip("hipStreamSynchronize", s.handle) == 0);
    }
    // From 7 on every call tells it: in a child, since the device does not come back.
    const int status = status_of_child([] {
        const HipClient fresh(GFXSIM_LIBRARY_7_COPY);
        void *stream = nullptr, *module = nullptr, *f = nullptr, *p = nullptr;
        const std::string image = read_file(program("gfx1201"));
        int n = 1;
        void* arguments[] = {&p, &p, &p, &n};
        if (fresh("hipStreamCreateWithFlags", &stream, 1u) ||
            fresh("hipModuleLoadData", &module, static_cast<const void*>(image.data())) ||
            fresh("hipModuleGetFunction", &f, module, "vector_add"))
            _exit(1);
        setenv("GFXSIM_FAULT", "launch@1", 1);
        if (fresh("hipModuleLaunchKernel", f, 1u, 1u, 1u, 256u, 1u, 1u, 0u, stream, arguments,
                  static_cast<void**>(nullptr)))
            _exit(2);
        if (fresh("hipStreamSynchronize", stream) != 719) _exit(3);
        if (fresh("hipMalloc", &p, size_t{64}) != 719) _exit(4);
        if (fresh("hipSetDevice", 0) != 719 || fresh("hipGetLastError") != 719) _exit(5);
        _exit(0);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("what a process leaves unfinished is finished at its exit", "[streams]") {
    const int status = status_of_child([] {
        const HipClient fresh(GFXSIM_LIBRARY_6_COPY);
        const Module m(fresh, program("gfx1201"));
        static DeviceArray<float> a(fresh, std::vector<float>(256));
        void *f = nullptr, *p = a.get();
        int n = 256;
        void* arguments[] = {&p, &p, &p, &n};
        setenv("GFXSIM_FAULT", "slow=50", 1);
        fresh("hipModuleGetFunction", &f, m.handle(), "vector_add");
        for (int i = 0; i < 4; ++i)
            fresh("hipModuleLaunchKernel", f, 1u, 1u, 1u, 256u, 1u, 1u, 0u, static_cast<void*>(nullptr),
                  arguments, static_cast<void**>(nullptr));
        std::exit(0);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a module is not unloaded while its kernels run", "[streams]") {
    const int status = status_of_child([] {
        const HipClient fresh(GFXSIM_LIBRARY_6_COPY);
        const std::string image = read_file(program("gfx1201"));
        void *module = nullptr, *f = nullptr, *p = nullptr;
        int n = 0;
        void* arguments[] = {&p, &p, &p, &n};
        fresh("hipModuleLoadData", &module, static_cast<const void*>(image.data()));
        fresh("hipModuleGetFunction", &f, module, "vector_add");
        void* stream = nullptr;
        fresh("hipStreamCreateWithFlags", &stream, 1u);
        void* buffer = nullptr;
        fresh("hipMalloc", &buffer, size_t{64});
        setenv("GFXSIM_FAULT", "slow=200", 1);
        // The kernel waits its turn behind a slow fill.
        fresh("hipMemsetAsync", buffer, 0, size_t{64}, stream);
        if (fresh("hipModuleLaunchKernel", f, 1u, 1u, 1u, 256u, 1u, 1u, 0u, stream, arguments,
                  static_cast<void**>(nullptr)))
            _exit(1);
        fresh("hipModuleUnload", module);
    });
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGABRT);
}

TEST_CASE("a capture goes through other streams and comes back", "[streams]") {
    for (const int release : {63, 71}) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        const Word a(hip, 1), b(hip, 2);
        const Stream origin(hip, 1), side(hip, 1), stranger(hip, 1);
        const Event fork_point(hip), join_point(hip), outside(hip);
        void *graph = nullptr, *exec = nullptr;
        int status = -1;
        REQUIRE(hip("hipStreamBeginCapture", origin.handle, 2) == 0);
        CHECK(a.fill(11, origin.handle) == 0);
        CHECK(hip("hipEventRecord", fork_point.handle, origin.handle) == 0);
        CHECK(hip("hipStreamWaitEvent", side.handle, fork_point.handle, 0u) == 0);
        CHECK(hip("hipStreamIsCapturing", side.handle, &status) == 0);
        CHECK(status == 1);
        CHECK(b.fill(12, side.handle) == 0);
        CHECK(hip("hipEventRecord", join_point.handle, side.handle) == 0);
        CHECK(hip("hipEventQuery", join_point.handle) == 907);
        CHECK(hip("hipStreamWaitEvent", origin.handle, join_point.handle, 0u) == 0);
        REQUIRE(hip("hipStreamEndCapture", origin.handle, &graph) == 0);
        CHECK(hip("hipStreamIsCapturing", side.handle, &status) == 0);
        CHECK(status == 0);
        REQUIRE(hip("hipGraphInstantiate", &exec, graph, static_cast<void**>(nullptr),
                    static_cast<char*>(nullptr), size_t{0}) == 0);
        CHECK(hip("hipGraphDestroy", graph) == 0);
        CHECK(hip("hipGraphLaunch", exec, origin.handle) == 0);
        CHECK(a.fetch(origin.handle) == 0);
        CHECK(b.fetch(origin.handle) == 0);
        CHECK(hip("hipStreamSynchronize", origin.handle) == 0);
        CHECK(*a.pinned == 11);
        CHECK(*b.pinned == 12);
        CHECK(hip("hipGraphExecDestroy", exec) == 0);

        // Without the way back the work of the other stream would be nobody's.
        REQUIRE(hip("hipStreamBeginCapture", origin.handle, 2) == 0);
        CHECK(hip("hipEventRecord", fork_point.handle, origin.handle) == 0);
        CHECK(hip("hipStreamWaitEvent", side.handle, fork_point.handle, 0u) == 0);
        CHECK(b.fill(13, side.handle) == 0);
        CHECK(hip("hipStreamEndCapture", origin.handle, &graph) == 904);
        // Ended by a stream that did not begin it.
        REQUIRE(hip("hipStreamBeginCapture", origin.handle, 2) == 0);
        CHECK(hip("hipEventRecord", fork_point.handle, origin.handle) == 0);
        CHECK(hip("hipStreamWaitEvent", side.handle, fork_point.handle, 0u) == 0);
        CHECK(hip("hipStreamEndCapture", side.handle, &graph) == 903);
        CHECK(hip("hipStreamEndCapture", origin.handle, &graph) == 901);
        // Work from before the capture.
        CHECK(hip("hipEventRecord", outside.handle, stranger.handle) == 0);
        REQUIRE(hip("hipStreamBeginCapture", origin.handle, 2) == 0);
        CHECK(hip("hipStreamWaitEvent", origin.handle, outside.handle, 0u) == 905);
        CHECK(hip("hipStreamEndCapture", origin.handle, &graph) == 901);
        // Two captures do not meet.
        REQUIRE(hip("hipStreamBeginCapture", origin.handle, 2) == 0);
        REQUIRE(hip("hipStreamBeginCapture", stranger.handle, 2) == 0);
        CHECK(hip("hipEventRecord", fork_point.handle, origin.handle) == 0);
        CHECK(hip("hipStreamWaitEvent", stranger.handle, fork_point.handle, 0u) == 902);
        CHECK(hip("hipStreamEndCapture", origin.handle, &graph) == 901);
        CHECK(hip("hipStreamEndCapture", stranger.handle, &graph) == 901);
        hip("hipGetLastError");
    }
}

TEST_CASE("what a capture forbids, by mode and release", "[streams]") {
    for (const int release : kReleases) {
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        const Word word(hip, 1);
        const Stream s(hip, 1), other(hip, 1);
        const Event event(hip);
        void* graph = nullptr;
        // One forbidden call in a capture of each mode, made by the capturing thread in its own mode.
        const auto in_capture = [&](int mode, auto call, int expected) {
            INFO("release " << release << " mode " << mode);
            REQUIRE(hip("hipStreamBeginCapture", s.handle, mode) == 0);
            CHECK(call() == expected);
            CHECK(hip("hipStreamEndCapture", s.handle, &graph) == (expected ? 901 : 0));
            if (graph) hip("hipGraphDestroy", graph);
            graph = nullptr;
        };
        void* p = nullptr;
        const auto allocate = [&] {
            const int error = hip("hipMalloc", &p, size_t{64});
            return error;
        };
        in_capture(0, allocate, 900);
        in_capture(1, allocate, 900);
        in_capture(2, allocate, 0);
        for (const int mode : {0, 1, 2}) {
            int host = 0;
            in_capture(
                mode,
                [&] {
                    return hip("hipMemcpy", static_cast<void*>(&host), static_cast<const void*>(word.device),
                               sizeof host, 2);
                },
                906);
            in_capture(
                mode, [&] { return hip("hipMemset", static_cast<void*>(word.device), 0, size_t{4}); }, 906);
            in_capture(
                mode, [&] { return hip("hipDeviceSynchronize"); }, 900);
            in_capture(
                mode, [&] { return hip("hipStreamSynchronize", s.handle); }, 900);
        }
        in_capture(
            0, [&] { return hip("hipStreamQuery", other.handle); }, 900);
        in_capture(
            0, [&] { return hip("hipEventSynchronize", event.handle); }, 900);
        in_capture(
            0, [&] { return hip("hipEventQuery", event.handle); }, release >= 70 ? 900 : 0);
        // Loading code is allowed everywhere, unloading up to 6.
        const std::string image = read_file(program("gfx1201"));
        void* module = nullptr;
        in_capture(
            0, [&] { return hip("hipModuleLoadData", &module, static_cast<const void*>(image.data())); }, 0);
        in_capture(
            0, [&] { return hip("hipModuleUnload", module); }, release >= 70 ? 900 : 0);
        if (release >= 70) CHECK(hip("hipModuleUnload", module) == 0);
        // A capture of another thread forbids only what is global, to threads that are.
        const auto beside_another_thread = [&](int mode, int expected) {
            INFO("release " << release << " mode " << mode << " of another thread");
            REQUIRE(hip("hipStreamBeginCapture", s.handle, mode) == 0);
            void* q = nullptr;
            std::thread([&] { CHECK(hip("hipMalloc", &q, size_t{64}) == expected); }).join();
            CHECK(hip("hipStreamEndCapture", s.handle, &graph) == (expected ? 901 : 0));
            if (q) CHECK(hip("hipFree", q) == 0);
        };
        beside_another_thread(0, 900);
        beside_another_thread(1, 0);
        beside_another_thread(2, 0);
        CHECK(hip("hipFree", p) == 0);
        int status = 0;
        const Stream blocking(hip, 0);
        REQUIRE(hip("hipStreamBeginCapture", blocking.handle, 2) == 0);
        CHECK(hip("hipStreamIsCapturing", static_cast<void*>(nullptr), &status) == (release >= 60 ? 906 : 0));
        CHECK(hip("hipStreamEndCapture", blocking.handle, &graph) == 0);
        hip("hipGetLastError");
    }
}

TEST_CASE("HIP_LAUNCH_BLOCKING", "[streams]") {
    const HipClient& hip = client(63);
    hip("hipSetDevice", 0);
    const Word word(hip, 1);
    const Stream s(hip, 1);
    setenv("HIP_LAUNCH_BLOCKING", "1", 1);
    {
        const Slow slow("40");
        CHECK(word.fill(3, s.handle) == 0);
    }
    CHECK(hip("hipStreamQuery", s.handle) == 0);
    unsetenv("HIP_LAUNCH_BLOCKING");
}

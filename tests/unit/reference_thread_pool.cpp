// The thread pool of the CPU backend and the number of threads it takes.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>
#include "catch.hpp"

#include "cpu/fp_env.hpp"
#include "cpu/thread_count.hpp"
#include "cpu/thread_pool.hpp"

using ckitchen::cpu::cgroup_cpu_limit;
using ckitchen::cpu::ThreadPool;

namespace {

// How often each index of a loop was visited; every entry should be 1.
std::vector<int> visits(ThreadPool& pool, std::int64_t count, std::int64_t grain) {
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
    pool.parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    });
    return std::vector<int>(seen.begin(), seen.end());
}

bool covers_once(ThreadPool& pool, std::int64_t count, std::int64_t grain) {
    return visits(pool, count, grain) == std::vector<int>(static_cast<std::size_t>(count), 1);
}

// A directory that goes away with the test.
class TemporaryDirectory {
  public:
    TemporaryDirectory() {
        std::string name = (std::filesystem::temp_directory_path() / "ckitchen-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::bad_alloc();
        path_ = name;
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string write(const std::string& name, const std::string& text) const {
        const std::filesystem::path path = path_ / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
        return path.string();
    }
    std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

}  // namespace

TEST_CASE("a loop covers every index once, whatever its size and grain") {
    for (const int threads : {1, 2, 5}) {
        ThreadPool pool(threads);
        CHECK(pool.threads() == threads);
        for (const std::int64_t count : {0, 1, 2, 7, 1000})
            for (const std::int64_t grain : {0, 1, 3, 1000, 5000}) CHECK(covers_once(pool, count, grain));
    }
}

TEST_CASE("ranges are no longer than the grain and never empty") {
    ThreadPool pool(3);
    std::atomic<int> wrong{0};
    pool.parallel_for(100, 7, [&](std::int64_t begin, std::int64_t end) {
        if (end <= begin || end - begin > 7) ++wrong;
    });
    CHECK(wrong == 0);
    pool.parallel_for(-5, 7, [&](std::int64_t, std::int64_t) { ++wrong; });
    CHECK(wrong == 0);
    // No sum of the loop's own overflows.
    std::atomic<std::int64_t> last{0};
    constexpr std::int64_t kMost = INT64_MAX;
    pool.parallel_for(kMost, kMost / 2, [&](std::int64_t, std::int64_t end) {
        std::int64_t seen = last;
        while (end > seen && !last.compare_exchange_weak(seen, end)) {
        }
    });
    CHECK(last == kMost);
}

TEST_CASE("slots are below the thread count and not shared") {
    ThreadPool pool(4);
    std::vector<std::atomic<int>> inside(4);
    std::atomic<int> wrong{0};
    pool.parallel_for(2000, 1, [&](std::int64_t, std::int64_t, int slot) {
        if (slot < 0 || slot >= 4 || ++inside[static_cast<std::size_t>(slot)] != 1) ++wrong;
        --inside[static_cast<std::size_t>(slot)];
    });
    CHECK(wrong == 0);
}

TEST_CASE("workers do take part") {
    ThreadPool pool(2);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> helped{false};
    // The caller waits inside its range for a worker, so this ends only with a worker's help.
    pool.parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
        if (std::this_thread::get_id() == caller) {
            while (!helped) std::this_thread::yield();
        } else {
            helped = true;
        }
    });
    CHECK(helped);
}

TEST_CASE("many callers share a pool") {
    ThreadPool pool(3);
    std::atomic<int> failures{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 6; ++caller)
        callers.emplace_back([&] {
            for (int round = 0; round < 50; ++round)
                if (!covers_once(pool, 97, 3)) ++failures;
        });
    for (std::thread& caller : callers) caller.join();
    CHECK(failures == 0);
}

TEST_CASE("loops nest") {
    ThreadPool pool(3);
    std::atomic<std::int64_t> sum{0};
    pool.parallel_for(20, 1, [&](std::int64_t outer, std::int64_t) {
        pool.parallel_for(20, 1, [&](std::int64_t inner, std::int64_t) { sum += outer * 20 + inner; });
    });
    CHECK(sum == 400 * 399 / 2);
}

TEST_CASE("an exception of the body reaches the caller and the pool goes on") {
    for (const int threads : {1, 3}) {
        ThreadPool pool(threads);
        CHECK_THROWS_AS(pool.parallel_for(100, 1,
                                          [](std::int64_t begin, std::int64_t) {
                                              if (begin == 42) throw std::bad_alloc();
                                          }),
                        std::bad_alloc);
        CHECK(covers_once(pool, 100, 1));
    }
}

TEST_CASE("a pool that was never used, and many pools, end cleanly") {
    { const ThreadPool unused(8); }
    for (int i = 0; i < 50; ++i) {
        ThreadPool pool(4);
        CHECK(covers_once(pool, 8, 1));
    }
}

// The thread sanitizer ends a child of fork() that starts threads, so it cannot see this one.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a forked child has threads of its own") {
    auto pool = std::make_unique<ThreadPool>(3);
    REQUIRE(covers_once(*pool, 100, 1));
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(20);  // a child that waits for the parent's threads is killed
        bool good = covers_once(*pool, 100, 1) && covers_once(*pool, 100, 1);
        pool.reset();
        ThreadPool fresh(3);
        good = good && covers_once(fresh, 100, 1);
        _exit(good ? 0 : 1);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(covers_once(*pool, 100, 1));
}
#endif

TEST_CASE("a child may destroy a pool that it has not used") {
    auto pool = std::make_unique<ThreadPool>(3);
    REQUIRE(covers_once(*pool, 100, 1));
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        alarm(20);
        pool.reset();
        _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
}

TEST_CASE("workers leave the host's signals alone") {
    ThreadPool pool(2);
    sigset_t before;
    sigset_t after;
    pthread_sigmask(SIG_SETMASK, nullptr, &before);
    const std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> looked{false};
    std::atomic<bool> blocked{false};
    std::atomic<bool> faults_pass{false};
    pool.parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
        if (std::this_thread::get_id() == caller) {
            while (!looked) std::this_thread::yield();
            return;
        }
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, nullptr, &mask);
        blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1 &&
                  sigismember(&mask, SIGALRM) == 1;
        faults_pass = sigismember(&mask, SIGSEGV) == 0;
        looked = true;
    });
    pthread_sigmask(SIG_SETMASK, nullptr, &after);
    CHECK(blocked);
    CHECK(faults_pass);
    CHECK(sigismember(&before, SIGTERM) == sigismember(&after, SIGTERM));
}

#if defined(__x86_64__)
TEST_CASE("the host's floating-point mode neither matters nor changes") {
    constexpr unsigned int kFlushSubnormals = 0x8040;
    const unsigned int saved = _mm_getcsr();
    for (const int threads : {1, 3}) {
        ThreadPool pool(threads);
        std::atomic<int> flushed{0};
        _mm_setcsr(saved | kFlushSubnormals | 0x6000);  // and round toward zero
        const unsigned int host = _mm_getcsr();
        pool.parallel_for(100, 1, [&](std::int64_t, std::int64_t) {
            volatile float small = 0x1p-126f;
            const float half = small * 0.5f;
            volatile float one = 1.0f;
            const float above = one + 0x1.8p-24f;  // rounds up to nearest, down toward zero
            if (half != 0x1p-127f || above == 1.0f) ++flushed;
        });
        const unsigned int now = _mm_getcsr();
        _mm_setcsr(saved);
        CHECK(flushed == 0);
        CHECK(now == host);
    }
}
#endif

TEST_CASE("the CPU quota of a control group, version 2") {
    const TemporaryDirectory root;
    const std::string membership = root.write("cgroup", "0::/a/b\n");
    const std::string mount = root.path() + "/mount";
    CHECK(cgroup_cpu_limit(membership, mount) == 0);
    root.write("mount/a/b/cpu.max", "max 100000\n");
    CHECK(cgroup_cpu_limit(membership, mount) == 0);
    root.write("mount/a/cpu.max", "250000 100000\n");  // the parent's limit binds too
    CHECK(cgroup_cpu_limit(membership, mount) == 3);
    root.write("mount/a/b/cpu.max", "150000 100000\n");
    CHECK(cgroup_cpu_limit(membership, mount) == 2);
    root.write("mount/cpu.max", "50000 100000\n");
    CHECK(cgroup_cpu_limit(membership, mount) == 1);
}

TEST_CASE("the CPU quota where the path is another namespace's") {
    const TemporaryDirectory root;
    const std::string membership = root.write("cgroup", "0::/docker/0123/inner\n");
    root.write("mount/cpu.max", "400000 100000\n");
    CHECK(cgroup_cpu_limit(membership, root.path() + "/mount") == 4);
    CHECK(cgroup_cpu_limit(root.write("short", "0::/\n"), root.path() + "/mount") == 4);
}

TEST_CASE("the CPU quota of a control group, version 1") {
    const TemporaryDirectory root;
    const std::string membership =
        root.write("cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/job\n1:name=systemd:/y\nnonsense\n");
    const std::string mount = root.path() + "/mount";
    root.write("mount/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    root.write("mount/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    CHECK(cgroup_cpu_limit(membership, mount) == 0);
    root.write("mount/cpu,cpuacct/job/cpu.cfs_quota_us", "200000\n");
    CHECK(cgroup_cpu_limit(membership, mount) == 2);
    root.write("mount/cpu,cpuacct/job/cpu.cfs_period_us", "0\n");
    CHECK(cgroup_cpu_limit(membership, mount) == 0);
}

TEST_CASE("the number of available threads is sane") {
    const int threads = ckitchen::cpu::available_threads();
    CHECK(threads >= 1);
    CHECK(threads <= ckitchen::cpu::kMaxThreads);
}

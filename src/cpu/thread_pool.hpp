// The threads of one CPU context.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace ckitchen::cpu {

// Runs loops over a fixed number of threads, the calling one included. Workers start with the first loop that
// can use them, sleep between loops, receive none of the host's signals and end with the pool. Any number of
// threads may run loops at once, and a loop's body may run another loop: a caller always works on its own
// loop and never waits for a worker to become free. In a forked child, where the workers do not exist, the
// pool starts new ones.
class ThreadPool {
  public:
    // `threads` >= 1, the callers' one included.
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    // The number of threads that can work on one loop.
    int threads() const { return threads_; }

    // Calls body(begin, end) or body(begin, end, slot) for ranges that together are [0, count), each at most
    // `grain` long, in no order and on any thread, in the default floating-point environment. slot is below
    // threads() and not used by two calls of one loop at the same time. Returns when all calls have returned.
    // An exception of the body ends the loop early and is rethrown here.
    template <typename Body>
    void parallel_for(std::int64_t count, std::int64_t grain, const Body& body) {
        const auto call = [](const void* self, std::int64_t begin, std::int64_t end, int slot) {
            if constexpr (std::is_invocable_v<const Body&, std::int64_t, std::int64_t, int>) {
                (*static_cast<const Body*>(self))(begin, end, slot);
            } else {
                static_cast<void>(slot);
                (*static_cast<const Body*>(self))(begin, end);
            }
        };
        run(count, grain, call, &body);
    }

  private:
    struct Crew;  // the workers and the loops that they may join, of one process
    struct Loop;
    using Call = void (*)(const void* body, std::int64_t begin, std::int64_t end, int slot);

    void run(std::int64_t count, std::int64_t grain, Call call, const void* body);
    Crew* crew();
    static void* work(void* start);

    const int threads_;
    std::atomic<Crew*> crew_{nullptr};
};

}  // namespace ckitchen::cpu

#include "cpu/thread_pool.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <vector>

#include "cpu/fp_env.hpp"

namespace ckitchen::cpu {
namespace {

class Lock {
  public:
    explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
    ~Lock() { pthread_mutex_unlock(&mutex_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

  private:
    pthread_mutex_t& mutex_;
};

}  // namespace

// One parallel_for, on its caller's stack. It is listed while it has ranges to give away and lives until the
// last worker has left it.
struct ThreadPool::Loop {
    Call call;
    const void* body;
    std::int64_t count;
    std::int64_t grain;
    std::int64_t ranges;
    std::atomic<std::int64_t> next{0};  // the first range that nobody has taken
    int helpers = 0;                    // workers inside; guarded by the crew's mutex
    std::exception_ptr error{};         // the first one; guarded by the crew's mutex
    Loop* following = nullptr;          // in the crew's list; guarded by the crew's mutex

    bool exhausted() const { return next.load(std::memory_order_relaxed) >= ranges; }

    // Takes ranges until there are none.
    void participate(int slot, pthread_mutex_t& mutex) {
        const FpEnv fp_env;
        for (;;) {
            const std::int64_t range = next.fetch_add(1, std::memory_order_relaxed);
            if (range >= ranges) return;
            const std::int64_t begin = range * grain;
            try {
                call(body, begin, begin + std::min(grain, count - begin), slot);
            } catch (...) {
                next.store(ranges, std::memory_order_relaxed);
                const Lock lock(mutex);
                if (error == nullptr) error = std::current_exception();
            }
        }
    }
};

// Plain pthread objects: they need no destructor, so a crew that fork() has left without its threads, with a
// mutex that may be locked for ever and waiters that do not exist, can simply be freed.
struct ThreadPool::Crew {
    struct Start {
        Crew* crew;
        int slot;
    };

    explicit Crew(int workers) : starts(static_cast<std::size_t>(workers)) { threads.reserve(starts.size()); }

    // Threads are started with signals blocked, which they inherit: the host's signals stay its own.
    // Called once, under the mutex. Where the system refuses a thread, the crew is smaller.
    void start() {
        started = true;
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        // A fault of the thread itself must reach the host's crash handler.
        for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) sigdelset(&all, fault);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        for (std::size_t i = 0; i < starts.size(); ++i) {
            starts[i] = {this, static_cast<int>(i) + 1};
            pthread_t thread;
            if (pthread_create(&thread, nullptr, &ThreadPool::work, &starts[i]) != 0) break;
            threads.push_back(thread);
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }

    void stop() {
        {
            const Lock lock(mutex);
            stopping = true;
            pthread_cond_broadcast(&work_arrived);
        }
        for (const pthread_t thread : threads) pthread_join(thread, nullptr);
    }

    // The first listed loop that still has ranges.
    Loop* find_work() const {
        Loop* loop = loops;
        while (loop != nullptr && loop->exhausted()) loop = loop->following;
        return loop;
    }

    void add(Loop& loop) {
        Loop** link = &loops;
        while (*link != nullptr) link = &(*link)->following;
        *link = &loop;
    }

    void remove(Loop& loop) {
        Loop** link = &loops;
        while (*link != &loop) link = &(*link)->following;
        *link = loop.following;
    }

    const pid_t process = getpid();
    std::unique_ptr<Crew> inherited;  // the parent process's
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t work_arrived = PTHREAD_COND_INITIALIZER;
    pthread_cond_t helper_left = PTHREAD_COND_INITIALIZER;
    Loop* loops = nullptr;
    bool started = false;
    bool stopping = false;
    std::vector<Start> starts;
    std::vector<pthread_t> threads;
};

ThreadPool::ThreadPool(int threads) : threads_(std::max(threads, 1)) {}

ThreadPool::~ThreadPool() {
    Crew* const crew = crew_.load(std::memory_order_acquire);
    if (crew == nullptr) return;
    if (crew->process == getpid()) crew->stop();
    delete crew;
}

// The crew of this process. After a fork the inherited one is replaced; it is kept until the pool ends,
// because another thread of the child may be looking at it.
ThreadPool::Crew* ThreadPool::crew() {
    Crew* current = crew_.load(std::memory_order_acquire);
    if (current != nullptr && current->process == getpid()) return current;
    auto fresh = std::make_unique<Crew>(threads_ - 1);
    fresh->inherited.reset(current);
    if (crew_.compare_exchange_strong(current, fresh.get(), std::memory_order_acq_rel,
                                      std::memory_order_acquire))
        return fresh.release();
    static_cast<void>(fresh->inherited.release());  // the thread that was faster has taken it
    return current;
}

void* ThreadPool::work(void* start) {
    const auto [crew, slot] = *static_cast<Crew::Start*>(start);
    const Lock lock(crew->mutex);
    for (;;) {
        Loop* const loop = crew->find_work();
        if (loop == nullptr) {
            if (crew->stopping) return nullptr;
            pthread_cond_wait(&crew->work_arrived, &crew->mutex);
            continue;
        }
        ++loop->helpers;
        pthread_mutex_unlock(&crew->mutex);
        loop->participate(slot, crew->mutex);
        pthread_mutex_lock(&crew->mutex);
        if (--loop->helpers == 0) pthread_cond_broadcast(&crew->helper_left);
    }
}

void ThreadPool::run(std::int64_t count, std::int64_t grain, Call call, const void* body) {
    if (count <= 0) return;
    grain = std::clamp<std::int64_t>(grain, 1, count);
    Loop loop{call, body, count, grain, (count - 1) / grain + 1};
    if (threads_ == 1 || loop.ranges == 1) {
        const FpEnv fp_env;
        for (std::int64_t begin = 0; begin < count; begin += std::min(grain, count - begin))
            call(body, begin, begin + std::min(grain, count - begin), 0);
        return;
    }
    Crew* const team = crew();
    {
        const Lock lock(team->mutex);
        if (!team->started) team->start();
        team->add(loop);
        const std::int64_t useful = std::min<std::int64_t>(loop.ranges - 1, threads_ - 1);
        for (std::int64_t i = 0; i < useful; ++i) pthread_cond_signal(&team->work_arrived);
    }
    loop.participate(0, team->mutex);
    {
        const Lock lock(team->mutex);
        team->remove(loop);
        while (loop.helpers > 0) pthread_cond_wait(&team->helper_left, &team->mutex);
    }
    if (loop.error != nullptr) std::rethrow_exception(loop.error);
}

}  // namespace ckitchen::cpu

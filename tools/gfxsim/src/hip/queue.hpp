#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ckitchen::gfxsim {

/// The end of a piece of work, and when it came.
class Signal {
  public:
    using Time = std::chrono::steady_clock::time_point;

    void set();
    bool done() const;
    void wait() const;
    /// Of a signal that is done.
    Time time() const;

  private:
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    bool done_ = false;
    Time time_;
};
using SignalPtr = std::shared_ptr<Signal>;

struct Command {
    std::vector<SignalPtr> after;
    std::function<void()> run;        // nothing for a mark
    std::chrono::milliseconds extra;  // that the work takes longer, on demand
    SignalPtr done;
};

/// Runs commands one after another on a thread of its own, which the first command starts. A command may wait
/// for earlier ones of other queues only, so that queues never wait for each other.
class Queue {
  public:
    Queue() = default;
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    /// Waits for all that was pushed.
    ~Queue();

    void push(Command command);

  private:
    void work();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Command> commands_;
    bool closing_ = false;
    std::thread thread_;
};

}  // namespace ckitchen::gfxsim

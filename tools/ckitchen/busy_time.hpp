// How long something was in use, by whatever number of threads at once.
#pragma once

#include <chrono>
#include <mutex>

namespace ckitchen::cli {

// The sum of the times during which at least one user was inside. Thread-safe.
class BusyTime {
  public:
    void enter() {
        const std::lock_guard lock(mutex_);
        if (users_++ == 0) since_ = Clock::now();
    }
    void leave() {
        const std::lock_guard lock(mutex_);
        if (--users_ == 0) sum_ += Clock::now() - since_;
    }
    // Of the times that have ended.
    double seconds() const {
        const std::lock_guard lock(mutex_);
        return std::chrono::duration<double>(sum_).count();
    }

    // A user, for the life of the object.
    class Scope {
      public:
        explicit Scope(BusyTime& busy) : busy_(busy) { busy_.enter(); }
        ~Scope() { busy_.leave(); }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

      private:
        BusyTime& busy_;
    };

  private:
    using Clock = std::chrono::steady_clock;

    mutable std::mutex mutex_;
    int users_ = 0;
    Clock::time_point since_;
    Clock::duration sum_{};
};

}  // namespace ckitchen::cli

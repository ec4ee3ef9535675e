// Tells a process from its forked children without a system call.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace ckitchen::runtime {

// The process that made it is remembered for ever: a mark is never destroyed, only leaked with its owner.
class ForkMark {
  public:
    ForkMark();
    ForkMark(const ForkMark&) = delete;
    ForkMark& operator=(const ForkMark&) = delete;

    // True in every process but the one that made the mark.
    bool forked() const { return page_ ? *page_ == 0 : slow_forked(); }
    pid_t process() const { return process_; }

  private:
    bool slow_forked() const;

    // A page that the kernel empties in children, nullptr where it cannot.
    const volatile uint8_t* page_ = nullptr;
    pid_t process_;
};

}  // namespace ckitchen::runtime

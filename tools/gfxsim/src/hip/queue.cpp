#include "queue.hpp"

namespace ckitchen::gfxsim {

void Signal::set() {
    std::lock_guard lock(mutex_);
    done_ = true;
    time_ = std::chrono::steady_clock::now();
    changed_.notify_all();
}

bool Signal::done() const {
    std::lock_guard lock(mutex_);
    return done_;
}

void Signal::wait() const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
}

Signal::Time Signal::time() const {
    std::lock_guard lock(mutex_);
    return time_;
}

Queue::~Queue() {
    {
        std::lock_guard lock(mutex_);
        closing_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void Queue::push(Command command) {
    std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    commands_.push_back(std::move(command));
    changed_.notify_all();
}

void Queue::work() {
    for (;;) {
        Command command;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return closing_ || !commands_.empty(); });
            if (commands_.empty()) return;
            command = std::move(commands_.front());
            commands_.pop_front();
        }
        for (const SignalPtr& earlier : command.after) earlier->wait();
        if (command.run) command.run();
        // What the command held is free before anybody learns that it is done.
        command.run = nullptr;
        command.after.clear();
        if (command.extra.count() > 0) std::this_thread::sleep_for(command.extra);
        command.done->set();
    }
}

}  // namespace ckitchen::gfxsim

// Threads that have a tool each and work off one queue.
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "pipeline.hpp"

namespace ckitchen::cli {

// A thread for each of `tools`, which nobody else uses meanwhile. Tasks begin in the order of submission: one
// may wait for the result of an earlier one. Those that have not begun when the crew ends are dropped, and
// the others waited for.
template <typename Tool>
class Crew {
  public:
    explicit Crew(std::deque<Tool>& tools) {
        try {
            for (Tool& tool : tools) {
                threads_.emplace_back([this, &tool] {
                    while (std::optional<Task> task = queue_.pop()) (*task)(tool);
                });
            }
        } catch (...) {
            stop();
            throw;
        }
    }
    ~Crew() { stop(); }
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // What `body(tool)` returns or throws, sooner or later.
    template <typename Body>
    auto submit(Body body) {
        using Result = std::invoke_result_t<Body&, Tool&>;
        // Shared, since a function object has to be copyable and the body need not be.
        auto task = std::make_shared<std::packaged_task<Result(Tool&)>>(std::move(body));
        std::future<Result> result = task->get_future();
        queue_.push([task = std::move(task)](Tool& tool) { (*task)(tool); });
        return result;
    }

  private:
    using Task = std::function<void(Tool&)>;

    void stop() {
        queue_.cancel();
        for (std::thread& thread : threads_) thread.join();
    }

    BoundedQueue<Task> queue_{std::numeric_limits<std::size_t>::max()};  // who submits sees to its length
    std::vector<std::thread> threads_;
};

}  // namespace ckitchen::cli

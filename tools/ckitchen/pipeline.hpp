// Reading, computing and writing at the same time: a bounded queue, a thread that reads ahead and a thread
// that writes behind.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "buffer.hpp"
#include "safetensors.hpp"

namespace ckitchen::cli {

// A queue of at most `capacity` items between two threads. Either side can end it: close() lets the consumer
// finish what is queued, cancel() drops everything and wakes both, fail() hands an exception to the other
// side.
template <typename T>
class BoundedQueue {
  public:
    explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

    // False when the queue was cancelled; rethrows a failure of the consumer.
    bool push(T item) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return items_.size() < capacity_ || cancelled_ || failure_; });
        if (failure_) std::rethrow_exception(failure_);
        if (cancelled_) return false;
        items_.push_back(std::move(item));
        changed_.notify_all();
        return true;
    }

    // Nothing when the queue is closed and empty, or cancelled; rethrows a failure of the producer.
    std::optional<T> pop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !items_.empty() || closed_ || cancelled_ || failure_; });
        if (failure_) std::rethrow_exception(failure_);
        if (cancelled_ || items_.empty()) return std::nullopt;
        T item = std::move(items_.front());
        items_.pop_front();
        changed_.notify_all();
        return item;
    }

    void close() {
        set([&] { closed_ = true; });
    }
    void cancel() {
        set([&] { cancelled_ = true; });
    }
    void fail(std::exception_ptr failure) {
        set([&] { failure_ = failure; });
    }
    std::exception_ptr failure() {
        const std::lock_guard lock(mutex_);
        return failure_;
    }

  private:
    template <typename Change>
    void set(Change change) {
        const std::lock_guard lock(mutex_);
        change();
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<T> items_;
    std::size_t capacity_;
    bool closed_ = false;
    bool cancelled_ = false;
    std::exception_ptr failure_;
};

// Runs `produce` on a thread; it pushes blocks until push() says false.
template <typename T>
class ReadAhead {
  public:
    ReadAhead(std::size_t capacity, std::function<void(BoundedQueue<T>&)> produce)
        : queue_(capacity), thread_([this, produce = std::move(produce)] {
              try {
                  produce(queue_);
                  queue_.close();
              } catch (...) {
                  queue_.fail(std::current_exception());
              }
          }) {}
    ~ReadAhead() {
        queue_.cancel();
        thread_.join();
    }
    ReadAhead(const ReadAhead&) = delete;
    ReadAhead& operator=(const ReadAhead&) = delete;

    std::optional<T> next() { return queue_.pop(); }

  private:
    BoundedQueue<T> queue_;
    std::thread thread_;
};

// Writes blocks of tensors on a thread. The writer must outlive it and is used by nobody else meanwhile.
class WriteBehind {
  public:
    WriteBehind(SafetensorsWriter& writer, std::size_t capacity);
    ~WriteBehind();
    WriteBehind(const WriteBehind&) = delete;
    WriteBehind& operator=(const WriteBehind&) = delete;

    // Rethrows a failure of an earlier write.
    void write(const TensorInfo& tensor, std::uint64_t offset, Buffer data);
    // Waits until everything is written; rethrows a failure.
    void finish();

  private:
    struct Item {
        const TensorInfo* tensor = nullptr;
        std::uint64_t offset = 0;
        Buffer data;
    };

    SafetensorsWriter& writer_;
    BoundedQueue<Item> queue_;
    std::thread thread_;
};

// A block of bytes as a Buffer.
Buffer copy_of(std::span<const std::byte> bytes);

}  // namespace ckitchen::cli

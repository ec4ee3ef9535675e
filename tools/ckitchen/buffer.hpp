// Blocks of bytes that threads hand on.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace ckitchen::cli {

// Takes back the memory of a Buffer that is not needed any more. Thread-safe.
class BufferOwner {
  public:
    virtual void take_back(std::byte* data, std::size_t capacity) noexcept = 0;

  protected:
    ~BufferOwner() = default;
};

struct BufferRelease {
    BufferOwner* owner = nullptr;
    std::size_t capacity = 0;
    void operator()(std::byte* data) const noexcept {
        if (owner != nullptr) {
            owner->take_back(data, capacity);
        } else {
            delete[] data;
        }
    }
};

// Bytes that are not zeroed first; ordinary memory, or an owner's, whom the buffer must not outlive.
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::size_t size) : data_(new std::byte[size], BufferRelease{}), size_(size) {}
    Buffer(std::byte* data, std::size_t size, std::size_t capacity, BufferOwner& owner)
        : data_(data, BufferRelease{&owner, capacity}), size_(size) {}

    Buffer(Buffer&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        data_ = std::move(other.data_);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }
    ~Buffer() = default;

    std::size_t size() const { return size_; }
    std::span<std::byte> bytes() { return {data_.get(), size_}; }
    std::span<const std::byte> bytes() const { return {data_.get(), size_}; }

  private:
    std::unique_ptr<std::byte[], BufferRelease> data_;
    std::size_t size_ = 0;
};

}  // namespace ckitchen::cli

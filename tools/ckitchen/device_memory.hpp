// Memory of a session's device and of the host beside it, and streams of copies and kernels on them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "buffer.hpp"
#include "busy_time.hpp"
#include "session.hpp"

namespace ckitchen::cli {

// Memory of a session's device. Contents are lost when it grows. The session must outlive it.
class DeviceBuffer {
  public:
    explicit DeviceBuffer(const Session& session) : session_(&session) {}
    ~DeviceBuffer();
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;

    // At least `bytes` bytes; NULL for 0.
    void* reserve(std::uint64_t bytes);
    void* data() const { return pointer_; }

    // Makes room and copies from the host.
    void* upload(std::span<const std::byte> data);
    // Copies the first out.size() bytes to the host.
    void download(std::span<std::byte> out) const;

  private:
    const Session* session_;
    void* pointer_ = nullptr;
    std::uint64_t capacity_ = 0;
};

// Page-locked host memory, which copies use without staging it. What is given back is kept for the next
// buffer of about the same size: to lock memory costs milliseconds. Thread-safe. The session must outlive it,
// and it the buffers.
class BufferPool final : public BufferOwner {
  public:
    explicit BufferPool(const Session& session) : session_(session) {}
    ~BufferPool();
    BufferPool(const BufferPool&) = delete;
    BufferPool& operator=(const BufferPool&) = delete;

    Buffer take(std::size_t size);
    void take_back(std::byte* data, std::size_t capacity) noexcept override;
    // What it holds in all, lent out or not. It grows only.
    std::uint64_t allocated_bytes() const;

  private:
    const Session& session_;
    mutable std::mutex mutex_;
    std::uint64_t allocated_bytes_ = 0;
    std::map<std::size_t, std::vector<std::byte*>> free_;  // by capacity, a power of two
};

// Copies and kernels that run in order, beside those of other streams. For one thread at a time.
class Stream {
  public:
    explicit Stream(const Session& session);
    ~Stream();
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    void* handle() const { return handle_; }

    // Host data where kernels find it: as it is where the device's memory is the host's, else copied into
    // `room`. The data must stay as it is until the work is finished.
    const void* upload(std::span<const std::byte> data, DeviceBuffer& room);
    // Where kernels shall write what download() then brings to `target`.
    void* room_for(Buffer& target, DeviceBuffer& room);
    void download(const void* from, Buffer& target);

    // What is enqueued during its life. `busy` counts the time from its beginning to finish().
    class Work {
      public:
        Work(Stream& stream, BusyTime& busy) : stream_(stream), busy_(busy) { busy_.enter(); }
        // Waits as well: memory that the work uses may be freed behind a failure.
        ~Work();
        Work(const Work&) = delete;
        Work& operator=(const Work&) = delete;

        // Waits, and fails when the work did.
        void finish();

      private:
        Stream& stream_;
        BusyTime& busy_;
        bool finished_ = false;
    };

  private:
    const Session& session_;
    void* handle_ = nullptr;
};

}  // namespace ckitchen::cli

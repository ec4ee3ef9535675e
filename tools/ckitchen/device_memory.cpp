#include "device_memory.hpp"

#include <algorithm>
#include <bit>

#include "text.hpp"

namespace ckitchen::cli {
namespace {

constexpr std::size_t kSmallestCapacity = 4096;

}  // namespace

DeviceBuffer::~DeviceBuffer() {
    ck_free(session_->context(), pointer_);
}

void* DeviceBuffer::reserve(std::uint64_t bytes) {
    if (bytes <= capacity_) return bytes == 0 ? nullptr : pointer_;
    check(ck_free(session_->context(), pointer_), "cannot free device memory");
    pointer_ = nullptr;
    capacity_ = 0;
    check(ck_malloc(session_->context(), bytes, &pointer_),
          "cannot allocate " + bytes_text(bytes) + " of device memory");
    capacity_ = bytes;
    return pointer_;
}

void* DeviceBuffer::upload(std::span<const std::byte> data) {
    void* const pointer = reserve(data.size());
    if (!data.empty()) {
        check(
            ck_copy(session_->context(), pointer, data.data(), data.size(), CK_COPY_HOST_TO_DEVICE, nullptr),
            "cannot copy to the device");
    }
    return pointer;
}

void DeviceBuffer::download(std::span<std::byte> out) const {
    if (out.empty()) return;
    check(ck_copy(session_->context(), out.data(), pointer_, out.size(), CK_COPY_DEVICE_TO_HOST, nullptr),
          "cannot copy from the device");
}

BufferPool::~BufferPool() {
    for (const auto& [capacity, blocks] : free_) {
        for (std::byte* const block : blocks) ck_host_free(session_.context(), block);
    }
}

Buffer BufferPool::take(std::size_t size) {
    const std::size_t capacity = std::bit_ceil(std::max(size, kSmallestCapacity));
    {
        const std::lock_guard lock(mutex_);
        std::vector<std::byte*>& blocks = free_[capacity];
        if (!blocks.empty()) {
            std::byte* const block = blocks.back();
            blocks.pop_back();
            return {block, size, capacity, *this};
        }
    }
    void* block = nullptr;
    check(ck_host_malloc(session_.context(), capacity, &block),
          "cannot allocate " + bytes_text(capacity) + " of memory");
    const std::lock_guard lock(mutex_);
    allocated_bytes_ += capacity;
    return {static_cast<std::byte*>(block), size, capacity, *this};
}

std::uint64_t BufferPool::allocated_bytes() const {
    const std::lock_guard lock(mutex_);
    return allocated_bytes_;
}

void BufferPool::take_back(std::byte* data, std::size_t capacity) noexcept {
    try {
        const std::lock_guard lock(mutex_);
        free_[capacity].push_back(data);
    } catch (...) {
        ck_host_free(session_.context(), data);
    }
}

Stream::Stream(const Session& session) : session_(session) {
    check(ck_stream_create(session.context(), &handle_), "cannot make a stream");
}

Stream::~Stream() {
    ck_stream_destroy(session_.context(), handle_);
}

const void* Stream::upload(std::span<const std::byte> data, DeviceBuffer& room) {
    if (session_.shares_memory() || data.empty()) return data.data();
    void* const pointer = room.reserve(data.size());
    check(
        ck_copy_async(session_.context(), pointer, data.data(), data.size(), CK_COPY_HOST_TO_DEVICE, handle_),
        "cannot copy to the device");
    return pointer;
}

void* Stream::room_for(Buffer& target, DeviceBuffer& room) {
    return session_.shares_memory() ? target.bytes().data() : room.reserve(target.size());
}

void Stream::download(const void* from, Buffer& target) {
    if (session_.shares_memory()) return;
    check(ck_copy_async(session_.context(), target.bytes().data(), from, target.size(),
                        CK_COPY_DEVICE_TO_HOST, handle_),
          "cannot copy from the device");
}

Stream::Work::~Work() {
    if (finished_) return;
    ck_synchronize(stream_.session_.context(), stream_.handle_);
    busy_.leave();
}

void Stream::Work::finish() {
    const ck_status status = ck_synchronize(stream_.session_.context(), stream_.handle_);
    finished_ = true;
    busy_.leave();
    check(status, "the device failed");
}

}  // namespace ckitchen::cli

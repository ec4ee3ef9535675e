#include "pipeline.hpp"

#include <algorithm>

namespace ckitchen::cli {

WriteBehind::WriteBehind(SafetensorsWriter& writer, std::size_t capacity)
    : writer_(writer), queue_(capacity), thread_([this] {
          try {
              while (std::optional<Item> item = queue_.pop()) {
                  writer_.write(*item->tensor, item->offset, item->data.bytes());
              }
          } catch (...) {
              queue_.fail(std::current_exception());
          }
      }) {}

WriteBehind::~WriteBehind() {
    if (!thread_.joinable()) return;
    queue_.cancel();
    thread_.join();
}

void WriteBehind::write(const TensorInfo& tensor, std::uint64_t offset, Buffer data) {
    queue_.push({&tensor, offset, std::move(data)});
}

void WriteBehind::finish() {
    queue_.close();
    thread_.join();
    if (const std::exception_ptr failure = queue_.failure()) std::rethrow_exception(failure);
}

Buffer copy_of(std::span<const std::byte> bytes) {
    Buffer out(bytes.size());
    std::copy(bytes.begin(), bytes.end(), out.bytes().begin());
    return out;
}

}  // namespace ckitchen::cli

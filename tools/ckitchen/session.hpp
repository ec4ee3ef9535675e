// The library as the commands see it: a context that belongs to an object, failures as exceptions, memory of
// the device that grows on demand.
#pragma once

#include <ckitchen.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ckitchen::cli {

struct SessionOptions {
    ck_backend backend = CK_BACKEND_AUTO;
    int device = 0;
    int threads = 0;  // CPU: 0 = all
};

// "auto", "cpu", "hip" or "cuda". Fails with Exit::kUsage for anything else.
ck_backend parse_backend(const std::string& name);
std::string backend_name(ck_backend backend);

// A failed library call as a Failure with Exit::kBackend, or Exit::kResources when memory ran out: what was
// attempted, the status, the library's text.
void check(ck_status status, const std::string& what);

class Session {
  public:
    explicit Session(const SessionOptions& options);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    ck_context* context() const { return context_; }
    // "cpu", "hip" or "cuda", and the device's name.
    std::string backend() const;
    std::string device() const { return properties_.name; }

  private:
    ck_context* context_ = nullptr;
    ck_device_properties properties_;
};

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
    std::uint64_t capacity() const { return capacity_; }

    // Makes room and copies from the host.
    void* upload(std::span<const std::byte> data);
    // Copies the first out.size() bytes to the host.
    void download(std::span<std::byte> out) const;

  private:
    const Session* session_;
    void* pointer_ = nullptr;
    std::uint64_t capacity_ = 0;
};

}  // namespace ckitchen::cli

// The library as the commands see it: a context that belongs to an object, failures as exceptions.
#pragma once

#include <ckitchen.h>

#include <string>

#include "failure.hpp"

namespace ckitchen::cli {

struct SessionOptions {
    ck_backend backend = CK_BACKEND_AUTO;
    int device = 0;
    int threads = 0;  // CPU: 0 = all
};

// "auto", "cpu", "hip" or "cuda". Fails with Exit::kUsage for anything else.
ck_backend parse_backend(const std::string& name);
std::string backend_name(ck_backend backend);

// The exit status for a status of the library: Exit::kBackend, or Exit::kResources when memory ran out.
Exit failure_status(ck_status status);

// A failed library call as a Failure: what was attempted, the status, the library's text.
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
    // Whether the device's memory is the host's.
    bool shares_memory() const { return properties_.backend == CK_BACKEND_CPU; }

  private:
    ck_context* context_ = nullptr;
    ck_device_properties properties_;
};

}  // namespace ckitchen::cli

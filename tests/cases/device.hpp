// The backend under test, by name.
#pragma once

#include <ckitchen.h>

#include <cstdint>
#include <ios>
#include <stdexcept>
#include <string>
#include <vector>

namespace ckitchen::cases {

// A call of the API that had to succeed did not.
class ApiError : public std::runtime_error {
  public:
    explicit ApiError(const std::string& text, ck_status status = CK_ERROR_INTERNAL)
        : std::runtime_error(text), status_(status) {}
    // The library's, where it was the library that failed.
    ck_status status() const { return status_; }

  private:
    ck_status status_;
};

class Device {
  public:
    // `name`: cpu, hip, cuda, or sim:<gfx>, which opens the simulator's HIP runtime at `runtime` and gives it
    // one device of that target. Throws ApiError with the library's reason when it cannot be had: a backend
    // that was asked for by name and is absent is a failure. `threads` as in ck_context_options.
    explicit Device(const std::string& name, const std::string& runtime = "", int32_t threads = 0);
    // On a context that somebody else owns.
    explicit Device(ck_context* context);
    ~Device();
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;

    ck_context* context() const { return context_; }
    const std::string& name() const { return name_; }
    const ck_device_properties& properties() const { return properties_; }
    bool is_cpu() const { return properties_.backend == CK_BACKEND_CPU; }
    bool is_simulated() const { return simulated_; }

    // The kernels that a simulated device has executed since the last question, by name, in order.
    std::vector<std::string> launched();

  private:
    std::string launches_;  // the file that the simulator adds a line to for each launch
    std::streamoff launches_read_ = 0;
    std::string name_;
    bool simulated_ = false;
    bool owned_ = true;
    ck_context* context_ = nullptr;
    ck_device_properties properties_;
};

// Throws ApiError with `what`, the status and ck_last_error().
void expect_ok(ck_status status, const char* what);

}  // namespace ckitchen::cases

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gfxsim_test {

/// A runtime library opened by path, as a client of the module API sees it.
class HipClient {
  public:
    explicit HipClient(const std::string& library);

    /// The entry point as a function of that type; nullptr when the library does not have it.
    template <class F>
    F* find(const char* name) const {
        return reinterpret_cast<F*>(symbol(name));
    }
    /// Calls an entry point that must exist.
    template <class... A>
    int operator()(const char* name, A... arguments) const {
        return reinterpret_cast<int (*)(A...)>(require(name))(arguments...);
    }

  private:
    void* symbol(const char* name) const;
    void* require(const char* name) const;
    void* handle_;
};

/// A device buffer with the contents of a vector.
template <class T>
class DeviceArray {
  public:
    DeviceArray(const HipClient& hip, const std::vector<T>& data) : hip_(hip), count_(data.size()) {
        hip_("hipMalloc", &p_, bytes());
        hip_("hipMemcpy", p_, static_cast<const void*>(data.data()), bytes(), 1);
    }
    ~DeviceArray() { hip_("hipFree", p_); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    std::vector<T> read() const {
        std::vector<T> out(count_);
        hip_("hipMemcpy", static_cast<void*>(out.data()), static_cast<const void*>(p_), bytes(), 2);
        return out;
    }
    size_t bytes() const { return count_ * sizeof(T); }
    void* get() const { return p_; }

  private:
    const HipClient& hip_;
    void* p_ = nullptr;
    size_t count_;
};

std::string read_file(const std::string& path);

/// A loaded code object with launches by kernel name.
class Module {
  public:
    Module(const HipClient& hip, const std::string& path);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    bool has(const char* kernel) const;
    /// Launches and waits; what either of the two answered.
    template <class... A>
    int launch(const char* kernel, unsigned gx, unsigned gy, unsigned threads, A... arguments) const {
        void* pointers[] = {static_cast<void*>(&arguments)...};
        return launch_raw(kernel, gx, gy, threads, pointers);
    }
    int launch_raw(const char* kernel, unsigned gx, unsigned gy, unsigned threads, void** arguments) const;
    void* handle() const { return module_; }

  private:
    const HipClient& hip_;
    std::string image_;
    void* module_ = nullptr;
};

}  // namespace gfxsim_test

#pragma once

#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../code_object.hpp"
#include "../launch.hpp"
#include "../memory.hpp"
#include "../targets.hpp"
#include "hip_types.hpp"
#include "planned_faults.hpp"

namespace ckitchen::gfxsim {

struct HipModule;

struct HipFunction {
    const Kernel* kernel = nullptr;
    HipModule* module = nullptr;
};

struct HipModule {
    int device = 0;
    std::unique_ptr<CodeObject> object;
    std::unordered_map<std::string, std::unique_ptr<HipFunction>> functions;
};

/// A recorded piece of work.
using Work = std::function<int()>;

struct HipGraph {
    std::vector<Work> nodes;
};

struct HipStream {
    int device = 0;
    unsigned flags = 0;
    CaptureStatus capture = kCaptureNone;
    CaptureMode capture_mode = kCaptureGlobal;
    std::thread::id capture_thread;
    std::vector<Work> recorded;
    std::chrono::steady_clock::time_point busy_until;  // of a stream that GFXSIM_FAULT slows down

    bool busy() const { return std::chrono::steady_clock::now() < busy_until; }
};

struct HipEvent {
    int device = 0;
    unsigned flags = 0;
    bool recorded = false;
    std::chrono::steady_clock::time_point time;  // may lie ahead, on a slow stream
};

struct HipDevice {
    const Target* target = nullptr;
    int pending_error = 0;  // of a launch that ended with a finding
    std::unique_ptr<HipStream> null_stream;
};

/// Everything that the library keeps. One mutex guards the tables; launches run outside it.
class Runtime {
  public:
    static Runtime& instance();

    int device_count() const { return static_cast<int>(devices_.size()); }
    HipDevice& device(int ordinal) { return devices_[ordinal]; }
    bool valid_device(int ordinal) const { return ordinal >= 0 && ordinal < device_count(); }

    /// A stream handle as given by a client; nullptr when it is none of ours. The null handle and the legacy
    /// one (1) mean the current device's default stream, 2 the per-thread one (here: the same).
    HipStream* stream(void* handle);
    HipFunction* function(void* handle);

    std::mutex mutex;
    std::set<void*> modules, functions, streams, events, graphs, graph_execs;

    /// Runs work on a stream: at once, or into the recording when the stream captures.
    int submit(HipStream& stream, Work work, bool recordable = true);
    /// A call that a capture forbids: the error to return (0 when allowed); captures that object are
    /// invalidated.
    int refuse_in_capture(int error, bool any_mode);
    /// As above for a wait on or a query of `stream`.
    int refuse_wait_in_capture(HipStream* stream);
    /// Until the work of the device is done, by the clock of slow streams.
    void wait_for_device(int device);
    /// False in a child of fork() whose parent had used the runtime: the driver's handles are void there.
    bool same_process() const { return getpid() == pid_; }
    /// Error of an earlier launch that a synchronising call reports.
    int take_pending(int device);

  private:
    Runtime();
    std::vector<HipStream*> capturing() const;

    std::vector<HipDevice> devices_;
    pid_t pid_ = getpid();
};

/// Per-thread state of the runtime.
struct ThreadState {
    int device = 0;
    int last_error = 0;
    CaptureMode capture_mode = kCaptureGlobal;
};
ThreadState& thread_state();

/// Keeps the last error by the release's rule: up to 6 each call overwrites it, from 7 on only errors do.
int record(int error);

/// Body of an entry point that needs a device: no exception leaves it, the result becomes the last error.
template <class F>
int guarded(F&& body) {
    try {
        Runtime& rt = Runtime::instance();
        if (!rt.same_process()) return record(kNotInitialized);
        if (rt.device_count() == 0) return record(kNoDevice);
        if (device_lost()) return record(kUnknownError);
        if (kFlavor >= 70) {
            // After a fault of the GPU every call returns that error.
            const int fault = rt.device(thread_state().device).pending_error;
            if (fault) return record(fault);
        }
        return record(body(rt));
    } catch (const std::bad_alloc&) {
        return record(kOutOfMemory);
    } catch (...) {
        return record(kUnknownError);
    }
}

}  // namespace ckitchen::gfxsim

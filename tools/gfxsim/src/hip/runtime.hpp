#pragma once

#include <unistd.h>

#include <atomic>
#include <deque>
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
#include "image.hpp"
#include "planned_faults.hpp"
#include "queue.hpp"

namespace ckitchen::gfxsim {

struct HipModule;

struct HipFunction {
    const Kernel* kernel = nullptr;
    HipModule* module = nullptr;
};

struct HipModule {
    virtual ~HipModule() = default;

    int device = 0;
    ModuleImage image;
    std::unique_ptr<CodeObject> object;
    std::unordered_map<std::string, std::unique_ptr<HipFunction>> functions;
    /// Held by every launch that is not over.
    std::shared_ptr<int> in_flight = std::make_shared<int>(0);
};

/// A piece of work for a stream: done at its turn, or recorded.
struct Work {
    /// Returns a HIP error, which becomes the device's pending one. The options are those of the moment at
    /// which the work is enqueued.
    std::function<int(const Options&)> run;
    HipModule* module = nullptr;  // of a launch, and
    const Kernel* kernel = nullptr;
};

struct HipGraph {
    std::vector<Work> nodes;
};

struct HipStream;

/// A capture in progress, shared by the streams that take part in it. Nodes are kept in the order of their
/// calls, which is an order that respects every dependency.
struct Capture {
    HipStream* origin = nullptr;
    CaptureMode mode = kCaptureGlobal;
    std::thread::id thread;
    bool invalid = false;
    std::vector<Work> nodes;
};

/// Which nodes of a capture come before a point of it.
using Reach = std::vector<bool>;

struct HipStream {
    int device = 0;
    unsigned flags = 0;
    bool legacy = false;  // the null stream, which waits for blocking streams and they for it
    std::shared_ptr<Capture> capture;
    Reach reach;
    SignalPtr last;  // of what was enqueued last, nullptr before
    Queue queue;

    bool blocking() const { return (flags & 1) == 0; }
    CaptureStatus status() const {
        return !capture ? kCaptureNone : capture->invalid ? kCaptureInvalidated : kCaptureActive;
    }
};

struct HipEvent {
    int device = 0;
    unsigned flags = 0;
    SignalPtr signal;                  // of the last record, nullptr before
    std::shared_ptr<Capture> capture;  // when the last record was captured
    Reach reach;
};

struct HipDevice {
    const Target* target = nullptr;
    std::string name;                   // as a person reads it
    std::string arch;                   // the target's name, or one that nothing can be loaded for
    std::atomic<int> pending_error{0};  // of work that ended with a finding
    HipStream null_stream;
};

/// Everything that the library keeps. One mutex guards the tables and the state of streams, events and
/// captures; work runs outside it.
class Runtime {
  public:
    static Runtime& instance();

    int device_count() const { return static_cast<int>(devices_.size()); }
    HipDevice& device(int ordinal) { return devices_[static_cast<size_t>(ordinal)]; }
    bool valid_device(int ordinal) const { return ordinal >= 0 && ordinal < device_count(); }

    /// A stream handle as given by a client; nullptr when it is none of ours. The null handle and the legacy
    /// one (1) mean the current device's default stream, 2 the thread's own.
    HipStream* stream(void* handle);
    HipFunction* function(void* handle);

    std::mutex mutex;
    std::set<void*> modules, functions, streams, events, graphs, graph_execs;

    /// Enqueues work on a stream, or records it when the stream captures. Work that is not recordable runs
    /// even then.
    int submit(HipStream& stream, Work work, bool recordable = true);
    /// Enqueues pieces of work as one command.
    int enqueue(HipStream& stream, const std::vector<Work>& work);
    /// A command without work that waits for a signal; the signal of the command itself.
    SignalPtr mark(HipStream& stream, SignalPtr after = nullptr);
    /// Waits until a stream has done what it was given, the null stream's order included.
    void wait_for_stream(HipStream& stream);
    bool stream_busy(HipStream& stream);
    void wait_for_device(int device);
    void wait_for_all();

    /// A call that a capture forbids: the error to return (0 when allowed); captures that object are
    /// invalidated.
    int refuse_in_capture(int error, bool any_mode);
    /// As above for a wait on or a query of `stream`.
    int refuse_wait_in_capture(HipStream* stream);
    /// False in a child of fork() whose parent had used the runtime: the driver's handles are void there.
    bool same_process() const { return getpid() == pid_; }
    /// Error of earlier work that a synchronising call reports: once up to release 6, for ever from 7 on.
    int take_pending(int device);

    /// Streams that count as everybody's: those of clients, the null streams and the threads' own. The caller
    /// holds the mutex.
    std::vector<HipStream*> all_streams();

  private:
    Runtime();
    HipStream* thread_stream(int device);
    /// What a new command of the stream must wait for besides the stream's own; the caller holds the mutex.
    std::vector<SignalPtr> earlier(const HipStream& stream);

    std::deque<HipDevice> devices_;
    std::deque<HipStream> thread_streams_;
    pid_t pid_ = getpid();
};

/// Per-thread state of the runtime.
struct ThreadState {
    int device = 0;
    int last_error = 0;
    CaptureMode capture_mode = kCaptureGlobal;
    std::unordered_map<int, HipStream*> streams;  // the thread's own, by device
};
ThreadState& thread_state();

/// Keeps the last error by the release's rule: up to 6 each call overwrites it, from 7 on only errors do.
int record(int error);

/// True where there is a mistake in the environment, which is told on standard error when it is a new one.
bool refused(const std::string& mistake);

/// Body of an entry point that needs a device: no exception leaves it, the result becomes the last error.
template <class F>
int guarded(F&& body) {
    try {
        Runtime& rt = Runtime::instance();
        if (!rt.same_process()) return record(kNotInitialized);
        if (rt.device_count() == 0) return record(kNoDevice);
        if (refused(fault_mistake())) return record(kInvalidValue);
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

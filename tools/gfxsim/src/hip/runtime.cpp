#include "runtime.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace ckitchen::gfxsim {

Runtime& Runtime::instance() {
    // Never destroyed: clients call into the runtime from their own exit handlers.
    static Runtime* runtime = new Runtime;
    return *runtime;
}

Runtime::Runtime() {
    const char* list = std::getenv("GFXSIM_DEVICES");
    std::string text = list ? list : "gfx1201";
    size_t at = 0;
    while (at <= text.size() && !text.empty()) {
        const size_t comma = std::min(text.find(',', at), text.size());
        const std::string name = text.substr(at, comma - at);
        at = comma + 1;
        if (name.empty()) continue;
        const Target* target = find_target(name);
        if (!target) {
            std::fprintf(stderr, "gfxsim: GFXSIM_DEVICES names '%s', which is not simulated: no devices\n",
                         name.c_str());
            devices_.clear();
            return;
        }
        HipDevice d;
        d.target = target;
        d.null_stream = std::make_unique<HipStream>();
        d.null_stream->device = static_cast<int>(devices_.size());
        devices_.push_back(std::move(d));
    }
}

HipStream* Runtime::stream(void* handle) {
    if (reinterpret_cast<uintptr_t>(handle) <= 2) return device(thread_state().device).null_stream.get();
    std::lock_guard lock(mutex);
    return streams.count(handle) ? static_cast<HipStream*>(handle) : nullptr;
}

HipFunction* Runtime::function(void* handle) {
    std::lock_guard lock(mutex);
    return functions.count(handle) ? static_cast<HipFunction*>(handle) : nullptr;
}

int Runtime::submit(HipStream& stream, Work work, bool recordable) {
    {
        std::lock_guard lock(mutex);
        if (stream.capture == kCaptureInvalidated) return kStreamCaptureInvalidated;
        if (stream.capture == kCaptureActive && recordable) {
            stream.recorded.push_back(std::move(work));
            return kSuccess;
        }
        const auto extra = extra_time();
        if (extra.count() > 0)
            stream.busy_until = std::max(stream.busy_until, std::chrono::steady_clock::now()) + extra;
    }
    return work();
}

void Runtime::wait_for_device(int ordinal) {
    auto until = devices_[ordinal].null_stream->busy_until;
    {
        std::lock_guard lock(mutex);
        for (void* s : streams)
            if (static_cast<HipStream*>(s)->device == ordinal)
                until = std::max(until, static_cast<HipStream*>(s)->busy_until);
    }
    std::this_thread::sleep_until(until);
}

std::vector<HipStream*> Runtime::capturing() const {
    std::vector<HipStream*> out;
    for (void* s : streams)
        if (static_cast<HipStream*>(s)->capture != kCaptureNone) out.push_back(static_cast<HipStream*>(s));
    return out;
}

int Runtime::refuse_in_capture(int error, bool any_mode) {
    std::lock_guard lock(mutex);
    const CaptureMode mode = thread_state().capture_mode;
    bool refused = false;
    for (HipStream* s : capturing()) {
        const bool mine =
            s->capture_thread == std::this_thread::get_id() && s->capture_mode != kCaptureRelaxed;
        const bool global = mode == kCaptureGlobal && s->capture_mode == kCaptureGlobal;
        if (!any_mode && (mode == kCaptureRelaxed || (!mine && !global))) continue;
        s->capture = kCaptureInvalidated;
        refused = true;
    }
    return refused ? error : kSuccess;
}

int Runtime::refuse_wait_in_capture(HipStream* stream) {
    {
        std::lock_guard lock(mutex);
        if (stream && stream->capture != kCaptureNone) {
            stream->capture = kCaptureInvalidated;
            return kStreamCaptureUnsupported;
        }
        if (thread_state().capture_mode != kCaptureGlobal) return kSuccess;
    }
    return refuse_in_capture(kStreamCaptureUnsupported, false);
}

int Runtime::take_pending(int ordinal) {
    std::lock_guard lock(mutex);
    const int error = devices_[ordinal].pending_error;
    if (kFlavor < 70) devices_[ordinal].pending_error = 0;
    return error;
}

ThreadState& thread_state() {
    static thread_local ThreadState state;
    return state;
}

int record(int error) {
    int& last = thread_state().last_error;
    if (kFlavor < 70)
        last = error;
    else if (error != kSuccess && error != kNotReady)
        last = error;
    return error;
}

}  // namespace ckitchen::gfxsim

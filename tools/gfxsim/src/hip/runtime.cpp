#include "runtime.hpp"

#include "../stop_watch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ckitchen::gfxsim {
namespace {

/// HIP_LAUNCH_BLOCKING, as the real runtime has it: each piece of work is over when its call returns.
bool launches_block() {
    const char* value = std::getenv("HIP_LAUNCH_BLOCKING");
    return value && std::atoi(value) != 0;
}

/// HSA_OVERRIDE_GFX_VERSION=10.3.0 makes every device a gfx1030; empty without it.
std::string overriding_name() {
    const char* value = std::getenv("HSA_OVERRIDE_GFX_VERSION");
    unsigned major = 0, minor = 0, step = 0;
    if (!value || std::sscanf(value, "%u.%u.%u", &major, &minor, &step) != 3) return {};
    char name[32];
    std::snprintf(name, sizeof name, "gfx%u%x%x", major, minor & 15, step & 15);
    return name;
}

}  // namespace

Runtime& Runtime::instance() {
    // Never destroyed: clients call into the runtime from their own exit handlers.
    static Runtime* runtime = new Runtime;
    return *runtime;
}

bool refused(const std::string& mistake) {
    if (mistake.empty()) return false;
    static std::mutex told_mutex;
    static std::string* told = new std::string;  // calls come until the very end of the process
    std::lock_guard lock(told_mutex);
    if (*told != mistake) std::fprintf(stderr, "gfxsim: %s: calls fail\n", mistake.c_str());
    *told = mistake;
    return true;
}

Runtime::Runtime() {
    const char* list = std::getenv("GFXSIM_DEVICES");
    std::string text = list ? list : "gfx1201";
    const std::string override = overriding_name();
    size_t at = 0;
    while (at <= text.size() && !text.empty()) {
        const size_t comma = std::min(text.find(',', at), text.size());
        std::string name = text.substr(at, comma - at);
        at = comma + 1;
        if (name.empty()) continue;
        constexpr const char kIdle[] = "idle:";
        const bool idle = name.compare(0, sizeof kIdle - 1, kIdle) == 0;
        if (idle) name.erase(0, sizeof kIdle - 1);
        const Target* target = find_target(idle ? "gfx1030" : override.empty() ? name : override);
        if (!target) {
            std::fprintf(stderr, "gfxsim: GFXSIM_DEVICES names '%s', which is not simulated: no devices\n",
                         name.c_str());
            devices_.clear();
            return;
        }
        HipDevice& d = devices_.emplace_back();
        d.target = target;
        d.arch = idle ? name : target->name;
        d.name = idle ? "idle " + name : target->marketing_name;
        d.null_stream.device = device_count() - 1;
        d.null_stream.legacy = true;
    }
    // What a process leaves unfinished is finished before its memory is taken apart.
    std::atexit([] {
        if (!instance().same_process()) return;
        instance().wait_for_all();
        std::fputs(unmet_requests().c_str(), stderr);
    });
}

HipStream* Runtime::stream(void* handle) {
    const int current = thread_state().device;
    if (reinterpret_cast<uintptr_t>(handle) <= 1) return &device(current).null_stream;
    if (reinterpret_cast<uintptr_t>(handle) == 2) return thread_stream(current);
    std::lock_guard lock(mutex);
    return streams.count(handle) ? static_cast<HipStream*>(handle) : nullptr;
}

HipStream* Runtime::thread_stream(int ordinal) {
    HipStream*& own = thread_state().streams[ordinal];
    if (!own) {
        std::lock_guard lock(mutex);
        own = &thread_streams_.emplace_back();
        own->device = ordinal;
    }
    return own;
}

HipFunction* Runtime::function(void* handle) {
    std::lock_guard lock(mutex);
    return functions.count(handle) ? static_cast<HipFunction*>(handle) : nullptr;
}

std::vector<HipStream*> Runtime::all_streams() {
    std::vector<HipStream*> out;
    for (void* s : streams) out.push_back(static_cast<HipStream*>(s));
    for (HipStream& s : thread_streams_) out.push_back(&s);
    for (HipDevice& d : devices_) out.push_back(&d.null_stream);
    return out;
}

std::vector<SignalPtr> Runtime::earlier(const HipStream& stream) {
    std::vector<SignalPtr> out;
    if (stream.legacy) {
        for (const HipStream* s : all_streams())
            if (s != &stream && s->device == stream.device && s->blocking() && s->last && !s->last->done())
                out.push_back(s->last);
    } else if (stream.blocking()) {
        const SignalPtr& null = device(stream.device).null_stream.last;
        if (null && !null->done()) out.push_back(null);
    }
    return out;
}

int Runtime::submit(HipStream& stream, Work work, bool recordable) {
    {
        std::lock_guard lock(mutex);
        if (stream.status() == kCaptureInvalidated) return kStreamCaptureInvalidated;
        if (stream.status() == kCaptureActive && recordable) {
            Capture& capture = *stream.capture;
            capture.nodes.push_back(std::move(work));
            stream.reach.resize(capture.nodes.size());
            stream.reach.back() = true;
            return kSuccess;
        }
    }
    return enqueue(stream, {std::move(work)});
}

int Runtime::enqueue(HipStream& stream, const std::vector<Work>& work) {
    // The environment is read on the calling thread: the client may change it while the work waits.
    auto options = std::make_shared<const Options>(Options::from_environment());
    if (refused(options->mistake)) return kInvalidValue;
    std::vector<std::pair<Work, bool>> pieces;  // and whether the piece fails by plan
    std::vector<std::shared_ptr<int>> in_flight;
    for (const Work& w : work) {
        bool fails = false;
        if (w.module) {
            if (launch_loses_device()) return kUnknownError;
            fails = launch_fails();
            if (!options->execute && !fails) continue;
            std::lock_guard lock(mutex);
            if (!modules.count(w.module)) return kInvalidHandle;
            if (refused(stop_mistake(*w.kernel, *options))) return kInvalidValue;
            in_flight.push_back(w.module->in_flight);
        }
        pieces.emplace_back(w, fails);
    }
    if (pieces.empty()) return kSuccess;
    Command command;
    command.extra = extra_time();
    command.done = std::make_shared<Signal>();
    command.run = [this, ordinal = stream.device, options, pieces = std::move(pieces),
                   in_flight = std::move(in_flight)] {
        for (const auto& [piece, fails] : pieces) {
            int error = kUnknownError;
            try {
                error = fails ? static_cast<int>(kLaunchFailure) : piece.run(*options);
            } catch (const std::bad_alloc&) {
                error = kOutOfMemory;
            } catch (...) {
                // Reported as what it is initialised to.
            }
            if (error == kSuccess) continue;
            device(ordinal).pending_error = error;
            return;
        }
    };
    const SignalPtr done = command.done;
    {
        std::lock_guard lock(mutex);
        command.after = earlier(stream);
        stream.queue.push(std::move(command));
        stream.last = done;
    }
    if (launches_block()) done->wait();
    return kSuccess;
}

SignalPtr Runtime::mark(HipStream& stream, SignalPtr after) {
    Command command;
    command.extra = {};
    command.done = std::make_shared<Signal>();
    const SignalPtr done = command.done;
    std::lock_guard lock(mutex);
    command.after = earlier(stream);
    if (after) command.after.push_back(std::move(after));
    stream.queue.push(std::move(command));
    stream.last = done;
    return done;
}

void Runtime::wait_for_stream(HipStream& stream) {
    std::vector<SignalPtr> signals;
    {
        std::lock_guard lock(mutex);
        signals = earlier(stream);
        if (stream.last) signals.push_back(stream.last);
    }
    for (const SignalPtr& s : signals) s->wait();
}

bool Runtime::stream_busy(HipStream& stream) {
    std::lock_guard lock(mutex);
    return (stream.last && !stream.last->done()) || (stream.legacy && !earlier(stream).empty());
}

void Runtime::wait_for_device(int ordinal) {
    std::vector<SignalPtr> signals;
    {
        std::lock_guard lock(mutex);
        for (const HipStream* s : all_streams())
            if (s->device == ordinal && s->last) signals.push_back(s->last);
    }
    for (const SignalPtr& s : signals) s->wait();
}

void Runtime::wait_for_all() {
    for (int i = 0; i < device_count(); ++i) wait_for_device(i);
}

int Runtime::refuse_in_capture(int error, bool any_mode) {
    std::lock_guard lock(mutex);
    const CaptureMode mode = thread_state().capture_mode;
    bool refused = false;
    for (HipStream* s : all_streams()) {
        if (!s->capture || s->capture->origin != s) continue;
        Capture& c = *s->capture;
        const bool mine = c.thread == std::this_thread::get_id() && c.mode != kCaptureRelaxed;
        const bool global = mode == kCaptureGlobal && c.mode == kCaptureGlobal;
        if (!any_mode && (mode == kCaptureRelaxed || (!mine && !global))) continue;
        c.invalid = true;
        refused = true;
    }
    return refused ? error : kSuccess;
}

int Runtime::refuse_wait_in_capture(HipStream* stream) {
    {
        std::lock_guard lock(mutex);
        if (stream && stream->capture) {
            stream->capture->invalid = true;
            return kStreamCaptureUnsupported;
        }
        if (thread_state().capture_mode != kCaptureGlobal) return kSuccess;
    }
    return refuse_in_capture(kStreamCaptureUnsupported, false);
}

int Runtime::take_pending(int ordinal) {
    std::atomic<int>& pending = device(ordinal).pending_error;
    return kFlavor < 70 ? pending.exchange(0) : pending.load();
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

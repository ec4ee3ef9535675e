// Streams, capture, graphs, events. Work runs at once; a stream that GFXSIM_FAULT slows down says otherwise.
#include <algorithm>

#include "runtime.hpp"

using namespace ckitchen::gfxsim;

namespace {

int no_stream() {
    return kFlavor >= 70 ? kContextIsDestroyed : kInvalidHandle;
}

/// As HipEvent*, or nullptr when the handle is none.
HipEvent* event_of(Runtime& rt, void* handle) {
    std::lock_guard lock(rt.mutex);
    return rt.events.count(handle) ? static_cast<HipEvent*>(handle) : nullptr;
}

}  // namespace

GFXSIM_API int hipStreamCreateWithFlags(void** stream, unsigned flags) {
    return guarded([&](Runtime& rt) -> int {
        if (!stream || flags > 1) return kInvalidValue;
        auto s = std::make_unique<HipStream>();
        s->device = thread_state().device;
        s->flags = flags;
        std::lock_guard lock(rt.mutex);
        rt.streams.insert(s.get());
        *stream = s.release();
        return kSuccess;
    });
}

GFXSIM_API int hipStreamCreate(void** stream) {
    return hipStreamCreateWithFlags(stream, 0);
}

GFXSIM_API int hipStreamDestroy(void* stream) {
    return guarded([&](Runtime& rt) -> int {
        std::lock_guard lock(rt.mutex);
        if (!rt.streams.erase(stream)) return no_stream();
        delete static_cast<HipStream*>(stream);
        return kSuccess;
    });
}

GFXSIM_API int hipStreamSynchronize(void* stream) {
    return guarded([&](Runtime& rt) -> int {
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        if (const int error = rt.refuse_wait_in_capture(s)) return error;
        std::this_thread::sleep_until(s->busy_until);
        return rt.take_pending(s->device);
    });
}

GFXSIM_API int hipStreamQuery(void* stream) {
    return guarded([&](Runtime& rt) -> int {
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        if (const int error = rt.refuse_wait_in_capture(s)) return error;
        return s->busy() ? kNotReady : kSuccess;
    });
}

GFXSIM_API int hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
    return guarded([&](Runtime& rt) -> int {
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        if (flags != 0) return kInvalidValue;
        const HipEvent* e = event_of(rt, event);
        if (!e) return kInvalidHandle;
        std::lock_guard lock(rt.mutex);
        if (e->recorded) s->busy_until = std::max(s->busy_until, e->time);
        return kSuccess;
    });
}

GFXSIM_API int hipStreamIsCapturing(void* stream, int* status) {
    return guarded([&](Runtime& rt) -> int {
        if (!status) return kInvalidValue;
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        if (!stream && kFlavor >= 60) {
            std::lock_guard lock(rt.mutex);
            for (void* h : rt.streams) {
                const HipStream& other = *static_cast<HipStream*>(h);
                if (other.capture != kCaptureNone && !(other.flags & 1)) return kStreamCaptureImplicit;
            }
        }
        *status = s->capture;
        return kSuccess;
    });
}

GFXSIM_API int hipStreamBeginCapture(void* stream, int mode) {
    return guarded([&](Runtime& rt) -> int {
        if (reinterpret_cast<uintptr_t>(stream) <= 1) return kStreamCaptureUnsupported;
        if (mode < kCaptureGlobal || mode > kCaptureRelaxed) return kInvalidValue;
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        std::lock_guard lock(rt.mutex);
        if (s->capture != kCaptureNone) return kIllegalState;
        s->capture = kCaptureActive;
        s->capture_mode = static_cast<CaptureMode>(mode);
        s->capture_thread = std::this_thread::get_id();
        s->recorded.clear();
        return kSuccess;
    });
}

GFXSIM_API int hipStreamEndCapture(void* stream, void** graph) {
    return guarded([&](Runtime& rt) -> int {
        if (!graph) return kInvalidValue;
        *graph = nullptr;
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        std::lock_guard lock(rt.mutex);
        if (s->capture == kCaptureNone) return kIllegalState;
        if (s->capture_mode != kCaptureRelaxed && s->capture_thread != std::this_thread::get_id())
            return kStreamCaptureWrongThread;
        const bool invalid = s->capture == kCaptureInvalidated;
        s->capture = kCaptureNone;
        if (invalid) {
            s->recorded.clear();
            return kStreamCaptureInvalidated;
        }
        auto g = std::make_unique<HipGraph>();
        g->nodes = std::move(s->recorded);
        s->recorded.clear();
        rt.graphs.insert(g.get());
        *graph = g.release();
        return kSuccess;
    });
}

GFXSIM_API int hipThreadExchangeStreamCaptureMode(int* mode) {
    return guarded([&](Runtime&) -> int {
        if (!mode || *mode < kCaptureGlobal || *mode > kCaptureRelaxed) return kInvalidValue;
        const CaptureMode old = thread_state().capture_mode;
        thread_state().capture_mode = static_cast<CaptureMode>(*mode);
        *mode = old;
        return kSuccess;
    });
}

#if GFXSIM_FLAVOR >= 56
GFXSIM_API int hipStreamGetDevice(void* stream, int* device) {
    return guarded([&](Runtime& rt) -> int {
        if (!device) return kInvalidValue;
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        *device = s->device;
        return kSuccess;
    });
}
#endif

GFXSIM_API int hipGraphInstantiate(void** exec, void* graph, void**, char*, size_t) {
    return guarded([&](Runtime& rt) -> int {
        if (!exec) return kInvalidValue;
        std::lock_guard lock(rt.mutex);
        if (!rt.graphs.count(graph)) return kInvalidValue;
        auto copy = std::make_unique<HipGraph>(*static_cast<HipGraph*>(graph));
        rt.graph_execs.insert(copy.get());
        *exec = copy.release();
        return kSuccess;
    });
}

GFXSIM_API int hipGraphLaunch(void* exec, void* stream) {
    return guarded([&](Runtime& rt) -> int {
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        std::vector<Work> nodes;
        {
            std::lock_guard lock(rt.mutex);
            if (!rt.graph_execs.count(exec)) return kInvalidValue;
            nodes = static_cast<HipGraph*>(exec)->nodes;
        }
        for (const Work& w : nodes)
            if (const int error = rt.submit(*s, w)) return error;
        return kSuccess;
    });
}

GFXSIM_API int hipGraphExecDestroy(void* exec) {
    return guarded([&](Runtime& rt) -> int {
        std::lock_guard lock(rt.mutex);
        if (!rt.graph_execs.erase(exec)) return kInvalidValue;
        delete static_cast<HipGraph*>(exec);
        return kSuccess;
    });
}

GFXSIM_API int hipGraphDestroy(void* graph) {
    return guarded([&](Runtime& rt) -> int {
        std::lock_guard lock(rt.mutex);
        if (!rt.graphs.erase(graph)) return kInvalidValue;
        delete static_cast<HipGraph*>(graph);
        return kSuccess;
    });
}

GFXSIM_API int hipEventCreateWithFlags(void** event, unsigned flags) {
    return guarded([&](Runtime& rt) -> int {
        if (!event) return kInvalidValue;
        auto e = std::make_unique<HipEvent>();
        e->device = thread_state().device;
        e->flags = flags;
        std::lock_guard lock(rt.mutex);
        rt.events.insert(e.get());
        *event = e.release();
        return kSuccess;
    });
}

GFXSIM_API int hipEventCreate(void** event) {
    return hipEventCreateWithFlags(event, 0);
}

GFXSIM_API int hipEventRecord(void* event, void* stream) {
    return guarded([&](Runtime& rt) -> int {
        HipEvent* e = event_of(rt, event);
        if (!e) return kInvalidHandle;
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        if (e->device != s->device) return kInvalidHandle;
        return rt.submit(*s, [e, s]() -> int {
            e->recorded = true;
            e->time = std::max(std::chrono::steady_clock::now(), s->busy_until);
            return kSuccess;
        });
    });
}

GFXSIM_API int hipEventQuery(void* event) {
    return guarded([&](Runtime& rt) -> int {
        if (kFlavor >= 70)
            if (const int error = rt.refuse_wait_in_capture(nullptr)) return error;
        const HipEvent* e = event_of(rt, event);
        if (!e) return kInvalidHandle;
        return e->recorded && std::chrono::steady_clock::now() < e->time ? kNotReady : kSuccess;
    });
}

GFXSIM_API int hipEventSynchronize(void* event) {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_wait_in_capture(nullptr)) return error;
        HipEvent* e = event_of(rt, event);
        if (!e) return kInvalidHandle;
        if (e->recorded) std::this_thread::sleep_until(e->time);
        return rt.take_pending(e->device);
    });
}

GFXSIM_API int hipEventElapsedTime(float* milliseconds, void* start, void* stop) {
    return guarded([&](Runtime& rt) -> int {
        if (!milliseconds) return kInvalidValue;
        HipEvent* a = event_of(rt, start);
        HipEvent* b = event_of(rt, stop);
        constexpr unsigned kDisableTiming = 2;
        if (!a || !b || !a->recorded || !b->recorded || ((a->flags | b->flags) & kDisableTiming))
            return kInvalidHandle;
        *milliseconds = std::chrono::duration<float, std::milli>(b->time - a->time).count();
        return kSuccess;
    });
}

GFXSIM_API int hipEventDestroy(void* event) {
    return guarded([&](Runtime& rt) -> int {
        std::lock_guard lock(rt.mutex);
        if (!rt.events.erase(event)) return kInvalidHandle;
        delete static_cast<HipEvent*>(event);
        return kSuccess;
    });
}

// Streams, capture, graphs, events.
#include <algorithm>
#include <chrono>

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

GFXSIM_API int hipStreamGetFlags(void* stream, unsigned* flags) {
    return guarded([&](Runtime& rt) -> int {
        if (!flags) return kInvalidValue;
        const HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        *flags = s->flags;
        return kSuccess;
    });
}

GFXSIM_API int hipStreamDestroy(void* stream) {
    return guarded([&](Runtime& rt) -> int {
        std::unique_ptr<HipStream> s;
        {
            std::lock_guard lock(rt.mutex);
            if (!rt.streams.erase(stream)) return no_stream();
            s.reset(static_cast<HipStream*>(stream));
            if (s->capture) s->capture->invalid = true;
        }
        return kSuccess;  // when the queue's thread has done its work
    });
}

GFXSIM_API int hipStreamSynchronize(void* stream) {
    return guarded([&](Runtime& rt) -> int {
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        if (const int error = rt.refuse_wait_in_capture(s)) return error;
        rt.wait_for_stream(*s);
        return rt.take_pending(s->device);
    });
}

GFXSIM_API int hipStreamQuery(void* stream) {
    return guarded([&](Runtime& rt) -> int {
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        if (const int error = rt.refuse_wait_in_capture(s)) return error;
        return rt.stream_busy(*s) ? kNotReady : kSuccess;
    });
}

GFXSIM_API int hipStreamWaitEvent(void* stream, void* event, unsigned flags) {
    return guarded([&](Runtime& rt) -> int {
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        if (flags != 0) return kInvalidValue;
        HipEvent* e = event_of(rt, event);
        if (!e) return kInvalidHandle;
        SignalPtr signal;
        {
            std::lock_guard lock(rt.mutex);
            if (e->capture) {
                // The stream joins the event's capture.
                if (e->capture->origin == nullptr) return kCapturedEvent;
                if (s->capture && s->capture != e->capture) {
                    s->capture->invalid = e->capture->invalid = true;
                    return kStreamCaptureMerge;
                }
                s->capture = e->capture;
                s->reach.resize(std::max(s->reach.size(), e->reach.size()));
                for (size_t i = 0; i < e->reach.size(); ++i) s->reach[i] = s->reach[i] || e->reach[i];
                return s->capture->invalid ? kStreamCaptureInvalidated : kSuccess;
            }
            if (!e->signal) return kSuccess;
            if (s->capture) {
                s->capture->invalid = true;
                return kStreamCaptureIsolation;
            }
            signal = e->signal;
        }
        rt.mark(*s, std::move(signal));
        return kSuccess;
    });
}

GFXSIM_API int hipStreamIsCapturing(void* stream, int* status) {
    return guarded([&](Runtime& rt) -> int {
        if (!status) return kInvalidValue;
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        std::lock_guard lock(rt.mutex);
        if (s->legacy && kFlavor >= 60) {
            for (const HipStream* other : rt.all_streams())
                if (other->capture && other->blocking()) return kStreamCaptureImplicit;
        }
        *status = s->status();
        return kSuccess;
    });
}

GFXSIM_API int hipStreamBeginCapture(void* stream, int mode) {
    return guarded([&](Runtime& rt) -> int {
        if (mode < kCaptureGlobal || mode > kCaptureRelaxed) return kInvalidValue;
        HipStream* s = rt.stream(stream);
        if (!s) return no_stream();
        if (s->legacy) return kStreamCaptureUnsupported;
        std::lock_guard lock(rt.mutex);
        if (s->capture) return kIllegalState;
        s->capture = std::make_shared<Capture>();
        s->capture->origin = s;
        s->capture->mode = static_cast<CaptureMode>(mode);
        s->capture->thread = std::this_thread::get_id();
        s->reach.clear();
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
        if (!s->capture) return kIllegalState;
        const std::shared_ptr<Capture> capture = s->capture;
        if (capture->origin != s) {
            capture->invalid = true;
            return kStreamCaptureUnmatched;
        }
        if (capture->mode != kCaptureRelaxed && capture->thread != std::this_thread::get_id())
            return kStreamCaptureWrongThread;
        s->reach.resize(capture->nodes.size());
        const bool joined = std::all_of(s->reach.begin(), s->reach.end(), [](bool b) { return b; });
        capture->origin = nullptr;
        for (HipStream* other : rt.all_streams()) {
            if (other->capture != capture) continue;
            other->capture.reset();
            other->reach.clear();
        }
        if (capture->invalid) return kStreamCaptureInvalidated;
        if (!joined) return kStreamCaptureUnjoined;
        auto g = std::make_unique<HipGraph>();
        g->nodes = std::move(capture->nodes);
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
        HipGraph copy;
        bool captured = false;
        {
            std::lock_guard lock(rt.mutex);
            if (!rt.graph_execs.count(exec)) return kInvalidValue;
            copy = *static_cast<HipGraph*>(exec);
            captured = s->capture != nullptr;
        }
        if (!captured) return rt.enqueue(*s, copy.nodes);
        for (const Work& w : copy.nodes)
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
        {
            std::lock_guard lock(rt.mutex);
            if (s->capture) {
                e->capture = s->capture;
                e->reach = s->reach;
                e->signal.reset();
                return s->capture->invalid ? kStreamCaptureInvalidated : kSuccess;
            }
        }
        SignalPtr signal = rt.mark(*s);
        std::lock_guard lock(rt.mutex);
        e->signal = std::move(signal);
        e->capture.reset();
        return kSuccess;
    });
}

GFXSIM_API int hipEventQuery(void* event) {
    return guarded([&](Runtime& rt) -> int {
        if (kFlavor >= 70)
            if (const int error = rt.refuse_wait_in_capture(nullptr)) return error;
        const HipEvent* e = event_of(rt, event);
        if (!e) return kInvalidHandle;
        std::lock_guard lock(rt.mutex);
        if (e->capture) return kCapturedEvent;
        return e->signal && !e->signal->done() ? kNotReady : kSuccess;
    });
}

GFXSIM_API int hipEventSynchronize(void* event) {
    return guarded([&](Runtime& rt) -> int {
        if (const int error = rt.refuse_wait_in_capture(nullptr)) return error;
        const HipEvent* e = event_of(rt, event);
        if (!e) return kInvalidHandle;
        SignalPtr signal;
        {
            std::lock_guard lock(rt.mutex);
            if (e->capture) return kCapturedEvent;
            signal = e->signal;
        }
        if (signal) signal->wait();
        return rt.take_pending(e->device);
    });
}

GFXSIM_API int hipEventElapsedTime(float* milliseconds, void* start, void* stop) {
    return guarded([&](Runtime& rt) -> int {
        if (!milliseconds) return kInvalidValue;
        const HipEvent* a = event_of(rt, start);
        const HipEvent* b = event_of(rt, stop);
        constexpr unsigned kDisableTiming = 2;
        std::lock_guard lock(rt.mutex);
        if (!a || !b || !a->signal || !b->signal || ((a->flags | b->flags) & kDisableTiming))
            return kInvalidHandle;
        if (!a->signal->done() || !b->signal->done()) return kNotReady;
        *milliseconds =
            std::chrono::duration<float, std::milli>(b->signal->time() - a->signal->time()).count();
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

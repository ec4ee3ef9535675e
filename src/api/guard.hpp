// The frame around every exported function: no exception leaves it, every failure sets the thread's last
// error.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "core/context.hpp"
#include "core/last_error.hpp"
#include "core/log.hpp"
#include "core/status.hpp"

namespace ckitchen::api {

template <typename Body>
ck_status guarded(const char* function, Body&& body) noexcept {
    try {
        const Status status = std::forward<Body>(body)();
        if (status.ok()) return CK_OK;
        set_last_error(function, status.message());
        log(CK_LOG_ERROR, "{}: {} ({})", function, status.message(), status_name(status.code()));
        return status.code();
    } catch (const std::bad_alloc&) {
        set_last_error(function, "host memory is exhausted");
        return CK_ERROR_OUT_OF_MEMORY;
    } catch (const std::exception& failure) {
        set_last_error(function, failure.what());
        return CK_ERROR_INTERNAL;
    } catch (...) {
        set_last_error(function, "an exception of unknown type");
        return CK_ERROR_INTERNAL;
    }
}

// As above for functions on a context.
template <typename Context, typename Body>
ck_status guarded(const char* function, Context* context, Body&& body) noexcept {
    return guarded(function, [&]() -> Status {
        if (!context) return invalid_argument("context is NULL");
        return std::forward<Body>(body)(*context);
    });
}

}  // namespace ckitchen::api

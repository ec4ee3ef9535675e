// The library's own log. Off by default; nothing here touches a global logger, so a host that uses spdlog
// itself is not disturbed.
#pragma once

#include <ckitchen.h>

#include <string_view>

#include "core/status.hpp"

namespace ckitchen {

bool log_enabled(int32_t level) noexcept;
void log_line(int32_t level, std::string_view text) noexcept;
void set_log_callback(ck_log_callback callback, void* user, int32_t level);

template <typename... Args>
void log(int32_t level, fmt::format_string<Args...> format, Args&&... args) noexcept {
    if (!log_enabled(level)) return;
    try {
        log_line(level, format_text(format, fmt::make_format_args(args...)));
    } catch (...) {
        // A log line that cannot be formatted is dropped: logging never makes a call fail.
    }
}

}  // namespace ckitchen

#include "core/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "core/env.hpp"

namespace ckitchen {
namespace {

spdlog::level::level_enum spdlog_level(int32_t level) {
    switch (level) {
        case CK_LOG_ERROR:
            return spdlog::level::err;
        case CK_LOG_WARN:
            return spdlog::level::warn;
        case CK_LOG_INFO:
        case CK_LOG_DISPATCH:
            return spdlog::level::info;
        case CK_LOG_DEBUG:
            return spdlog::level::debug;
        default:
            return spdlog::level::trace;
    }
}

const char* level_name(int32_t level) {
    constexpr const char* kNames[] = {"off", "error", "warn", "info", "dispatch", "debug", "trace"};
    return kNames[level];
}

struct Log {
    std::mutex mutex;
    ck_log_callback callback = nullptr;
    void* user = nullptr;
    std::atomic<int32_t> level{CK_LOG_OFF};
    std::shared_ptr<spdlog::logger> to_stderr;

    Log() {
        to_stderr =
            std::make_shared<spdlog::logger>("ckitchen", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        to_stderr->set_level(spdlog::level::trace);
        to_stderr->set_pattern("[%Y-%m-%d %H:%M:%S.%e] [ckitchen] %v");
        to_stderr->set_error_handler([](const std::string&) {});
        level = env().log_level;
    }
};

// Never destroyed: worker threads of the host may still log while the process exits.
Log& instance() {
    static Log* log = new Log;
    return *log;
}

}  // namespace

bool log_enabled(int32_t level) noexcept {
    try {
        return level <= instance().level.load(std::memory_order_relaxed);
    } catch (...) {
        return false;
    }
}

void log_line(int32_t level, std::string_view text) noexcept {
    try {
        Log& log = instance();
        std::lock_guard lock(log.mutex);
        if (level > log.level.load(std::memory_order_relaxed)) return;
        // Names from outside may hold line ends and terminal codes: neither belongs into a log.
        std::string line(text);
        std::replace_if(
            line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
        if (log.callback) {
            log.callback(log.user, level, line.c_str());
        } else {
            log.to_stderr->log(spdlog_level(level), "[{}] {}", level_name(level), line);
        }
    } catch (...) {
        // As above: dropped.
    }
}

void set_log_callback(ck_log_callback callback, void* user, int32_t level) {
    Log& log = instance();
    std::lock_guard lock(log.mutex);
    log.callback = callback;
    log.user = user;
    log.level = callback ? level : env().log_level;
}

}  // namespace ckitchen

// The result of everything inside the library that can fail: a public code and one line of text.
#pragma once

#include <ckitchen.h>
#include <fmt/core.h>

#include <string>
#include <utility>

namespace ckitchen {

class [[nodiscard]] Status {
  public:
    Status() = default;
    Status(ck_status code, std::string message) : code_(code), message_(std::move(message)) {}

    bool ok() const { return code_ == CK_OK; }
    ck_status code() const { return code_; }
    const std::string& message() const { return message_; }

    // The same failure seen from further out: "problem 3: lda is ...".
    Status with_prefix(const std::string& prefix) const { return {code_, prefix + message_}; }

  private:
    ck_status code_ = CK_OK;
    std::string message_;
};

// Formats out of line: the formatter's code exists once, not in every file that can fail.
std::string format_text(fmt::string_view format, fmt::format_args args);

template <typename... Args>
Status error(ck_status code, fmt::format_string<Args...> format, Args&&... args) {
    return {code, format_text(format, fmt::make_format_args(args...))};
}

template <typename... Args>
Status invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
    return error(CK_ERROR_INVALID_ARGUMENT, format, std::forward<Args>(args)...);
}

// The name of a public status code; "CK_ERROR_UNKNOWN" for anything else.
const char* status_name(ck_status code);

}  // namespace ckitchen

#define CK_RETURN_IF_ERROR(expression)                                                         \
    do {                                                                                       \
        if (::ckitchen::Status ck_status_ = (expression); !ck_status_.ok()) return ck_status_; \
    } while (false)

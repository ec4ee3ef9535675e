// Why a variant does not take a problem: which argument, its value, the limit. Made on the way of every call
// that has to go on to a further variant, so the text is formatted only where somebody reads it.
#pragma once

#include <fmt/core.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "core/status.hpp"

namespace ckitchen::ops {

class Refusal {
  public:
    // The problem is taken.
    Refusal() = default;

    // A literal that tells it all, or a format and its values; texts among them must be static.
    Refusal(const char* reason) : format_(reason) {}
    template <typename... Values>
    Refusal(fmt::format_string<Values...> format, Values... values)
        : format_(fmt::string_view(format).data()), count_(sizeof...(Values)), values_{Value(values)...} {
        static_assert(sizeof...(Values) <= kMost);
    }

    explicit operator bool() const { return format_ != nullptr; }
    std::string text() const;

  private:
    struct Value {
        enum class Kind : std::uint8_t { Integer, Float, Text };

        Value() = default;
        Value(std::integral auto value) : kind(Kind::Integer), integer(static_cast<std::int64_t>(value)) {}
        Value(float value) : kind(Kind::Float), real(value) {}
        Value(const char* value) : kind(Kind::Text), text(value) {}

        Kind kind;
        union {
            std::int64_t integer;
            float real;
            const char* text;
        };
    };

    static constexpr std::size_t kMost = 6;

    const char* format_ = nullptr;
    std::size_t count_ = 0;
    std::array<Value, kMost> values_;
};

// An argument that has to lie at, or be, a multiple of something.
struct NamedValue {
    NamedValue(const char* argument, const void* pointer)
        : name(argument), value(reinterpret_cast<std::uint64_t>(pointer)), address(true) {}
    // A number of elements of `bytes` bytes each.
    NamedValue(const char* argument, std::int64_t number, std::int64_t bytes = 1)
        : name(argument),
          value(static_cast<std::uint64_t>(number)),
          unit(static_cast<std::uint64_t>(bytes)) {}

    const char* name;
    std::uint64_t value;
    std::uint64_t unit = 1;
    bool address = false;
};

// The first of them that is no multiple of `alignment`.
Refusal refuse_misaligned(std::uint64_t alignment, std::initializer_list<NamedValue> values);

// CK_ERROR_UNSUPPORTED_PROBLEM, in as many whole items as fit ck_support_info.reason.
struct RefusedVariant {
    const char* name;
    Refusal refusal;
};
Status no_variant(const char* op, const char* arch, const std::string& of_what,
                  std::span<const RefusedVariant> refused);

}  // namespace ckitchen::ops

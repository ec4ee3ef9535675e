// Texts in fields of fixed size.
#pragma once

#include <cstddef>
#include <string_view>

namespace ckitchen {

// Copies text with its NUL into `capacity` bytes (at least 4) and returns its length there. One that does not
// fit ends with a whole word and "...".
std::size_t copy_bounded(char* target, std::size_t capacity, std::string_view text) noexcept;

// The same into a field of a public struct; what is left of it becomes 0.
template <std::size_t N>
void copy_text(char (&target)[N], std::string_view text) {
    for (std::size_t i = copy_bounded(target, N, text); i < N; ++i) target[i] = '\0';
}

}  // namespace ckitchen

// Text for people: safe rendering of names that come from files, sizes, times.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ckitchen::cli {

// Names come from hostile files and go to terminals: control characters and bytes that are not UTF-8 are
// written as \xNN, and text longer than `limit` bytes is cut with "...".
std::string printable(std::string_view text, std::size_t limit = 200);

// printable() in double quotes.
std::string in_quotes(std::string_view text);

// "90.9 MB": decimal units, three significant digits.
std::string bytes_text(std::uint64_t bytes);

// "0.42 s", "12.3 s", "4:05", "1:02:03".
std::string seconds_text(double seconds);

// "[384, 1536]".
std::string shape_text(const std::vector<std::int64_t>& shape);

// printf into a std::string.
__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...);

// Whether the bytes are well-formed UTF-8 (no overlong forms, no surrogates, at most U+10FFFF).
bool is_utf8(std::string_view text);

// Number of code points of a UTF-8 text: good enough as a width for names in a progress line.
std::size_t code_points(std::string_view text);

// The last `count` code points of a UTF-8 text.
std::string_view last_code_points(std::string_view text, std::size_t count);

}  // namespace ckitchen::cli

#include "core/bounded_text.hpp"

#include <cstring>

namespace ckitchen {
namespace {

constexpr std::string_view kMore = "...";

// Where a text is cut that must not be longer than `most` bytes.
std::size_t cut_at(std::string_view text, std::size_t most) {
    // `most` itself may be the space after a word.
    const std::size_t space = text.rfind(' ', most);
    // A path without spaces is cut anywhere: little is lost by it. Not within a character of UTF-8, though.
    std::size_t end = space != text.npos && space >= most / 2 ? space : most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    while (end > 0 && std::string_view(" ,;:").find(text[end - 1]) != text.npos) --end;
    return end;
}

}  // namespace

std::size_t copy_bounded(char* target, std::size_t capacity, std::string_view text) noexcept {
    std::size_t length = text.size();
    if (length >= capacity) {
        length = cut_at(text, capacity - 1 - kMore.size());
        std::memcpy(target, text.data(), length);
        std::memcpy(target + length, kMore.data(), kMore.size());
        length += kMore.size();
    } else {
        std::memcpy(target, text.data(), length);
    }
    target[length] = '\0';
    return length;
}

}  // namespace ckitchen

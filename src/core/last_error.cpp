#include "core/last_error.hpp"

#include <algorithm>
#include <cstddef>

#include "core/bounded_text.hpp"

namespace ckitchen {
namespace {

constexpr std::size_t kCapacity = 1024;
thread_local char text[kCapacity] = "";

std::size_t append(std::size_t used, std::string_view part) {
    return used + copy_bounded(text + used, kCapacity - used, part);
}

}  // namespace

void set_last_error(std::string_view function, std::string_view message) noexcept {
    std::size_t used = append(0, function);
    used = append(used, ": ");
    used = append(used, message);
    // One line without terminal codes, whatever a driver, a path or a variable put into it.
    std::replace_if(
        text, text + used, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
}

const char* last_error() noexcept {
    return text;
}

}  // namespace ckitchen

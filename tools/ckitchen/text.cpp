#include "text.hpp"

#include <cstdarg>
#include <cstdio>

namespace ckitchen::cli {
namespace {

// Length of the well-formed UTF-8 sequence at the front of `text`, 0 when there is none.
std::size_t sequence_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return 1;
    std::size_t length = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF) {
        length = 2;
    } else if (lead >= 0xE0 && lead <= 0xEF) {
        length = 3;
        if (lead == 0xE0) low = 0xA0;
        if (lead == 0xED) high = 0x9F;
    } else if (lead >= 0xF0 && lead <= 0xF4) {
        length = 4;
        if (lead == 0xF0) low = 0x90;
        if (lead == 0xF4) high = 0x8F;
    } else {
        return 0;
    }
    if (text.size() < length) return 0;
    if (byte(1) < low || byte(1) > high) return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
    }
    return length;
}

bool is_control(std::string_view sequence) {
    const auto lead = static_cast<unsigned char>(sequence[0]);
    if (sequence.size() == 1) return lead < 0x20 || lead == 0x7F;
    // U+0080..U+009F are control characters that some terminals obey.
    return sequence.size() == 2 && lead == 0xC2 && static_cast<unsigned char>(sequence[1]) < 0xA0;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
    std::string out;
    std::size_t i = 0;
    while (i < text.size()) {
        if (out.size() >= limit) return out + "...";
        const std::size_t length = sequence_length(text.substr(i));
        const std::string_view sequence = text.substr(i, length == 0 ? 1 : length);
        if (length != 0 && !is_control(sequence)) {
            out += sequence;
        } else {
            for (const char c : sequence) out += format("\\x%02X", static_cast<unsigned char>(c));
        }
        i += sequence.size();
    }
    return out;
}

std::string in_quotes(std::string_view text) {
    return '"' + printable(text) + '"';
}

std::string bytes_text(std::uint64_t bytes) {
    if (bytes < 1000) return format("%u B", static_cast<unsigned>(bytes));
    const char* const units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
    double value = static_cast<double>(bytes) / 1000;
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < std::size(units)) {
        value /= 1000;
        ++unit;
    }
    const int digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return format("%.*f %s", digits, value, units[unit]);
}

std::string seconds_text(double seconds) {
    if (seconds < 9.995) return format("%.2f s", seconds);
    if (seconds < 59.95) return format("%.1f s", seconds);
    const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
    const auto hours = static_cast<unsigned>(whole / 3600);
    const auto minutes = static_cast<unsigned>(whole / 60 % 60);
    const auto rest = static_cast<unsigned>(whole % 60);
    if (hours != 0) return format("%u:%02u:%02u", hours, minutes, rest);
    return format("%u:%02u", minutes, rest);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
    std::string out = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (i != 0) out += ", ";
        out += std::to_string(shape[i]);
    }
    return out + "]";
}

std::string format(const char* pattern, ...) {
    std::va_list arguments;
    va_start(arguments, pattern);
    std::va_list again;
    va_copy(again, arguments);
    const int size = std::vsnprintf(nullptr, 0, pattern, arguments);
    va_end(arguments);
    std::string out(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
    std::vsnprintf(out.data(), out.size() + 1, pattern, again);
    va_end(again);
    return out;
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = sequence_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::size_t code_points(std::string_view text) {
    std::size_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
    return count;
}

std::string_view last_code_points(std::string_view text, std::size_t count) {
    std::size_t begin = text.size();
    while (begin > 0 && count > 0) {
        --begin;
        if ((static_cast<unsigned char>(text[begin]) & 0xC0) != 0x80) --count;
    }
    return text.substr(begin);
}

}  // namespace ckitchen::cli

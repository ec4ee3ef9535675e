#include "progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "text.hpp"

namespace ckitchen::cli {
namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr std::size_t kDefaultColumns = 80;
constexpr std::size_t kBarCells = 20;

std::size_t terminal_columns() {
    struct winsize size = {};
    if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return kDefaultColumns;
}

}  // namespace

ProgressStyle detect_progress_style() {
    if (::isatty(STDERR_FILENO) == 0) return ProgressStyle::kLines;
    const char* const terminal = std::getenv("TERM");
    const bool can_redraw = terminal != nullptr && std::string_view(terminal) != "dumb";
    return can_redraw ? ProgressStyle::kBar : ProgressStyle::kLines;
}

std::string progress_bar_text(std::size_t columns, double fraction, std::string_view tensor,
                              double bytes_per_second, double seconds_left) {
    fraction = std::clamp(fraction, 0.0, 1.0);
    const auto cells = static_cast<std::size_t>(fraction * static_cast<double>(kBarCells));
    std::string head = format("%3d%% [", static_cast<int>(fraction * 100));
    head.append(cells, '=').append(kBarCells - cells, ' ').append("] ");
    const std::string tail =
        format("  %.0f MB/s  %s left", bytes_per_second / 1e6, seconds_text(seconds_left).c_str());
    const std::size_t fixed = head.size() + tail.size();
    if (fixed > columns) return format("%3d%%", static_cast<int>(fraction * 100)).substr(0, columns);
    const std::size_t room = columns - fixed;
    std::string name = printable(tensor);
    // The end of a name tells more than its beginning.
    if (code_points(name) > room) {
        name = room > 3 ? "..." + std::string(last_code_points(name, room - 3)) : std::string(room, '.');
    }
    return head + name + tail;
}

Progress::Progress(ProgressStyle style, std::uint64_t total_bytes) : style_(style), total_(total_bytes) {}

Progress::~Progress() {
    clear();
}

void Progress::restart(std::uint64_t total_bytes) {
    clear();
    total_ = total_bytes;
    done_ = 0;
    start_ = Clock::now();
}

void Progress::advance(std::string_view tensor, std::uint64_t bytes) {
    done_ += bytes;
    if (style_ != ProgressStyle::kBar || Clock::now() - drawn_ < kRedraw) return;
    draw(tensor);
}

void Progress::line(const std::string& text) {
    if (style_ == ProgressStyle::kLines) std::fprintf(stderr, "%s\n", text.c_str());
}

void Progress::notice(const std::string& text) {
    clear();
    std::fprintf(stderr, "%s\n", text.c_str());
}

void Progress::clear() {
    if (!visible_) return;
    std::fputs("\r\x1b[K", stderr);
    visible_ = false;
}

void Progress::draw(std::string_view tensor) {
    drawn_ = Clock::now();
    const double seconds = std::chrono::duration<double>(drawn_ - start_).count();
    const double fraction = total_ == 0 ? 1.0 : static_cast<double>(done_) / static_cast<double>(total_);
    const double rate = seconds > 0 ? static_cast<double>(done_) / seconds : 0;
    const double left = rate > 0 ? static_cast<double>(total_ - std::min(done_, total_)) / rate : 0;
    // The last column stays free: some terminals wrap as soon as it is written.
    const std::string text = progress_bar_text(terminal_columns() - 1, fraction, tensor, rate, left);
    std::fprintf(stderr, "\r%s\x1b[K", text.c_str());
    std::fflush(stderr);
    visible_ = true;
}

}  // namespace ckitchen::cli

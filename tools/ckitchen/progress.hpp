// Progress of a long conversion on stderr: a bar on a terminal, one line a layer elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace ckitchen::cli {

enum class ProgressStyle { kQuiet, kLines, kBar };

// kBar when stderr is a terminal that can redraw a line, otherwise kLines.
ProgressStyle detect_progress_style();

// The bar's text: percentage, a bar, the tensor's name cut to fit, MB/s, time left. At most `columns` wide.
std::string progress_bar_text(std::size_t columns, double fraction, std::string_view tensor,
                              double bytes_per_second, double seconds_left);

class Progress {
  public:
    Progress(ProgressStyle style, std::uint64_t total_bytes);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    // `bytes` more of `tensor` are done.
    void advance(std::string_view tensor, std::uint64_t bytes);

    // A line that stays: printed with kLines only.
    void line(const std::string& text);

    // A line that everybody sees, above the bar.
    void notice(const std::string& text);

    // Starts counting again.
    void restart(std::uint64_t total_bytes);

  private:
    void clear();
    void draw(std::string_view tensor);

    using Clock = std::chrono::steady_clock;

    ProgressStyle style_;
    std::uint64_t total_;
    std::uint64_t done_ = 0;
    Clock::time_point start_ = Clock::now();
    Clock::time_point drawn_{};
    bool visible_ = false;
};

}  // namespace ckitchen::cli

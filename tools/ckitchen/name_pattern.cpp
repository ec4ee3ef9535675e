#include "name_pattern.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <new>
#include <vector>

#include "failure.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

constexpr std::size_t kMaxPatternBytes = 1000;
constexpr std::size_t kEchoedBytes = 60;
// Places of the automaton, of which a long pattern without repetitions has as many as characters.
constexpr double kMaxPlaces = 5000;

// What is wrong with the escape of `c`, which stands in brackets or not; nullptr when nothing is.
const char* escape_fault(char c, bool in_brackets) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) return nullptr;
    if (in_brackets) return "brackets know no escapes; write [[:alnum:]_] or [0-9]";
    if (c >= '1' && c <= '9') return "back-references are not possible";
    if (std::string_view("wWsSbB").find(c) != std::string_view::npos) return nullptr;
    return "this escape is none of \\w \\W \\s \\S \\b \\B; a digit is [0-9]";
}

// Walks over a pattern that the compiler takes: finds what it would take for something else than was meant,
// and how large it becomes, since the compiler writes repetitions out and nested ones multiply.
class PatternCheck {
  public:
    explicit PatternCheck(const std::string& pattern) : pattern_(pattern) {
        while (at_ < pattern_.size() && fault_ == nullptr) step();
        while (groups_.size() > 1) close_group();
        if (fault_ == nullptr && groups_.front() + last_ > kMaxPlaces) fault_ = "it repeats too much";
    }

    // nullptr when nothing is wrong.
    const char* fault() const { return fault_; }

  private:
    void step() {
        const char c = pattern_[at_++];
        if (c == '\\') {
            if (at_ == pattern_.size()) return;
            fault_ = escape_fault(pattern_[at_++], false);
            add_atom(1);
        } else if (c == '[') {
            skip_brackets();
            add_atom(1);
        } else if (c == '(') {
            add_atom(0);
            groups_.push_back(0);
        } else if (c == ')') {
            if (groups_.size() > 1) close_group();
        } else if (c == '+') {
            last_ *= 2;
        } else if (c == '{') {
            last_ *= repetitions();
        } else {
            add_atom(1);
        }
    }

    void add_atom(double places) {
        groups_.back() += last_;
        last_ = places;
    }

    void close_group() {
        const double places = groups_.back() + last_;
        groups_.pop_back();
        last_ = std::max(places, 1.0);
    }

    // Of "{m}", "{m,}", "{m,n}" or "{,n}" behind its brace.
    double repetitions() {
        double most = 1;
        while (at_ < pattern_.size() && pattern_[at_] != '}') {
            if (std::isdigit(static_cast<unsigned char>(pattern_[at_])) == 0) {
                ++at_;
                continue;
            }
            const char* const begin = pattern_.c_str() + at_;
            char* end = nullptr;
            most = std::max(most, std::strtod(begin, &end) + 1);
            at_ += static_cast<std::size_t>(end - begin);
        }
        return most;
    }

    // To behind the bracket that ends a bracket expression. One that comes first is a member, and classes
    // have brackets of their own.
    void skip_brackets() {
        if (at_ < pattern_.size() && pattern_[at_] == '^') ++at_;
        for (bool is_first = true; at_ < pattern_.size(); is_first = false) {
            const char c = pattern_[at_++];
            const char next = at_ < pattern_.size() ? pattern_[at_] : '\0';
            if (c == ']' && !is_first) return;
            if (c == '\\' && next != '\0' && fault_ == nullptr) fault_ = escape_fault(next, true);
            if (c != '[' || (next != ':' && next != '.' && next != '=')) continue;
            const std::size_t end = pattern_.find(std::string{next, ']'}, at_ + 1);
            at_ = end == std::string::npos ? pattern_.size() : end + 2;
        }
    }

    const std::string& pattern_;
    std::size_t at_ = 0;
    std::vector<double> groups_{0};  // places of the open groups, the pattern itself first
    double last_ = 0;                // of the atom that a repetition would multiply
    const char* fault_ = nullptr;
};

std::shared_ptr<const regex_t> compile(const std::string& pattern, std::string& error) {
    auto compiled = std::make_unique<regex_t>();
    const int result = ::regcomp(compiled.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB);
    if (result == 0) {
        return {compiled.release(), [](regex_t* regex) {
                    ::regfree(regex);
                    delete regex;
                }};
    }
    if (result == REG_ESPACE) throw std::bad_alloc();
    std::array<char, 128> text{};
    ::regerror(result, compiled.get(), text.data(), text.size());
    error = text.data();
    return nullptr;
}

}  // namespace

NamePattern::NamePattern(const std::string& option, const std::string& pattern)
    : option_(option), text_(pattern) {
    const auto refuse = [&](const std::string& why) {
        throw Failure(Exit::kUsage, option + " \"" + printable(pattern, kEchoedBytes) +
                                        "\": is not a regular expression that can be used: " + why);
    };
    if (pattern.empty()) refuse("it is empty and would find every name");
    if (pattern.size() > kMaxPatternBytes)
        refuse(format("it has %zu bytes, at most %zu are possible", pattern.size(), kMaxPatternBytes));
    // Before it is compiled, which is where its size would show.
    if (const char* const fault = PatternCheck(pattern).fault()) refuse(fault);
    std::string error;
    if (compile(pattern, error) == nullptr) refuse(error);
    // Everything in front of the match is part of it, so that a search begins at the first character only.
    compiled_ = compile("^.*(" + pattern + ")", error);
    if (compiled_ == nullptr) refuse(error);
}

bool NamePattern::matches(const std::string& name) const {
    // A NUL byte, which no pattern can name, would end the name and is matched by no dot.
    std::string text = name;
    std::replace(text.begin(), text.end(), '\0', '\1');
    const int result = ::regexec(compiled_.get(), text.c_str(), 0, nullptr, 0);
    if (result == REG_ESPACE) throw std::bad_alloc();
    return result == 0;
}

}  // namespace ckitchen::cli

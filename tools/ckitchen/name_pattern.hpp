// The regular expressions of --include and --exclude.
#pragma once

#include <regex.h>

#include <memory>
#include <string>

namespace ckitchen::cli {

// A POSIX extended regular expression that is searched in the whole name, as `grep -E` searches a line. It is
// matched by an automaton: names come from files, and no pattern makes the time grow faster than the name.
class NamePattern {
  public:
    // Fails with Exit::kUsage when `pattern` is no regular expression, has back-references or another
    // dialect's escapes, grows too large where repetitions are written out, or is empty and would find every
    // name; `option` is named in the text.
    NamePattern(const std::string& option, const std::string& pattern);
    bool matches(const std::string& name) const;
    const std::string& option() const { return option_; }
    const std::string& text() const { return text_; }

  private:
    std::string option_;
    std::string text_;
    std::shared_ptr<const regex_t> compiled_;
};

}  // namespace ckitchen::cli

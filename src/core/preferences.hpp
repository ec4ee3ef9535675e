// Which capable variant comes first, as data: kernels/tuning.json or the file that CKITCHEN_TUNING names. For
// each operator and architecture ("*" for all that have no entry of their own) a list of rules; the first
// rule whose ranges hold gives its rows first, in its order; the other rows follow in the order of the
// operator's list. A rule can only reorder: whether a row is capable is not for data to say.
//
//   {"format": 1, "int8_gemm": {"*": [{"m": [1, 8], "rows": ["gemv_8"]}, {"rows": ["wmma12_128x256"]}],
//   "gfx1201": [...]}}
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.hpp"

namespace ckitchen {

struct PreferenceRule {
    struct Range {
        std::string metric;
        int64_t low;
        int64_t high;
    };
    std::vector<Range> ranges;
    std::vector<std::string> rows;
};

class Preferences {
  public:
    // `source` names the text in messages.
    static Status parse(std::string_view text, const std::string& source, Preferences& result);

    // In order; empty when nothing is said.
    const std::vector<PreferenceRule>& rules(const std::string& op, const std::string& arch) const;

  private:
    std::map<std::string, std::map<std::string, std::vector<PreferenceRule>>> ops_;
};

}  // namespace ckitchen

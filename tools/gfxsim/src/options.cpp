#include "options.hpp"

#include <cstdlib>

namespace ckitchen::gfxsim {
namespace {

constexpr uint64_t kDefaultLimit = 200'000'000;

std::string text(const char* name) {
    const char* v = std::getenv(name);
    return v ? v : "";
}

uint64_t number(const char* name, uint64_t otherwise) {
    const std::string v = text(name);
    char* end = nullptr;
    const unsigned long long n = std::strtoull(v.c_str(), &end, 0);
    return v.empty() || *end ? otherwise : n;
}

/// "[kernel+]offset[@count]"; malformed text stops nowhere.
void parse_stop(std::string v, Options& o) {
    if (v.empty()) return;
    if (const size_t at = v.rfind('@'); at != v.npos) {
        o.stop_count = std::strtoull(v.c_str() + at + 1, nullptr, 0);
        v.resize(at);
    }
    if (const size_t plus = v.rfind('+'); plus != v.npos) {
        o.stop_kernel = v.substr(0, plus);
        v.erase(0, plus + 1);
    }
    char* end = nullptr;
    const unsigned long long offset = std::strtoull(v.c_str(), &end, 0);
    if (!v.empty() && !*end) o.stop_offset = static_cast<int64_t>(offset);
}

}  // namespace

Options Options::from_environment() {
    Options o;
    o.execute = text("GFXSIM_EXEC") != "off";
    o.threads = static_cast<unsigned>(number("GFXSIM_THREADS", 0));
    o.instruction_limit = number("GFXSIM_LIMIT", kDefaultLimit);
    o.strict_alignment = text("GFXSIM_ALIGN") == "strict";
    o.undefined = text("GFXSIM_UNDEF") != "off";
    o.races = text("GFXSIM_RACES") != "off";
    o.trace = static_cast<int>(number("GFXSIM_TRACE", 0));
    o.trace_file = text("GFXSIM_TRACE_FILE");
    o.trace_group = text("GFXSIM_TRACE_GROUP");
    parse_stop(text("GFXSIM_STOP"), o);
    o.report_file = text("GFXSIM_REPORT");
    o.stats_file = text("GFXSIM_STATS");
    return o;
}

}  // namespace ckitchen::gfxsim

#include "options.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace ckitchen::gfxsim {
namespace {

constexpr uint64_t kDefaultLimit = 200'000'000;

std::string text(const char* name) {
    const char* v = std::getenv(name);
    return v ? v : "";
}

/// Reads the variables and remembers the first mistake: a launch that silently did without what was asked for
/// would pass a test that it does not make.
class Reader {
  public:
    explicit Reader(std::string& mistake) : mistake_(mistake) {}

    uint64_t number(const char* name, uint64_t otherwise, uint64_t least, uint64_t most) {
        const std::string v = text(name);
        if (v.empty()) return otherwise;
        uint64_t n = 0;
        if (parse(v, n) && n >= least && n <= most) return n;
        refuse(name, v, "a number, " + std::to_string(least) + " to " + std::to_string(most));
        return otherwise;
    }

    /// Whether the variable says `word`; empty is no, and so is `otherwise`.
    bool is(const char* name, const char* word, const char* otherwise) {
        const std::string v = text(name);
        if (!v.empty() && v != word && v != otherwise)
            refuse(name, v, std::string(word) + " or " + otherwise);
        return v == word;
    }

    /// "x,y,z", kept as workgroups are written everywhere, whatever the base of the numbers.
    void group(const char* name, Options& o) {
        const std::string v = text(name);
        size_t at = 0;
        for (int axis = 0; axis < 3 && !v.empty(); ++axis) {
            const size_t end = axis < 2 ? v.find(',', at) : v.size();
            if (end == v.npos || !parse(v.substr(at, end - at), o.group[axis])) {
                refuse(name, v, "x,y,z");
                break;
            }
            o.trace_group += (axis > 0 ? "," : "") + std::to_string(o.group[axis]);
            at = end + 1;
        }
    }

    /// "[kernel+]offset[@count]"
    void stop(const char* name, Options& o) {
        std::string v = text(name);
        if (v.empty()) return;
        o.stop_text = v;
        bool good = true;
        if (const size_t at = v.rfind('@'); at != v.npos) {
            good = parse(v.substr(at + 1), o.stop_count) && o.stop_count > 0;
            v.resize(at);
        }
        if (const size_t plus = v.rfind('+'); plus != v.npos) {
            o.stop_kernel = v.substr(0, plus);
            v.erase(0, plus + 1);
        }
        uint64_t offset = 0;
        good = good && parse(v, offset) && offset <= INT64_MAX;
        if (good)
            o.stop_offset = static_cast<int64_t>(offset);
        else
            refuse(name, o.stop_text, "[kernel+]offset[@count]");
    }

    /// A file that can be appended to; it is not made before there is something to write.
    std::string file(const char* name) {
        const std::string v = text(name);
        if (v.empty()) return v;
        const size_t slash = v.rfind('/');
        const std::string folder = slash == v.npos ? "." : v.substr(0, slash + 1);
        const bool there = access(v.c_str(), F_OK) == 0;
        if (access(there ? v.c_str() : folder.c_str(), W_OK) != 0)
            refuse(name, v, "a file that can be written");
        return v;
    }

  private:
    static bool parse(const std::string& v, uint64_t& n) {
        char* end = nullptr;
        errno = 0;
        if (v.empty() || v[0] < '0' || v[0] > '9') return false;
        n = std::strtoull(v.c_str(), &end, 0);
        return *end == 0 && errno == 0;
    }

    void refuse(const char* name, const std::string& value, const std::string& must) {
        if (mistake_.empty()) mistake_ = std::string(name) + " is '" + value + "', must be " + must;
    }

    std::string& mistake_;
};

}  // namespace

Options Options::from_environment() {
    Options o;
    Reader reader(o.mistake);
    o.execute = !reader.is("GFXSIM_EXEC", "off", "on");
    o.threads = static_cast<unsigned>(reader.number("GFXSIM_THREADS", 0, 0, 1024));
    o.instruction_limit = reader.number("GFXSIM_LIMIT", kDefaultLimit, 1, UINT64_MAX);
    o.strict_alignment = reader.is("GFXSIM_ALIGN", "strict", "atomics");
    o.undefined = !reader.is("GFXSIM_UNDEF", "off", "on");
    o.races = !reader.is("GFXSIM_RACES", "off", "on");
    o.trace = static_cast<int>(reader.number("GFXSIM_TRACE", 0, 0, 2));
    o.trace_file = reader.file("GFXSIM_TRACE_FILE");
    reader.group("GFXSIM_TRACE_GROUP", o);
    reader.stop("GFXSIM_STOP", o);
    o.report_file = reader.file("GFXSIM_REPORT");
    o.stats_file = reader.file("GFXSIM_STATS");
    return o;
}

}  // namespace ckitchen::gfxsim

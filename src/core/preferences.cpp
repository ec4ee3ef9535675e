#include "core/preferences.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "core/problem_text.hpp"

namespace ckitchen {
namespace {

using Json = nlohmann::json;
using Ops = std::map<std::string, std::map<std::string, std::vector<PreferenceRule>>>;

// Takes the text as a stream of tokens, straight into the rules. A document tree would be simpler, but the
// library's releases it with allocations inside a destructor: without memory that ends the process.
class Reader {
  public:
    Reader(const std::string& source, Ops& ops) : source_(source), ops_(ops) {}

    Status finish(bool complete) const {
        if (!status_.ok()) return status_;
        if (!complete) return error(CK_ERROR_INVALID_CONFIGURATION, "{} is not a JSON object", source_);
        if (!has_format_) return error(CK_ERROR_INVALID_CONFIGURATION, "{}: format is not 1", source_);
        return {};
    }

    bool null() { return wrong(); }
    bool boolean(bool) { return wrong(); }
    bool number_float(Json::number_float_t, const std::string&) { return wrong(); }
    bool binary(Json::binary_t&) { return wrong(); }
    bool number_integer(Json::number_integer_t value) { return integer(value, true); }
    bool number_unsigned(Json::number_unsigned_t value) {
        return integer(static_cast<int64_t>(value), value <= uint64_t{INT64_MAX});
    }
    bool string(std::string& value) {
        if (place_ != Place::kRows) return wrong();
        rule().rows.push_back(value);
        return true;
    }

    bool start_object(std::size_t) {
        switch (place_) {
            case Place::kOutside:
                return enter(Place::kRoot);
            case Place::kOperator:
                return enter(Place::kArchs);
            case Place::kList:
                ops_[op_][arch_].emplace_back();
                return enter(Place::kRule);
            default:
                return wrong();
        }
    }

    bool end_object() {
        return enter(place_ == Place::kRoot    ? Place::kDone
                     : place_ == Place::kArchs ? Place::kRoot
                                               : Place::kList);
    }

    bool start_array(std::size_t) {
        switch (place_) {
            case Place::kArch:
                ops_[op_][arch_];
                return enter(Place::kList);
            case Place::kRowsValue:
                return enter(Place::kRows);
            case Place::kRangeValue:
                rule().ranges.push_back({key_, 0, 0});
                bounds_ = 0;
                return enter(Place::kRange);
            default:
                return wrong();
        }
    }

    bool end_array() {
        if (place_ == Place::kRange && bounds_ != 2) return wrong();
        return enter(place_ == Place::kList ? Place::kArchs : Place::kRule);
    }

    bool key(std::string& name) {
        if (place_ == Place::kRoot) {
            if (!ops_seen_.insert(name).second) return twice(name);
            if (name == "format") return enter(Place::kFormat);
            if (!find_op(name)) return fail("{}: '{}' is no operator", source_, name);
            op_ = name;
            return enter(Place::kOperator);
        }
        if (place_ == Place::kArchs) {
            if (ops_[op_].count(name) != 0) return twice(op_ + "." + name);
            arch_ = name;
            return enter(Place::kArch);
        }
        key_ = name;
        if (name == "rows") {
            if (!rule().rows.empty()) return twice(where() + ".rows");
            return enter(Place::kRowsValue);
        }
        for (const PreferenceRule::Range& range : rule().ranges) {
            if (range.metric == name) return twice(where() + "." + name);
        }
        return enter(Place::kRangeValue);
    }

    // The text is no JSON; `finish` says so.
    bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

  private:
    // Where the next token belongs.
    enum class Place {
        kOutside,     // before the root
        kRoot,        // among the operators
        kFormat,      // the value of "format"
        kOperator,    // the value of an operator
        kArchs,       // among the architectures of an operator
        kArch,        // the value of an architecture
        kList,        // among the rules
        kRule,        // in a rule
        kRowsValue,   // the value of "rows"
        kRows,        // among the names
        kRangeValue,  // the value of a range
        kRange,       // among its bounds
        kDone
    };

    bool enter(Place place) {
        place_ = place;
        return true;
    }

    PreferenceRule& rule() { return ops_[op_][arch_].back(); }

    // "file: op.arch[2]"
    std::string where() { return op_ + "." + arch_ + "[" + std::to_string(index()) + "]"; }
    std::size_t index() {
        const std::size_t count = ops_[op_][arch_].size();
        // Between rules the value in question is the next one.
        return place_ == Place::kList ? count : count - 1;
    }

    bool integer(int64_t value, bool fits) {
        if (place_ == Place::kFormat) {
            if (!fits || value != 1) return wrong();
            has_format_ = true;
            return enter(Place::kRoot);
        }
        if (place_ != Place::kRange || !fits || bounds_ == 2) return wrong();
        PreferenceRule::Range& range = rule().ranges.back();
        (bounds_++ == 0 ? range.low : range.high) = value;
        return true;
    }

    template <typename... Args>
    bool fail(fmt::format_string<Args...> format, Args&&... args) {
        status_ = error(CK_ERROR_INVALID_CONFIGURATION, format, std::forward<Args>(args)...);
        return false;
    }

    bool twice(const std::string& what) { return fail("{}: {} is given twice", source_, what); }

    // A token that does not belong where it stands.
    bool wrong() {
        switch (place_) {
            case Place::kFormat:
                return fail("{}: format is not 1", source_);
            case Place::kOperator:
                return fail("{}: {} is not an object", source_, op_);
            case Place::kArch:
                return fail("{}: {}.{} is not a list", source_, op_, arch_);
            case Place::kList:
                return fail("{}: {} is not an object", source_, where());
            case Place::kRowsValue:
                return fail("{}: {}.rows is not a list", source_, where());
            case Place::kRows:
                return fail("{}: {}.rows holds something that is not a name", source_, where());
            case Place::kRangeValue:
            case Place::kRange:
                return fail("{}: {}.{} is not a pair of whole numbers", source_, where(), key_);
            default:
                return fail("{} is not a JSON object", source_);
        }
    }

    const std::string& source_;
    Ops& ops_;
    Status status_;
    Place place_ = Place::kOutside;
    bool has_format_ = false;
    std::set<std::string> ops_seen_;
    std::string op_, arch_, key_;
    int bounds_ = 0;
};

}  // namespace

Status Preferences::parse(std::string_view text, const std::string& source, Preferences& result) {
    Preferences parsed;
    Reader reader(source, parsed.ops_);
    const bool complete = Json::sax_parse(text, &reader);
    CK_RETURN_IF_ERROR(reader.finish(complete));
    result = std::move(parsed);
    return {};
}

const std::vector<PreferenceRule>& Preferences::rules(const std::string& op, const std::string& arch) const {
    static const std::vector<PreferenceRule> kNone;
    const auto archs = ops_.find(op);
    if (archs == ops_.end()) return kNone;
    auto found = archs->second.find(arch);
    if (found == archs->second.end()) found = archs->second.find("*");
    return found == archs->second.end() ? kNone : found->second;
}

}  // namespace ckitchen

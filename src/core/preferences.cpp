#include "core/preferences.hpp"

#include <nlohmann/json.hpp>

#include "core/problem_text.hpp"

namespace ckitchen {
namespace {

using Json = nlohmann::json;

Status parse_rule(const Json& entry, const std::string& where, PreferenceRule& rule) {
    if (!entry.is_object()) return error(CK_ERROR_INVALID_CONFIGURATION, "{} is not an object", where);
    for (const auto& [key, value] : entry.items()) {
        if (key == "rows") {
            if (!value.is_array())
                return error(CK_ERROR_INVALID_CONFIGURATION, "{}.rows is not a list", where);
            for (const Json& row : value) {
                if (!row.is_string())
                    return error(CK_ERROR_INVALID_CONFIGURATION, "{}.rows holds something that is not a name",
                                 where);
                rule.rows.push_back(row.get<std::string>());
            }
            continue;
        }
        if (!value.is_array() || value.size() != 2 || !value[0].is_number_integer() ||
            !value[1].is_number_integer())
            return error(CK_ERROR_INVALID_CONFIGURATION, "{}.{} is not a pair of whole numbers", where, key);
        rule.ranges.push_back({key, value[0].get<int64_t>(), value[1].get<int64_t>()});
    }
    return {};
}

}  // namespace

Status Preferences::parse(std::string_view text, const std::string& source, Preferences& result) {
    const Json root = Json::parse(text, nullptr, false);
    if (root.is_discarded() || !root.is_object())
        return error(CK_ERROR_INVALID_CONFIGURATION, "{} is not a JSON object", source);
    if (!root.contains("format") || root["format"] != 1)
        return error(CK_ERROR_INVALID_CONFIGURATION, "{}: format is not 1", source);
    Preferences parsed;
    for (const auto& [op, archs] : root.items()) {
        if (op == "format") continue;
        if (!find_op(op)) return error(CK_ERROR_INVALID_CONFIGURATION, "{}: '{}' is no operator", source, op);
        if (!archs.is_object())
            return error(CK_ERROR_INVALID_CONFIGURATION, "{}: {} is not an object", source, op);
        for (const auto& [arch, list] : archs.items()) {
            const std::string where = source + ": " + op + "." + arch;
            if (!list.is_array()) return error(CK_ERROR_INVALID_CONFIGURATION, "{} is not a list", where);
            auto& rules = parsed.ops_[op][arch];
            for (std::size_t i = 0; i < list.size(); ++i) {
                PreferenceRule rule;
                CK_RETURN_IF_ERROR(parse_rule(list[i], where + "[" + std::to_string(i) + "]", rule));
                rules.push_back(std::move(rule));
            }
        }
    }
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

#include "strict_json.hpp"

#include <set>
#include <stdexcept>
#include <vector>

#include "text.hpp"

namespace ckitchen::cli {
namespace {

struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace

bool parse_strict_json(std::string_view text, int max_depth, nlohmann::json& out, std::string& error) {
    using json = nlohmann::json;
    if (text.find('\0') != std::string_view::npos) {
        error = "JSON contains a NUL byte";
        return false;
    }
    std::vector<std::set<std::string>> open_objects;
    const json::parser_callback_t check = [&](int depth, json::parse_event_t event, json& parsed) {
        switch (event) {
            case json::parse_event_t::object_start:
            case json::parse_event_t::array_start:
                if (depth >= max_depth)
                    throw Refused("JSON is nested deeper than " + std::to_string(max_depth));
                if (event == json::parse_event_t::object_start) open_objects.emplace_back();
                break;
            case json::parse_event_t::object_end:
                open_objects.pop_back();
                break;
            case json::parse_event_t::key: {
                const auto& key = parsed.get_ref<const std::string&>();
                if (!open_objects.back().insert(key).second)
                    throw Refused("JSON key " + in_quotes(key) + " occurs twice");
                break;
            }
            default:
                break;
        }
        return true;
    };
    try {
        out = json::parse(text.begin(), text.end(), check);
        return true;
    } catch (const Refused& refused) {
        error = refused.what();
    } catch (const json::parse_error& failure) {
        error = "is not valid JSON (UTF-8) at byte " + std::to_string(failure.byte);
    } catch (const json::exception&) {
        error = "is not valid JSON";
    }
    return false;
}

}  // namespace ckitchen::cli

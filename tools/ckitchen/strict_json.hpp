// JSON from hostile files: what the usual parser lets pass is refused here.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace ckitchen::cli {

// Parses one JSON document. Duplicate keys, nesting deeper than `max_depth`, NUL bytes (which the parser
// would take for the end) and invalid UTF-8 are refused. On failure returns false and sets `error` to one
// line that does not repeat the input.
bool parse_strict_json(std::string_view text, int max_depth, nlohmann::json& out, std::string& error);

}  // namespace ckitchen::cli

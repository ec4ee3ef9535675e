#include "asm_text.hpp"

namespace ckitchen::gfxsim {
namespace {

constexpr std::string_view kSpace = " \t\n";

std::string_view trim(std::string_view s) {
    const size_t a = s.find_first_not_of(kSpace);
    if (a == s.npos) return {};
    return s.substr(a, s.find_last_not_of(kSpace) - a + 1);
}

/// Length of the token at the start of `s`: up to a space or comma outside brackets and quotes; npos when a
/// bracket stays open.
size_t token_length(std::string_view s) {
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < s.size(); ++i) {
        const char c = s[i];
        if (c == '"') quoted = !quoted;
        if (quoted) continue;
        if (c == '(' || c == '[') ++depth;
        if (c == ')' || c == ']') --depth;
        if (depth < 0) return s.npos;
        if (depth == 0 && (c == ' ' || c == '\t' || c == ',')) return i;
    }
    return depth == 0 && !quoted ? s.size() : s.npos;
}

}  // namespace

bool split_asm_text(std::string_view text, AsmText& out) {
    out = {};
    text = trim(text);
    const size_t name_end = std::min(text.find_first_of(kSpace), text.size());
    out.mnemonic = text.substr(0, name_end);
    std::string_view rest = trim(text.substr(name_end));
    bool in_operands = true;
    while (!rest.empty()) {
        const size_t length = token_length(rest);
        if (length == rest.npos || length == 0) return false;
        const std::string_view token = rest.substr(0, length);
        rest = trim(rest.substr(length));
        if (in_operands) {
            out.operands.emplace_back(token);
            in_operands = !rest.empty() && rest.front() == ',';
            if (in_operands) {
                rest = trim(rest.substr(1));
                if (rest.empty()) return false;
            }
            continue;
        }
        const size_t colon = token.find(':');
        AsmModifier m;
        m.name = token.substr(0, colon);
        if (colon != token.npos) m.value = token.substr(colon + 1);
        out.modifiers.push_back(std::move(m));
    }
    return !out.mnemonic.empty();
}

}  // namespace ckitchen::gfxsim

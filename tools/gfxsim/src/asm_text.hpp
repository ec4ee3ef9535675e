#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckitchen::gfxsim {

/// "name", "name:value" or "name:[v,v]" after the operands of an instruction.
struct AsmModifier {
    std::string name;
    std::string value;
};

/// An instruction's text split into its parts; nothing is interpreted yet.
struct AsmText {
    std::string mnemonic;
    std::vector<std::string> operands;
    std::vector<AsmModifier> modifiers;
};

/// False when the brackets do not match.
bool split_asm_text(std::string_view text, AsmText& out);

}  // namespace ckitchen::gfxsim

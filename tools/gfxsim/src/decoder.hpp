#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "asm_text.hpp"
#include "disassembler.hpp"
#include "inst.hpp"
#include "op_table.hpp"
#include "targets.hpp"

namespace ckitchen::gfxsim {

/// Turns machine code into Inst: LLVM gives the text, the text is parsed once, every token must be
/// understood. Owns what it returns. Not thread-safe.
class Decoder {
  public:
    explicit Decoder(const Target& target) : target_(target), disassembler_(target) {}

    /// Never fails: what cannot be decoded or executed becomes an instruction whose handler reports it.
    const Inst& decode(const uint8_t* bytes, size_t size, uint64_t address);

  private:
    bool parse(std::string_view text, Inst& inst, std::string& why);
    bool parse_single(std::string_view text, Inst& inst, std::string& why);
    bool parse_operands(const AsmText& t, const OpSpec& spec, Inst& inst, std::string& why);
    bool parse_hint(const AsmText& t, Inst& inst, std::string& why);
    bool parse_operand(std::string_view token, Type type, Operand& out);
    bool parse_register(std::string_view token, Operand& out);
    bool parse_constant(std::string_view token, Type type, Operand& out);
    bool parse_modifier(const AsmModifier& m, const OpSpec& spec, Inst& inst);
    bool parse_dpp(const AsmModifier& m, Inst& inst, bool& known);
    bool parse_bits(std::string_view list, uint8_t& out) const;
    void set_constant(Operand& out, uint64_t value, int words);
    Dpp& dpp_of(Inst& inst);

    const Target& target_;
    Disassembler disassembler_;
    std::deque<Inst> insts_;
    std::deque<Dpp> dpps_;
    std::unordered_map<uint64_t, const uint32_t*> constants_;
    struct alignas(64) ConstantBlock {
        std::array<uint32_t, 2 * kLanes> lanes;
    };
    std::deque<ConstantBlock> constant_blocks_;
};

/// Strips the encoding suffix (_e32, _e64, _dpp, _sdwa, ...) from a mnemonic.
std::string_view base_mnemonic(std::string_view mnemonic);

}  // namespace ckitchen::gfxsim

// Lists the instructions that LLVM decodes for a target and the simulator does not execute. Encodings are
// walked: every opcode field of every instruction format, with a handful of operands.
//   gfxsim_list_instructions gfx1201 [all]
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "decoder.hpp"

using namespace ckitchen::gfxsim;

namespace {

struct Seen {
    bool executed = false;
    std::string text;
};

/// Mnemonic of a decoded text, with its encoding suffix.
std::string mnemonic(const std::string& text) {
    return text.substr(0, text.find(' '));
}

void try_words(const Target& target, Decoder*& decoder, unsigned& used, std::map<std::string, Seen>& seen,
               const uint32_t (&words)[4]) {
    // A decoder keeps all that it decoded.
    if (++used % 100000 == 0) {
        delete decoder;
        decoder = new Decoder(target);
    }
    uint8_t bytes[16];
    std::memcpy(bytes, words, sizeof bytes);
    const Inst& inst = decoder->decode(bytes, sizeof bytes, 0x1000);
    if (inst.text.find("<undecodable") != std::string::npos) return;
    Seen& s = seen[mnemonic(inst.text)];
    if (s.executed) return;
    s.executed = inst.spec->cls != InstClass::kUnknown;
    s.text = inst.text;
}

}  // namespace

int main(int argc, char** argv) {
    const Target* target = argc > 1 ? find_target(argv[1]) : nullptr;
    if (!target) {
        std::fprintf(stderr, "usage: gfxsim_list_instructions TARGET [all]\n");
        return 2;
    }
    std::map<std::string, Seen> seen;
    auto* decoder = new Decoder(*target);
    unsigned used = 0;
    // Operands: v2, v4, v6, with and without the ones of op_sel_hi; scalars; DPP and SDWA control; small
    // registers in byte fields.
    static constexpr uint32_t kLow[] = {0x0102, 0x0002, 0x4002, 0x0402, 0x007c, 0x00fa, 0x00f9, 0x00e9};
    static constexpr uint32_t kSecond[] = {0x041a0902, 0x1c1a0902, 0x00180902, 0x0a060402,
                                           0x087c0402, 0xff00e402, 0x06060602, 0x00100c02,
                                           0x00000008, 0x0000080a, 0xf8000002};
    for (uint32_t top = 0; top < 0x10000; ++top) {
        // SOP1 and VOP1 have their opcode in the lower half.
        const bool opcode_below = (top >> 8) == 0xbe || (top >> 8) == 0x7e || (top >> 8) == 0x7f;
        if ((top >> 8) == 0xbe && (top & 0x7f) > 8) continue;
        // gfx12 has memory opcodes down to bit 13.
        const uint32_t family = top >> 10;
        const bool memory =
            family == 0x31 || family == 0x33 || family == 0x34 || family == 0x3b || family == 0x3d;
        const uint32_t steps = opcode_below ? 256 : memory ? 8 : 1;
        for (const uint32_t low : kLow)
            for (uint32_t k = 0; k < steps; ++k) {
                const uint32_t first = top << 16 | (low ^ (opcode_below ? k << 8 : k << 13));
                for (const uint32_t second : kSecond) {
                    try_words(*target, decoder, used, seen, {first, second, 0x00000806, 0});
                    // One dword: the second does not matter.
                    if ((top >> 14) < 3 && low != 0xfa && low != 0xf9 && low != 0xe9) break;
                }
            }
    }
    size_t executed = 0;
    for (const auto& [name, s] : seen) executed += s.executed;
    for (const auto& [name, s] : seen)
        if (!s.executed)
            std::printf("missing %-36s %s\n", name.c_str(), s.text.c_str());
        else if (argc > 2)
            std::printf("has     %s\n", name.c_str());
    std::printf("%s: %zu of %zu mnemonics with their encodings\n", target->name, executed, seen.size());
    delete decoder;
    return 0;
}

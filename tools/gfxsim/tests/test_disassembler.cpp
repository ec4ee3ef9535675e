// What older compilers encode otherwise than LLVM 22 wants it.
#include <catch2/catch.hpp>
#include <cstring>

#include "disassembler.hpp"

using namespace ckitchen::gfxsim;

namespace {

std::string text_of(const char* target, uint64_t code) {
    Disassembler disassembler(*find_target(target));
    uint8_t bytes[8];
    std::memcpy(bytes, &code, sizeof bytes);
    std::string text;
    disassembler.disassemble(bytes, sizeof bytes, 0, text);
    return text;
}

}  // namespace

TEST_CASE("v_cmpx of gfx10 with any destination", "[disassembler]") {
    // The long encoding of comparisons of two registers, all opcodes that write EXEC.
    int known = 0;
    for (uint64_t op = 0; op < 256; ++op) {
        if ((op & 0x10) == 0) continue;
        const uint64_t with_exec = 0x0002070100000000 | 0xd4000000 | op << 16 | 0x7e;
        const std::string wanted = text_of("gfx1030", with_exec);
        if (wanted.empty()) continue;  // no instruction
        INFO(wanted);
        CHECK_THAT(wanted, Catch::Contains("v_cmpx_"));
        CHECK(text_of("gfx1030", with_exec & ~0xffull) == wanted);
        CHECK(text_of("gfx1030", (with_exec & ~0xffull) | 0x2a) == wanted);
        ++known;
    }
    CHECK(known > 80);
    // A comparison that writes a scalar register keeps its destination.
    CHECK_THAT(text_of("gfx1030", 0x00020701d4020006),
               Catch::Contains("v_cmp_eq_f32") && Catch::Contains("s6"));
}

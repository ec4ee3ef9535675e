#include "disassembler.hpp"

#include <llvm-c/Disassembler.h>

#include <algorithm>
#include <cstring>
#include <mutex>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo(void);
void LLVMInitializeAMDGPUTargetMC(void);
void LLVMInitializeAMDGPUDisassembler(void);
}

namespace ckitchen::gfxsim {

namespace {

/// gfx10's v_cmpx in the long encoding writes EXEC whatever its destination field says. LLVM 15 leaves the
/// field zero, LLVM 22 wants EXEC's number there and takes anything else for half an error, which its C
/// interface makes a whole one. True when the first dword was such an instruction and now has the number.
bool repair_cmpx(uint8_t* bytes, size_t size) {
    constexpr uint8_t kExec = 0x7e;
    if (size < 8 || bytes[0] == kExec || bytes[3] != 0xd4) return false;
    const bool cmpx = (bytes[2] & 0x10) != 0;
    if (cmpx) bytes[0] = kExec;
    return cmpx;
}

}  // namespace

Disassembler::Disassembler(const Target& target) : generation_(target.generation) {
    static std::once_flag once;
    std::call_once(once, [] {
        LLVMInitializeAMDGPUTargetInfo();
        LLVMInitializeAMDGPUTargetMC();
        LLVMInitializeAMDGPUDisassembler();
    });
    // With real 16-bit registers the text names the half (v0.l, v0.h) of every 16-bit operand; without
    // them LLVM would hide the upper halves of code that was compiled to use them.
    const char* features = target.generation == Generation::kGfx103 ? "" : "+real-true16";
    context_ =
        LLVMCreateDisasmCPUFeatures("amdgcn-amd-amdhsa", target.name, features, nullptr, 0, nullptr, nullptr);
}

Disassembler::~Disassembler() {
    if (context_) LLVMDisasmDispose(context_);
}

size_t Disassembler::disassemble(const uint8_t* bytes, size_t size, uint64_t address, std::string& text) {
    text.clear();
    if (!context_) return 0;
    char buffer[512];
    uint8_t copy[20];  // the longest instruction has five dwords
    size = std::min(size, sizeof copy);
    std::memcpy(copy, bytes, size);
    const auto attempt = [&] {
        return LLVMDisasmInstruction(context_, copy, size, address, buffer, sizeof buffer);
    };
    size_t length = attempt();
    if (!length && generation_ == Generation::kGfx103 && repair_cmpx(copy, size)) length = attempt();
    if (length) text = buffer;
    return length;
}

}  // namespace ckitchen::gfxsim

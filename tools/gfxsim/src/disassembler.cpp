#include "disassembler.hpp"

#include <llvm-c/Disassembler.h>

#include <algorithm>
#include <mutex>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo(void);
void LLVMInitializeAMDGPUTargetMC(void);
void LLVMInitializeAMDGPUDisassembler(void);
}

namespace ckitchen::gfxsim {

Disassembler::Disassembler(const Target& target) {
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
    // The longest instruction has five dwords (a gfx12 memory form has three, VOP3 with a literal three).
    const size_t length = LLVMDisasmInstruction(context_, const_cast<uint8_t*>(bytes),
                                                std::min<size_t>(size, 20), address, buffer, sizeof buffer);
    if (length) text = buffer;
    return length;
}

}  // namespace ckitchen::gfxsim

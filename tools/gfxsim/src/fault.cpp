#include "fault.hpp"

#include <cstdio>

namespace ckitchen::gfxsim {

const char* fault_name(FaultKind kind) {
    switch (kind) {
        case FaultKind::kUnknownInstruction:
            return "unknown instruction";
        case FaultKind::kIllegalAddress:
            return "illegal address";
        case FaultKind::kMisaligned:
            return "misaligned access";
        case FaultKind::kLdsRange:
            return "LDS access out of range";
        case FaultKind::kScratchRange:
            return "scratch access out of range";
        case FaultKind::kExecNotFull:
            return "EXEC is not full at a matrix instruction";
        case FaultKind::kWmmaLayout:
            return "matrix operand halves differ";
        case FaultKind::kBarrier:
            return "barrier that not all waves reach";
        case FaultKind::kEndlessLoop:
            return "endless loop";
        case FaultKind::kBadProgramCounter:
            return "program counter outside the code";
        case FaultKind::kUnsupportedMode:
            return "unsupported mode";
        case FaultKind::kTrap:
            return "trap";
        case FaultKind::kUndefined:
            return "use of an undefined value";
        case FaultKind::kRace:
            return "race between waves";
        case FaultKind::kStopped:
            return "stopped as asked";
    }
    return "unknown";
}

int fault_error(FaultKind kind) {
    switch (kind) {
        case FaultKind::kIllegalAddress:
        case FaultKind::kMisaligned:
        case FaultKind::kLdsRange:
        case FaultKind::kScratchRange:
            return 700;
        case FaultKind::kEndlessLoop:
            return 702;
        case FaultKind::kTrap:
            return 710;
        default:
            return 719;
    }
}

void raise(FaultKind kind, int lane, std::string detail) {
    throw Fault{kind, lane, std::move(detail), nullptr, -1};
}

void raise_at(FaultKind kind, const Inst& inst, int wave, int lane, std::string detail) {
    throw Fault{kind, lane, std::move(detail), &inst, wave};
}

void report_unknown(Wave&, const Inst&) {
    raise(FaultKind::kUnknownInstruction, -1, "the simulator cannot execute it");
}

std::string hex(uint64_t v) {
    char buffer[24];
    std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(v));
    return buffer;
}

}  // namespace ckitchen::gfxsim

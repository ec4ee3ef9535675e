#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "inst.hpp"

namespace ckitchen::gfxsim {

/// Generic pointers into LDS and scratch carry these bases; the upper dword is what src_shared_base and
/// src_private_base read as, its upper half what HW_REG_SH_MEM_BASES holds. They lie far from any host
/// address.
constexpr uint64_t kSharedAperture = 0x0001'0000'0000'0000ull;
constexpr uint64_t kPrivateAperture = 0x0002'0000'0000'0000ull;

enum class FaultKind : uint8_t {
    kUnknownInstruction,
    kIllegalAddress,
    kMisaligned,
    kLdsRange,
    kScratchRange,
    kExecNotFull,
    kWmmaLayout,
    kBarrier,
    kEndlessLoop,
    kBadProgramCounter,
    kUnsupportedMode,
    kTrap,
    kUndefined,
    kRace,
    kStopped,  // where GFXSIM_STOP asked for
};

const char* fault_name(FaultKind kind);
/// The HIP error that a launch with this finding ends with.
int fault_error(FaultKind kind);

/// Thrown by instruction handlers; stops the launch. `lane` is -1 when the finding is the wave's. The
/// instruction and the wave are those in execution unless the fault names others.
struct Fault {
    FaultKind kind;
    int lane;
    std::string detail;
    const Inst* inst = nullptr;
    int wave = -1;
};

[[noreturn]] void raise(FaultKind kind, int lane, std::string detail);
[[noreturn]] void raise_at(FaultKind kind, const Inst& inst, int wave, int lane, std::string detail);
/// Handler of everything that has no semantics.
[[noreturn]] void report_unknown(Wave& w, const Inst& inst);

std::string hex(uint64_t v);

}  // namespace ckitchen::gfxsim

#pragma once

#include "inst.hpp"
#include "wave.hpp"

// Undefined values, as a memory checker sees them: each bit of a register, of LDS and of scratch, and each
// byte of global memory, knows whether somebody wrote it. Instructions pass undefined bits on; a finding is
// raised only where one decides something that others see: an address, a branch, EXEC, a store to global
// memory.
//
// How bits pass through an instruction is found by executing it: its undefined input bits are set to several
// patterns, and a result bit that differs between the runs depends on them. That needs no rule for each
// instruction, covers modifiers, lane permutations and partial writes, and never calls a defined bit
// undefined. Comparisons, whose result may be the same under all patterns, have a rule of their own.

namespace ckitchen::gfxsim {

/// Fills in the touch_* and access fields of a decoded instruction.
void find_touched(Inst& inst);

/// Marks everything undefined: the registers below `vgprs` and all scalar ones. Those above keep the mark.
void forget_registers(Wave& w, uint32_t vgprs);
void define_scalar(Wave& w, int reg);
void define_vector(Wave& w, int reg);

/// Executes an instruction that reads or writes a register with undefined bits.
void execute_undefined(Wave& w, const Inst& inst);
/// To be called before a memory instruction is executed: checks its addresses and what it stores, and moves
/// the marks as it will move the data.
void track_memory(Wave& w, const Inst& inst);
/// At a barrier: finds out whether LDS has undefined bits left.
void scan_lds(Workgroup& group);

}  // namespace ckitchen::gfxsim

#pragma once

#include <cstdint>

#include "inst.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {

enum class Space : uint8_t { kGlobal, kLds, kScratch };

/// Per-lane addresses of a vector memory instruction, in one of three spaces. A flat instruction may address
/// all three; `mixed` then tells that space_of() must be asked lane by lane.
struct LaneAddresses {
    uint64_t at[kLanes];
    Space space = Space::kGlobal;
    bool mixed = false;
    uint32_t lanes = 0;  // those that access memory: the active ones but what a buffer's bounds drop

    Space space_of(int lane) const;
    uint32_t low(int lane) const { return static_cast<uint32_t>(at[lane]); }
};

/// Host pointer of `bytes` bytes (1 to 16) of lane `lane`; raises a finding when they are not the wave's to
/// touch. Scratch is interleaved by dword, so an access there must not cross a dword unless it is aligned.
uint8_t* global_pointer(Wave& w, uint64_t address, uint32_t bytes, bool write, int lane);
uint8_t* lds_pointer(Wave& w, uint32_t address, uint32_t bytes, int lane);

void scratch_read(Wave& w, uint32_t address, uint32_t bytes, int lane, uint8_t* out);
void scratch_write(Wave& w, uint32_t address, uint32_t bytes, int lane, const uint8_t* in);

/// Where a vector memory instruction has its operands among the sources; MUBUF prints its data first.
int address_operand(const Inst& inst);
int scalar_operand(const Inst& inst);
int data_operand(const Inst& inst);

/// Addresses of a FLAT, GLOBAL, SCRATCH or MUBUF instruction.
void vmem_addresses(Wave& w, const Inst& inst, LaneAddresses& out);

/// Address of a scalar load; false when it lies outside its buffer, and reads as 0.
bool smem_address(const Wave& w, const Inst& inst, uint64_t& address);

/// What global_load_tr does with what the lanes loaded, `words` dwords each: eight elements a lane,
/// transposed within each eight lanes.
void transpose_lanes(uint32_t (*words)[kLanes], int count);

/// True when all active lanes' accesses lie in one accessible global range.
bool global_range_check(Wave& w, const LaneAddresses& a, uint32_t bytes, bool write);

}  // namespace ckitchen::gfxsim

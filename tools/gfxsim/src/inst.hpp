#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace ckitchen::gfxsim {

struct Wave;
struct Inst;
struct OpSpec;

using Handler = void (*)(Wave&, const Inst&);

constexpr int kLanes = 32;

/// How an operand's bits are read; decides inline constants, modifiers and register widths.
enum class Type : uint8_t {
    kNone,
    kB16,   // integer, one half of a register
    kF16,   // IEEE half
    kBf16,  // bfloat16
    kB32,
    kF32,
    kB64,
    kI64,  // as kB64, but a 32-bit literal is sign-extended
    kF64,
    kPkB16,  // two 16-bit integers
    kPkF16,  // two halves
    kPkBf16,
    kMask,  // a lane mask: one scalar register in wave32
    kAny,   // any number of registers, as many as the text names
};

/// Architected scalar register file as one array; 0..105 are the plain SGPRs. The null register is written
/// past the end so that a pair or a wider group written to it harms nothing.
enum ScalarRegister : uint16_t {
    kVccLo = 106,
    kVccHi = 107,
    kTtmp0 = 108,
    kM0 = 124,
    kExecLo = 126,
    kExecHi = 127,
    kNullRegister = 128,
    kFlatScratchLo = 144,
    kFlatScratchHi = 145,
    kScalarCount = 160,
};

/// Vector registers above the architected 256 that the executor itself uses.
enum VectorRegister : uint16_t { kVgprCount = 256, kVopdTemporary = 256, kVectorCount = 258 };

enum class OperandKind : uint8_t { kNone, kVgpr, kSgpr, kConst, kScc };

/// Sub-dword selection of SDWA operands.
enum class Select : uint8_t { kDword, kByte0, kByte1, kByte2, kByte3, kWord0, kWord1 };

struct Operand {
    OperandKind kind = OperandKind::kNone;
    uint8_t words = 1;      // registers covered
    uint16_t reg = 0;       // VGPR or ScalarRegister index
    bool high : 1 = false;  // upper half of a 16-bit operand
    bool neg : 1 = false;
    bool abs : 1 = false;
    bool sext : 1 = false;
    Select select = Select::kDword;
    Type type = Type::kNone;
    // kConst: `words` blocks of 32 equal dwords, so that a constant reads like a vector register.
    const uint32_t* lanes = nullptr;

    uint64_t constant() const { return words > 1 ? uint64_t{lanes[kLanes]} << 32 | lanes[0] : lanes[0]; }
};

/// Data-parallel primitive: where each lane takes source 0 from.
struct Dpp {
    std::array<int8_t, kLanes> source{};  // lane number, -1 when out of range
    uint32_t lane_mask = ~0u;             // row_mask and bank_mask
    bool bound_control = false;
    bool fetch_inactive = false;
    bool dpp8 = false;
};

enum class InstClass : uint8_t {
    kSalu,
    kSmem,
    kBranch,
    kWait,  // s_wait*, s_delay_alu, s_nop, s_clause and other hints
    kBarrier,
    kMessage,  // s_sendmsg, s_endpgm
    kValu,
    kTrans,
    kDot,
    kWmma,
    kVopd,
    kCrossLane,
    kVmemLoad,
    kVmemStore,
    kVmemAtomic,
    kVmemOther,  // cache control
    kScratch,
    kLds,
    kUnknown,
    kCount,
};

const char* class_name(InstClass c);

/// What a memory instruction does with the data it names.
enum class MemoryAccess : uint8_t { kNone, kLoad, kStore, kAtomic };

/// Registers as bits of one set: vector registers, then scalar ones, then SCC.
constexpr int kVectorBits = 320;
constexpr int kSccBit = kVectorBits + kScalarCount;
constexpr int kRegisterWords = kSccBit / 64 + 1;

/// A decoded instruction. Execution touches only this; `text` is for reports and traces.
struct Inst {
    Handler fn = nullptr;
    uint32_t size = 0;  // bytes
    uint8_t dst_count = 0;
    uint8_t src_count = 0;
    bool clamp = false;
    uint8_t omod = 0;  // 0 none, 1 times 2, 2 times 4, 3 divided by 2
    uint8_t op_sel = 0, op_sel_hi = 0xff, neg_lo = 0, neg_hi = 0;
    bool glc = false;  // an atomic that returns the old value
    bool sdwa = false;
    bool preserve = false;    // SDWA dst_unused:UNUSED_PRESERVE
    bool dst_sext = false;    // SDWA dst_unused:UNUSED_SEXT
    bool wide_float = false;  // rounds by the mode of float16 and float64
    int32_t offset = 0, offset1 = 0;
    uint64_t extra = 0;  // swizzle pattern, hardware register, index key
    std::array<Operand, 2> dst;
    std::array<Operand, 5> src;
    const Dpp* dpp = nullptr;
    const Inst* pair = nullptr;  // the Y half of a VOPD
    uint64_t address = 0;
    const OpSpec* spec = nullptr;
    MemoryAccess access = MemoryAccess::kNone;
    // Words of the register set in which the instruction reads or writes, and its registers there.
    uint8_t touch_count = 0;
    std::array<uint8_t, kRegisterWords> touch_word{};
    std::array<uint64_t, kRegisterWords> touch_mask{};
    std::string text;
};

}  // namespace ckitchen::gfxsim

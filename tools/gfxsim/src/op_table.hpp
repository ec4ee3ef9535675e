#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "inst.hpp"

namespace ckitchen::gfxsim {

/// How the text operands of an instruction map to Inst fields.
enum class Form : uint8_t {
    kPlain,          // destinations, then sources, in order
    kFmac,           // plain, and the destination is also the last source
    kDivFmas,        // plain, and VCC is also the last source
    kCmpx,           // plain, and EXEC is the destination
    kSmem,           // sdst, sbase, soffset
    kGlobal,         // [vdst,] vaddr, [vdata,] saddr
    kFlat,           // [vdst,] vaddr [, vdata]
    kScratch,        // [vdst,] vaddr, [vdata,] saddr
    kBuffer,         // vdata (destination of loads), vaddr, srsrc, soffset; atomics return in vdata
    kDs,             // [vdst,] vaddr [, data0 [, data1]]
    kBranch,         // one 16-bit word offset
    kHint,           // no operand that execution needs: the text is checked for form only
    kImmediate,      // one immediate, kept in offset
    kHwreg,          // s_getreg / s_setreg
    kMessageReturn,  // sdst, sendmsg(...)
};

/// Hardware registers that s_getreg and s_setreg know, in Inst::extra.
enum HardwareRegister : uint8_t {
    kMode = 1,
    kMemoryBases = 15,
    kScratchLow = 20,
    kScratchHigh = 21,
    kClockLow = 29,
    kClockHigh = 30
};

enum OpFlag : uint32_t {
    kFlagStore = 1,            // a memory form whose first operand is no destination
    kFlagAtomic = 2,           // destination only when the text asks for the old value
    kFlagIntClamp = 4,         // clamp has an integer meaning that the handler implements
    kFlagTwoOffsets = 8,       // DS: offset0 and offset1
    kFlagEndsBlock = 16,       // may change the program counter
    kFlagPackedMods = 32,      // op_sel, op_sel_hi, neg_lo, neg_hi are the handler's business
    kFlagOpSelOwn = 64,        // op_sel has a meaning of its own (permlane)
    kFlagReadsM0 = 128,        // M0 displaces a register
    kFlagM0Pair = 1024,        // M0 displaces source and destination, each by ten bits of its own
    kFlagWritesSource = 2048,  // source 0 is written as well
    kFlagOrdered = 512,        // LDS atomics with two operands: in this order on every generation
    kFlagTranspose = 256,      // a load that exchanges what its lanes loaded
};

struct OpSpec {
    std::string name;
    Handler fn = nullptr;
    Handler clamped = nullptr;  // integer result, with the clamp modifier
    InstClass cls = InstClass::kValu;
    Form form = Form::kPlain;
    uint32_t flags = 0;
    std::vector<Type> dst;
    std::vector<Type> src;
    uint8_t bytes = 0;  // memory forms: bytes per lane and element
};

/// Every instruction that the simulator can execute, by mnemonic without encoding suffix.
class OpTable {
  public:
    static const OpTable& instance();

    const OpSpec* find(std::string_view name) const;
    OpSpec& add(std::string name, Handler fn, InstClass cls, Form form, std::vector<Type> dst,
                std::vector<Type> src, uint32_t flags = 0);
    /// A second name for an instruction that is already there.
    void alias(std::string name, std::string_view existing);
    size_t size() const { return ops_.size(); }

  private:
    OpTable();
    std::unordered_map<std::string, OpSpec> ops_;
};

void register_salu(OpTable& t);
void register_control(OpTable& t);
void register_smem(OpTable& t);
void register_valu_int(OpTable& t);
void register_valu_float(OpTable& t);
void register_valu_half(OpTable& t);
void register_valu_convert(OpTable& t);
void register_compare(OpTable& t);
void register_packed(OpTable& t);
void register_cross_lane(OpTable& t);
void register_vmem(OpTable& t);
void register_lds(OpTable& t);
void register_wmma(OpTable& t);

}  // namespace ckitchen::gfxsim

#include "vopd.hpp"

#include "op_table.hpp"
#include "valu.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {
namespace {

void run_vopd(Wave& w, const Inst& inst) {
    // X was decoded to write a temporary register, so Y still reads what X overwrites.
    const Inst& y = *inst.pair;
    const Inst& x = *y.pair;
    x.fn(w, x);
    y.fn(w, y);
    store_words(w.v[inst.dst[0].reg].data(), w.v[kVopdTemporary].data(), w.exec());
}

}  // namespace

namespace {

/// The operand that the encoding calls vsrc1: fmamk has its constant before it.
const Operand& second_source(const Inst& half) {
    return half.src[half.spec->name.find("fmamk") != std::string::npos ? 2 : 1];
}

bool same_bank(const Operand& a, const Operand& b) {
    return a.kind == OperandKind::kVgpr && b.kind == OperandKind::kVgpr && (a.reg ^ b.reg) % 4 == 0;
}

}  // namespace

bool combine_vopd(Inst& x, Inst& y, const Target& target, Inst& out, std::string& why) {
    if (x.dst_count != 1 || y.dst_count != 1 || x.dst[0].kind != OperandKind::kVgpr ||
        y.dst[0].kind != OperandKind::kVgpr) {
        why = "a VOPD half without a vector destination";
        return false;
    }
    if ((x.dst[0].reg ^ y.dst[0].reg) % 2 == 0) {
        why = "VOPD destinations must be one even and one odd register";
        return false;
    }
    // Each bank of registers has one port for each operand. gfx12 reads the source of a second move
    // elsewhere.
    const bool moves = x.spec->name == "v_mov_b32" && y.spec->name == "v_mov_b32";
    const bool exempt = moves && target.generation == Generation::kGfx12;
    if (!exempt && same_bank(x.src[0], y.src[0])) {
        why = "VOPD halves whose first sources share a register bank";
        return false;
    }
    if (!moves && same_bank(second_source(x), second_source(y))) {
        why = "VOPD halves whose second sources share a register bank";
        return false;
    }
    static const OpSpec dual{"v_dual", &run_vopd, nullptr, InstClass::kVopd, Form::kPlain, 0, {}, {}, 0};
    out.spec = &dual;
    out.fn = &run_vopd;
    out.dst_count = 2;
    out.dst[0] = x.dst[0];
    out.dst[1] = y.dst[0];
    out.pair = &y;
    x.dst[0].reg = kVopdTemporary;
    y.pair = &x;
    return true;
}

}  // namespace ckitchen::gfxsim

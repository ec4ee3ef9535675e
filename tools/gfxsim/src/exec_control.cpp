// Branches, program counter, barriers, messages, hardware registers and hints.
#include "control.hpp"
#include "op_table.hpp"
#include "salu.hpp"
#include "undefined.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {
namespace {

void jump(Wave& w, const Inst& inst) {
    w.next_pc += static_cast<int64_t>(inst.offset) * 4;
}

template <auto Condition>
void branch(Wave& w, const Inst& inst) {
    if (Condition(w)) jump(w, inst);
}

template <auto Condition>
void add_branch(OpTable& t, const char* name) {
    t.add(name, &branch<Condition>, InstClass::kBranch, Form::kBranch, {}, {Type::kB32}, kFlagEndsBlock);
}

void getpc(Wave& w, const Inst& inst) {
    scalar_store(w, inst.dst[0], w.next_pc);
}

void setpc(Wave& w, const Inst& inst) {
    w.next_pc = scalar_source<uint64_t>(w, inst.src[0]);
}

void swappc(Wave& w, const Inst& inst) {
    const uint64_t target = scalar_source<uint64_t>(w, inst.src[0]);
    scalar_store(w, inst.dst[0], w.next_pc);
    w.next_pc = target;
}

void call(Wave& w, const Inst& inst) {
    scalar_store(w, inst.dst[0], w.next_pc);
    jump(w, inst);
}

void end_program(Wave& w, const Inst&) {
    Workgroup& g = *w.group;
    if (g.signalled > 0)
        raise(FaultKind::kBarrier, -1,
              "the wave ends while " + std::to_string(g.signalled) + " others wait at a barrier");
    w.state = WaveState::kDone;
    --g.live_waves;
}

/// Counts the wave in; the last one releases all. Returns whether the wave was the first.
bool signal_barrier(Wave& w) {
    Workgroup& g = *w.group;
    if (g.live_waves != g.waves.size())
        raise(FaultKind::kBarrier, -1,
              std::to_string(g.waves.size() - g.live_waves) + " waves of the workgroup have already ended");
    if (w.barrier_signalled || w.barrier_passed)
        raise(FaultKind::kBarrier, -1, "the wave signals a barrier twice without a wait");
    w.barrier_signalled = true;
    const bool first = g.signalled == 0;
    if (++g.signalled == g.live_waves) {
        g.signalled = 0;
        scan_lds(g);
        if (g.races.active()) g.races.close();
        for (Wave* other : g.waves) {
            other->barrier_signalled = false;
            // A wave that already waits goes on; one that has only signalled finds the barrier passed.
            if (other->state == WaveState::kAtBarrier)
                other->state = WaveState::kRunning;
            else
                other->barrier_passed = true;
        }
    }
    return first;
}

void wait_barrier(Wave& w) {
    if (w.barrier_passed) {
        w.barrier_passed = false;
        return;
    }
    if (!w.barrier_signalled)
        raise(FaultKind::kBarrier, -1, "the wave waits for a barrier that it has not signalled");
    w.state = WaveState::kAtBarrier;
}

void barrier(Wave& w, const Inst&) {
    signal_barrier(w);
    wait_barrier(w);
}

void barrier_signal(Wave& w, const Inst& inst) {
    if (static_cast<int32_t>(scalar_source<uint32_t>(w, inst.src[0])) != -1)
        raise(FaultKind::kUnknownInstruction, -1, "only the workgroup barrier (-1) is implemented");
    signal_barrier(w);
}

void barrier_signal_isfirst(Wave& w, const Inst& inst) {
    if (static_cast<int32_t>(scalar_source<uint32_t>(w, inst.src[0])) != -1)
        raise(FaultKind::kUnknownInstruction, -1, "only the workgroup barrier (-1) is implemented");
    w.scc = signal_barrier(w);
}

void barrier_wait(Wave& w, const Inst& inst) {
    if (inst.offset != -1)
        raise(FaultKind::kUnknownInstruction, -1, "only the workgroup barrier (-1) is implemented");
    wait_barrier(w);
}

void hint(Wave&, const Inst&) {}

void trap(Wave&, const Inst& inst) {
    raise(FaultKind::kTrap, -1,
          "s_trap " + std::to_string(inst.offset) + " (abort or failed assertion in the kernel)");
}

void round_mode(Wave& w, const Inst& inst) {
    w.mode = (w.mode & ~0xfu) | (static_cast<uint32_t>(inst.offset) & 0xf);
    apply_float_mode(w);
}

void denorm_mode(Wave& w, const Inst& inst) {
    w.mode = (w.mode & ~0xf0u) | (static_cast<uint32_t>(inst.offset) & 0xf) << 4;
    apply_float_mode(w);
}

/// The one message with an answer: the clock, which counts what the wave executed.
void message_return(Wave& w, const Inst& inst) {
    if (inst.dst[0].words == 2)
        scalar_store(w, inst.dst[0], w.executed);
    else
        scalar_store(w, inst.dst[0], static_cast<uint32_t>(w.executed));
}

uint32_t& hardware_register(Wave& w, uint64_t extra) {
    switch (extra & 0xff) {
        case kScratchLow:
            return w.s[kFlatScratchLo];
        case kScratchHigh:
            return w.s[kFlatScratchHi];
        default:
            return w.mode;
    }
}

uint32_t field_mask(uint64_t extra) {
    const uint32_t width = extra >> 16 & 0xff;
    return width >= 32 ? ~0u : (1u << width) - 1;
}

/// The upper 16 bits of both apertures, of which older compilers make generic pointers.
constexpr uint32_t kMemoryBasesValue =
    static_cast<uint32_t>(kSharedAperture >> 48 << 16 | kPrivateAperture >> 48);
static_assert((kSharedAperture | kPrivateAperture) << 16 == 0, "the register holds 16 bits of each");

bool is_read_only(uint64_t id) {
    return id == kMemoryBases || id == kClockLow || id == kClockHigh;
}

void getreg(Wave& w, const Inst& inst) {
    const uint64_t id = inst.extra & 0xff;
    const uint32_t value = id == kClockLow      ? static_cast<uint32_t>(w.executed)
                           : id == kClockHigh   ? static_cast<uint32_t>(w.executed >> 32)
                           : id == kMemoryBases ? kMemoryBasesValue
                                                : hardware_register(w, inst.extra);
    w.s[inst.dst[0].reg] = value >> (inst.extra >> 8 & 0xff) & field_mask(inst.extra);
}

void setreg(Wave& w, const Inst& inst) {
    const uint32_t shift = inst.extra >> 8 & 0xff, mask = field_mask(inst.extra) << shift;
    if (is_read_only(inst.extra & 0xff)) return;
    uint32_t& reg = hardware_register(w, inst.extra);
    reg = (reg & ~mask) | (scalar_source<uint32_t>(w, inst.src[0]) << shift & mask);
    if (&reg == &w.mode) apply_float_mode(w);
}

}  // namespace

void register_control(OpTable& t) {
    add_branch<([](const Wave&) { return true; })>(t, "s_branch");
    add_branch<([](const Wave& w) { return !w.scc; })>(t, "s_cbranch_scc0");
    add_branch<([](const Wave& w) { return w.scc; })>(t, "s_cbranch_scc1");
    add_branch<([](const Wave& w) { return w.s[kVccLo] == 0; })>(t, "s_cbranch_vccz");
    add_branch<([](const Wave& w) { return w.s[kVccLo] != 0; })>(t, "s_cbranch_vccnz");
    add_branch<([](const Wave& w) { return w.exec() == 0; })>(t, "s_cbranch_execz");
    add_branch<([](const Wave& w) { return w.exec() != 0; })>(t, "s_cbranch_execnz");
    t.add("s_getpc_b64", &getpc, InstClass::kSalu, Form::kPlain, {Type::kB64}, {});
    t.add("s_setpc_b64", &setpc, InstClass::kBranch, Form::kPlain, {}, {Type::kB64}, kFlagEndsBlock);
    t.add("s_swappc_b64", &swappc, InstClass::kBranch, Form::kPlain, {Type::kB64}, {Type::kB64},
          kFlagEndsBlock);
    t.add("s_call_b64", &call, InstClass::kBranch, Form::kBranch, {Type::kB64}, {Type::kB32}, kFlagEndsBlock);
    t.add("s_endpgm", &end_program, InstClass::kMessage, Form::kHint, {}, {}, kFlagEndsBlock);
    t.add("s_barrier", &barrier, InstClass::kBarrier, Form::kHint, {}, {}, kFlagEndsBlock);
    t.add("s_barrier_signal", &barrier_signal, InstClass::kBarrier, Form::kPlain, {}, {Type::kB32});
    t.add("s_barrier_signal_isfirst", &barrier_signal_isfirst, InstClass::kBarrier, Form::kPlain, {},
          {Type::kB32});
    t.add("s_barrier_wait", &barrier_wait, InstClass::kBarrier, Form::kImmediate, {}, {Type::kB32},
          kFlagEndsBlock);
    t.add("s_trap", &trap, InstClass::kMessage, Form::kImmediate, {}, {Type::kB32});
    t.add("s_round_mode", &round_mode, InstClass::kSalu, Form::kImmediate, {}, {Type::kB32});
    t.add("s_denorm_mode", &denorm_mode, InstClass::kSalu, Form::kImmediate, {}, {Type::kB32});
    t.add("s_getreg_b32", &getreg, InstClass::kSalu, Form::kHwreg, {Type::kB32}, {});
    t.add("s_setreg_b32", &setreg, InstClass::kSalu, Form::kHwreg, {}, {Type::kB32});
    t.add("s_setreg_imm32_b32", &setreg, InstClass::kSalu, Form::kHwreg, {}, {Type::kB32});
    for (const char* name : {"s_waitcnt",
                             "s_waitcnt_vscnt",
                             "s_waitcnt_vmcnt",
                             "s_waitcnt_lgkmcnt",
                             "s_waitcnt_expcnt",
                             "s_waitcnt_depctr",
                             "s_wait_alu",
                             "s_wait_loadcnt",
                             "s_wait_storecnt",
                             "s_wait_samplecnt",
                             "s_wait_bvhcnt",
                             "s_wait_dscnt",
                             "s_wait_kmcnt",
                             "s_wait_expcnt",
                             "s_wait_loadcnt_dscnt",
                             "s_wait_storecnt_dscnt",
                             "s_wait_idle",
                             "s_wait_event",
                             "s_delay_alu",
                             "s_nop",
                             "s_clause",
                             "s_sleep",
                             "s_sleep_var",
                             "s_setprio",
                             "s_inst_prefetch",
                             "s_set_inst_prefetch_distance",
                             "s_code_end",
                             "s_icache_inv",
                             "s_dcache_inv",
                             "s_prefetch_inst",
                             "s_prefetch_inst_pc_rel",
                             "s_prefetch_data",
                             "s_prefetch_data_pc_rel",
                             "s_buffer_prefetch_data",
                             "s_version",
                             "s_setkill",
                             "v_nop",
                             "v_pipeflush",
                             "v_clrexcp",
                             "s_ttracedata",
                             "s_ttracedata_imm",
                             "s_incperflevel",
                             "s_decperflevel",
                             "s_gl1_inv"})
        t.add(name, &hint, InstClass::kWait, Form::kHint, {}, {});
    t.add("s_sendmsg_rtn_b32", &message_return, InstClass::kMessage, Form::kMessageReturn, {Type::kB32}, {});
    t.add("s_sendmsg_rtn_b64", &message_return, InstClass::kMessage, Form::kMessageReturn, {Type::kB64}, {});
    t.add("s_sendmsg", &hint, InstClass::kMessage, Form::kHint, {}, {});
    for (const char* name : {"buffer_gl0_inv", "buffer_gl1_inv", "global_inv", "global_wb", "global_wbinv"})
        t.add(name, &hint, InstClass::kVmemOther, Form::kHint, {}, {});
}

}  // namespace ckitchen::gfxsim

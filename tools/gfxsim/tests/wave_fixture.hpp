#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "assembler.hpp"
#include "code_image.hpp"
#include "control.hpp"
#include "coverage.hpp"
#include "targets.hpp"
#include "undefined.hpp"
#include "wave.hpp"

namespace gfxsim_test {

using namespace ckitchen::gfxsim;

/// One wave of one target, outside any launch, that runs straight-line or looping snippets.
class WaveFixture {
  public:
    explicit WaveFixture(const std::string& target, size_t lds_bytes = 4096) : target_(*find_target(target)) {
        wave.group = &group;
        wave.worker = &worker;
        wave.target = &target_;
        wave.mode = 0xf0;
        wave.scratch_lane_bytes = 256;
        wave.scratch.assign(64 * kLanes, 0);
        group.lds.assign(lds_bytes, 0);
        group.waves = {&wave};
        group.live_waves = 1;
        for (auto& r : wave.v) r.fill(0);
        wave.s.fill(0);
        wave.s[kExecLo] = ~0u;
        wave.undefined.v = {};
        wave.undefined.s = {};
        wave.undefined.any = {};
        wave.undefined.scratch.assign(wave.scratch.size(), 0);
        group.undefined_lds.assign(lds_bytes, 0);
    }

    /// Marks bits of a register in all lanes.
    void forget_vector(int reg, uint32_t bits) {
        wave.undefined.v[reg].fill(bits);
        wave.undefined.put(reg, bits != 0);
    }
    void forget_scalar(int reg, uint32_t bits) {
        wave.undefined.s[reg] = bits;
        wave.undefined.put(Undefined::scalar_bit(reg), bits != 0);
    }
    uint32_t unknown(int reg, int lane) const {
        return wave.undefined.test(reg) ? wave.undefined.v[reg][lane] : 0;
    }
    uint32_t unknown_scalar(int reg) const {
        return wave.undefined.test(Undefined::scalar_bit(reg)) ? wave.undefined.s[reg] : 0;
    }

    /// Runs until the program counter leaves the snippet.
    void run(const std::vector<uint8_t>& code) {
        const uint64_t begin = reinterpret_cast<uint64_t>(code.data());
        const CodeImage image(target_, begin, begin + code.size());
        apply_float_mode(wave);
        wave.next_pc = begin;
        wave.state = WaveState::kRunning;
        while (image.contains(wave.next_pc) && wave.state == WaveState::kRunning) {
            const Inst& inst = image.at(wave.next_pc);
            last_text = inst.text;
            cover(target_.name, inst.text);
            wave.next_pc += inst.size;
            if (wave.split_modes) select_float_mode(wave, inst);
            if (worker.track_undefined && inst.access != MemoryAccess::kNone) track_memory(wave, inst);
            if (worker.track_undefined && inst.access == MemoryAccess::kNone && wave.undefined.touched(inst))
                execute_undefined(wave, inst);
            else
                inst.fn(wave, inst);
        }
        reset_float_mode();
    }
    void run(const std::string& text) { run(assemble(target_.name, {text})[0]); }

    const Target& target_;
    Wave wave{};
    Workgroup group;
    Worker worker;
    std::string last_text;
};

/// 32-bit patterns that break arithmetic: integer ends, float specials, NaN payloads, subnormals.
inline const std::vector<uint32_t>& edge_values() {
    static const std::vector<uint32_t> values = {
        0,          1,          2,          0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe,
        0x3f800000, 0xbf800000, 0x3f000000, 0x40490fdb, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc01234,
        0x7f800001, 0x00000007, 0x00800000, 0x007fffff, 0x80400000, 0x7f7fffff, 0xff7fffff, 0x4b000001,
        0x4f000000, 0xcf000000, 0x4f800000, 0x3effffff, 0x3fc00000, 0x40200000, 0x0000ffff, 0xffff0000,
        0x00ff00ff, 0x80808080, 0x7f7f7f7f, 31,         32,         33,         63,         0x00010001,
        0x3c003c00, 0x7c00fc00, 0x7e000001, 0x00018000};
    return values;
}

struct Random {
    uint64_t state = 0x2545f4914f6cdd1dull;
    uint32_t next() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<uint32_t>(state >> 32);
    }
};

}  // namespace gfxsim_test

#include "trace.hpp"

#include <algorithm>

namespace ckitchen::gfxsim {

Trace::Trace(const Options& options) : level_(options.trace), group_(options.trace_group), out_(stderr) {
    if (options.trace_file.empty()) return;
    if (std::FILE* f = std::fopen(options.trace_file.c_str(), "a")) out_ = f;
}

Trace::~Trace() {
    if (out_ != stderr) std::fclose(out_);
}

void Trace::after(const Wave& w, const Inst& inst, uint64_t entry) {
    const std::string group = group_text(*w.group);
    if (!group_.empty() && group != group_) return;
    // Functions may lie before the kernel.
    const bool before = inst.address < entry;
    std::fprintf(out_, "[%s w%u] %c0x%llx: %-64s exec=%08x vcc=%08x scc=%d", group.c_str(), w.id_in_group,
                 before ? '-' : '+',
                 static_cast<unsigned long long>(before ? entry - inst.address : inst.address - entry),
                 inst.text.c_str(), w.exec(), w.s[kVccLo], w.scc);
    for (int i = 0; i < inst.dst_count; ++i) {
        const Operand& d = inst.dst[i];
        for (int k = 0; k < std::max<int>(d.words, 1); ++k) {
            if (d.kind == OperandKind::kSgpr) {
                std::fprintf(out_, " s%d=%08x", d.reg + k, w.s[d.reg + k]);
            } else {
                std::fprintf(out_, " v%d=[", d.reg + k);
                for (int l = 0; l < (level_ > 1 ? kLanes : 4); ++l)
                    std::fprintf(out_, l ? " %08x" : "%08x", w.v[d.reg + k][l]);
                std::fprintf(out_, "]");
            }
        }
    }
    std::fputc('\n', out_);
}

std::string group_text(const Workgroup& group) {
    return std::to_string(group.id[0]) + "," + std::to_string(group.id[1]) + "," +
           std::to_string(group.id[2]);
}

namespace {

void append_word(std::string& out, uint32_t value, uint32_t undefined) {
    static constexpr char kDigits[] = "0123456789abcdef";
    out += ' ';
    for (int shift = 28; shift >= 0; shift -= 4)
        out += (undefined >> shift & 15) == 15 ? '?' : kDigits[value >> shift & 15];
}

}  // namespace

std::string dump_registers(const Wave& w, uint32_t vgprs) {
    const bool track = w.worker->track_undefined;
    const auto scalar = [&](std::string& out, int reg) {
        append_word(out, w.s[reg],
                    track && w.undefined.test(Undefined::scalar_bit(reg)) ? w.undefined.s[reg] : 0);
    };
    std::string out = "exec";
    scalar(out, kExecLo);
    out += "  vcc";
    scalar(out, kVccLo);
    out += "  m0";
    scalar(out, kM0);
    out += "  scc " + std::to_string(w.scc) + "  mode " + hex(w.mode) + "\n";
    for (int first = 0; first < kVccLo; first += 8) {
        out += "  s" + std::to_string(first) + ":";
        for (int reg = first; reg < std::min<int>(first + 8, kVccLo); ++reg) scalar(out, reg);
        out += '\n';
    }
    for (uint32_t reg = 0; reg < std::min<uint32_t>(vgprs, kVgprCount); ++reg) {
        out += "  v" + std::to_string(reg) + ":";
        for (int l = 0; l < kLanes; ++l)
            append_word(out, w.v[reg][l],
                        track && w.undefined.test(static_cast<int>(reg)) ? w.undefined.v[reg][l] : 0);
        out += '\n';
    }
    return out;
}

}  // namespace ckitchen::gfxsim

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

void Trace::after(const Wave& w, const Inst& inst) {
    const auto& id = w.group->id;
    const std::string group =
        std::to_string(id[0]) + "," + std::to_string(id[1]) + "," + std::to_string(id[2]);
    if (!group_.empty() && group != group_) return;
    std::fprintf(out_, "[%s w%u] %llx: %-64s exec=%08x vcc=%08x scc=%d", group.c_str(), w.id_in_group,
                 static_cast<unsigned long long>(inst.address), inst.text.c_str(), w.exec(), w.s[kVccLo],
                 w.scc);
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

}  // namespace ckitchen::gfxsim

#include "stats.hpp"

#include <array>
#include <cstdio>
#include <map>
#include <mutex>

#include "code_image.hpp"
#include "decoder.hpp"
#include "op_table.hpp"

namespace ckitchen::gfxsim {
namespace {

std::string json_text(const std::string& s) {
    std::string out = "\"";
    for (const char c : s) {
        if (c == '"' || c == '\\') out += '\\';
        if (static_cast<unsigned char>(c) >= 0x20) out += c;
    }
    out += '"';
    return out;
}

template <class Map>
std::string json_object(const Map& m) {
    std::string out = "{";
    for (const auto& [name, count] : m) {
        if (out.size() > 1) out += ',';
        out += json_text(name);
        out += ':';
        out += std::to_string(count);
    }
    out += '}';
    return out;
}

std::string triple(const std::array<uint32_t, 3>& v) {
    char text[48];
    std::snprintf(text, sizeof text, "[%u,%u,%u]", v[0], v[1], v[2]);
    return text;
}

}  // namespace

void write_stats(const std::string& path, const LaunchRequest& r, const std::vector<uint64_t>& counts,
                 uint32_t lds_bytes, uint32_t waves_per_group, int error) {
    const Kernel& k = *r.kernel;
    std::map<std::string, uint64_t> by_class, by_mnemonic, wmma;
    uint64_t total = 0;
    for (size_t slot = 0; slot < counts.size(); ++slot) {
        const Inst* inst = counts[slot] ? k.image->peek(slot) : nullptr;
        if (!inst) continue;
        const std::string name(base_mnemonic(inst->text.substr(0, inst->text.find(' '))));
        total += counts[slot];
        by_class[class_name(inst->spec->cls)] += counts[slot];
        by_mnemonic[name] += counts[slot];
        if (inst->spec->cls == InstClass::kWmma) wmma[name] += counts[slot];
    }
    const uint64_t groups = uint64_t{r.grid[0]} * r.grid[1] * r.grid[2];
    std::string line =
        "{\"kernel\":" + json_text(k.name) + ",\"target\":" + json_text(r.target->name) +
        ",\"grid\":" + triple(r.grid) + ",\"block\":" + triple(r.block) +
        ",\"error\":" + std::to_string(error) + ",\"waves\":" + std::to_string(groups * waves_per_group) +
        ",\"vgprs\":" + std::to_string(k.vgpr_count) + ",\"sgprs\":" + std::to_string(k.sgpr_count) +
        ",\"lds_bytes\":" + std::to_string(lds_bytes) +
        ",\"scratch_bytes\":" + std::to_string(k.private_segment_size) +
        ",\"vgpr_spills\":" + std::to_string(k.vgpr_spills) + ",\"instructions\":" + std::to_string(total) +
        ",\"by_class\":" + json_object(by_class) + ",\"wmma\":" + json_object(wmma) +
        ",\"by_mnemonic\":" + json_object(by_mnemonic) + "}\n";
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    if (std::FILE* f = std::fopen(path.c_str(), "a")) {
        std::fputs(line.c_str(), f);
        std::fclose(f);
    }
}

}  // namespace ckitchen::gfxsim

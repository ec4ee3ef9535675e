#include "stats.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

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

const char* limit_name(Occupancy::Limit limit) {
    static constexpr const char* kNames[] = {"waves", "vgprs", "lds", "groups"};
    return kNames[static_cast<int>(limit)];
}

using Fields = std::vector<std::pair<std::string, uint64_t>>;

/// Counts of the code in [begin, end), in slots.
struct Section {
    std::map<std::string, uint64_t> by_class, by_mnemonic, wmma;
    uint64_t instructions = 0;
    MemoryCount lds, loads, stores, atomics, scalar;
};

Section count_section(const CodeImage& image, const LaunchCounts& counts, size_t begin, size_t end) {
    Section s;
    for (size_t slot = begin; slot < end; ++slot) {
        const uint64_t n = counts.executed[slot];
        const Inst* inst = n ? image.peek(slot) : nullptr;
        if (!inst) continue;
        const std::string name(base_mnemonic(inst->text.substr(0, inst->text.find(' '))));
        s.instructions += n;
        s.by_class[class_name(inst->spec->cls)] += n;
        s.by_mnemonic[name] += n;
        if (inst->spec->cls == InstClass::kWmma) s.wmma[name] += n;
        const MemoryCount& m = counts.memory[slot];
        switch (inst->spec->cls) {
            case InstClass::kLds:
                s.lds += m;
                break;
            case InstClass::kSmem:
                s.scalar += m;
                break;
            case InstClass::kVmemLoad:
                s.loads += m;
                break;
            case InstClass::kVmemStore:
                s.stores += m;
                break;
            case InstClass::kVmemAtomic:
                s.atomics += m;
                break;
            default:
                break;
        }
    }
    return s;
}

std::string memory_json(const Section& s) {
    const auto global = [](const MemoryCount& m) {
        return json_object(Fields{{"requests", m.requests},
                                  {"bytes", m.bytes},
                                  {"lines_128", m.lines},
                                  {"lines_64", m.half_lines}});
    };
    return "\"lds\":" +
           json_object(Fields{{"requests", s.lds.requests},
                              {"bytes", s.lds.bytes},
                              {"passes", s.lds.lds_passes},
                              {"conflicts", s.lds.lds_conflicts}}) +
           ",\"loads\":" + global(s.loads) + ",\"stores\":" + global(s.stores) +
           ",\"atomics\":" + global(s.atomics) + ",\"scalar_loads\":" +
           json_object(Fields{{"requests", s.scalar.requests}, {"bytes", s.scalar.bytes}});
}

/// The innermost loop that executed most: from the target of a backward branch to the branch.
std::string hottest_loop(const Kernel& k, const LaunchCounts& counts) {
    struct Loop {
        size_t begin, end;
        uint64_t executed = 0;
    };
    const CodeImage& image = *k.image;
    std::vector<Loop> loops;
    for (size_t slot = 0; slot < counts.executed.size(); ++slot) {
        const Inst* inst = counts.executed[slot] ? image.peek(slot) : nullptr;
        if (!inst || inst->spec->form != Form::kBranch || inst->dst_count) continue;
        const int64_t target = static_cast<int64_t>(slot) + 1 + inst->offset;
        if (target < 0 || target > static_cast<int64_t>(slot)) continue;
        loops.push_back({static_cast<size_t>(target), slot + 1});
    }
    const Loop* best = nullptr;
    for (Loop& l : loops) {
        const bool inner = std::none_of(loops.begin(), loops.end(), [&](const Loop& o) {
            return o.begin >= l.begin && o.end <= l.end && o.end - o.begin < l.end - l.begin;
        });
        if (!inner) continue;
        for (size_t slot = l.begin; slot < l.end; ++slot) l.executed += counts.executed[slot];
        if (!best || l.executed > best->executed) best = &l;
    }
    if (!best) return "null";
    const Section s = count_section(image, counts, best->begin, best->end);
    const auto offset = [&](size_t slot) {
        return std::to_string(static_cast<int64_t>(image.begin() + slot * 4 - k.entry));
    };
    return "{\"begin\":" + offset(best->begin) + ",\"end\":" + offset(best->end) +
           ",\"iterations\":" + std::to_string(counts.executed[best->begin]) +
           ",\"instructions\":" + std::to_string(s.instructions) +
           ",\"by_class\":" + json_object(s.by_class) + ",\"wmma\":" + json_object(s.wmma) + "," +
           memory_json(s) + "}";
}

}  // namespace

Occupancy occupancy(const Kernel& k, const Target& t, uint32_t threads, uint64_t lds_bytes) {
    constexpr uint32_t kSimds = 4, kGroupSlots = 32, kWaveSlots = 16;
    constexpr uint64_t kLdsBytes = 128 * 1024, kLdsGranule = 1024;
    const uint32_t granule = t.vgprs_per_simd == 1536 ? 24 : 16;
    const uint32_t vgprs = (k.vgpr_count + granule - 1) / granule * granule;
    const uint32_t by_vgprs = vgprs ? static_cast<uint32_t>(t.vgprs_per_simd) / vgprs : kWaveSlots;
    const uint32_t waves = (threads + kLanes - 1) / kLanes;
    Occupancy o;
    o.limit = by_vgprs < kWaveSlots ? Occupancy::Limit::kVgprs : Occupancy::Limit::kWaves;
    o.groups = kSimds * std::min(kWaveSlots, by_vgprs) / waves;
    if (lds_bytes) {
        const uint64_t groups = kLdsBytes / ((lds_bytes + kLdsGranule - 1) / kLdsGranule * kLdsGranule);
        if (groups < o.groups) {
            o.groups = static_cast<uint32_t>(groups);
            o.limit = Occupancy::Limit::kLds;
        }
    }
    if (o.groups > kGroupSlots) {
        o.groups = kGroupSlots;
        o.limit = Occupancy::Limit::kGroups;
    }
    o.waves_per_simd = static_cast<double>(o.groups) * waves / kSimds;
    return o;
}

void write_stats(const std::string& path, const LaunchRequest& r, const LaunchCounts& counts,
                 uint32_t lds_bytes, uint32_t waves_per_group, int error) {
    const Kernel& k = *r.kernel;
    const Section all = count_section(*k.image, counts, 0, counts.executed.size());
    const auto of_class = [&](const char* name) {
        const auto it = all.by_class.find(name);
        return std::to_string(it == all.by_class.end() ? 0 : it->second);
    };
    const uint64_t groups = uint64_t{r.grid[0]} * r.grid[1] * r.grid[2];
    const Occupancy o = occupancy(k, *r.target, r.block[0] * r.block[1] * r.block[2], lds_bytes);
    char waves_per_simd[32];
    std::snprintf(waves_per_simd, sizeof waves_per_simd, "%.2f", o.waves_per_simd);
    std::string line =
        "{\"kernel\":" + json_text(k.name) + ",\"target\":" + json_text(r.target->name) +
        ",\"grid\":" + triple(r.grid) + ",\"block\":" + triple(r.block) +
        ",\"error\":" + std::to_string(error) + ",\"waves\":" + std::to_string(groups * waves_per_group) +
        ",\"vgprs\":" + std::to_string(k.vgpr_count) + ",\"sgprs\":" + std::to_string(k.sgpr_count) +
        ",\"lds_bytes\":" + std::to_string(lds_bytes) +
        ",\"scratch_bytes\":" + std::to_string(k.private_segment_size) +
        ",\"vgpr_spills\":" + std::to_string(k.vgpr_spills) +
        ",\"occupancy\":{\"groups_per_processor\":" + std::to_string(o.groups) +
        ",\"waves_per_simd\":" + waves_per_simd + ",\"limit\":\"" + limit_name(o.limit) + "\"}" +
        ",\"instructions\":" + std::to_string(all.instructions) + ",\"waits\":" + of_class("wait") +
        ",\"barriers\":" + of_class("barrier") + "," + memory_json(all) +
        ",\"hottest_loop\":" + hottest_loop(k, counts) + ",\"by_class\":" + json_object(all.by_class) +
        ",\"wmma\":" + json_object(all.wmma) + ",\"by_mnemonic\":" + json_object(all.by_mnemonic) + "}\n";
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    if (std::FILE* f = std::fopen(path.c_str(), "a")) {
        std::fputs(line.c_str(), f);
        std::fclose(f);
    }
}

}  // namespace ckitchen::gfxsim

#include "races.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "fault.hpp"
#include "lane_memory.hpp"
#include "op_table.hpp"
#include "valu.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {
namespace {

// Accesses to global memory that one interval keeps; what comes later is not judged.
constexpr size_t kLogLimit = 1 << 15;

}  // namespace

void Races::start(uint32_t waves, uint32_t lds_bytes) {
    active_ = waves > 1;
    if (!active_) return;
    if (waves != waves_ || lds_bytes != lds_bytes_) {
        waves_ = waves;
        lds_bytes_ = lds_bytes;
        const size_t words = lds_bytes / 64 + 2;
        for (Interval& i : intervals_) {
            i = Interval{};
            i.lds.resize(size_t{waves} * kKinds);
            for (Bytes& b : i.lds) b.words.assign(words, 0);
        }
        for (auto& s : seen_) s.assign(words, 0);
    }
    for (Interval& i : intervals_) clear(i);
}

void Races::clear(Interval& i) {
    for (Bytes& b : i.lds) {
        if (b.begin < b.end)
            std::fill(b.words.begin() + static_cast<long>(b.begin),
                      b.words.begin() + static_cast<long>(b.end), 0);
        b.begin = SIZE_MAX;
        b.end = 0;
    }
    i.lds_log.clear();
    i.log.clear();
    i.lds_written = i.global_written = i.ordered = false;
}

void Races::record(Wave& w, const Inst& inst) {
    const OpSpec& spec = *inst.spec;
    if (spec.cls == InstClass::kSmem || spec.cls == InstClass::kScratch || w.exec() == 0) return;
    Interval& to = intervals_[w.barrier_signalled ? 1 - current_ : current_];
    const Kind kind = inst.access == MemoryAccess::kLoad    ? kRead
                      : inst.access == MemoryAccess::kStore ? kWrite
                                                            : kAtomic;
    if (kind == kAtomic && inst.dst_count) to.ordered = true;
    uint32_t bytes = spec.bytes;
    if (spec.cls == InstClass::kLds) {
        LaneBuffer tmp;
        const Source a = raw_source(w, inst.src[0], tmp);
        uint64_t at[kLanes];
        const bool two = spec.flags & kFlagTwoOffsets;
        const bool wide = two && (spec.name.find("st64") != std::string::npos ||
                                  spec.name.find("stride64") != std::string::npos);
        const uint32_t unit = two ? bytes * (wide ? 64u : 1u) : 1u;
        const uint32_t first = static_cast<uint32_t>(inst.offset) * unit;
        GFXSIM_LANES at[l] = a.lo[l] + first;
        record_lds(w, inst, to, kind, w.exec(), at, bytes);
        if (!two) return;
        const uint32_t second = static_cast<uint32_t>(inst.offset1) * unit;
        GFXSIM_LANES at[l] = a.lo[l] + second;
        record_lds(w, inst, to, kind, w.exec(), at, bytes);
        return;
    }
    LaneAddresses a;
    vmem_addresses(w, inst, a);
    if (a.space == Space::kScratch || a.lanes == 0) return;
    if (!a.mixed) return record_global(w, inst, to, kind, a.lanes, a.at, bytes);
    uint32_t global = 0, lds = 0;
    for (uint32_t m = a.lanes; m; m &= m - 1) {
        const int l = std::countr_zero(m);
        if (a.space_of(l) == Space::kGlobal) global |= 1u << l;
        if (a.space_of(l) == Space::kLds) lds |= 1u << l;
    }
    if (global) record_global(w, inst, to, kind, global, a.at, bytes);
    for (uint64_t& at : a.at) at = static_cast<uint32_t>(at);
    if (lds) record_lds(w, inst, to, kind, lds, a.at, bytes);
}

void Races::record_lds(const Wave& w, const Inst& inst, Interval& to, Kind kind, uint32_t lanes,
                       const uint64_t* at, uint32_t bytes) {
    Bytes& map = to.lds[w.id_in_group * kKinds + kind];
    uint64_t* words = map.words.data();
    const uint64_t ones = (uint64_t{1} << bytes) - 1;
    uint64_t low = UINT64_MAX, high = 0;
    LdsAccess& entry = to.lds_log.emplace_back();
    entry.inst = &inst;
    entry.wave = static_cast<uint8_t>(w.id_in_group);
    entry.kind = kind;
    entry.lanes = lanes;
    entry.bytes = bytes;
    for (uint32_t m = lanes; m; m &= m - 1) {
        const int l = std::countr_zero(m);
        const uint64_t address = static_cast<uint32_t>(at[l]);
        entry.at[l] = static_cast<uint32_t>(address);
        // Accesses out of range are reported when the instruction is executed.
        if (address + bytes > lds_bytes_) continue;
        const uint64_t shift = address % 64;
        words[address / 64] |= ones << shift;
        if (shift + bytes > 64) words[address / 64 + 1] |= ones >> (64 - shift);
        low = std::min(low, address);
        high = std::max(high, address + bytes);
    }
    if (low > high) return;
    map.begin = std::min<size_t>(map.begin, low / 64);
    map.end = std::max<size_t>(map.end, (high + 63) / 64);
    to.lds_written |= kind != kRead;
}

void Races::record_global(const Wave& w, const Inst& inst, Interval& to, Kind kind, uint32_t lanes,
                          const uint64_t* at, uint32_t bytes) {
    if (to.log.size() >= kLogLimit) return;
    Access& entry = to.log.emplace_back();
    entry.inst = &inst;
    entry.wave = static_cast<uint8_t>(w.id_in_group);
    entry.kind = kind;
    entry.lanes = lanes;
    entry.bytes = bytes;
    uint64_t low = UINT64_MAX, high = 0;
    for (int l = 0; l < kLanes; ++l) {
        entry.at[l] = at[l];
        const bool active = lanes >> l & 1;
        low = std::min(low, active ? at[l] : UINT64_MAX);
        high = std::max(high, active ? at[l] : 0);
    }
    entry.low = low;
    entry.high = high + bytes;
    to.global_written |= kind != kRead;
}

void Races::close() {
    Interval& i = intervals_[current_];
    if (!i.ordered) {
        if (i.lds_written) judge_lds(i);
        if (i.global_written) judge_global(i);
    }
    clear(i);
    current_ = 1 - current_;
}

void Races::judge_lds(Interval& i) {
    size_t begin = SIZE_MAX, end = 0;
    for (const Bytes& b : i.lds) {
        begin = std::min(begin, b.begin);
        end = std::max(end, b.end);
    }
    for (auto& s : seen_)
        std::fill(s.begin() + static_cast<long>(begin), s.begin() + static_cast<long>(end), 0);
    for (uint32_t wave = 0; wave < waves_; ++wave) {
        const Bytes* own = &i.lds[wave * kKinds];
        uint64_t found = 0;
        // What conflicts with the bytes of one kind: for reads, the other kinds; for stores, all.
        static constexpr bool kConflict[kKinds][kKinds] = {
            {false, true, true}, {true, true, true}, {true, true, false}};
        for (int kind = 0; kind < kKinds; ++kind)
            for (int other = 0; other < kKinds; ++other)
                if (kConflict[kind][other])
                    for (size_t k = own[kind].begin; k < own[kind].end; ++k)
                        found |= own[kind].words[k] & seen_[other][k];
        if (found)
            for (size_t k = begin; k < end; ++k)
                for (int kind = 0; kind < kKinds; ++kind)
                    for (int other = 0; other < kKinds; ++other)
                        if (kConflict[kind][other])
                            if (const uint64_t bits = own[kind].words[k] & seen_[other][k])
                                judge_byte(i, static_cast<uint32_t>(k * 64 + std::countr_zero(bits)));
        for (int kind = 0; kind < kKinds; ++kind)
            for (size_t k = own[kind].begin; k < own[kind].end; ++k) seen_[kind][k] |= own[kind].words[k];
    }
}

/// Names the two accesses of one byte.
void Races::judge_byte(const Interval& i, uint32_t byte) const {
    const auto lane_of = [&](const LdsAccess& a) {
        for (uint32_t m = a.lanes; m; m &= m - 1) {
            const int l = std::countr_zero(m);
            if (byte - a.at[l] < a.bytes) return l;
        }
        return -1;
    };
    static constexpr const char* kVerbs[] = {"reads", "writes", "updates"};
    for (const LdsAccess& a : i.lds_log) {
        const int lane = lane_of(a);
        if (lane < 0 || a.kind == kRead) continue;
        for (const LdsAccess& b : i.lds_log) {
            if (b.wave == a.wave || (a.kind == kAtomic && b.kind == kAtomic)) continue;
            const int other = lane_of(b);
            if (other < 0) continue;
            raise_at(FaultKind::kRace, *a.inst, a.wave, lane,
                     std::string(kVerbs[a.kind]) + " LDS byte " + std::to_string(byte) + ", which wave " +
                         std::to_string(b.wave) + " lane " + std::to_string(other) + " " + kVerbs[b.kind] +
                         " between the same barriers: " + b.inst->text);
        }
    }
}

Races::Cell* Races::cell(uint64_t key, bool insert) {
    const size_t mask = cells_.size() - 1;
    for (size_t at = (key * 0x9e3779b97f4a7c15ull) >> 20 & mask;; at = (at + 1) & mask) {
        Cell& c = cells_[at];
        if (c.generation != generation_) {
            if (!insert) return nullptr;
            c = Cell{};
            c.key = key;
            c.generation = generation_;
            return &c;
        }
        if (c.key == key) return &c;
    }
}

void Races::judge_global(Interval& i) {
    uint64_t low = UINT64_MAX, high = 0;
    size_t words = 0;
    for (const Access& a : i.log) {
        if (a.kind == kRead) continue;
        low = std::min(low, a.low);
        high = std::max(high, a.high);
        words += static_cast<size_t>(std::popcount(a.lanes)) * (a.bytes / 4 + 2);
    }
    const size_t wanted = std::bit_ceil(2 * words + 16);
    if (cells_.size() < wanted) {
        cells_.assign(wanted, Cell{});
        generation_ = 0;
    }
    ++generation_;
    static constexpr const char* kVerbs[] = {"reads", "writes", "updates"};
    const auto report = [&](const Access& a, int lane, uint64_t byte, unsigned other) {
        std::string detail = std::string(kVerbs[a.kind]) + " the byte at " + hex(byte) + ", which wave " +
                             std::to_string(other) + " writes between the same barriers";
        for (const Access& b : i.log) {
            if (b.wave != other || b.kind == kRead) continue;
            for (uint32_t m = b.lanes; m; m &= m - 1) {
                const int l = std::countr_zero(m);
                if (byte - b.at[l] >= b.bytes) continue;
                raise_at(FaultKind::kRace, *a.inst, a.wave, lane,
                         detail + " (lane " + std::to_string(l) + "): " + b.inst->text);
            }
        }
        raise_at(FaultKind::kRace, *a.inst, a.wave, lane, detail);
    };
    const auto visit = [&](const Access& a, auto act) {
        for (uint32_t m = a.lanes; m; m &= m - 1) {
            const int l = std::countr_zero(m);
            const uint64_t end = a.at[l] + a.bytes;
            for (uint64_t at = a.at[l]; at < end; at = (at & ~uint64_t{3}) + 4)
                act(l, at, std::min(end, (at & ~uint64_t{3}) + 4));
        }
    };
    for (const Access& a : i.log) {
        if (a.kind == kRead) continue;
        const uint8_t atomic = a.kind == kAtomic;
        visit(a, [&](int lane, uint64_t from, uint64_t to) {
            Cell& c = *cell(from >> 2, true);
            for (uint64_t byte = from; byte < to; ++byte) {
                uint8_t& writer = c.writer[byte & 3];
                if (writer && writer != a.wave + 1 && !(atomic && c.atomic[byte & 3]))
                    report(a, lane, byte, writer - 1u);
                writer = static_cast<uint8_t>(a.wave + 1);
                c.atomic[byte & 3] = atomic;
            }
        });
    }
    for (const Access& a : i.log) {
        if (a.kind != kRead || a.low >= high || a.high <= low) continue;
        visit(a, [&](int lane, uint64_t from, uint64_t to) {
            const Cell* c = cell(from >> 2, false);
            if (!c) return;
            for (uint64_t byte = from; byte < to; ++byte)
                if (c->writer[byte & 3] && c->writer[byte & 3] != a.wave + 1)
                    report(a, lane, byte, c->writer[byte & 3] - 1u);
        });
    }
}

}  // namespace ckitchen::gfxsim

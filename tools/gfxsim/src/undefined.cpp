#include "undefined.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "fault.hpp"
#include "lane_memory.hpp"
#include "memory.hpp"
#include "op_table.hpp"
#include "salu.hpp"
#include "valu.hpp"

namespace ckitchen::gfxsim {
namespace {

bool starts(std::string_view s, std::string_view prefix) {
    return s.substr(0, prefix.size()) == prefix;
}

bool contains(std::string_view s, std::string_view part) {
    return s.find(part) != s.npos;
}

bool tracked_scalar(int reg) {
    return reg < kNullRegister || reg == kFlatScratchLo || reg == kFlatScratchHi;
}

void touch(Inst& inst, int bit) {
    const uint8_t word = static_cast<uint8_t>(bit / 64);
    unsigned i = 0;
    while (i < inst.touch_count && inst.touch_word[i] != word) ++i;
    if (i == inst.touch_count) {
        inst.touch_word[i] = word;
        inst.touch_mask[i] = 0;
        ++inst.touch_count;
    }
    inst.touch_mask[i] |= uint64_t{1} << (bit % 64);
}

void touch(Inst& inst, const Operand& o) {
    for (int k = 0; k < o.words; ++k) {
        if (o.kind == OperandKind::kVgpr && o.reg + k < kVectorCount) touch(inst, o.reg + k);
        if (o.kind == OperandKind::kSgpr && tracked_scalar(o.reg + k))
            touch(inst, Undefined::scalar_bit(o.reg + k));
    }
    if (o.kind == OperandKind::kScc) touch(inst, kSccBit);
}

void touch_operands(Inst& inst, const Inst& from) {
    for (int i = 0; i < from.dst_count; ++i) touch(inst, from.dst[i]);
    for (int i = 0; i < from.src_count; ++i) touch(inst, from.src[i]);
}

MemoryAccess access_of(const OpSpec& spec) {
    switch (spec.cls) {
        case InstClass::kSmem:
        case InstClass::kVmemLoad:
            return MemoryAccess::kLoad;
        case InstClass::kVmemStore:
            return MemoryAccess::kStore;
        case InstClass::kVmemAtomic:
            return MemoryAccess::kAtomic;
        case InstClass::kScratch:
            return spec.flags & kFlagStore ? MemoryAccess::kStore : MemoryAccess::kLoad;
        case InstClass::kLds: {
            const std::string_view n = spec.name;
            if (contains(n, "xchg")) return MemoryAccess::kAtomic;
            if (starts(n, "ds_read") || starts(n, "ds_load")) return MemoryAccess::kLoad;
            if (starts(n, "ds_write") || starts(n, "ds_store")) return MemoryAccess::kStore;
            return MemoryAccess::kAtomic;
        }
        default:
            return MemoryAccess::kNone;
    }
}

[[noreturn]] void undefined(int lane, const std::string& where, uint64_t bits) {
    raise(FaultKind::kUndefined, lane, where + ": bits " + hex(bits) + " were never written");
}

// ---- registers ----

/// Registers that one instruction reads or writes.
struct Registers {
    std::array<uint16_t, 48> v;
    std::array<uint16_t, 48> s;
    unsigned vectors = 0, scalars = 0;

    void add(const Operand& o, int displacement = 0) {
        for (int k = 0; k < o.words; ++k) {
            const int reg = o.reg + k + displacement;
            if (o.kind == OperandKind::kVgpr && reg >= 0 && reg < kVectorCount)
                insert(v, vectors, reg);
            else if (o.kind == OperandKind::kSgpr && tracked_scalar(reg) && reg != kExecLo)
                insert(s, scalars, reg);
        }
    }

  private:
    static void insert(std::array<uint16_t, 48>& list, unsigned& n, int reg) {
        if (std::find(list.begin(), list.begin() + n, reg) == list.begin() + n && n < list.size())
            list[n++] = static_cast<uint16_t>(reg);
    }
};

void collect(const Wave& w, const Inst& inst, Registers& written, Registers& all) {
    const uint32_t flags = inst.spec->flags;
    int from = 0, to = 0;
    if (flags & kFlagReadsM0) from = to = static_cast<int>(w.s[kM0]);
    if (flags & kFlagM0Pair) {
        from = w.s[kM0] & 0x3ff;
        to = w.s[kM0] >> 16 & 0x3ff;
    }
    for (int i = 0; i < inst.dst_count; ++i) {
        written.add(inst.dst[i], to);
        written.add(inst.dst[i]);
    }
    if (flags & kFlagWritesSource) written.add(inst.src[0], from);
    for (int i = 0; i < inst.src_count; ++i) {
        all.add(inst.src[i]);
        all.add(inst.src[i], from);
    }
    for (int i = 0; i < inst.dst_count; ++i) {
        all.add(inst.dst[i]);
        all.add(inst.dst[i], to);
    }
    if (inst.pair) {
        for (const Inst* half : {inst.pair, inst.pair->pair})
            for (int i = 0; i < half->src_count; ++i) all.add(half->src[i]);
    }
}

/// What a run of an instruction can change.
struct State {
    uint32_t v[48][kLanes];
    uint32_t s[48];
    uint32_t exec = 0;
    bool scc = false;

    void save(const Wave& w, const Registers& r) {
        for (unsigned i = 0; i < r.vectors; ++i) std::memcpy(v[i], w.v[r.v[i]].data(), sizeof v[i]);
        for (unsigned i = 0; i < r.scalars; ++i) s[i] = w.s[r.s[i]];
        exec = w.exec();
        scc = w.scc;
    }
    void restore(Wave& w, const Registers& r) const {
        for (unsigned i = 0; i < r.vectors; ++i) std::memcpy(w.v[r.v[i]].data(), v[i], sizeof v[i]);
        for (unsigned i = 0; i < r.scalars; ++i) w.s[r.s[i]] = s[i];
        w.s[kExecLo] = exec;
        w.scc = scc;
    }
};

uint32_t noise(uint32_t x) {
    x = (x ^ x >> 16) * 0x7feb352du;
    x = (x ^ x >> 15) * 0x846ca68bu;
    return x ^ x >> 16;
}

constexpr int kPatterns = 5;

/// `value` with its undefined bits replaced: by zeros, ones, what is large and positive or negative as an
/// integer and as a float of any width, and noise. Lanes 16 apart get the same noise, as matrix operands of
/// gfx11 demand.
uint32_t replaced(uint32_t value, uint32_t undefined_bits, int pattern, uint32_t seed) {
    static constexpr uint32_t kFixed[] = {0, ~0u, 0x5f5f5f5fu, 0xdfdfdfdfu};
    const uint32_t bits = pattern < 4 ? kFixed[pattern] : noise(seed);
    return (value & ~undefined_bits) | (bits & undefined_bits);
}

void replace(Wave& w, const Registers& r, int pattern) {
    const Undefined& u = w.undefined;
    for (unsigned i = 0; i < r.vectors; ++i) {
        const int reg = r.v[i];
        if (!u.test(reg)) continue;
        for (int l = 0; l < kLanes; ++l)
            w.v[reg][l] =
                replaced(w.v[reg][l], u.v[reg][l], pattern, static_cast<uint32_t>(reg * 16 + (l & 15) + 1));
    }
    for (unsigned i = 0; i < r.scalars; ++i) {
        const int reg = r.s[i];
        if (u.test(Undefined::scalar_bit(reg)))
            w.s[reg] = replaced(w.s[reg], u.s[reg], pattern, static_cast<uint32_t>(0x10000 + reg));
    }
    if (u.test(kSccBit)) w.scc = pattern & 1;
}

// ---- comparisons ----

struct Value {
    uint64_t bits = 0, undefined = 0;
};

Value value_of(const Wave& w, const Operand& o, int lane) {
    const Undefined& u = w.undefined;
    Value v;
    for (int k = 0; k < std::min<int>(o.words, 2); ++k) {
        uint32_t bits = 0, mask = 0;
        if (o.kind == OperandKind::kVgpr) {
            bits = w.v[o.reg + k][lane];
            mask = u.test(o.reg + k) ? u.v[o.reg + k][lane] : 0;
        } else if (o.kind == OperandKind::kSgpr) {
            bits = w.s[o.reg + k];
            mask = u.test(Undefined::scalar_bit(o.reg + k)) ? u.s[o.reg + k] : 0;
        } else if (o.kind == OperandKind::kConst) {
            bits = o.lanes[k * kLanes];
        } else {
            bits = w.scc;
            mask = u.test(kSccBit);
        }
        v.bits |= uint64_t{bits} << (32 * k);
        v.undefined |= uint64_t{mask} << (32 * k);
    }
    if (o.type == Type::kB16 || o.type == Type::kF16 || o.type == Type::kBf16) {
        const int shift = o.high ? 16 : 0;
        v.bits = v.bits >> shift & 0xffff;
        v.undefined = v.undefined >> shift & 0xffff;
    }
    return v;
}

/// Whether a comparison of two values hangs on undefined bits. Unequal defined bits settle an integer
/// equality.
bool unsettled(const Inst& inst, const Value& a, const Value& b) {
    const uint64_t unknown = a.undefined | b.undefined;
    if (!unknown) return false;
    const std::string_view n = inst.spec->name;
    const bool integer = n.back() != '4' && n.back() != '2' && n.back() != '6'
                             ? true
                             : n[n.rfind('_') + 1] == 'i' || n[n.rfind('_') + 1] == 'u';
    const bool equality = contains(n, "_eq_") || contains(n, "_ne_") || contains(n, "_lg_");
    return !(integer && equality && ((a.bits ^ b.bits) & ~unknown));
}

uint32_t unsettled_lanes(const Wave& w, const Inst& inst) {
    if (inst.dpp || inst.sdwa) return 0;
    uint32_t out = 0;
    for (uint32_t m = w.exec(); m; m &= m - 1) {
        const int l = std::countr_zero(m);
        if (unsettled(inst, value_of(w, inst.src[0], l), value_of(w, inst.src[1], l))) out |= 1u << l;
    }
    return out;
}

void check_branch(const Wave& w, const Inst& inst) {
    const Undefined& u = w.undefined;
    const std::string_view n = inst.spec->name;
    if (contains(n, "_scc")) {
        if (u.test(kSccBit)) undefined(-1, "SCC decides a branch", 1);
    } else if (contains(n, "_vcc")) {
        const uint32_t mask = u.test(Undefined::scalar_bit(kVccLo)) ? u.s[kVccLo] : 0;
        // A defined one settles it.
        if (mask && !(w.s[kVccLo] & ~mask)) undefined(-1, "VCC decides a branch", mask);
    } else {
        for (int i = 0; i < inst.src_count; ++i)
            if (const Value v = value_of(w, inst.src[i], 0); v.undefined)
                undefined(-1, "the target of a branch", v.undefined);
    }
}

/// The marks of registers that an instruction overwrites with defined values.
void define(Wave& w, const Operand& o) {
    for (int k = 0; k < o.words; ++k) {
        if (o.kind == OperandKind::kVgpr) define_vector(w, o.reg + k);
        if (o.kind == OperandKind::kSgpr && tracked_scalar(o.reg + k)) define_scalar(w, o.reg + k);
    }
}

bool operand_defined(const Undefined& u, const Operand& o) {
    for (int k = 0; k < o.words; ++k) {
        if (o.kind == OperandKind::kVgpr && u.test(o.reg + k)) return false;
        if (o.kind == OperandKind::kSgpr && tracked_scalar(o.reg + k) &&
            u.test(Undefined::scalar_bit(o.reg + k)))
            return false;
    }
    return o.kind != OperandKind::kScc || !u.test(kSccBit);
}

bool sources_defined(const Undefined& u, const Inst& inst) {
    for (int i = 0; i < inst.src_count; ++i)
        if (!operand_defined(u, inst.src[i])) return false;
    return true;
}

/// Most first writes of a register: defined sources, and whole registers written in the active lanes.
bool writes_whole(const Undefined& u, const Inst& inst) {
    const OpSpec& spec = *inst.spec;
    const bool plain = spec.cls == InstClass::kValu || spec.cls == InstClass::kTrans ||
                       spec.cls == InstClass::kDot || spec.cls == InstClass::kVopd ||
                       (spec.cls == InstClass::kWmma &&
                        (contains(spec.name, "mma_i32") || contains(spec.name, "mma_f32") ||
                         contains(spec.name, "mmac_i32") || contains(spec.name, "mmac_f32")));
    if (!plain || inst.sdwa || inst.dpp) return false;
    for (int i = 0; i < inst.dst_count; ++i)
        if (inst.dst[i].type == Type::kB16 || inst.dst[i].type == Type::kF16 ||
            inst.dst[i].type == Type::kBf16)
            return false;
    if (!sources_defined(u, inst)) return false;
    return !inst.pair || (sources_defined(u, *inst.pair) && sources_defined(u, *inst.pair->pair));
}

void update_vector(Undefined& u, int reg) {
    uint32_t all = 0;
    GFXSIM_LANES all |= u.v[reg][l];
    u.put(reg, all != 0);
}

// ---- memory ----

uint32_t mark_of(const Undefined& u, int reg, int lane) {
    return u.test(reg) ? u.v[reg][lane] : 0;
}

void check_scalar_address(const Wave& w, const Operand& o) {
    if (o.kind != OperandKind::kSgpr) return;
    for (int k = 0; k < o.words; ++k)
        if (tracked_scalar(o.reg + k) && w.undefined.test(Undefined::scalar_bit(o.reg + k)))
            undefined(-1, "a scalar register of the address", w.undefined.s[o.reg + k]);
}

void check_vector_address(const Wave& w, const Operand& o) {
    if (o.kind == OperandKind::kSgpr) return check_scalar_address(w, o);
    if (o.kind != OperandKind::kVgpr) return;
    for (int k = 0; k < o.words; ++k) {
        if (!w.undefined.test(o.reg + k)) continue;
        for (uint32_t m = w.exec(); m; m &= m - 1)
            if (const int l = std::countr_zero(m); w.undefined.v[o.reg + k][l])
                undefined(l, "the address in v" + std::to_string(o.reg + k), w.undefined.v[o.reg + k][l]);
    }
}

/// Undefined bits of `bytes` bytes in memory, as the bytes of `out`.
void read_global(Wave& w, uint64_t address, uint32_t bytes, int lane, uint8_t* out) {
    const AccessCache::Range& r = w.worker->cache.get(address, bytes, false, lane, w.worker->device);
    for (uint32_t i = 0; i < bytes; ++i)
        out[i] = r.defined && !all_defined(r.defined, address - r.base + i, 1) ? 0xff : 0;
}

uint8_t* lds_marks(Wave& w, uint32_t address, uint32_t bytes) {
    std::vector<uint8_t>& marks = w.group->undefined_lds;
    // Accesses out of range are reported when the instruction is executed.
    if (address > marks.size() || marks.size() - address < bytes) return nullptr;
    return marks.data() + address;
}

uint8_t* scratch_mark(Wave& w, uint32_t address, int lane) {
    if (address >= w.scratch_lane_bytes) return nullptr;
    uint32_t& word = w.undefined.scratch[(address >> 2) * kLanes + static_cast<uint32_t>(lane)];
    return reinterpret_cast<uint8_t*>(&word) + (address & 3);
}

void read_marks(Wave& w, Space space, uint64_t address, uint32_t bytes, int lane, uint8_t* out) {
    std::memset(out, 0, bytes);
    const uint32_t low = static_cast<uint32_t>(address);
    if (space == Space::kGlobal) {
        read_global(w, address, bytes, lane, out);
    } else if (space == Space::kLds) {
        if (const uint8_t* p = lds_marks(w, low, bytes)) std::memcpy(out, p, bytes);
    } else {
        for (uint32_t i = 0; i < bytes; ++i)
            if (const uint8_t* p = scratch_mark(w, low + i, lane)) out[i] = *p;
    }
}

void write_marks(Wave& w, Space space, uint64_t address, uint32_t bytes, int lane, const uint8_t* in) {
    const uint32_t low = static_cast<uint32_t>(address);
    if (space == Space::kGlobal) {
        uint64_t bits = 0;
        for (uint32_t i = 0; i < bytes; ++i) bits |= uint64_t{in[i]} << (8 * (i % 8));
        if (bits) undefined(lane, "data stored to global memory", bits);
        const AccessCache::Range& r = w.worker->cache.get(address, bytes, true, lane, w.worker->device);
        if (r.defined) set_defined(r.defined, address - r.base, bytes);
    } else if (space == Space::kLds) {
        uint8_t* p = lds_marks(w, low, bytes);
        if (!p) return;
        std::memcpy(p, in, bytes);
        for (uint32_t i = 0; i < bytes; ++i)
            if (in[i]) w.group->lds_defined = false;
    } else {
        for (uint32_t i = 0; i < bytes; ++i)
            if (uint8_t* p = scratch_mark(w, low + i, lane)) *p = in[i];
    }
}

/// How a load of less than a dword places its value.
uint32_t placed(const Inst& inst, uint32_t old, uint32_t value, uint32_t bytes) {
    const std::string_view n = inst.spec->name;
    const bool is_signed =
        contains(n, "sbyte") || contains(n, "sshort") || contains(n, "_i8") || contains(n, "_i16");
    if (is_signed && bytes == 1) value = static_cast<uint32_t>(int32_t{static_cast<int8_t>(value)});
    if (is_signed && bytes == 2) value = static_cast<uint32_t>(int32_t{static_cast<int16_t>(value)});
    if (!contains(n, "d16")) return value;
    const bool high = contains(n, "d16_hi") || inst.dst[0].high;
    return high ? (old & 0xffffu) | value << 16 : (old & 0xffff0000u) | (value & 0xffffu);
}

struct Part {
    uint32_t offset = 0;
    int operand = 0;  // of stores: the source with the data
};

struct Plan {
    LaneAddresses at;
    uint32_t bytes = 0;
    int parts = 1;
    Part part[2];
};

/// Addresses and data operands; checks that the addresses are defined.
void make_plan(Wave& w, const Inst& inst, Plan& p) {
    const OpSpec& spec = *inst.spec;
    p.bytes = spec.bytes;
    if (spec.form == Form::kDs) {
        check_vector_address(w, inst.src[0]);
        LaneBuffer tmp;
        const Source a = raw_source(w, inst.src[0], tmp);
        p.at.space = Space::kLds;
        p.at.lanes = w.exec();
        p.part[0] = {static_cast<uint32_t>(inst.offset), 1};
        if (spec.flags & kFlagTwoOffsets) {
            const uint32_t unit =
                p.bytes * (contains(spec.name, "st64") || contains(spec.name, "stride64") ? 64u : 1u);
            p.parts = 2;
            p.part[0].offset = static_cast<uint32_t>(inst.offset) * unit;
            p.part[1] = {static_cast<uint32_t>(inst.offset1) * unit, 2};
        }
        GFXSIM_LANES p.at.at[l] = a.lo[l];
        return;
    }
    const int saddr = scalar_operand(inst);
    check_vector_address(w, inst.src[address_operand(inst)]);
    if (spec.form != Form::kFlat) check_scalar_address(w, inst.src[saddr]);
    if (spec.form == Form::kBuffer) check_scalar_address(w, inst.src[saddr + 1]);
    vmem_addresses(w, inst, p.at);
    p.part[0].operand = data_operand(inst);
}

bool memory_defined(Wave& w, const Inst& inst, const Plan& p) {
    const uint32_t exec = p.at.lanes;
    if (p.at.mixed || p.at.space == Space::kScratch) return false;
    if (p.at.space == Space::kGlobal) {
        for (uint32_t m = exec; m; m &= m - 1) {
            const int l = std::countr_zero(m);
            const AccessCache::Range& r =
                w.worker->cache.get(p.at.at[l], p.bytes, false, l, w.worker->device);
            if (!r.defined) {
                // Mostly all lanes are in one range.
                uint32_t outside = 0;
                const uint64_t base = r.base, last = r.end - p.bytes;
                GFXSIM_LANES outside |= ((p.at.at[l] < base) | (p.at.at[l] > last)) & (exec >> l & 1);
                if (!outside) return true;
            } else if (!all_defined(r.defined, p.at.at[l] - r.base, p.bytes)) {
                return false;
            }
        }
        return true;
    }
    if (w.group->lds_defined) return true;
    uint64_t all = 0;
    for (int k = 0; k < p.parts; ++k)
        for (uint32_t m = exec; m; m &= m - 1) {
            const int l = std::countr_zero(m);
            const uint8_t* marks = lds_marks(w, p.at.low(l) + p.part[k].offset, p.bytes);
            if (!marks) continue;
            uint64_t value[2] = {};
            std::memcpy(value, marks, p.bytes);
            all |= value[0] | value[1];
        }
    return all == 0 || inst.dst_count == 0;
}

void track_load(Wave& w, const Inst& inst, const Plan& p) {
    Undefined& u = w.undefined;
    const Operand& dst = inst.dst[0];
    const uint32_t words = p.bytes >= 4 ? p.bytes / 4 : 1;
    // What a buffer's bounds drop reads as zero.
    for (uint32_t m = w.exec() & ~p.at.lanes; m; m &= m - 1)
        for (uint32_t i = 0; i < words; ++i) {
            uint32_t& mark = u.v[dst.reg + i][std::countr_zero(m)];
            mark = p.bytes >= 4 ? 0 : placed(inst, mark, 0, p.bytes);
        }
    for (uint32_t m = p.at.lanes; m; m &= m - 1) {
        const int l = std::countr_zero(m);
        for (int k = 0; k < p.parts; ++k) {
            uint32_t value[4] = {};
            read_marks(w, p.at.space_of(l), p.at.at[l] + p.part[k].offset, p.bytes, l,
                       reinterpret_cast<uint8_t*>(value));
            for (uint32_t i = 0; i < words; ++i) {
                uint32_t& mark = u.v[dst.reg + static_cast<uint32_t>(k) * words + i][l];
                mark = p.bytes >= 4 ? value[i] : placed(inst, mark, value[0], p.bytes);
            }
        }
    }
    if (inst.spec->flags & kFlagTranspose) {
        uint32_t marks[4][kLanes];
        for (uint32_t i = 0; i < words; ++i) std::copy_n(u.v[dst.reg + i].data(), kLanes, marks[i]);
        transpose_lanes(marks, static_cast<int>(words));
        for (uint32_t i = 0; i < words; ++i) std::copy_n(marks[i], kLanes, u.v[dst.reg + i].data());
    }
    for (int k = 0; k < dst.words; ++k) update_vector(u, dst.reg + k);
}

void track_store(Wave& w, const Inst& inst, const Plan& p, bool data_defined) {
    const uint32_t exec = p.at.lanes;
    if (data_defined && p.at.space == Space::kLds && !p.at.mixed) {
        if (w.group->lds_defined) return;
        for (int k = 0; k < p.parts; ++k)
            for (uint32_t m = exec; m; m &= m - 1)
                if (uint8_t* marks = lds_marks(w, p.at.low(std::countr_zero(m)) + p.part[k].offset, p.bytes))
                    std::memset(marks, 0, p.bytes);
        return;
    }
    const std::string_view n = inst.spec->name;
    for (int k = 0; k < p.parts; ++k) {
        const Operand& data = inst.src[p.part[k].operand];
        const bool high = contains(n, "d16_hi") || data.high;
        for (uint32_t m = exec; m; m &= m - 1) {
            const int l = std::countr_zero(m);
            uint32_t value[4] = {};
            if (data.kind == OperandKind::kVgpr && !data_defined)
                for (uint32_t i = 0; i < (p.bytes + 3) / 4; ++i)
                    value[i] = mark_of(w.undefined, data.reg + static_cast<int>(i), l);
            if (p.bytes < 4 && high) value[0] >>= 16;
            write_marks(w, p.at.space_of(l), p.at.at[l] + p.part[k].offset, p.bytes, l,
                        reinterpret_cast<const uint8_t*>(value));
        }
    }
}

/// The value after an atomic is undefined when the one before or the operand is; an exchange forgets the one
/// before.
void track_atomic(Wave& w, const Inst& inst, const Plan& p) {
    Undefined& u = w.undefined;
    const std::string_view n = inst.spec->name;
    const bool exchange =
        (contains(n, "xchg") && !contains(n, "condxchg")) || (contains(n, "swap") && !contains(n, "cmpswap"));
    const int words = static_cast<int>(p.bytes / 4);
    for (uint32_t m = w.exec() & ~p.at.lanes; inst.dst_count && m; m &= m - 1)
        for (int k = 0; k < words; ++k) u.v[inst.dst[0].reg + k][std::countr_zero(m)] = 0;
    for (uint32_t m = p.at.lanes; m; m &= m - 1) {
        const int l = std::countr_zero(m);
        uint32_t operand = 0;
        for (int i = 0; i < inst.src_count; ++i)
            if (i != address_operand(inst) && inst.src[i].kind == OperandKind::kVgpr)
                for (int k = 0; k < inst.src[i].words; ++k) operand |= mark_of(u, inst.src[i].reg + k, l);
        for (int part = 0; part < p.parts; ++part) {
            const uint64_t address = p.at.at[l] + p.part[part].offset;
            const Space space = p.at.space_of(l);
            uint8_t before[8] = {}, after[8] = {};
            read_marks(w, space, address, p.bytes, l, before);
            const bool old_undefined = std::any_of(before, before + 8, [](uint8_t b) { return b != 0; });
            if (operand || (old_undefined && !exchange)) std::memset(after, 0xff, p.bytes);
            write_marks(w, space, address, p.bytes, l, after);
            if (inst.dst_count)
                for (int k = 0; k < words; ++k)
                    u.v[inst.dst[0].reg + part * words + k][l] = old_undefined ? ~0u : 0;
        }
    }
    if (inst.dst_count)
        for (int k = 0; k < inst.dst[0].words; ++k) update_vector(u, inst.dst[0].reg + k);
}

void track_scalar_load(Wave& w, const Inst& inst, bool touched) {
    Undefined& u = w.undefined;
    if (touched) {
        check_scalar_address(w, inst.src[0]);
        check_scalar_address(w, inst.src[1]);
    }
    uint64_t address = 0;
    const uint32_t bytes = inst.spec->bytes;
    if (!smem_address(w, inst, address)) return define(w, inst.dst[0]);
    const AccessCache::Range& r = w.worker->cache.get(address, bytes, false, -1, w.worker->device);
    if (!r.defined || all_defined(r.defined, address - r.base, bytes)) {
        if (touched) define(w, inst.dst[0]);
        return;
    }
    uint32_t value[16] = {};
    read_global(w, address, bytes, -1, reinterpret_cast<uint8_t*>(value));
    if (bytes < 4) value[0] = placed(inst, 0, value[0], bytes);
    for (int k = 0; k < inst.dst[0].words; ++k) {
        const int reg = inst.dst[0].reg + k;
        if (!tracked_scalar(reg)) continue;
        u.s[reg] = value[k];
        u.put(Undefined::scalar_bit(reg), value[k] != 0);
    }
}

}  // namespace

void find_touched(Inst& inst) {
    const OpSpec& spec = *inst.spec;
    inst.access = access_of(spec);
    touch_operands(inst, inst);
    if (inst.pair)
        for (const Inst* half : {inst.pair, inst.pair->pair}) touch_operands(inst, *half);
    if (spec.cls == InstClass::kSalu) touch(inst, kSccBit);
    if (spec.cls == InstClass::kBranch && contains(spec.name, "_scc")) touch(inst, kSccBit);
    if (spec.cls == InstClass::kBranch && contains(spec.name, "_vcc"))
        touch(inst, Undefined::scalar_bit(kVccLo));
    if (spec.flags & kFlagReadsM0) {
        touch(inst, Undefined::scalar_bit(kM0));
        const bool scalar = spec.cls == InstClass::kSalu;
        for (int reg = 0; reg < (scalar ? int{kVccLo} : kVgprCount); ++reg)
            touch(inst, scalar ? Undefined::scalar_bit(reg) : reg);
    }
}

void forget_registers(Wave& w, uint32_t vgprs) {
    Undefined& u = w.undefined;
    for (uint32_t r = 0; r < std::min<uint32_t>(vgprs, kVectorCount); ++r) {
        u.v[r].fill(~0u);
        u.put(static_cast<int>(r), true);
    }
    for (int r = 0; r < kScalarCount; ++r) {
        u.s[r] = ~0u;
        u.put(Undefined::scalar_bit(r), tracked_scalar(r));
    }
    u.put(kSccBit, true);
}

void define_scalar(Wave& w, int reg) {
    w.undefined.s[reg] = 0;
    w.undefined.put(Undefined::scalar_bit(reg), false);
}

void define_vector(Wave& w, int reg) {
    w.undefined.v[reg].fill(0);
    w.undefined.put(reg, false);
}

void execute_undefined(Wave& w, const Inst& inst) {
    Undefined& u = w.undefined;
    if (inst.spec->cls == InstClass::kBranch) {
        check_branch(w, inst);
        for (int i = 0; i < inst.dst_count; ++i) define(w, inst.dst[i]);
        inst.fn(w, inst);
        return;
    }
    if (inst.spec->form == Form::kHwreg) {
        for (int i = 0; i < inst.dst_count; ++i) define(w, inst.dst[i]);
        inst.fn(w, inst);
        return;
    }
    if (writes_whole(u, inst)) {
        for (int i = 0; i < inst.dst_count; ++i) {
            const Operand& o = inst.dst[i];
            if (o.kind != OperandKind::kVgpr || w.exec() == ~0u) {
                define(w, o);
                continue;
            }
            for (int k = 0; k < o.words; ++k) {
                for (uint32_t m = w.exec(); m; m &= m - 1) u.v[o.reg + k][std::countr_zero(m)] = 0;
                update_vector(u, o.reg + k);
            }
        }
        inst.fn(w, inst);
        return;
    }
    if ((inst.spec->flags & kFlagReadsM0) && u.test(Undefined::scalar_bit(kM0)))
        undefined(-1, "M0, which picks a register,", u.s[kM0]);
    thread_local Registers written, all;
    written.vectors = written.scalars = all.vectors = all.scalars = 0;
    collect(w, inst, written, all);
    const bool compare = starts(inst.spec->name, "v_cmp");
    const uint32_t extra = compare ? unsettled_lanes(w, inst) : 0;
    bool scc = false;
    if (starts(inst.spec->name, "s_cmp"))
        scc = unsettled(inst, value_of(w, inst.src[0], 0), value_of(w, inst.src[1], 0));
    thread_local State before, after;
    thread_local State runs[kPatterns];
    before.save(w, all);
    bool failed = false;
    for (int k = 0; k < kPatterns && !failed; ++k) {
        replace(w, all, k);
        try {
            inst.fn(w, inst);
        } catch (const Fault&) {
            // A check inside the instruction hangs on undefined bits: so does its result.
            failed = true;
        }
        runs[k].save(w, written);
        before.restore(w, all);
    }
    inst.fn(w, inst);
    after.save(w, written);
    for (unsigned i = 0; i < written.vectors; ++i) {
        const int reg = written.v[i];
        uint32_t any = 0;
        for (int l = 0; l < kLanes; ++l) {
            uint32_t bits = failed ? ~0u : 0;
            if (!failed)
                for (const State& run : runs) bits |= run.v[i][l] ^ after.v[i][l];
            u.v[reg][l] = bits;
            any |= bits;
        }
        u.put(reg, any != 0);
    }
    for (unsigned i = 0; i < written.scalars; ++i) {
        uint32_t bits = failed ? ~0u : extra;
        if (!failed)
            for (const State& run : runs) bits |= run.s[i] ^ after.s[i];
        u.s[written.s[i]] = bits;
        u.put(Undefined::scalar_bit(written.s[i]), bits != 0);
    }
    uint32_t exec = inst.spec->form == Form::kCmpx ? extra : 0;
    if (!failed)
        for (const State& run : runs) {
            exec |= run.exec ^ after.exec;
            scc |= run.scc != after.scc;
        }
    u.put(kSccBit, scc);
    if (exec) undefined(std::countr_zero(exec), "EXEC", exec);
}

void track_memory(Wave& w, const Inst& inst) {
    const bool touched = w.undefined.touched(inst);
    if (inst.spec->cls == InstClass::kSmem) return track_scalar_load(w, inst, touched);
    // LDS without undefined bits, data without: nothing can change.
    if (!touched && inst.spec->cls == InstClass::kLds && w.group->lds_defined) return;
    Plan p;
    make_plan(w, inst, p);
    switch (inst.access) {
        case MemoryAccess::kLoad:
            if (!touched && memory_defined(w, inst, p)) return;
            track_load(w, inst, p);
            return;
        case MemoryAccess::kStore:
            track_store(w, inst, p, !touched);
            return;
        default:
            track_atomic(w, inst, p);
            return;
    }
}

void scan_lds(Workgroup& group) {
    constexpr unsigned kScans = 8;  // LDS that is padded never gets there
    if (group.lds_defined || group.lds_scans >= kScans || group.undefined_lds.empty()) return;
    ++group.lds_scans;
    group.lds_defined =
        std::all_of(group.undefined_lds.begin(), group.undefined_lds.end(), [](uint8_t b) { return b == 0; });
}

}  // namespace ckitchen::gfxsim

// Lane permutations and moves between scalar and vector registers.
#include <bit>
#include <cstdint>

#include "op_table.hpp"
#include "salu.hpp"
#include "valu.hpp"

namespace ckitchen::gfxsim {
namespace {

using u32 = uint32_t;

void readfirstlane(Wave& w, const Inst& inst) {
    const int lane = w.exec() ? std::countr_zero(w.exec()) : 0;
    LaneBuffer tmp;
    w.s[inst.dst[0].reg] = raw_source(w, inst.src[0], tmp).lo[lane];
}

void readlane(Wave& w, const Inst& inst) {
    LaneBuffer tmp;
    w.s[inst.dst[0].reg] = raw_source(w, inst.src[0], tmp).lo[scalar_source<u32>(w, inst.src[1]) & 31];
}

void writelane(Wave& w, const Inst& inst) {
    w.v[inst.dst[0].reg][scalar_source<u32>(w, inst.src[1]) & 31] = scalar_source<u32>(w, inst.src[0]);
}

/// v_permlane16 and v_permlanex16: nibbles of two scalars name the source lane, in the own or the other row.
/// op_sel[0] reads inactive lanes too, op_sel[1] gives 0 for an inactive source instead of keeping the old
/// value.
void permlane(Wave& w, const Inst& inst, const uint8_t* select, bool other_row) {
    LaneBuffer tmp, r;
    const Source s = raw_source(w, inst.src[0], tmp);
    u32 mask = 0;
    for (int l = 0; l < kLanes; ++l) {
        const int row = (l & 16) ^ (other_row ? 16 : 0);
        const int from = row + select[l];
        const bool valid = (inst.op_sel & 1) || (w.exec() >> from & 1);
        r.lo[l] = valid ? s.lo[from] : 0;
        if (valid || (inst.op_sel & 2)) mask |= 1u << l;
    }
    store_words(w.v[inst.dst[0].reg].data(), r.lo, w.exec() & mask);
}

template <bool kOtherRow>
void permlane_scalar(Wave& w, const Inst& inst) {
    const u32 lo = scalar_source<u32>(w, inst.src[1]), hi = scalar_source<u32>(w, inst.src[2]);
    uint8_t select[kLanes];
    for (int l = 0; l < kLanes; ++l) {
        const int k = l & 15;
        select[l] = static_cast<uint8_t>((k < 8 ? lo >> (4 * k) : hi >> (4 * (k - 8))) & 15);
    }
    permlane(w, inst, select, kOtherRow);
}

template <bool kOtherRow>
void permlane_vector(Wave& w, const Inst& inst) {
    LaneBuffer tmp;
    const Source s = raw_source(w, inst.src[1], tmp);
    uint8_t select[kLanes];
    for (int l = 0; l < kLanes; ++l) select[l] = s.lo[l] & 15;
    permlane(w, inst, select, kOtherRow);
}

/// Ones of the mask below the lane, plus source 1. The high half of a wave32 mask counts nothing.
void mbcnt_lo(Wave& w, const Inst& inst) {
    LaneBuffer ta, tb, r;
    const Source a = fetch<u32>(w, inst, 0, ta), b = fetch<u32>(w, inst, 1, tb);
    for (int l = 0; l < kLanes; ++l)
        r.lo[l] = static_cast<u32>(std::popcount(a.lo[l] & ((1u << l) - 1))) + b.lo[l];
    store_words(w.v[inst.dst[0].reg].data(), r.lo, write_mask(w, inst));
}

void mbcnt_hi(Wave& w, const Inst& inst) {
    LaneBuffer tb, r;
    const Source b = fetch<u32>(w, inst, 1, tb);
    GFXSIM_LANES r.lo[l] = b.lo[l];
    store_words(w.v[inst.dst[0].reg].data(), r.lo, write_mask(w, inst));
}

void permlane64(Wave& w, const Inst& inst) {
    // With one half of 32 lanes there is nothing to swap with.
    LaneBuffer tmp;
    store_words(w.v[inst.dst[0].reg].data(), raw_source(w, inst.src[0], tmp).lo, w.exec());
}

void swap(Wave& w, const Inst& inst) {
    for (int l = 0; l < kLanes; ++l)
        if (w.exec() >> l & 1) std::swap(w.v[inst.dst[0].reg][l], w.v[inst.src[0].reg][l]);
}

void swap16(Wave& w, const Inst& inst) {
    const auto place = [](u32& reg, bool high, u32 half) {
        reg = high ? (reg & 0xffffu) | half << 16 : (reg & 0xffff0000u) | (half & 0xffffu);
    };
    const Operand &d = inst.dst[0], &s = inst.src[0];
    for (u32 m = w.exec(); m; m &= m - 1) {
        const int l = std::countr_zero(m);
        const u32 a = w.v[d.reg][l] >> (d.high ? 16 : 0), b = w.v[s.reg][l] >> (s.high ? 16 : 0);
        place(w.v[d.reg][l], d.high, b);
        place(w.v[s.reg][l], s.high, a);
    }
}

/// Register index that M0 displaces.
int displaced(const Wave& w, int reg, int64_t by) {
    const int64_t index = int64_t{reg} + by;
    if (index < 0 || index >= kVgprCount)
        raise(FaultKind::kIllegalAddress, -1,
              "vector register " + std::to_string(index) + " by M0 " + hex(w.s[kM0]));
    return static_cast<int>(index);
}

int64_t whole_m0(const Wave& w) {
    return static_cast<int32_t>(w.s[kM0]);
}
// Two displacements in M0: bits 0 to 9 for the source, 16 to 25 for the destination.
int source_of_two(const Wave& w, const Inst& inst) {
    return displaced(w, inst.src[0].reg, w.s[kM0] & 0x3ff);
}
int destination_of_two(const Wave& w, const Inst& inst) {
    return displaced(w, inst.dst[0].reg, w.s[kM0] >> 16 & 0x3ff);
}

void movrelsd_2(Wave& w, const Inst& inst) {
    store_words(w.v[destination_of_two(w, inst)].data(), w.v[source_of_two(w, inst)].data(), w.exec());
}

void swaprel(Wave& w, const Inst& inst) {
    auto &d = w.v[destination_of_two(w, inst)], &s = w.v[source_of_two(w, inst)];
    for (int l = 0; l < kLanes; ++l)
        if (w.exec() >> l & 1) std::swap(d[l], s[l]);
}

void movrels(Wave& w, const Inst& inst) {
    store_words(w.v[inst.dst[0].reg].data(), w.v[displaced(w, inst.src[0].reg, whole_m0(w))].data(),
                w.exec());
}

void movreld(Wave& w, const Inst& inst) {
    LaneBuffer tmp;
    store_words(w.v[displaced(w, inst.dst[0].reg, whole_m0(w))].data(), raw_source(w, inst.src[0], tmp).lo,
                w.exec());
}

void movrelsd(Wave& w, const Inst& inst) {
    store_words(w.v[displaced(w, inst.dst[0].reg, whole_m0(w))].data(),
                w.v[displaced(w, inst.src[0].reg, whole_m0(w))].data(), w.exec());
}

}  // namespace

void register_cross_lane(OpTable& t) {
    const auto add = [&](const char* name, Handler fn, std::vector<Type> src, uint32_t flags = 0) {
        t.add(name, fn, InstClass::kCrossLane, Form::kPlain, {Type::kB32}, std::move(src), flags);
    };
    add("v_readfirstlane_b32", &readfirstlane, {Type::kB32});
    add("v_readlane_b32", &readlane, {Type::kB32, Type::kB32});
    add("v_writelane_b32", &writelane, {Type::kB32, Type::kB32});
    add("v_permlane16_b32", &permlane_scalar<false>, {Type::kB32, Type::kB32, Type::kB32}, kFlagOpSelOwn);
    add("v_permlanex16_b32", &permlane_scalar<true>, {Type::kB32, Type::kB32, Type::kB32}, kFlagOpSelOwn);
    add("v_permlane16_var_b32", &permlane_vector<false>, {Type::kB32, Type::kB32}, kFlagOpSelOwn);
    add("v_permlanex16_var_b32", &permlane_vector<true>, {Type::kB32, Type::kB32}, kFlagOpSelOwn);
    add("v_permlane64_b32", &permlane64, {Type::kB32});
    add("v_movrels_b32", &movrels, {Type::kB32}, kFlagReadsM0);
    add("v_movreld_b32", &movreld, {Type::kB32}, kFlagReadsM0);
    add("v_movrelsd_b32", &movrelsd, {Type::kB32}, kFlagReadsM0);
    add("v_movrelsd_2_b32", &movrelsd_2, {Type::kB32}, kFlagReadsM0 | kFlagM0Pair);
    add("v_swaprel_b32", &swaprel, {Type::kB32}, kFlagReadsM0 | kFlagM0Pair | kFlagWritesSource);
    add("v_swap_b32", &swap, {Type::kB32}, kFlagWritesSource);
    t.add("v_swap_b16", &swap16, InstClass::kCrossLane, Form::kPlain, {Type::kB16}, {Type::kB16},
          kFlagWritesSource);
    add("v_mbcnt_lo_u32_b32", &mbcnt_lo, {Type::kB32, Type::kB32});
    add("v_mbcnt_hi_u32_b32", &mbcnt_hi, {Type::kB32, Type::kB32});
}

}  // namespace ckitchen::gfxsim

// Neighborhood attention on matrix units. A wave works on its own: it takes a box of up to 16 neighbouring
// queries of one residue class, head after head, and goes through the union of their windows, 32 keys at a
// time, wherever these lie in memory. Scores, the running softmax and the weights stay in registers: what a
// matrix product leaves in a lane is what the next one takes from it. What differs between matrix units is in
// na3d_wmma.h and na3d_mma.h.
//
// Which key is hidden from which query is a matrix product too, in front of the scores' sum. Along an axis,
// tiles of t queries have at most 2t - 1 kinds of keys: those that only the first i queries see, those that
// all see, and those that only the last i see. A key is a row with a one for its kind on every axis, a query
// a column with -kHidden for the kinds that it does not see.
#pragma once

#include "../device/matrix.h"
#include "na3d_window.h"

namespace ckitchen {

// Keys that a wave takes at a time.
constexpr int kNa3dBlockKeys = 32;

// A wave lists the keys of its box before it reads them, this many at a time. The list serves all heads when
// it holds the whole box, as it does for the usual windows.
constexpr uint32_t kNa3dListKeys = 320;

// Rows of 16 bfloat16, for every combination of kinds; the last one is that of no key, hidden from all
// queries.
constexpr uint32_t kNa3dKindBytes = 32;
constexpr uint32_t kNa3dKindRows = 64;
constexpr uint32_t kNa3dNoKey = kNa3dKindRows - 1;

// 1 and -2^120 in bfloat16. Hidden keys stay far below every score that leaves the softmax a choice, and the
// sum of three is finite.
constexpr uint32_t kNa3dOne = 0x3f80;
constexpr uint32_t kNa3dHidden = 0xfb80;

// How far, in powers of two, weights may grow beyond 1 before sums and values are scaled down to a new
// maximum.
constexpr float kNa3dHeadroom = 8.0f;
// All weights are 2^this times larger than they are, so that as f16 those down to 2^-21 of the largest have
// full precision. With the headroom they stay within f16.
constexpr float kNa3dWeightExponent = 7.0f;

// A reference beyond this is rounded so coarsely that the shifts below would be lost.
constexpr float kNa3dLargeReference = 0x1p10f;

template <typename Format>
constexpr bool kIsFloat16 = false;
template <>
constexpr bool kIsFloat16<Float16Format> = true;

// Weights are cut to their type, and their sum is of what is left. So that many equal ones are not all off
// alike, those of neighbouring keys are first raised by different parts of their last place, as many as this.
// Raising by a factor takes no instruction a weight: it shifts what is subtracted from the scores. Mantissas
// from 1 to 2 have last places of different relative size; 0.75 of the largest misses the mean by an eighth
// of a place at most.
constexpr int kNa3dShifts = 4;
template <typename Format>
constexpr float shift_of(int index) {
    const float last_place = kIsFloat16<Format> ? 0x1p-10f : 0x1p-7f;
    return (static_cast<float>(index) + 0.5f) / kNa3dShifts * 0.75f * last_place * kNa3dLog2E;
}

// Two elements, low and high, of finite values rounded to nearest even.
template <typename Format>
CK_DEVICE uint32_t rounded_pair(float low, float high) {
#if defined(__NVPTX__)
    uint32_t pair;
    if constexpr (kIsFloat16<Format>) {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    } else {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    }
    return pair;
#else
    if constexpr (kIsFloat16<Format>) {
        return Format::from_float(low) | Format::from_float(high) << 16;
    } else {
        uint32_t low_bits = __builtin_bit_cast(uint32_t, low);
        uint32_t high_bits = __builtin_bit_cast(uint32_t, high);
        low_bits += 0x7fffu + (low_bits >> 16 & 1u);
        high_bits += 0x7fffu + (high_bits >> 16 & 1u);
        return __builtin_amdgcn_perm(high_bits, low_bits, 0x07060302u);
    }
#endif
}

// Two weights, low and high, cut.
template <typename Format>
CK_DEVICE uint32_t cut_pair(float low, float high) {
#if defined(__NVPTX__)
    uint32_t pair;
    if constexpr (kIsFloat16<Format>) {
        asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    } else {
        asm("prmt.b32 %0, %1, %2, 0x7632;" : "=r"(pair) : "f"(low), "f"(high));
    }
    return pair;
#else
    if constexpr (kIsFloat16<Format>) {
        return __builtin_bit_cast(uint32_t, __builtin_amdgcn_cvt_pkrtz(low, high));
    } else {
        return __builtin_amdgcn_perm(__builtin_bit_cast(uint32_t, high), __builtin_bit_cast(uint32_t, low),
                                     0x07060302u);
    }
#endif
}

CK_DEVICE uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

// Kinds of keys along an axis.
CK_DEVICE uint32_t kinds_of(uint32_t tile) {
    return 2 * tile - 1;
}

// The kind of the key at `place` of `count` in the box of a tile. Kind tile - 1, in the middle, is that of
// keys that all queries see; where windows are so short that there are none, nothing is of this kind.
CK_DEVICE uint32_t kind_of(uint32_t place, uint32_t tile, uint32_t count) {
    const uint32_t last = tile - 1;
    const uint32_t middle_end = count >= tile + last ? count - tile : last - 1;
    return smaller(place, last) + (place > middle_end ? place - middle_end : 0);
}

// From bits for kinds to bits for columns: the middle kind has none.
CK_DEVICE uint32_t columns_of(uint32_t kinds, uint32_t tile) {
    const uint32_t before = (1u << (tile - 1)) - 1;
    return (kinds & before) | (kinds >> 1 & ~before);
}

// One bfloat16 of `value` or 0 for each of two bits.
CK_DEVICE uint32_t spread_bits(uint32_t bits, uint32_t value) {
    return (bits & 1u ? value : 0) | (bits & 2u ? value << 16 : 0);
}

struct Na3dKeyList {
    static constexpr uint32_t kKeys = kNa3dListKeys;
    static constexpr uint32_t kBytes = kKeys * 10;

    LocalPointer<uint32_t> k_offset;  // from the wave's base, in bytes
    LocalPointer<uint32_t> v_offset;
    LocalPointer<uint16_t> kind;  // offset of the kinds' row
    LocalPointer<uint8_t> kind_rows;

    CK_DEVICE Na3dKeyList(LocalPointer<uint8_t> rows, LocalPointer<uint8_t> list) {
        k_offset = reinterpret_cast<LocalPointer<uint32_t>>(list);
        v_offset = k_offset + kKeys;
        kind = reinterpret_cast<LocalPointer<uint16_t>>(v_offset + kKeys);
        kind_rows = rows;
    }
};

// The queries of a tile, from its first one, for the heads to come.
struct Na3dQueryList {
    static constexpr uint32_t kBytes = kNa3dMatrixQueries * 20;

    LocalPointer<uint64_t> q_offset;
    LocalPointer<uint64_t> out_offset;  // even; one more where there is no query
    LocalPointer<uint32_t> hidden;      // columns of kinds of keys that it does not see

    CK_DEVICE explicit Na3dQueryList(LocalPointer<uint8_t> memory) {
        q_offset = reinterpret_cast<LocalPointer<uint64_t>>(memory);
        out_offset = q_offset + kNa3dMatrixQueries;
        hidden = reinterpret_cast<LocalPointer<uint32_t>>(out_offset + kNa3dMatrixQueries);
    }
};

// An axis of a tile: its queries, at places `first` + i, and the box [low, low + count) of keys that they
// see. Query i sees [begin(i), end(i)) of the box. Numbers that only matter near the tile are bounded to its
// neighbourhood.
struct Na3dTileAxis {
    int32_t first;
    int32_t low;
    uint32_t size;     // of the tile
    uint32_t queries;  // that exist
    uint32_t count;
    int32_t shift;  // begin(i) is i + shift, between 0 and `latest`
    int32_t latest;
    uint32_t length;  // of a window; of the first one if causal, where each is one longer than the one before
    bool causal;

    CK_DEVICE bool open(const Na3dAxis& axis, int64_t residue, int64_t place, uint32_t tile_size) {
        const int32_t all = static_cast<int32_t>(class_length(axis, residue));
        first = static_cast<int32_t>(place);
        size = tile_size;
        const int32_t left = all - first;
        if (left <= 0) return false;
        queries = smaller(static_cast<uint32_t>(left), size);
        causal = axis.causal != 0;
        const int32_t kernel = static_cast<int32_t>(axis.kernel);
        const int32_t window = causal ? kernel : smaller_of(kernel, all);
        const int32_t wanted = first - (causal ? window - 1 : window / 2);
        const int32_t most = causal ? wanted : all - window;
        low = larger_of(smaller_of(wanted, most), 0);
        shift = larger_of(smaller_of(wanted - low, kBound), -kBound);
        latest = causal ? kBound : smaller_of(most - low, kBound);
        length = static_cast<uint32_t>(causal ? first + 1 - low : window);
        count = end(queries - 1);
        return true;
    }

    CK_DEVICE uint32_t begin(uint32_t query) const {
        return static_cast<uint32_t>(larger_of(smaller_of(static_cast<int32_t>(query) + shift, latest), 0));
    }
    CK_DEVICE uint32_t end(uint32_t query) const { return length + (causal ? query : begin(query)); }

  private:
    static constexpr int32_t kBound = kNa3dMatrixQueries;
    static CK_DEVICE int32_t smaller_of(int32_t a, int32_t b) { return a < b ? a : b; }
    static CK_DEVICE int32_t larger_of(int32_t a, int32_t b) { return a > b ? a : b; }
};

// A tile and the keys that its queries see.
struct Na3dBox {
    Na3dTile tile;
    Na3dTileAxis axis[3];
    uint32_t keys;

    CK_DEVICE bool open(const Na3dArgs& args, int64_t index) {
        tile = tile_at(reread(args), index);
        CK_UNROLL
        for (int i = 0; i < 3; ++i) {
            const Na3dArgs& again = reread(args);
            if (!axis[i].open(again.axis[i], tile.residue[i], tile.place[i], again.tile[i])) return false;
        }
        keys = axis[0].count * axis[1].count * axis[2].count;
        return true;
    }

    CK_DEVICE uint64_t first_query(const Na3dArgs& args, const Na3dTensor& tensor) const {
        uint64_t address = vector_address(args, tensor, tile, axis[0].first, axis[1].first, axis[2].first);
        compute_now(address);
        return address;
    }

    // The lowest address of a key.
    CK_DEVICE uint64_t base(const Na3dArgs& args, const Na3dTensor& tensor) const {
        uint64_t address = vector_address(args, tensor, tile, axis[0].low, axis[1].low, axis[2].low);
        CK_UNROLL
        for (int i = 0; i < 3; ++i) {
            const int64_t step = tensor.stride[i + 1] * args.axis[i].dilation;
            if (step < 0) address += static_cast<uint64_t>(step) * (axis[i].count - 1);
        }
        compute_now(address);
        return address;
    }
};

// Offsets from a tensor's base in a box: that of the first key and from key to key.
struct Na3dBoxOffsets {
    uint32_t first;
    uint32_t along[3];

    CK_DEVICE Na3dBoxOffsets(const Na3dArgs& args, const Na3dTensor& tensor, const Na3dBox& box) {
        first = 0;
        CK_UNROLL
        for (int axis = 0; axis < 3; ++axis) {
            along[axis] = static_cast<uint32_t>(tensor.stride[axis + 1]) * args.axis[axis].dilation;
            if (tensor.stride[axis + 1] < 0) first -= along[axis] * (box.axis[axis].count - 1);
        }
    }

    CK_DEVICE uint32_t offset(const uint32_t (&place)[3]) const {
        return first + place[0] * along[0] + place[1] * along[1] + place[2] * along[2];
    }
};

// kWidth: the elements of a head vector that the matrix products cover.
template <template <typename, int, bool> class UnitOf, int kWidth, int kWaves>
struct Na3dMatrix {
    static constexpr uint32_t kKindBytes = kNa3dKindRows * kNa3dKindBytes;
    static constexpr uint32_t kUnitBytes = UnitOf<Bfloat16Format, kWidth, true>::kLocalBytes;
    static constexpr uint32_t kWaveBytes = Na3dKeyList::kBytes + Na3dQueryList::kBytes + kUnitBytes;
    static constexpr uint32_t kLocalBytes = kKindBytes + kWaves * kWaveBytes;

    static CK_DEVICE void run(const Na3dArgs& kernel_args, LocalPointer<uint8_t> local) {
        write_kind_rows(reread(kernel_args), local);
        local_barrier();
        const bool full = reread(kernel_args).pieces == kWidth / 8;
        if (reread(kernel_args).type == kElementFloat16) {
            if (full) {
                run_tiles<UnitOf<Float16Format, kWidth, true>>(kernel_args, local);
            } else {
                run_tiles<UnitOf<Float16Format, kWidth, false>>(kernel_args, local);
            }
        } else {
            if (full) {
                run_tiles<UnitOf<Bfloat16Format, kWidth, true>>(kernel_args, local);
            } else {
                run_tiles<UnitOf<Bfloat16Format, kWidth, false>>(kernel_args, local);
            }
        }
    }

    static CK_DEVICE void write_kind_rows(const Na3dArgs& args, LocalPointer<uint8_t> local) {
        CK_NO_UNROLL
        for (uint32_t row = workitem_id(); row < kNa3dKindRows; row += kWaves * kWaveSize) {
            uint32_t bits = 0;
            uint32_t first_column = 0;
            uint32_t rest = row;
            CK_UNROLL
            for (int axis = 2; axis >= 0; --axis) {
                const uint32_t size = args.tile[axis];
                if (size == 1) continue;
                const uint32_t kinds = kinds_of(size);
                // 3, 7 or 15, of numbers below 64.
                const uint32_t next = rest * (kinds == 3 ? 21846 : kinds == 7 ? 9363 : 4370) >> 16;
                bits |= columns_of(1u << (rest - next * kinds), size) << first_column;
                rest = next;
                first_column += kinds - 1;
            }
            bits = row == kNa3dNoKey ? 1u << kNa3dMatrixColumns : bits;
            CK_UNROLL
            for (int half = 0; half < 2; ++half) {
                Uint32x4 words;
                CK_UNROLL
                for (int word = 0; word < 4; ++word)
                    words[word] = spread_bits(bits >> (8 * half + 2 * word), kNa3dOne);
                store_local_16_bytes(local + row * kNa3dKindBytes + 16 * half, words);
            }
        }
    }

    template <typename Unit>
    static CK_DEVICE void run_tiles(const Na3dArgs& kernel_args, LocalPointer<uint8_t> local) {
        int64_t tile = static_cast<int64_t>(workgroup_id()) * kWaves + wave_id();
        CK_NO_UNROLL
        while (true) {
            const Na3dArgs& args = reread(kernel_args);
            if (tile >= args.tiles) return;
            run_tile<Unit>(args, tile, local);
            tile += static_cast<int64_t>(reread(args).groups) * kWaves;
        }
    }

    static CK_DEVICE void write_queries(const Na3dArgs& args, const Na3dQueryList& list, const Na3dBox& box) {
        const uint32_t slot = lane_id_again() % kNa3dMatrixQueries;
        uint32_t rest = slot;
        uint32_t first_column = 0;
        uint32_t hidden = 1u << kNa3dMatrixColumns;
        uint64_t q = 0;
        uint64_t out = 0;
        bool exists = true;
        CK_UNROLL
        for (int axis = 2; axis >= 0; --axis) {
            const Na3dTileAxis& along = box.axis[axis];
            const uint32_t size = along.size;
            if (size == 1) continue;
            const uint32_t wanted = rest & (size - 1);
            rest >>= __builtin_ctz(size);
            exists &= wanted < along.queries;
            const uint32_t within = smaller(wanted, along.queries - 1);
            const uint64_t step = static_cast<uint64_t>(within) * args.axis[axis].dilation;
            q += step * static_cast<uint64_t>(args.q.stride[axis + 1]);
            out += step * static_cast<uint64_t>(args.out.stride[axis + 1]);
            const uint32_t first = kind_of(along.begin(within), size, along.count);
            const uint32_t last = kind_of(along.end(within) - 1, size, along.count);
            const uint32_t seen = columns_of((2u << last) - (1u << first), size);
            const uint32_t columns = kinds_of(size) - 1;
            hidden |= (((1u << columns) - 1) & ~seen) << first_column;
            first_column += columns;
        }
        exists &= rest == 0;
        wave_local_fence();
        if (lane_id() < kNa3dMatrixQueries) {
            list.q_offset[slot] = q;
            list.out_offset[slot] = out | (exists ? 0 : 1);
            list.hidden[slot] = hidden;
        }
        wave_local_fence();
    }

    // Keys [first, first + kNa3dListKeys) of the box, the last axis fastest, as far as blocks go.
    static CK_DEVICE void write_list(const Na3dArgs& args, const Na3dKeyList& list, const Na3dBox& box,
                                     uint32_t first) {
        wave_local_fence();
        const Na3dArgs& k_args = reread(args);
        const Na3dBoxOffsets k(k_args, k_args.k, box);
        const Na3dArgs& v_args = reread(args);
        const Na3dBoxOffsets v(v_args, v_args.v, box);
        const uint32_t keys = box.keys;
        const uint32_t left = keys - first + kNa3dBlockKeys - 1;
        const uint32_t entries = smaller(left - left % kNa3dBlockKeys, kNa3dListKeys);
        const uint32_t count_2 = box.axis[2].count;
        const uint32_t count_1 = box.axis[1].count;
        const float part_2 = 1.0f / static_cast<float>(count_2);
        const float part_1 = 1.0f / static_cast<float>(count_1);
        CK_NO_UNROLL
        for (uint32_t entry = lane_id_again(); entry < entries; entry += kWaveSize) {
            const uint32_t key = first + entry;
            uint32_t row;
            uint32_t plane;
            if (keys <= kExactQuotients) {
                row = quotient_of(key, part_2);
                plane = quotient_of(row, part_1);
            } else {
                row = key / count_2;
                plane = row / count_1;
            }
            const uint32_t place[3] = {plane, row - plane * count_1, key - row * count_2};
            uint32_t kind = 0;
            uint32_t combinations = 1;
            CK_UNROLL
            for (int axis = 2; axis >= 0; --axis) {
                const uint32_t size = box.axis[axis].size;
                if (size == 1) continue;
                kind += kind_of(place[axis], size, box.axis[axis].count) * combinations;
                combinations *= kinds_of(size);
            }
            // Where there is no key, the first one is read and hidden.
            const bool exists = key < keys;
            list.k_offset[entry] = exists ? k.offset(place) : k.first;
            list.v_offset[entry] = exists ? v.offset(place) : v.first;
            list.kind[entry] = static_cast<uint16_t>((exists ? kind : kNa3dNoKey) * kNa3dKindBytes);
        }
        wave_local_fence();
    }

    // n / d by the reciprocal of d, for n up to this: one half more than n is further from the next multiple
    // of d than the product is off.
    static constexpr uint32_t kExactQuotients = 1 << 20;
    static CK_DEVICE uint32_t quotient_of(uint32_t n, float reciprocal) {
        return static_cast<uint32_t>((static_cast<float>(n) + 0.5f) * reciprocal);
    }

    template <typename Unit>
    static CK_DEVICE void run_tile(const Na3dArgs& args, int64_t tile, LocalPointer<uint8_t> local) {
        constexpr int kQueries = Unit::kQueries;
        constexpr int kScores = Unit::kScores;
        Na3dBox box;
        if (!box.open(args, tile)) return;
        const uint32_t keys = box.keys;
        const LocalPointer<uint8_t> own = local + kKindBytes + wave_id() * kWaveBytes;
        const Na3dKeyList list(local, own + Na3dQueryList::kBytes);
        const bool listed = keys <= kNa3dListKeys;
        if (listed) write_list(args, list, box, 0);
        const Na3dQueryList queries(own);
        write_queries(reread(args), queries, box);
        const Na3dArgs& q_args = reread(args);
        uint64_t q_base = box.first_query(q_args, q_args.q);
        const Na3dArgs& out_args = reread(args);
        uint64_t out_base = box.first_query(out_args, out_args.out);
        Unit unit;
        unit.begin(own + Na3dQueryList::kBytes + Na3dKeyList::kBytes, args.pieces, queries);

        const float scale = reread(args).scale;
        const float factor = __builtin_fabsf(scale) * kNa3dLog2E;
        const Na3dArgs& k_args = reread(args);
        uint64_t k_base = box.base(k_args, k_args.k);
        const Na3dArgs& v_args = reread(args);
        uint64_t v_base = box.base(v_args, v_args.v);
        const int64_t heads_left = reread(args).heads - box.tile.head;
        const uint32_t at_once = reread(args).heads_at_once;
        const uint32_t heads = heads_left < at_once ? static_cast<uint32_t>(heads_left) : at_once;
        CK_NO_UNROLL
        for (uint32_t head = 0; head < heads; ++head) {
            // A negative scale turns the queries round, so that the largest score has the largest weight.
            unit.load_queries(queries, q_base, scale < 0 ? 0x80008000u : 0);
            float maximum[kQueries];
            float reference[kQueries];
            CK_UNROLL
            for (int query = 0; query < kQueries; ++query) {
                maximum[query] = -kNa3dMaxFloat;
                reference[query] = 0.0f;
            }
            CK_NO_UNROLL
            for (uint32_t first = 0; first < keys; first += kNa3dListKeys) {
                if (!listed) {
                    // The box is computed anew: it would take many registers through the loops.
                    Na3dBox again;
                    again.open(args, static_cast<int64_t>(scalar_again(static_cast<uint64_t>(tile))));
                    write_list(args, list, again, first);
                }
                const uint32_t entries = smaller(keys - first, kNa3dListKeys);
                unit.begin_list(list, k_base, v_base);
                CK_NO_UNROLL
                for (uint32_t entry = 0; entry < entries; entry += kNa3dBlockKeys) {
                    unit.begin_block(list, entry, v_base);
                    float score[kQueries][kScores];
                    unit.multiply_keys(list, entry, k_base, score);
                    const uint32_t next = entry + kNa3dBlockKeys;
                    unit.prepare_block(list, next, next < entries, k_base, v_base);
                    softmax(unit, factor, maximum, reference, score);
                    unit.multiply_values(list, entry, v_base, score);
                }
            }
            float sum[kQueries];
            unit.read_sums(sum);
            const Na3dArgs& next_args = reread(args);
            CK_UNROLL
            for (int query = 0; query < kQueries; ++query) {
                // Without a sum scores were beyond float32: any finite values do.
                const bool valid = sum[query] > 0.0f && sum[query] <= kNa3dMaxFloat;
                if (!valid) unit.clear(query);
                const uint64_t offset = queries.out_offset[Unit::query_slot(query)];
                unit.store(query, out_base + offset, offset % 2 == 0, valid ? 1.0f / sum[query] : 0.0f);
            }
            q_base += static_cast<uint64_t>(next_args.q.stride[4]);
            out_base += static_cast<uint64_t>(next_args.out.stride[4]);
            k_base += static_cast<uint64_t>(next_args.k.stride[4]);
            v_base += static_cast<uint64_t>(next_args.v.stride[4]);
        }
    }

    // From scores to weights 2^((score - maximum) * factor + kNa3dWeightExponent), to be cut. `reference` is
    // what is subtracted from score * factor, as rounded: what that is off is the same in all weights, and so
    // in their sum.
    template <typename Unit>
    static CK_DEVICE void softmax(Unit& unit, float factor, float (&maximum)[Unit::kQueries],
                                  float (&reference)[Unit::kQueries],
                                  float (&score)[Unit::kQueries][Unit::kScores]) {
        float largest[Unit::kQueries];
        CK_UNROLL
        for (int query = 0; query < Unit::kQueries; ++query) {
            largest[query] = score[query][0];
            CK_UNROLL
            for (int index = 1; index < Unit::kScores; ++index)
                largest[query] = __builtin_fmaxf(largest[query], score[query][index]);
        }
        float base[Unit::kQueries];
        bool seldom = false;
        CK_UNROLL
        for (int query = 0; query < Unit::kQueries; ++query) {
            base[query] = reference[query];
            seldom |= (largest[query] - maximum[query]) * factor > kNa3dHeadroom;
            seldom |= __builtin_fabsf(reference[query]) > kNa3dLargeReference;
        }
        // Lanes that share a query join what they found only where one of them found much.
        if (any_lane(seldom)) {
            unit.join_maxima(largest);
            CK_UNROLL
            for (int query = 0; query < Unit::kQueries; ++query)
                base[query] = raise_maximum(unit, query, factor, largest[query], maximum[query],
                                            reference[query], score[query]);
        }
        CK_UNROLL
        for (int query = 0; query < Unit::kQueries; ++query) {
            float shifted[kNa3dShifts];
            CK_UNROLL
            for (int index = 0; index < kNa3dShifts; ++index)
                shifted[index] = shift_of<typename Unit::ElementFormat>(index) - base[query];
            CK_UNROLL
            for (int index = 0; index < Unit::kScores; ++index)
                score[query][index] = exp2_approximately(
                    __builtin_fmaf(score[query][index], factor, shifted[index % kNa3dShifts]));
        }
    }

    // Scales sums and values down where the maximum grew by much. Returns what to subtract from the scores.
    template <typename Unit>
    static CK_DEVICE float raise_maximum(Unit& unit, int query, float factor, float largest, float& maximum,
                                         float& reference, float (&score)[Unit::kScores]) {
        if ((largest - maximum) * factor > kNa3dHeadroom) {
            // Infinite scores have no differences.
            const float bounded = __builtin_fminf(largest, kNa3dMaxFloat);
            unit.scale(query, exp2_approximately((maximum - bounded) * factor));
            maximum = bounded;
            reference = bounded * factor - kNa3dWeightExponent;
        }
        CK_UNROLL
        for (int index = 0; index < Unit::kScores; ++index)
            score[index] = __builtin_fminf(score[index], kNa3dMaxFloat);
        if (__builtin_fabsf(reference) <= kNa3dLargeReference) return reference;
        CK_UNROLL
        for (int index = 0; index < Unit::kScores; ++index) score[index] -= maximum;
        return -kNa3dWeightExponent;
    }
};

}  // namespace ckitchen

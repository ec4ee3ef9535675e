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

constexpr int kNa3dBlockKeys = 32;

// A wave lists the keys of its box before it reads them, this many at a time. The list serves all heads when
// it holds the whole box.
constexpr uint32_t kNa3dListKeys = 320;
constexpr uint32_t kNa3dListBytes = kNa3dListKeys * 10;

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

// A reference beyond this is rounded so coarsely that it could lift weights out of their type.
constexpr float kNa3dLargeReference = 0x1p16f;

template <typename Format>
constexpr bool kIsFloat16 = false;
template <>
constexpr bool kIsFloat16<Float16Format> = true;

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

CK_DEVICE uint32_t smaller(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

// Kinds along an axis that tell queries apart.
CK_DEVICE uint32_t kinds_of(uint32_t tile) {
    return tile > 1 ? 2 * tile - 1 : 0;
}

// The kind of the key at `place` of `count` in the box of a tile.
CK_DEVICE uint32_t kind_of(uint32_t place, uint32_t tile, uint32_t count) {
    const uint32_t last = tile - 1;
    const uint32_t middle_end = count > tile + last ? count - tile : last;
    return smaller(place, last) + (place > middle_end ? place - middle_end : 0);
}

// One bfloat16 of `value` or 0 for each of two bits.
CK_DEVICE uint32_t spread_bits(uint32_t bits, uint32_t value) {
    return (bits & 1u ? value : 0) | (bits & 2u ? value << 16 : 0);
}

struct Na3dKeyList {
    LocalPointer<uint32_t> k_offset;  // from the wave's base, in bytes
    LocalPointer<uint32_t> v_offset;
    LocalPointer<uint16_t> kind;  // offset of the kinds' row
    LocalPointer<uint8_t> kind_rows;

    CK_DEVICE Na3dKeyList(LocalPointer<uint8_t> rows, LocalPointer<uint8_t> list) {
        k_offset = reinterpret_cast<LocalPointer<uint32_t>>(list);
        v_offset = k_offset + kNa3dListKeys;
        kind = reinterpret_cast<LocalPointer<uint16_t>>(v_offset + kNa3dListKeys);
        kind_rows = rows;
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

// Offsets in a tensor from the address that is lowest in a box: those of its first key and from key to key.
struct Na3dBoxOffsets {
    uint64_t base;
    uint32_t first;
    uint32_t along[3];

    CK_DEVICE Na3dBoxOffsets(const Na3dArgs& args, const Na3dTensor& tensor, const Na3dTile& tile,
                             const Na3dTileAxis (&box)[3]) {
        base = vector_address(args, tensor, tile, box[0].low, box[1].low, box[2].low);
        first = 0;
        CK_UNROLL
        for (int axis = 0; axis < 3; ++axis) {
            const int64_t step = tensor.stride[axis + 1] * args.axis[axis].dilation;
            along[axis] = static_cast<uint32_t>(step);
            if (step < 0) {
                const uint64_t span = static_cast<uint64_t>(step) * (box[axis].count - 1);
                base += span;
                first -= static_cast<uint32_t>(span);
            }
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
    static constexpr uint32_t kLocalBytes = kKindBytes + kWaves * (kNa3dListBytes + kUnitBytes);

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
            uint32_t first_kind = 0;
            uint32_t rest = row;
            CK_UNROLL
            for (int axis = 2; axis >= 0; --axis) {
                const uint32_t kinds = kinds_of(args.tile[axis]);
                if (kinds == 0) continue;
                // 3, 7 or 15, of numbers below 64.
                const uint32_t next = rest * (kinds == 3 ? 21846 : kinds == 7 ? 9363 : 4370) >> 16;
                bits |= 1u << (first_kind + rest - next * kinds);
                rest = next;
                first_kind += kinds;
            }
            bits = row == kNa3dNoKey ? 1u << kNa3dMatrixKinds : bits;
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
            const int64_t tiles = args.tiles;
            if (tile >= tiles) return;
            const Na3dTile position = tile_at(args, tile);
            run_tile<Unit>(reread(args), position, local);
            tile += static_cast<int64_t>(reread(args).groups) * kWaves;
        }
    }

    // Where the lane's queries lie, from those of the tile's first one, and what they do not see, a bit for
    // each kind.
    template <typename Unit>
    static CK_DEVICE void place_queries(const Na3dArgs& args, const Na3dTileAxis (&box)[3],
                                        bool (&exists)[Unit::kQueries], uint32_t (&hidden)[Unit::kQueries],
                                        uint64_t (&q)[Unit::kQueries], uint64_t (&out)[Unit::kQueries]) {
        CK_UNROLL
        for (int query = 0; query < Unit::kQueries; ++query) {
            uint32_t rest = Unit::query_slot(query);
            uint32_t first_kind = 0;
            hidden[query] = 1u << kNa3dMatrixKinds;
            exists[query] = true;
            CK_UNROLL
            for (int axis = 2; axis >= 0; --axis) {
                const uint32_t size = box[axis].size;
                if (size == 1) continue;
                const uint32_t wanted = rest & (size - 1);
                rest >>= __builtin_ctz(size);
                exists[query] &= wanted < box[axis].queries;
                const uint32_t within = smaller(wanted, box[axis].queries - 1);
                const uint64_t step = static_cast<uint64_t>(within) * args.axis[axis].dilation;
                q[query] += step * static_cast<uint64_t>(args.q.stride[axis + 1]);
                out[query] += step * static_cast<uint64_t>(args.out.stride[axis + 1]);
                const uint32_t first = kind_of(box[axis].begin(within), size, box[axis].count);
                const uint32_t last = kind_of(box[axis].end(within) - 1, size, box[axis].count);
                const uint32_t seen = (2u << last) - (1u << first);
                const uint32_t kinds = kinds_of(size);
                hidden[query] |= (((1u << kinds) - 1) & ~seen) << first_kind;
                first_kind += kinds;
            }
            exists[query] &= rest == 0;
        }
    }

    // Keys [first, first + kNa3dListKeys) of the box, the last axis fastest, as far as blocks go.
    static CK_DEVICE void write_list(const Na3dKeyList& list, const Na3dBoxOffsets& k,
                                     const Na3dBoxOffsets& v, uint32_t first, uint32_t keys,
                                     const Na3dTileAxis (&box)[3]) {
        const uint32_t left = keys - first + kNa3dBlockKeys - 1;
        const uint32_t entries = smaller(left - left % kNa3dBlockKeys, kNa3dListKeys);
        const uint32_t count_2 = box[2].count;
        const uint32_t count_1 = box[1].count;
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
                const uint32_t size = box[axis].size;
                if (size == 1) continue;
                kind += kind_of(place[axis], size, box[axis].count) * combinations;
                combinations *= kinds_of(size);
            }
            // Where there is no key, the first one is read and hidden.
            const bool exists = key < keys;
            list.k_offset[entry] = exists ? k.offset(place) : k.first;
            list.v_offset[entry] = exists ? v.offset(place) : v.first;
            list.kind[entry] = static_cast<uint16_t>((exists ? kind : kNa3dNoKey) * kNa3dKindBytes);
        }
    }

    // n / d by the reciprocal of d, for n up to this: one half more than n is further from the next multiple
    // of d than the product is off.
    static constexpr uint32_t kExactQuotients = 1 << 20;
    static CK_DEVICE uint32_t quotient_of(uint32_t n, float reciprocal) {
        return static_cast<uint32_t>((static_cast<float>(n) + 0.5f) * reciprocal);
    }

    template <typename Unit>
    static CK_DEVICE void run_tile(const Na3dArgs& args, const Na3dTile& tile, LocalPointer<uint8_t> local) {
        constexpr int kQueries = Unit::kQueries;
        constexpr int kScores = Unit::kScores;
        Na3dTileAxis box[3];
        CK_UNROLL
        for (int axis = 0; axis < 3; ++axis) {
            const Na3dArgs& axis_args = reread(args);
            if (!box[axis].open(axis_args.axis[axis], tile.residue[axis], tile.place[axis],
                                axis_args.tile[axis]))
                return;
        }
        const uint32_t keys = box[0].count * box[1].count * box[2].count;

        const LocalPointer<uint8_t> own = local + kKindBytes + wave_id() * (kNa3dListBytes + kUnitBytes);
        const Na3dKeyList list(local, own);
        const Na3dArgs& q_args = reread(args);
        uint64_t q_first = vector_address(q_args, q_args.q, tile, box[0].first, box[1].first, box[2].first);
        compute_now(q_first);
        const Na3dArgs& out_args = reread(args);
        uint64_t out_first =
            vector_address(out_args, out_args.out, tile, box[0].first, box[1].first, box[2].first);
        compute_now(out_first);
        bool exists[kQueries];
        uint32_t hidden[kQueries];
        uint64_t q_address[kQueries];
        uint64_t out_address[kQueries];
        CK_UNROLL
        for (int query = 0; query < kQueries; ++query) {
            q_address[query] = q_first;
            out_address[query] = out_first;
        }
        place_queries<Unit>(reread(args), box, exists, hidden, q_address, out_address);
        Unit unit;
        unit.begin(own + kNa3dListBytes, args.pieces, hidden);

        const float scale = reread(args).scale;
        const float factor = __builtin_fabsf(scale) * kNa3dLog2E;
        const Na3dArgs& k_args = reread(args);
        const Na3dBoxOffsets k(k_args, k_args.k, tile, box);
        const Na3dArgs& v_args = reread(args);
        const Na3dBoxOffsets v(v_args, v_args.v, tile, box);
        uint64_t k_base = k.base;
        uint64_t v_base = v.base;
        compute_now(k_base);
        compute_now(v_base);
        const int64_t heads_left = reread(args).heads - tile.head;
        const uint32_t at_once = reread(args).heads_at_once;
        const uint32_t heads = heads_left < at_once ? static_cast<uint32_t>(heads_left) : at_once;
        CK_NO_UNROLL
        for (uint32_t head = 0; head < heads; ++head) {
            // A negative scale turns the queries round, so that the largest score has the largest weight.
            unit.load_queries(q_address, scale < 0 ? 0x80008000u : 0);
            float maximum[kQueries];
            float reference[kQueries];
            CK_UNROLL
            for (int query = 0; query < kQueries; ++query) {
                maximum[query] = -kNa3dMaxFloat;
                reference[query] = 0.0f;
            }
            CK_NO_UNROLL
            for (uint32_t first = 0; first < keys; first += kNa3dListKeys) {
                if (head == 0 || keys > kNa3dListKeys) {
                    wave_local_fence();
                    write_list(list, k, v, first, keys, box);
                    wave_local_fence();
                }
                const uint32_t entries = smaller(keys - first, kNa3dListKeys);
                unit.load_keys(list, 0, k_base);
                CK_NO_UNROLL
                for (uint32_t entry = 0; entry < entries; entry += kNa3dBlockKeys) {
                    unit.begin_values(list, entry, v_base);
                    float score[kQueries][kScores];
                    unit.multiply_keys(list, entry, k_base, score);
                    // Behind the last block the first one is read once more.
                    const uint32_t next = entry + kNa3dBlockKeys;
                    unit.load_keys(list, next < entries ? next : 0, k_base);
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
                unit.store(query, out_address[query], exists[query], valid ? 1.0f / sum[query] : 0.0f);
                q_address[query] += static_cast<uint64_t>(next_args.q.stride[4]);
                out_address[query] += static_cast<uint64_t>(next_args.out.stride[4]);
            }
            k_base += static_cast<uint64_t>(next_args.k.stride[4]);
            v_base += static_cast<uint64_t>(next_args.v.stride[4]);
        }
    }

    // From scores to weights 2^((score - maximum) * factor). `reference` is maximum * factor as rounded: what
    // that is off is the same in all weights, and so in their sum.
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
        unit.join_maxima(largest);
        CK_UNROLL
        for (int query = 0; query < Unit::kQueries; ++query) {
            if ((largest[query] - maximum[query]) * factor > kNa3dHeadroom) {
                if (largest[query] > kNa3dMaxFloat) {
                    // Infinite scores have no differences.
                    CK_UNROLL
                    for (int index = 0; index < Unit::kScores; ++index)
                        score[query][index] = __builtin_fminf(score[query][index], kNa3dMaxFloat);
                    largest[query] = kNa3dMaxFloat;
                }
                unit.scale(query, exp2_approximately((maximum[query] - largest[query]) * factor));
                maximum[query] = largest[query];
                reference[query] = largest[query] * factor;
            }
            float base = reference[query];
            if (__builtin_fabsf(base) > kNa3dLargeReference) {
                CK_UNROLL
                for (int index = 0; index < Unit::kScores; ++index) score[query][index] -= maximum[query];
                base = 0.0f;
            }
            CK_UNROLL
            for (int index = 0; index < Unit::kScores; ++index)
                score[query][index] = exp2_approximately(__builtin_fmaf(score[query][index], factor, -base));
        }
    }
};

}  // namespace ckitchen

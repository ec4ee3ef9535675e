// Neighborhood attention in vector arithmetic, for every width, stride and window: in float32 for every type
// (Na3dVector), by two-way dot products for f16 (Na3dDot2). Waves work on their own. A wave takes a tile of
// neighbouring queries of one head and goes through the union of their windows, several keys at a time: a
// head vector lies in a group of lanes, eight elements in each, and the groups take different keys. Every
// group has a softmax of its own (running maximum, sum, weighted values); they are joined at the end.
#pragma once

#include "../device/matrix.h"
#include "na3d_window.h"

namespace ckitchen {

// exp(-distance below the maximum). The difference is taken before any factor, so that its rounding error is
// relative to the difference and not to the logits, which may be large.
CK_DEVICE float softmax_weight(float logit, float maximum) {
    return exp2_approximately((logit - maximum) * kNa3dLog2E);
}

// Bits of eight consecutive elements.
template <typename Format>
struct Na3dPiece {
    static constexpr int kParts = Format::kSize / 2;
    Uint32x4 part[kParts];

    template <LoadPlace kPlace>
    CK_DEVICE void load(uint64_t address) {
        CK_UNROLL
        for (int index = 0; index < kParts; ++index)
            part[index] = load_16_bytes<kPlace>(global_pointer<const uint8_t>(address) + 16 * index);
    }

    CK_DEVICE void convert(float (&value)[kNa3dPieceElements]) const {
        CK_UNROLL
        for (int index = 0; index < kNa3dPieceElements; ++index) {
            if constexpr (Format::kSize == 4) {
                value[index] = Format::to_float(part[index / 4][index % 4]);
            } else {
                const uint32_t word = part[0][index / 2];
                value[index] = Format::to_float(index % 2 == 0 ? word & 0xffffu : word >> 16);
            }
        }
    }

    template <LoadPlace kPlace>
    static CK_DEVICE void store(uint64_t address, const float (&value)[kNa3dPieceElements]) {
        CK_UNROLL
        for (int index = 0; index < kParts; ++index) {
            Uint32x4 bits;
            CK_UNROLL
            for (int word = 0; word < 4; ++word) {
                if constexpr (Format::kSize == 4) {
                    bits[word] = Format::from_float(value[4 * index + word]);
                } else {
                    bits[word] = Format::from_float(value[2 * word]) | Format::from_float(value[2 * word + 1])
                                                                           << 16;
                }
            }
            store_16_bytes<kPlace>(address + 16 * index, bits);
        }
    }
};

// The arithmetic of all types: what a lane does with its piece of the queries, of one key at a time, and of
// that key's values.
template <typename ElementFormat>
struct Na3dFloatMath {
    using Format = ElementFormat;
    using Piece = Na3dPiece<Format>;
    static constexpr int kKeys = 1;
    static constexpr int kElements = kNa3dPieceElements;

    float q[kElements];

    CK_DEVICE void set(const Piece& piece, bool has_piece) {
        piece.convert(q);
        CK_UNROLL
        for (int index = 0; index < kElements; ++index) q[index] = has_piece ? q[index] : 0.0f;
    }

    // What a lane computes of a key or its values for all queries.
    struct Keys {
        float element[kElements];
        CK_DEVICE explicit Keys(const Piece (&piece)[kKeys]) { piece[0].convert(element); }
    };
    using Values = Keys;

    CK_DEVICE float product(const Keys& keys, int) const {
        float sum = q[0] * keys.element[0];
        CK_UNROLL
        for (int e = 1; e < kElements; ++e) sum = __builtin_fmaf(q[e], keys.element[e], sum);
        return sum;
    }

    static CK_DEVICE void accumulate(const float (&logit)[kKeys], float maximum, const Values& values,
                                     float& sum, float (&value)[kElements]) {
        const float weight = softmax_weight(logit[0], maximum);
        sum += weight;
        CK_UNROLL
        for (int e = 0; e < kElements; ++e) value[e] = __builtin_fmaf(weight, values.element[e], value[e]);
    }
};

#if defined(__AMDGCN__)

// The arithmetic of f16 by dot products of two: of neighbouring elements of q and k, which stay as they are,
// and of the weights and values of two keys.
struct Na3dDot2Math {
    using Format = Float16Format;
    using Piece = Na3dPiece<Format>;
    static constexpr int kKeys = 2;
    static constexpr int kElements = kNa3dPieceElements;
    // Weights are at most 2^this, so that as f16 all down to 2^-29 of the largest have full precision.
    static constexpr float kWeightExponent = 15;
    static constexpr uint32_t kOnes = 0x3c003c00;

    Uint32x4 q;

    CK_DEVICE void set(const Piece& piece, bool has_piece) {
        CK_UNROLL
        for (int word = 0; word < 4; ++word) {
            const uint32_t bits = piece.part[0][word];
            q[word] = has_piece ? bits : 0;
        }
    }

    struct Keys {
        Uint32x4 word[kKeys];
        CK_DEVICE explicit Keys(const Piece (&piece)[kKeys]) {
            CK_UNROLL
            for (int key = 0; key < kKeys; ++key) word[key] = piece[key].part[0];
        }
    };

    // An element of both keys' values in each word.
    struct Values {
        uint32_t pair[kElements];
        CK_DEVICE explicit Values(const Piece (&piece)[kKeys]) {
            CK_UNROLL
            for (int word = 0; word < 4; ++word) {
                const uint32_t first = piece[0].part[0][word];
                const uint32_t second = piece[1].part[0][word];
                pair[2 * word] = __builtin_amdgcn_perm(second, first, 0x05040100u);
                pair[2 * word + 1] = __builtin_amdgcn_perm(second, first, 0x07060302u);
            }
        }
    };

    CK_DEVICE float product(const Keys& keys, int key) const {
        float sum = 0.0f;
        CK_UNROLL
        for (int word = 0; word < 4; ++word) sum = dot2_f16(q[word], keys.word[key][word], sum);
        return sum;
    }

    // The sum is of the weights as rounded, as the values' factors are.
    static CK_DEVICE void accumulate(const float (&logit)[kKeys], float maximum, const Values& values,
                                     float& sum, float (&value)[kElements]) {
        uint32_t bits[kKeys];
        CK_UNROLL
        for (int key = 0; key < kKeys; ++key) {
            bits[key] = Format::from_float(
                exp2_approximately(__builtin_fmaf(logit[key] - maximum, kNa3dLog2E, kWeightExponent)));
        }
        const uint32_t weights = bits[0] | bits[1] << 16;
        sum = dot2_f16(weights, kOnes, sum);
        CK_UNROLL
        for (int e = 0; e < kElements; ++e) value[e] = dot2_f16(weights, values.pair[e], value[e]);
    }
};

#endif  // __AMDGCN__

// A place inside the box of the tile's keys, the last axis fastest.
struct Na3dKey {
    uint32_t place[3];
};

CK_DEVICE Na3dKey key_of(uint32_t index, uint32_t count_1, uint32_t count_2) {
    const uint32_t row = index / count_2;
    return {{row / count_1, row % count_1, index % count_2}};
}

// What the address of a key grows by from step to step: `step`, and more where an axis starts over.
struct Na3dStride {
    uint64_t along[3];
    uint64_t step;
    uint64_t carry_2;
    uint64_t carry_1;

    CK_DEVICE Na3dStride(const Na3dArgs& args, const Na3dTensor& tensor, const Na3dKey& by, uint32_t count_1,
                         uint32_t count_2) {
        CK_UNROLL
        for (int axis = 0; axis < 3; ++axis)
            along[axis] = static_cast<uint64_t>(tensor.stride[axis + 1]) * args.axis[axis].dilation;
        step = offset(by);
        carry_2 = along[1] - along[2] * count_2;
        carry_1 = along[0] - along[1] * count_1;
        compute_now(step);
        compute_now(carry_2);
        compute_now(carry_1);
    }

    CK_DEVICE uint64_t offset(const Na3dKey& key) const {
        return along[0] * key.place[0] + along[1] * key.place[1] + along[2] * key.place[2];
    }
};

// Sums of weights and weighted values.
struct Na3dSums {
    static constexpr int kQueries = kNa3dVectorQueries;
    static constexpr int kElements = kNa3dPieceElements;
    float sum[kQueries];
    float value[kQueries][kElements];

    CK_DEVICE void clear() {
        CK_UNROLL
        for (int query = 0; query < kQueries; ++query) {
            sum[query] = 0.0f;
            CK_UNROLL
            for (int e = 0; e < kElements; ++e) value[query][e] = 0.0f;
        }
    }
    CK_DEVICE void scale(int query, float factor) {
        sum[query] *= factor;
        CK_UNROLL
        for (int e = 0; e < kElements; ++e) value[query][e] *= factor;
    }
    CK_DEVICE void add(const Na3dSums& other) {
        CK_UNROLL
        for (int query = 0; query < kQueries; ++query) {
            sum[query] += other.sum[query];
            CK_UNROLL
            for (int e = 0; e < kElements; ++e) value[query][e] += other.value[query][e];
        }
    }
};

template <int kWaves, int kAlignment>
struct Na3dLanes {
    static constexpr LoadPlace kPlace = kAlignment == 16 ? LoadPlace::Aligned : LoadPlace::Anywhere;
    static constexpr int kQueries = kNa3dVectorQueries;
    static constexpr int kElements = kNa3dPieceElements;

    // Goes through the tiles; run_tile(args, tile) does one.
    template <typename RunTile>
    static CK_DEVICE void run_tiles(const Na3dArgs& kernel_args, RunTile run_tile) {
        int64_t tile = static_cast<int64_t>(workgroup_id()) * kWaves + wave_id();
        CK_NO_UNROLL
        while (true) {
            const Na3dArgs& args = reread(kernel_args);
            const int64_t tiles = args.tiles;
            if (tile >= tiles) return;
            run_tile(args, tile_at(args, tile));
            tile += static_cast<int64_t>(reread(args).groups) * kWaves;
        }
    }

    // The sum over the lanes of a head vector, in all of them.
    static CK_DEVICE void sum_lanes(float (&value)[kQueries], uint32_t lanes_log2) {
        if (lanes_log2 > 0) add_exchanged<1>(value);
        if (lanes_log2 > 1) add_exchanged<2>(value);
        if (lanes_log2 > 2) add_exchanged<4>(value);
        if (lanes_log2 > 3) add_exchanged<8>(value);
        if (lanes_log2 > 4) add_exchanged<16>(value);
    }

    template <int kMask, int kCount>
    static CK_DEVICE void add_exchanged(float (&value)[kCount]) {
        CK_UNROLL
        for (int index = 0; index < kCount; ++index) value[index] += exchange_xor_float<kMask>(value[index]);
    }

    // Joins the softmax of each group of lanes with that of the group kMask lanes away.
    template <int kMask>
    static CK_DEVICE void join(float (&maximum)[kQueries], float (&sum)[kQueries],
                               float (&value)[kQueries][kElements]) {
        CK_UNROLL
        for (int query = 0; query < kQueries; ++query) {
            const float joined = __builtin_fmaxf(maximum[query], exchange_xor_float<kMask>(maximum[query]));
            const float factor = softmax_weight(maximum[query], joined);
            maximum[query] = joined;
            sum[query] *= factor;
            sum[query] += exchange_xor_float<kMask>(sum[query]);
            CK_UNROLL
            for (int index = 0; index < kElements; ++index) value[query][index] *= factor;
            add_exchanged<kMask>(value[query]);
        }
    }

    template <typename Math>
    static CK_DEVICE void run_tile(const Na3dArgs& args, const Na3dTile& tile) {
        using Format = typename Math::Format;
        constexpr int kKeys = Math::kKeys;
        const int64_t left = class_length(args.axis[2], tile.residue[2]) - tile.place[2];
        if (left <= 0) return;
        const int queries = left < kQueries ? static_cast<int>(left) : kQueries;

        // The box of the tile's keys. The queries' windows differ along axis 2 only, and move up with them.
        const Na3dWindow window_0 = window_of(args.axis[0], tile.residue[0], tile.place[0]);
        const Na3dWindow window_1 = window_of(args.axis[1], tile.residue[1], tile.place[1]);
        const int64_t low = window_of(args.axis[2], tile.residue[2], tile.place[2]).low;
        uint32_t first[kQueries];
        uint32_t count[kQueries];
        uint32_t count_2 = 0;
        CK_UNROLL
        for (int query = 0; query < kQueries; ++query) {
            const int within = query < queries ? query : queries - 1;
            const Na3dWindow window = window_of(args.axis[2], tile.residue[2], tile.place[2] + within);
            first[query] = static_cast<uint32_t>(window.low - low);
            count[query] = static_cast<uint32_t>(window.count);
            count_2 = first[query] + count[query];
        }
        const uint32_t count_1 = static_cast<uint32_t>(window_1.count);
        const uint32_t count_0 = static_cast<uint32_t>(window_0.count);

        // Lanes without a piece repeat the first one, against a query of zeros.
        const uint32_t lane_in_group = lane_id() & ((1u << args.lanes_log2) - 1);
        const bool has_piece = lane_in_group < args.pieces;
        const uint32_t piece_offset = has_piece ? lane_in_group * kElements * Format::kSize : 0;

        const Na3dArgs& q_args = reread(args);
        uint64_t q_first =
            vector_address(q_args, q_args.q, tile, tile.place[0], tile.place[1], tile.place[2]);
        uint64_t q_step = static_cast<uint64_t>(q_args.q.stride[3]) * q_args.axis[2].dilation;
        compute_now(q_first);
        compute_now(q_step);
        Math math[kQueries];
        CK_UNROLL
        for (int query = 0; query < kQueries; ++query) {
            const int within = query < queries ? query : queries - 1;
            Na3dPiece<Format> piece;
            piece.template load<kPlace>(q_first + q_step * static_cast<uint32_t>(within) + piece_offset);
            math[query].set(piece, has_piece);
        }

        const uint32_t keys_at_once = kWaveSize >> args.lanes_log2;
        const uint32_t group = lane_id() >> args.lanes_log2;
        Na3dKey by = key_of(keys_at_once, count_1, count_2);
        CK_UNROLL
        for (int axis = 0; axis < 3; ++axis) by.place[axis] = as_scalar(by.place[axis]);
        Na3dKey key = key_of(group, count_1, count_2);
        const Na3dArgs& k_args = reread(args);
        const Na3dStride k_stride(k_args, k_args.k, by, count_1, count_2);
        uint64_t k_base = vector_address(k_args, k_args.k, tile, window_0.low, window_1.low, low);
        compute_now(k_base);
        const uint64_t k_first = k_base + piece_offset;
        uint64_t k_address = k_first + k_stride.offset(key);
        const Na3dArgs& v_args = reread(args);
        const Na3dStride v_stride(v_args, v_args.v, by, count_1, count_2);
        uint64_t v_base = vector_address(v_args, v_args.v, tile, window_0.low, window_1.low, low);
        compute_now(v_base);
        const uint64_t v_first = v_base + piece_offset;
        uint64_t v_address = v_first + v_stride.offset(key);
        const Na3dArgs& out_args = reread(args);
        uint64_t out_first =
            vector_address(out_args, out_args.out, tile, tile.place[0], tile.place[1], tile.place[2]);
        uint64_t out_step = static_cast<uint64_t>(out_args.out.stride[3]) * out_args.axis[2].dilation;
        compute_now(out_first);
        compute_now(out_step);

        float maximum[kQueries];
        CK_UNROLL
        for (int query = 0; query < kQueries; ++query) maximum[query] = -kNa3dMaxFloat;
        Na3dSums sums;
        sums.clear();
        // Many small weights of one size are rounded alike when they are added to a large sum. Where float32
        // is the result's type, sums are of at most kFold steps, and sums of these.
        constexpr bool kFolds = Format::kSize == 4;
        constexpr uint32_t kFold = 16;
        Na3dSums earlier;
        if constexpr (kFolds) earlier.clear();
        uint32_t until_fold = kFold;

        // Lanes whose key lies behind the last one read the first key instead, and give it no weight.
        Na3dPiece<Format> k_piece[kKeys];
        Na3dPiece<Format> v_piece[kKeys];
        bool inside[kKeys];
        uint32_t along[kKeys];
        const auto load = [&](int step) CK_INLINE_LAMBDA {
            inside[step] = key.place[0] < count_0;
            along[step] = key.place[2];
            k_piece[step].template load<kPlace>(inside[step] ? k_address : k_first);
            v_piece[step].template load<kPlace>(inside[step] ? v_address : v_first);
        };
        CK_UNROLL
        for (int step = 0; step < kKeys; ++step) {
            if (step > 0) advance(by, count_1, count_2, k_stride, v_stride, key, k_address, v_address);
            load(step);
        }
        const uint64_t keys = static_cast<uint64_t>(count_0) * count_1 * count_2;
        CK_NO_UNROLL
        for (uint64_t index = 0; index < keys; index += keys_at_once * kKeys) {
            const typename Math::Keys k(k_piece);
            const typename Math::Values v(v_piece);
            uint32_t place[kKeys];
            CK_UNROLL
            for (int step = 0; step < kKeys; ++step) place[step] = inside[step] ? along[step] : 0xffffffffu;
            CK_UNROLL
            for (int step = 0; step < kKeys; ++step) {
                advance(by, count_1, count_2, k_stride, v_stride, key, k_address, v_address);
                load(step);
            }

            float logit[kQueries][kKeys];
            bool grew = false;
            CK_UNROLL
            for (int step = 0; step < kKeys; ++step) {
                float product[kQueries];
                CK_UNROLL
                for (int query = 0; query < kQueries; ++query) product[query] = math[query].product(k, step);
                sum_lanes(product, args.lanes_log2);
                CK_UNROLL
                for (int query = 0; query < kQueries; ++query) {
                    // Logits stay finite, so that differences are numbers: a maximum of infinities has none.
                    const float bounded = __builtin_fminf(
                        __builtin_fmaxf(product[query] * args.scale, -kNa3dMaxFloat), kNa3dMaxFloat);
                    const bool seen = place[step] - first[query] < count[query];
                    logit[query][step] = seen ? bounded : -__builtin_inff();
                    grew |= logit[query][step] > maximum[query];
                }
            }
            if (grew) {
                CK_UNROLL
                for (int query = 0; query < kQueries; ++query) {
                    float larger = maximum[query];
                    CK_UNROLL
                    for (int step = 0; step < kKeys; ++step)
                        larger = __builtin_fmaxf(larger, logit[query][step]);
                    const float factor = softmax_weight(maximum[query], larger);
                    maximum[query] = larger;
                    sums.scale(query, factor);
                    if constexpr (kFolds) earlier.scale(query, factor);
                }
            }
            CK_UNROLL
            for (int query = 0; query < kQueries; ++query) {
                Math::accumulate(logit[query], maximum[query], v, sums.sum[query], sums.value[query]);
            }
            if constexpr (kFolds) {
                if (--until_fold == 0) {
                    until_fold = kFold;
                    earlier.add(sums);
                    sums.clear();
                }
            }
        }
        if constexpr (kFolds) sums.add(earlier);
        float(&sum)[kQueries] = sums.sum;
        float(&value)[kQueries][kElements] = sums.value;

        if (args.lanes_log2 < 1) join<1>(maximum, sum, value);
        if (args.lanes_log2 < 2) join<2>(maximum, sum, value);
        if (args.lanes_log2 < 3) join<4>(maximum, sum, value);
        if (args.lanes_log2 < 4) join<8>(maximum, sum, value);
        if (args.lanes_log2 < 5) join<16>(maximum, sum, value);
        CK_UNROLL
        for (int query = 0; query < kQueries; ++query) {
            const float inverse = 1.0f / sum[query];
            CK_UNROLL
            for (int e = 0; e < kElements; ++e) value[query][e] *= inverse;
            // Every group of lanes has the result; they store one query each where there are enough of them.
            if (query < queries && has_piece && group == (query & (keys_at_once - 1))) {
                Na3dPiece<Format>::template store<kPlace>(
                    out_first + out_step * static_cast<uint32_t>(query) + piece_offset, value[query]);
            }
        }
    }

    static CK_DEVICE void advance(const Na3dKey& by, uint32_t count_1, uint32_t count_2,
                                  const Na3dStride& k_stride, const Na3dStride& v_stride, Na3dKey& key,
                                  uint64_t& k_address, uint64_t& v_address) {
        key.place[2] += by.place[2];
        const bool carry_2 = key.place[2] >= count_2;
        key.place[2] -= carry_2 ? count_2 : 0;
        key.place[1] += by.place[1] + (carry_2 ? 1 : 0);
        const bool carry_1 = key.place[1] >= count_1;
        key.place[1] -= carry_1 ? count_1 : 0;
        key.place[0] += by.place[0] + (carry_1 ? 1 : 0);
        k_address += k_stride.step + (carry_2 ? k_stride.carry_2 : 0) + (carry_1 ? k_stride.carry_1 : 0);
        v_address += v_stride.step + (carry_2 ? v_stride.carry_2 : 0) + (carry_1 ? v_stride.carry_1 : 0);
    }
};

template <int kWidth, int kWaves, int kAlignment>
struct Na3dVector {
    static constexpr uint32_t kLocalBytes = 0;

    static CK_DEVICE void run(const Na3dArgs& kernel_args, LocalPointer<uint8_t>) {
        using Lanes = Na3dLanes<kWaves, kAlignment>;
        Lanes::run_tiles(kernel_args, [](const Na3dArgs& args, const Na3dTile& tile) CK_INLINE_LAMBDA {
            if (args.type == kElementFloat32) {
                Lanes::template run_tile<Na3dFloatMath<Float32Format>>(reread(args), tile);
            } else if (args.type == kElementFloat16) {
                Lanes::template run_tile<Na3dFloatMath<Float16Format>>(reread(args), tile);
            } else {
                Lanes::template run_tile<Na3dFloatMath<Bfloat16Format>>(reread(args), tile);
            }
        });
    }
};

#if defined(__AMDGCN__)

template <int kWidth, int kWaves, int kAlignment>
struct Na3dDot2 {
    static constexpr uint32_t kLocalBytes = 0;

    static CK_DEVICE void run(const Na3dArgs& kernel_args, LocalPointer<uint8_t>) {
        using Lanes = Na3dLanes<kWaves, kAlignment>;
        Lanes::run_tiles(kernel_args, [](const Na3dArgs& args, const Na3dTile& tile) CK_INLINE_LAMBDA {
            Lanes::template run_tile<Na3dDot2Math>(reread(args), tile);
        });
    }
};

#endif  // __AMDGCN__

}  // namespace ckitchen

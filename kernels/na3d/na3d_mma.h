// Neighborhood attention on mma.sync m16n8k16. Queries are the rows of the scores: a lane has two of them,
// with 8 of 32 keys each, and the other lanes of its four have the rest.
#pragma once

#include "na3d_matrix.h"

namespace ckitchen {

#if defined(__NVPTX__)

template <typename Format, int kWidth, bool kFull>
struct Na3dMmaUnit {
    using ElementFormat = Format;
    static constexpr int kQueries = 2;
    static constexpr int kScores = kNa3dBlockKeys / 4;
    static constexpr int kBlocks = kNa3dBlockKeys / 8;  // of keys, the columns of one instruction
    static constexpr int kTiles = kNa3dBlockKeys / 16;
    // A lane has every fourth piece of a head vector, as its share of two steps of 16 elements. The order of
    // elements in a product is free.
    static constexpr int kShares = kWidth / 32;
    static constexpr bool kHoldQueries = kWidth <= 128;
    static constexpr bool kHoldKeys = kWidth <= 64;
    static constexpr uint32_t kOnes = kIsFloat16<Format> ? 0x3c003c00u : 0x3f803f80u;

    // Values lie in local memory as they are, their pieces permuted so that eight rows of one piece, which is
    // what ldmatrix reads, touch every bank once.
    static constexpr int kValuePieces = kWidth / 8;
    static constexpr int kRowBytes = 16 * kValuePieces;
    static constexpr int kStageBytes = kNa3dBlockKeys * kRowBytes;
    static constexpr int kStages = kWidth <= 64 ? 2 : 1;
    static constexpr int kLocalBytes = kStages * kStageBytes;

    LocalPointer<uint8_t> local;
    uint32_t lane;
    uint32_t stage;  // where the values that were copied last begin
    uint32_t pieces;
    Uint32x4 mask;
    Uint32x4 query[kHoldQueries ? 2 * kShares : 1];
    Uint32x4 key[kHoldKeys ? kBlocks * kShares : 1];
    uint64_t q_address[kQueries];
    uint32_t flip;
    Float32x4 result[kValuePieces];
    Float32x4 sum;  // of the weights as cut

    static CK_DEVICE uint32_t query_slot(int index) { return value_again(lane_id()) / 4 + 8 * index; }
    CK_DEVICE uint32_t column() const { return lane % 4; }

    CK_DEVICE void begin(LocalPointer<uint8_t> memory, uint32_t piece_count, const Na3dQueryList& queries) {
        local = memory;
        lane = value_again(lane_id());
        pieces = piece_count;
        CK_UNROLL
        for (int word = 0; word < 4; ++word) {
            mask[word] = spread_bits(queries.hidden[query_slot(word % 2)] >> (2 * column() + word / 2 * 8),
                                     kNa3dHidden);
        }
    }

    // Pieces behind the end of a head vector are read as the first one.
    CK_DEVICE uint32_t share_offset(int share) const {
        const uint32_t piece = 4 * share + column();
        return kFull || piece < pieces ? 16 * piece : 0;
    }

    static CK_DEVICE Uint32x4 load(uint64_t address) {
        return load_16_bytes<LoadPlace::Aligned>(global_pointer<const uint8_t>(address));
    }

    CK_DEVICE void load_query(int share, Uint32x4& first, Uint32x4& second) const {
        Uint32x4 row[2];
        CK_UNROLL
        for (int index = 0; index < 2; ++index) {
            const uint64_t wanted = q_address[index];
            const uint64_t address = kHoldQueries ? wanted : address_again(wanted);
            row[index] = load(address + share_offset(share));
            const bool exists = kFull || 4 * share + column() < pieces;
            CK_UNROLL
            for (int word = 0; word < 4; ++word) row[index][word] = exists ? row[index][word] ^ flip : 0;
        }
        first = Uint32x4{row[0].x, row[1].x, row[0].y, row[1].y};
        second = Uint32x4{row[0].z, row[1].z, row[0].w, row[1].w};
    }

    CK_DEVICE void load_queries(const Na3dQueryList& queries, uint64_t base, uint32_t sign_bits) {
        flip = sign_bits;
        CK_UNROLL
        for (int index = 0; index < kQueries; ++index) {
            q_address[index] = base + queries.q_offset[query_slot(index)];
            clear(index);
        }
        if constexpr (kHoldQueries) {
            CK_UNROLL
            for (int share = 0; share < kShares; ++share)
                load_query(share, query[2 * share], query[2 * share + 1]);
        }
    }

    CK_DEVICE void begin_list(const Na3dKeyList& list, uint64_t k_base, uint64_t v_base) {
        stage = 0;
        load_keys(list, 0, k_base);
        if constexpr (kStages == 2) copy_values(list, 0, v_base);
    }

    CK_DEVICE void begin_block(const Na3dKeyList& list, uint32_t first, uint64_t v_base) {
        if constexpr (kStages == 1) copy_values(list, first, v_base);
    }

    // Every block commits a group of copies, if an empty one, so that the number to wait for is constant.
    CK_DEVICE void prepare_block(const Na3dKeyList& list, uint32_t first, bool exists, uint64_t k_base,
                                 uint64_t v_base) {
        if (exists) load_keys(list, first, k_base);
        if constexpr (kStages == 2) {
            stage ^= kStageBytes;
            if (exists) {
                copy_values(list, first, v_base);
            } else {
                commit_async_copies();
            }
        }
    }

    CK_DEVICE void load_keys(const Na3dKeyList& list, uint32_t first, uint64_t base) {
        if constexpr (kHoldKeys) {
            CK_UNROLL
            for (int block = 0; block < kBlocks; ++block) {
                const uint64_t address = base + list.k_offset[first + 8 * block + lane / 4];
                CK_UNROLL
                for (int share = 0; share < kShares; ++share)
                    key[block * kShares + share] = load(address + share_offset(share));
            }
        }
    }

    static CK_DEVICE Float32x4 multiply(Uint32x4 first, Uint32x2 second, Float32x4 accumulator) {
        if constexpr (kIsFloat16<Format>) {
            return mma_float16(first, second, accumulator);
        } else {
            return mma_bfloat16(first, second, accumulator);
        }
    }

    CK_DEVICE void multiply_keys(const Na3dKeyList& list, uint32_t first, uint64_t base,
                                 float (&score)[kQueries][kScores]) const {
        Float32x4 scores[kBlocks];
        CK_UNROLL
        for (int tile = 0; tile < kTiles; ++tile) {
            const uint32_t entry = first + 16 * tile + lane / 16 * 8 + lane % 8;
            const Uint32x4 kinds = load_matrix_x4(list.kind_rows + list.kind[entry] + lane / 8 % 2 * 16);
            scores[2 * tile] = mma_bfloat16(mask, kinds.lo, Float32x4{0, 0, 0, 0});
            scores[2 * tile + 1] = mma_bfloat16(mask, kinds.hi, Float32x4{0, 0, 0, 0});
        }
        uint64_t address[kBlocks];
        if constexpr (!kHoldKeys) {
            CK_UNROLL
            for (int block = 0; block < kBlocks; ++block)
                address[block] = base + list.k_offset[first + 8 * block + lane / 4];
        }
        CK_UNROLL
        for (int share = 0; share < kShares; ++share) {
            Uint32x4 low;
            Uint32x4 high;
            if constexpr (kHoldQueries) {
                low = query[2 * share];
                high = query[2 * share + 1];
            } else {
                load_query(share, low, high);
            }
            CK_UNROLL
            for (int block = 0; block < kBlocks; ++block) {
                Uint32x4 keys;
                if constexpr (kHoldKeys) {
                    keys = key[block * kShares + share];
                } else {
                    keys = load(address[block] + share_offset(share));
                }
                scores[block] = multiply(low, keys.lo, scores[block]);
                scores[block] = multiply(high, keys.hi, scores[block]);
            }
        }
        CK_UNROLL
        for (int index = 0; index < kQueries; ++index) {
            CK_UNROLL
            for (int block = 0; block < kBlocks; ++block) {
                score[index][2 * block] = scores[block][2 * index];
                score[index][2 * block + 1] = scores[block][2 * index + 1];
            }
        }
    }

    static CK_DEVICE void join_maxima(float (&largest)[kQueries]) {
        CK_UNROLL
        for (int index = 0; index < kQueries; ++index) {
            largest[index] = __builtin_fmaxf(largest[index], exchange_xor_float<1>(largest[index]));
            largest[index] = __builtin_fmaxf(largest[index], exchange_xor_float<2>(largest[index]));
        }
    }

    CK_DEVICE void read_sums(float (&total)[kQueries]) const {
        CK_UNROLL
        for (int index = 0; index < kQueries; ++index) total[index] = sum[2 * index];
    }

    // The results become 0, whatever they were.
    CK_DEVICE void clear(int index) {
        CK_UNROLL
        for (int half = 0; half < 2; ++half) {
            CK_UNROLL
            for (int piece = 0; piece < kValuePieces; ++piece) result[piece][2 * index + half] = 0.0f;
            sum[2 * index + half] = 0.0f;
        }
    }

    CK_DEVICE void scale(int index, float shrink) {
        CK_UNROLL
        for (int half = 0; half < 2; ++half) {
            CK_UNROLL
            for (int piece = 0; piece < kValuePieces; ++piece) result[piece][2 * index + half] *= shrink;
            sum[2 * index + half] *= shrink;
        }
    }

    CK_DEVICE void copy_values(const Na3dKeyList& list, uint32_t first, uint64_t base) {
        constexpr uint32_t kRowsAtOnce = kWaveSize / kValuePieces;
        const uint32_t lane_row = lane / kValuePieces;
        const uint32_t piece = lane % kValuePieces;
        const LocalPointer<const uint32_t> offsets = list.v_offset + first + lane_row;
        const uint64_t lane_base = base + (kFull || piece < pieces ? 16 * piece : 0);
        const uint32_t target = lane_row * kRowBytes + (piece ^ lane_row) * 16;
        // All offsets are read before the first copy, in front of which the compiler moves no load.
        uint32_t offset[kNa3dBlockKeys / kRowsAtOnce];
        CK_UNROLL
        for (uint32_t copy = 0; copy < kNa3dBlockKeys / kRowsAtOnce; ++copy)
            offset[copy] = offsets[copy * kRowsAtOnce];
        wave_local_fence();
        CK_UNROLL
        for (uint32_t copy = 0; copy < kNa3dBlockKeys / kRowsAtOnce; ++copy) {
            const uint32_t row = copy * kRowsAtOnce;
            copy_async_16_bytes(local + stage + row * kRowBytes + (target ^ row % 8 * 16),
                                global_pointer<const uint8_t>(lane_base + offset[copy]));
        }
        commit_async_copies();
    }

    CK_DEVICE void multiply_values(const Na3dKeyList&, uint32_t, uint64_t,
                                   const float (&weight)[kQueries][kScores]) {
        Uint32x4 weights[kTiles];
        CK_UNROLL
        for (int tile = 0; tile < kTiles; ++tile) {
            CK_UNROLL
            for (int word = 0; word < 4; ++word) {
                const float(&from)[kScores] = weight[word % 2];
                const int index = 4 * tile + word / 2 * 2;
                weights[tile][word] = cut_pair<Format>(from[index], from[index + 1]);
            }
            sum = multiply(weights[tile], Uint32x2{kOnes, kOnes}, sum);
        }
        wait_async_copies<kStages - 1>();
        wave_local_fence();
        const uint32_t own_stage = kStages == 2 ? stage ^ kStageBytes : 0;
        // Matrices: keys 0-7 and 8-15 of one piece, then of the next.
        const uint32_t source = lane % 16 * kRowBytes + (lane / 16 ^ lane % 8) * 16;
        CK_UNROLL
        for (int pair = 0; pair < kValuePieces / 2; ++pair) {
            CK_UNROLL
            for (int tile = 0; tile < kTiles; ++tile) {
                const Uint32x4 values = load_matrix_x4_transposed(local + own_stage + tile * 16 * kRowBytes +
                                                                  (source ^ 32 * pair));
                result[2 * pair] = multiply(weights[tile], values.lo, result[2 * pair]);
                result[2 * pair + 1] = multiply(weights[tile], values.hi, result[2 * pair + 1]);
            }
        }
    }

    // Swaps words among the four lanes so that each has 16 consecutive bytes.
    CK_DEVICE void store(int index, uint64_t address, bool exists, float inverse) const {
        CK_UNROLL
        for (int share = 0; share < kShares; ++share) {
            uint32_t word[4];
            CK_UNROLL
            for (int block = 0; block < 4; ++block) {
                const Float32x4& four = result[4 * share + block];
                word[block] = rounded_pair<Format>(four[2 * index] * inverse, four[2 * index + 1] * inverse);
            }
            exchange<1>(word[0], word[1]);
            exchange<1>(word[2], word[3]);
            exchange<2>(word[0], word[2]);
            exchange<2>(word[1], word[3]);
            if (exists && (kFull || 4 * share + column() < pieces))
                store_16_bytes<LoadPlace::Aligned>(address + share_offset(share),
                                                   Uint32x4{word[0], word[1], word[2], word[3]});
        }
    }

    // Lanes whose column lacks the bit keep `low` and get the partner's in place of `high`; the others the
    // reverse.
    template <int kBit>
    CK_DEVICE void exchange(uint32_t& low, uint32_t& high) const {
        const bool upper = (column() & kBit) != 0;
        const uint32_t sent = upper ? low : high;
        const uint32_t received = static_cast<uint32_t>(exchange_xor<kBit>(static_cast<int32_t>(sent)));
        low = upper ? received : low;
        high = upper ? high : received;
    }
};

template <int kWidth, int kWaves, int kAlignment>
using Na3dMma = Na3dMatrix<Na3dMmaUnit, kWidth, kWaves>;

#endif

}  // namespace ckitchen

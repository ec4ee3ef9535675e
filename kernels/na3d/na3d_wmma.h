// Neighborhood attention on WMMA, gfx11 and gfx12. Everything is transposed: keys are the rows of the scores
// and queries the columns, so that a lane owns one query, with 16 of 32 keys; its neighbour 16 lanes away has
// the others.
#pragma once

#include "na3d_matrix.h"

namespace ckitchen {

#if defined(__GFX11__) || defined(__GFX12__)

template <typename Format, int kWidth, bool kFull>
struct Na3dWmmaUnit {
    typedef WmmaHalf::Operand Operand;
    using ElementFormat = Format;
    static constexpr int kPieces = WmmaHalf::kPieces;
    static constexpr int kQueries = 1;
    static constexpr int kScores = kNa3dBlockKeys / 2;
    static constexpr int kTiles = kNa3dBlockKeys / 16;
    static constexpr int kSteps = kWidth / 16;
    static constexpr bool kHoldQueries = kWidth * kPieces <= 128;
    static constexpr bool kHoldKeys = kWidth * kPieces <= 64;

    static constexpr int kStepsAtOnce = kHoldQueries && kPieces == 1 ? 4 : kWidth * kPieces > 256 ? 1 : 2;
    static constexpr int kRowsAtOnce = kPieces == 1 ? 4 : kWidth > 128 ? 1 : 2;
    static constexpr bool kLoadValuesEarly = kWidth * kPieces <= 128;

    // Values are transposed 64 elements of 32 keys at a time. Rows of keys, and eight of them, are padded so
    // that neither eight consecutive rows, read together, nor the pieces that are written together share
    // banks.
    static constexpr int kRound = 64;
    static constexpr int kRowBytes = 2 * kNa3dBlockKeys + 16;
    static constexpr int kPieceBytes = 8 * kRowBytes + 64;
    static constexpr int kLocalBytes = kRound / 8 * kPieceBytes;

    LocalPointer<uint8_t> local;
    uint32_t lane;
    uint32_t pieces;
    Operand mask;
    Operand query[kHoldQueries ? kSteps : 1];
    Operand key[kHoldKeys ? kTiles * kSteps : 1];
    uint64_t q_address;
    uint32_t flip;
    Uint32x4 value[8];
    Float32x8 result[kSteps];
    float sum;  // of the weights in this lane, as cut

    static CK_DEVICE uint32_t query_slot(int) { return lane_id_again() % 16; }

    CK_DEVICE void begin(LocalPointer<uint8_t> memory, uint32_t piece_count, const Na3dQueryList& queries) {
        local = memory;
        lane = lane_id_again();
        pieces = piece_count;
        const uint32_t hidden = queries.hidden[lane % 16];
        Uint32x4 piece[kPieces];
        CK_UNROLL
        for (int index = 0; index < kPieces; ++index) {
            const uint32_t bits = hidden >> 8 * (WmmaHalf::first_piece(lane) + index);
            CK_UNROLL
            for (int word = 0; word < 4; ++word)
                piece[index][word] = spread_bits(bits >> 2 * word, kNa3dHidden);
        }
        mask = WmmaHalf::join(piece);
    }

    // Piece 2 * step + within of a head vector. Pieces behind its end are read as the first one.
    static CK_DEVICE uint32_t piece_offset(int step, uint32_t within, uint32_t count) {
        const uint32_t piece = 2 * step + within;
        return kFull || piece < count ? 16 * piece : 0;
    }

    CK_DEVICE Operand load_query(int step) const {
        const uint32_t count = kFull ? 0 : scalar_again(pieces);
        const uint32_t first_piece = WmmaHalf::first_piece(kFull ? lane : lane_id_again());
        const uint64_t address = kHoldQueries ? q_address : address_again(q_address);
        Uint32x4 piece[kPieces];
        CK_UNROLL
        for (int index = 0; index < kPieces; ++index) {
            const uint32_t within = first_piece + index;
            piece[index] = load_16_bytes<LoadPlace::Anywhere>(
                global_pointer<const uint8_t>(address + piece_offset(step, within, count)));
            const bool exists = kFull || 2 * step + within < count;
            CK_UNROLL
            for (int word = 0; word < 4; ++word) piece[index][word] = exists ? piece[index][word] ^ flip : 0;
        }
        return WmmaHalf::join(piece);
    }

    CK_DEVICE void load_queries(const Na3dQueryList& queries, uint64_t base, uint32_t sign_bits) {
        q_address = base + queries.q_offset[lane % 16];
        flip = sign_bits;
        if constexpr (kHoldQueries) {
            CK_UNROLL
            for (int step = 0; step < kSteps; ++step) query[step] = load_query(step);
        }
        CK_UNROLL
        for (int step = 0; step < kSteps; ++step) result[step] = Float32x8{0, 0, 0, 0, 0, 0, 0, 0};
        sum = 0.0f;
    }

    CK_DEVICE Operand load_key(uint64_t base, uint32_t offset, int step) const {
        const uint32_t count = kFull ? 0 : scalar_again(pieces);
        const uint32_t first_piece = WmmaHalf::first_piece(kFull ? lane : lane_id_again());
        Uint32x4 piece[kPieces];
        CK_UNROLL
        for (int index = 0; index < kPieces; ++index) {
            const uint32_t within = first_piece + index;
            uint64_t address;
            if constexpr (kFull) {
                address = lane_address(base, offset + 16 * first_piece) + 32 * step + 16 * index;
            } else {
                address = lane_address(base, offset + piece_offset(step, within, count));
            }
            piece[index] = load_16_bytes<LoadPlace::Anywhere>(global_pointer<const uint8_t>(address));
        }
        return WmmaHalf::join(piece);
    }

    CK_DEVICE void begin_list(const Na3dKeyList& list, uint64_t k_base, uint64_t) {
        load_keys(list, 0, k_base);
    }

    // Keys of the next block are loaded when those of the one before are used up, values at the start of
    // theirs.
    CK_DEVICE void prepare_block(const Na3dKeyList& list, uint32_t first, bool exists, uint64_t k_base,
                                 uint64_t) {
        if (exists) load_keys(list, first, k_base);
    }

    CK_DEVICE void begin_block(const Na3dKeyList& list, uint32_t first, uint64_t v_base) {
        if constexpr (kLoadValuesEarly) load_values(list, first, v_base, 0);
    }

    CK_DEVICE void load_keys(const Na3dKeyList& list, uint32_t first, uint64_t base) {
        if constexpr (kHoldKeys) {
            CK_UNROLL
            for (int tile = 0; tile < kTiles; ++tile) {
                const uint32_t offset = list.k_offset[first + 16 * tile + WmmaHalf::first_operand_row(lane)];
                CK_UNROLL
                for (int step = 0; step < kSteps; ++step)
                    key[tile * kSteps + step] = load_key(base, offset, step);
            }
        }
    }

    static CK_DEVICE Float32x8 multiply(Operand first, Operand second, Float32x8 accumulator) {
        if constexpr (kIsFloat16<Format>) {
            return WmmaHalf::multiply_float16(first, second, accumulator);
        } else {
            return WmmaHalf::multiply_bfloat16(first, second, accumulator);
        }
    }

    CK_DEVICE void multiply_keys(const Na3dKeyList& list, uint32_t first, uint64_t base,
                                 float (&score)[1][kScores]) const {
        Float32x8 scores[kTiles];
        uint32_t offset[kTiles];
        CK_UNROLL
        for (int tile = 0; tile < kTiles; ++tile) {
            const uint32_t entry = first + 16 * tile + WmmaHalf::first_operand_row(lane);
            offset[tile] = kHoldKeys ? 0 : list.k_offset[entry];
            const LocalPointer<const uint8_t> kinds =
                list.kind_rows + list.kind[entry] + 16 * WmmaHalf::first_piece(lane);
            Uint32x4 piece[kPieces];
            CK_UNROLL
            for (int index = 0; index < kPieces; ++index)
                piece[index] = load_local_16_bytes(kinds + 16 * index);
            scores[tile] =
                WmmaHalf::multiply_bfloat16(WmmaHalf::join(piece), mask, Float32x8{0, 0, 0, 0, 0, 0, 0, 0});
        }
        CK_UNROLL
        for (int step = 0; step < kSteps; ++step) {
            const Operand queries = kHoldQueries ? query[step] : load_query(step);
            CK_UNROLL
            for (int tile = 0; tile < kTiles; ++tile) {
                const Operand keys =
                    kHoldKeys ? key[tile * kSteps + step] : load_key(base, offset[tile], step);
                scores[tile] = multiply(keys, queries, scores[tile]);
            }
            // What is loaded at once has to fit into the registers.
            if (!kHoldKeys && step % kStepsAtOnce == kStepsAtOnce - 1) scheduling_boundary();
        }
        CK_UNROLL
        for (int tile = 0; tile < kTiles; ++tile) {
            CK_UNROLL
            for (int index = 0; index < 8; ++index) score[0][8 * tile + index] = scores[tile][index];
        }
    }

    static CK_DEVICE void join_maxima(float (&largest)[1]) {
        largest[0] = __builtin_fmaxf(largest[0], exchange_xor_float<16>(largest[0]));
    }
    CK_DEVICE void read_sums(float (&total)[1]) const { total[0] = sum + exchange_xor_float<16>(sum); }

    // The results become 0, whatever they were.
    CK_DEVICE void clear(int) {
        CK_UNROLL
        for (int step = 0; step < kSteps; ++step) result[step] = Float32x8{0, 0, 0, 0, 0, 0, 0, 0};
    }

    CK_DEVICE void scale(int, float shrink) {
        CK_UNROLL
        for (int step = 0; step < kSteps; ++step) result[step] *= shrink;
        sum *= shrink;
    }

    // A lane loads one piece of eight keys.
    CK_DEVICE void load_values(const Na3dKeyList& list, uint32_t first, uint64_t base, int round) {
        const uint32_t wanted = round * (kRound / 8) + lane / 4;
        const uint32_t within = 16 * (kFull || wanted < pieces ? wanted : 0);
        const LocalPointer<const uint8_t> offsets =
            reinterpret_cast<LocalPointer<const uint8_t>>(list.v_offset + first + lane % 4 * 8);
        const Uint32x4 low = load_local_16_bytes(offsets);
        const Uint32x4 high = load_local_16_bytes(offsets + 16);
        CK_UNROLL
        for (int index = 0; index < 8; ++index) {
            const uint32_t offset = index < 4 ? low[index % 4] : high[index % 4];
            value[index] = load_16_bytes<LoadPlace::Anywhere>(
                global_pointer<const uint8_t>(lane_address(base, offset + within)));
        }
    }

    CK_DEVICE void store_transposed_values() const {
        const LocalPointer<uint8_t> target = local + lane / 4 * kPieceBytes + lane % 4 * 16;
        CK_UNROLL
        for (int element = 0; element < 8; ++element) {
            Uint32x4 keys;
            CK_UNROLL
            for (int pair = 0; pair < 4; ++pair) {
                keys[pair] =
                    __builtin_amdgcn_perm(value[2 * pair + 1][element / 2], value[2 * pair][element / 2],
                                          element % 2 == 0 ? 0x05040100u : 0x07060302u);
            }
            store_local_16_bytes(target + element * kRowBytes, keys);
        }
    }

    static CK_DEVICE float add_pair(uint32_t pair, float total) {
        if constexpr (kIsFloat16<Format>) {
            typedef _Float16 Pair __attribute__((ext_vector_type(2)));
            return __builtin_amdgcn_fdot2(__builtin_bit_cast(Pair, pair), Pair{1, 1}, total, false);
        } else {
            typedef __bf16 Pair __attribute__((ext_vector_type(2)));
            return __builtin_amdgcn_fdot2_f32_bf16(__builtin_bit_cast(Pair, pair),
                                                   __builtin_bit_cast(Pair, 0x3f803f80u), total, false);
        }
    }

    // The weights of 16 keys as second operand. gfx11 wants all of them in both half-waves.
    CK_DEVICE Operand weights_of(const float (&weight)[kScores], int tile) {
        Uint32x4 own;
        CK_UNROLL
        for (int pair = 0; pair < 4; ++pair) {
            own[pair] = cut_pair<Format>(weight[8 * tile + 2 * pair], weight[8 * tile + 2 * pair + 1]);
            sum = add_pair(own[pair], sum);
        }
        Uint32x4 piece[kPieces];
        piece[0] = own;
        if constexpr (kPieces == 2) {
            const bool upper = lane >= 16;
            CK_UNROLL
            for (int pair = 0; pair < 4; ++pair) {
                const uint32_t mine = own[pair];
                const uint32_t other = static_cast<uint32_t>(exchange_xor<16>(static_cast<int32_t>(mine)));
                piece[0][pair] = upper ? other : mine;
                piece[kPieces - 1][pair] = upper ? mine : other;
            }
        }
        return WmmaHalf::join(piece);
    }

    CK_DEVICE void multiply_values(const Na3dKeyList& list, uint32_t first, uint64_t base,
                                   const float (&weight)[1][kScores]) {
        Operand weights[kTiles];
        CK_UNROLL
        for (int tile = 0; tile < kTiles; ++tile) weights[tile] = weights_of(weight[0], tile);
        const uint32_t row = WmmaHalf::first_operand_row(lane);
        const LocalPointer<const uint8_t> source =
            local + row / 8 * kPieceBytes + row % 8 * kRowBytes + 16 * WmmaHalf::first_piece(lane);
        CK_UNROLL
        for (int round = 0; round < kWidth / kRound; ++round) {
            if (round == 0 && !kLoadValuesEarly) load_values(list, first, base, 0);
            wave_local_fence();
            store_transposed_values();
            wave_local_fence();
            if (round + 1 < kWidth / kRound) load_values(list, first, base, round + 1);
            CK_UNROLL
            for (int rows = 0; rows < kRound / 16; ++rows) {
                CK_UNROLL
                for (int tile = 0; tile < kTiles; ++tile) {
                    Uint32x4 piece[kPieces];
                    CK_UNROLL
                    for (int index = 0; index < kPieces; ++index)
                        piece[index] =
                            load_local_16_bytes(source + rows * (2 * kPieceBytes) + tile * 32 + 16 * index);
                    Float32x8& sums = result[round * (kRound / 16) + rows];
                    sums = multiply(WmmaHalf::join(piece), weights[tile], sums);
                }
                if (kSteps > 4 && rows % kRowsAtOnce == kRowsAtOnce - 1) scheduling_boundary();
            }
        }
    }

    CK_DEVICE void store(int, uint64_t address, bool exists, float inverse) const {
        const uint32_t count = kFull ? 0 : scalar_again(pieces);
        const uint32_t half = lane_id_again() / 16;
        CK_UNROLL
        for (int step = 0; step < kSteps; ++step) {
            const uint32_t piece = 2 * step + half;
            Uint32x4 bits;
            CK_UNROLL
            for (int word = 0; word < 4; ++word)
                bits[word] = rounded_pair<Format>(result[step][2 * word] * inverse,
                                                  result[step][2 * word + 1] * inverse);
            if (exists && (kFull || piece < count))
                store_16_bytes<LoadPlace::Anywhere>(address + 16 * piece, bits);
        }
    }
};

template <int kWidth, int kWaves, int kAlignment>
using Na3dWmma = Na3dMatrix<Na3dWmmaUnit, kWidth, kWaves>;

#endif

}  // namespace ckitchen

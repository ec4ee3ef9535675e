// Tiles on WMMA, gfx11 and gfx12. The operands are swapped: the rows of B (the weights) are the first
// operand, so that a lane holds eight consecutive columns of one row of C and moves them in 16-byte accesses.
#pragma once

#include "tile.h"

namespace ckitchen {

#if defined(__GFX11__) || defined(__GFX12__)

// Scale and bias of eight consecutive columns that exist, one access each where there is one per column.
struct Int8GemmEightColumns {
    float scale[8];
    float bias[8];

    CK_DEVICE void load(const Int8GemmOutput<ElementPlace::Anywhere>& output, uint32_t first) {
        load_floats(output.column_scale, first & output.column_scale_mask, output.column_scale_mask != 0,
                    scale);
        if (output.bias_type == kInt8GemmFloat32) {
            load_floats(global_pointer<const float>(output.bias), first, true, bias);
        } else if (output.bias_type != kInt8GemmNone) {
            const Uint32x4 pairs = load_16_bytes<LoadPlace::Anywhere>(
                global_pointer<const uint8_t>(output.bias + static_cast<uint64_t>(first) * 2));
            CK_UNROLL
            for (int index = 0; index < 8; ++index) {
                const uint32_t pair = pairs[index / 2];
                const uint16_t bits = static_cast<uint16_t>(index % 2 == 0 ? pair : pair >> 16);
                bias[index] =
                    output.bias_type == kInt8GemmFloat16 ? float16_to_float(bits) : bfloat16_to_float(bits);
            }
        } else {
            // Adding -0 changes no number, where adding +0 would turn -0 into +0.
            CK_UNROLL
            for (int index = 0; index < 8; ++index) bias[index] = -0.0f;
        }
    }

    static CK_DEVICE void load_floats(GlobalPointer<const float> source, uint32_t first, bool many,
                                      float (&value)[8]) {
        if (many) {
            const GlobalPointer<const uint8_t> bytes =
                reinterpret_cast<GlobalPointer<const uint8_t>>(source + first);
            CK_UNROLL
            for (int quad = 0; quad < 2; ++quad) {
                const Uint32x4 bits = load_16_bytes<LoadPlace::Anywhere>(bytes + quad * 16);
                CK_UNROLL
                for (int index = 0; index < 4; ++index)
                    value[quad * 4 + index] = __builtin_bit_cast(float, static_cast<uint32_t>(bits[index]));
            }
        } else {
            const float one = source[0];
            CK_UNROLL
            for (int index = 0; index < 8; ++index) value[index] = one;
        }
    }
};

// kStagedRows: how many of the rows of A go through local memory, all of them or none.
template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, int kStagedRows>
struct Int8GemmWmmaCore {
    static constexpr int kTileM = kRows;
    static constexpr int kTileN = kColumns;
    static constexpr int kTileK = kDepth;
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    static constexpr int kStride = kDepth + 16;  // an odd multiple of 16 bytes: no bank conflicts
    static constexpr int kStepBytes = (kStagedRows + kColumns) * kStride;
    static constexpr int kBuffers = 2 * kStepBytes <= 65536 ? 2 : 1;
    static constexpr int kLocalBytes = kBuffers * kStepBytes;
    static constexpr int kBlocksM = kRows / kWavesM / 16;
    static constexpr int kBlocksN = kColumns / kWavesN / 16;
    static constexpr int kPasses = kBlocksM;
    static constexpr int kPassRows = kWavesM * 16;
    static_assert(kDepth % 32 == 0, "the row stride is an odd multiple of 16 bytes");

    Int32x8 accumulator[kBlocksM][kBlocksN];
    uint32_t lane_a;  // where this lane's operands start in the staged A and B
    uint32_t lane_b;

    // First row of the tile that this wave computes.
    static CK_DEVICE uint32_t wave_row() { return wave_id() / kWavesN * (kBlocksM * 16); }

    static CK_DEVICE uint32_t weight_slot(uint32_t row) { return WmmaInt8::operand_slot(row); }

    CK_DEVICE void begin() {
        const uint32_t lane_offset =
            WmmaInt8::operand_row(lane_id()) * kStride + WmmaInt8::operand_byte(lane_id());
        lane_a = wave_row() * kStride + lane_offset;
        lane_b = wave_id() % kWavesN * (kBlocksN * 16 * kStride) + lane_offset;
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m) {
            CK_UNROLL
            for (int n = 0; n < kBlocksN; ++n) accumulator[m][n] = Int32x8{0, 0, 0, 0, 0, 0, 0, 0};
        }
    }

    // The arithmetic goes in groups: one block of weights times all blocks of activations. During each group
    // the weights of the next one and a share of the next group of K's activations are on their way from
    // local memory, which keeps few operands in registers. `all_read` is called once this wave has read all
    // of the step, before the last group.
    template <typename AllRead>
    CK_DEVICE void step(LocalPointer<const uint8_t> a, LocalPointer<const uint8_t> b, AllRead all_read) {
        constexpr int kParts = kDepth / WmmaInt8::kBytesPerRow;
        const LocalPointer<const uint8_t> first_a = a + lane_a;
        const LocalPointer<const uint8_t> first_b = b + lane_b;
        Uint32x4 activations[2][kBlocksM];
        Uint32x4 weights[2];
        weights[0] = load_local_16_bytes(first_b);
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m)
            activations[0][m] = load_local_16_bytes(first_a + m * 16 * kStride);
        CK_UNROLL
        for (int part = 0; part < kParts; ++part) {
            CK_UNROLL
            for (int n = 0; n < kBlocksN; ++n) {
                const int group = part * kBlocksN + n;
                if (group + 1 < kParts * kBlocksN) {
                    weights[(group + 1) % 2] =
                        load_local_16_bytes(first_b + (group + 1) % kBlocksN * 16 * kStride +
                                            (group + 1) / kBlocksN * WmmaInt8::kBytesPerRow);
                } else {
                    all_read();
                }
                if (part + 1 < kParts) {
                    CK_UNROLL
                    for (int m = n * kBlocksM / kBlocksN; m < (n + 1) * kBlocksM / kBlocksN; ++m)
                        activations[(part + 1) % 2][m] = load_local_16_bytes(
                            first_a + m * 16 * kStride + (part + 1) * WmmaInt8::kBytesPerRow);
                }
                CK_UNROLL
                for (int m = 0; m < kBlocksM; ++m) {
                    accumulator[m][n] =
                        WmmaInt8::multiply(weights[group % 2], activations[part % 2][m], accumulator[m][n]);
                }
                scheduling_boundary();
            }
        }
    }

    // A pass is one block of every wave: lane l holds row l % 16 and columns 8 * (l / 16) + 0..7 of it.
    CK_DEVICE void write_pass(int pass, LocalPointer<int32_t> target, int stride) const {
        const uint32_t row = wave_id() / kWavesN * 16 + lane_id() % 16;
        const uint32_t column = wave_id() % kWavesN * (kBlocksN * 16) + lane_id() / 16 * 8;
        const LocalPointer<Int32x4> first =
            reinterpret_cast<LocalPointer<Int32x4>>(target + row * stride + column);
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m) {
            if (m != pass) continue;
            CK_UNROLL
            for (int n = 0; n < kBlocksN; ++n) {
                first[n * 4] = accumulator[m][n].lo;
                first[n * 4 + 1] = accumulator[m][n].hi;
            }
        }
    }

    static CK_DEVICE uint32_t pass_row(int pass, uint32_t row) {
        return row / 16 * (kBlocksM * 16) + pass * 16 + row % 16;
    }

    // A tile that lies inside C goes straight from the registers: no test, no way through local memory;
    // scales and bias are loaded once.
    CK_DEVICE void write_whole_tile(const Int8GemmArgs& args, Int8GemmTileOrigin origin) const {
        Int8GemmOutput<ElementPlace::Anywhere> output;
        output.open(args, origin.row, origin.column, kTileM, kTileN);
        if (output.type == kInt8GemmInt32) {
            write_sums(output);
        } else if (output.type == kInt8GemmFloat32) {
            write_scaled<4>(output, [](uint64_t target, const float(&value)[8]) {
                CK_UNROLL
                for (int quad = 0; quad < 2; ++quad) {
                    Uint32x4 bits;
                    CK_UNROLL
                    for (int index = 0; index < 4; ++index)
                        bits[index] = __builtin_bit_cast(uint32_t, value[quad * 4 + index]);
                    store_16_bytes(target + quad * 16, bits);
                }
            });
        } else if (output.type == kInt8GemmFloat16) {
            write_scaled<2>(output, [](uint64_t target, const float(&value)[8]) {
                store_pairs(target, value, [](float one) { return float_to_float16(one); });
            });
        } else {
            write_scaled<2>(output, [](uint64_t target, const float(&value)[8]) {
                store_pairs(target, value, [](float one) { return float_to_bfloat16(one); });
            });
        }
    }

  private:
    static CK_DEVICE uint32_t lane_row() { return wave_row() + lane_id() % 16; }
    static CK_DEVICE uint32_t lane_column() {
        return wave_id() % kWavesN * (kBlocksN * 16) + lane_id() / 16 * 8;
    }

    CK_DEVICE void write_sums(const Int8GemmOutput<ElementPlace::Anywhere>& output) const {
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m) {
            const uint64_t target = output.c + ((lane_row() + m * 16) * output.ldc + lane_column()) * 4;
            CK_UNROLL
            for (int n = 0; n < kBlocksN; ++n) {
                // Half a vector has no address of its own to cast the bits from.
                const Int32x4 low = accumulator[m][n].lo;
                const Int32x4 high = accumulator[m][n].hi;
                store_16_bytes(target + n * 64, __builtin_bit_cast(Uint32x4, low));
                store_16_bytes(target + n * 64 + 16, __builtin_bit_cast(Uint32x4, high));
            }
        }
    }

    // Calls store(address, values) for the eight results of each block.
    template <int kElementBytes, typename Store>
    CK_DEVICE void write_scaled(const Int8GemmOutput<ElementPlace::Anywhere>& output, Store store) const {
        const uint32_t row = lane_row();
        const uint32_t column = lane_column();
        float row_scale[kBlocksM];
        uint64_t target[kBlocksM];
        CK_UNROLL
        for (int m = 0; m < kBlocksM; ++m) {
            row_scale[m] = output.row_scale[(row + m * 16) & output.row_scale_mask];
            target[m] = output.c + ((row + m * 16) * output.ldc + column) * kElementBytes;
        }
        Int8GemmEightColumns columns[2];
        columns[0].load(output, column);
        CK_UNROLL
        for (int n = 0; n < kBlocksN; ++n) {
            if (n + 1 < kBlocksN) columns[(n + 1) % 2].load(output, column + (n + 1) * 16);
            CK_UNROLL
            for (int m = 0; m < kBlocksM; ++m) {
                float value[8];
                CK_UNROLL
                for (int index = 0; index < 8; ++index) {
                    const int32_t sum = accumulator[m][n][index];
                    value[index] = __builtin_bit_cast(float, sum);
                }
                in_order(value);
                CK_UNROLL
                for (int index = 0; index < 8; ++index) {
                    const int32_t sum = __builtin_bit_cast(int32_t, value[index]);
                    value[index] = static_cast<float>(sum) * row_scale[m];
                    value[index] = value[index] * columns[n % 2].scale[index];
                    value[index] = value[index] + columns[n % 2].bias[index];
                }
                in_order(value);
                store(target[m] + n * 16 * kElementBytes, value);
            }
        }
    }

    template <typename Convert>
    static CK_DEVICE void store_pairs(uint64_t target, const float (&value)[8], Convert convert) {
        Uint32x4 pairs;
        CK_UNROLL
        for (int pair = 0; pair < 4; ++pair) {
            pairs[pair] = convert(value[2 * pair]) | static_cast<uint32_t>(convert(value[2 * pair + 1]))
                                                         << 16;
        }
        store_16_bytes(target, pairs);
    }

    static CK_DEVICE void store_16_bytes(uint64_t address, Uint32x4 value) {
        *global_pointer<UnalignedUint32x4>(address) = value;
    }
};

template <typename Core>
CK_DEVICE void int8_gemm_wmma_write(const Int8GemmArgs& args, const Core& core, Int8GemmTileOrigin origin,
                                    LocalPointer<uint8_t> local) {
    if (args.m - origin.row >= Core::kTileM && args.n - origin.column >= Core::kTileN) {
        core.write_whole_tile(args, origin);
    } else {
        int8_gemm_write_tile<ElementPlace::Anywhere>(args, core, origin, local);
    }
}

// The main loop. One barrier a step where local memory holds two of them: what a step computes from, and what
// its beginning stores for the next one. Where it holds one step, the next one waits in registers, and waves
// arrive at the barrier before it as soon as they have read the last operands.
template <typename Core, typename Offset>
CK_DEVICE void int8_gemm_wmma_tile(const Int8GemmArgs& args, uint32_t id, LocalPointer<uint8_t> local) {
    constexpr uint32_t kTileK = Core::kTileK;
    constexpr uint32_t kBytesA = Core::kTileM * Core::kStride;

    const Int8GemmTileOrigin origin = int8_gemm_tile_origin(args, id, Core::kTileM, Core::kTileN);
    Int8GemmStage<Core::kTileM, Core::kTileK, Core::kThreads, Offset> a;
    Int8GemmStage<Core::kTileN, Core::kTileK, Core::kThreads, Offset> b;
    a.open(args.a, origin.row, args.m, args.lda);
    b.open(args.b, origin.column, args.n, args.ldb);
    Core core;
    core.begin();

    const auto load = [&](uint32_t k) CK_INLINE_LAMBDA {
        a.load(k);
        b.load(k);
        scheduling_boundary();
    };
    const auto store = [&](uint32_t buffer) CK_INLINE_LAMBDA {
        a.store(local + buffer, Core::kStride, [](uint32_t row) { return row; });
        b.store(local + buffer + kBytesA, Core::kStride, [](uint32_t row) { return Core::weight_slot(row); });
    };
    const auto step = [&](uint32_t buffer) CK_INLINE_LAMBDA {
        core.step(local + buffer, local + buffer + kBytesA, [] { local_barrier_arrive(); });
    };

    // The order of the K steps is free in integer arithmetic: the partial one comes first, so that the loop
    // below loads whole steps only and needs no bounds test.
    const uint32_t whole = args.k / kTileK * kTileK;
    uint32_t next = 0;
    if (args.k % kTileK != 0 || whole == 0) {
        a.load_end_of_rows(whole, args.k);
        b.load_end_of_rows(whole, args.k);
    } else {
        load(0);
        next = kTileK;
    }
    store(0);
    uint32_t buffer = 0;
    if constexpr (Core::kBuffers == 2) {
        if (next < whole) load(next);
        local_barrier();
        CK_NO_UNROLL
        while (next < whole) {
            next += kTileK;
            store(Core::kStepBytes - buffer);
            if (next < whole) load(next);
            step(buffer);
            local_barrier_wait();
            buffer = Core::kStepBytes - buffer;
        }
    } else {
        local_barrier();
        CK_NO_UNROLL
        for (; next < whole; next += kTileK) {
            load(next);
            step(0);
            local_barrier_wait();
            store(0);
            local_barrier();
        }
    }
    core.step(local + buffer, local + buffer + kBytesA, [] {});

    int8_gemm_wmma_write(args, core, origin, local);
}

template <int kRows, int kColumns, int kDepth, int kWavesM, int kWavesN, int kAlignment, typename Offset>
struct Int8GemmWmma {
    static constexpr int kThreads = kWavesM * kWavesN * kWaveSize;
    using Core = Int8GemmWmmaCore<kRows, kColumns, kDepth, kWavesM, kWavesN, kRows>;
    static constexpr int kLocalBytes = Core::kLocalBytes;

    static CK_DEVICE void run(const Int8GemmArgs& args, LocalPointer<uint8_t> local) {
        int8_gemm_for_tiles<Offset>(args, [&](const Int8GemmArgs& part, uint32_t id) CK_INLINE_LAMBDA {
            int8_gemm_wmma_tile<Core, Offset>(part, id, local);
        });
    }
};

#endif

}  // namespace ckitchen

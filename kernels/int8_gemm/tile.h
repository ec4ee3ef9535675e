// The part of a tiled INT8 GEMM that all families share: which tile a workgroup computes, staging of A and B
// through registers into local memory, the loop over K, and the way of the results back through local memory
// to C.
//
// A core computes one tile from staged operands. It has
//   kTileM, kTileN, kTileK, kThreads, kStride (bytes between rows of a staged operand),
//   weight_slot(row)         where row `row` of B lies among the staged rows: a permutation of the bits of
//                            its number,
//   begin(), step(a, b)      clear the sums; accumulate one staged K step,
//   kPasses, kPassRows       the results leave in kPasses groups of kPassRows rows of the tile,
//   write_pass(pass, target, stride)  puts them, int32, into local memory, `stride` elements a row,
//   pass_row(pass, row)      the row of the tile that row `row` of that group is,
//   kWritesWholeTiles        whether write_whole_tile(output) writes a tile that lies inside C.
#pragma once

#include "epilogue.h"

namespace ckitchen {

// Tiles are launched in one dimension and ordered in groups: a group is `group_m` rows of tiles, walked
// column by column, so that workgroups that run together share the operands that they read from the cache.
struct Int8GemmTileOrigin {
    int64_t row;
    int64_t column;
};

CK_DEVICE Int8GemmTileOrigin int8_gemm_tile_origin(const Int8GemmArgs& args, uint32_t id, uint32_t tile_rows,
                                                   uint32_t tile_columns) {
    const uint32_t per_group = args.group_m * args.tiles_n;
    const uint32_t group = as_scalar(id / per_group);
    const uint32_t within = id - group * per_group;
    const uint32_t first = group * args.group_m;
    const uint32_t left = args.tiles_m - first;
    const uint32_t rows = left < args.group_m ? left : args.group_m;
    // A division is vector arithmetic even where its operands are scalars.
    const uint32_t column = as_scalar(within / rows);
    const uint32_t row = as_scalar(first + (within - column * rows));
    return {static_cast<int64_t>(row) * tile_rows, static_cast<int64_t>(column) * tile_columns};
}

// One operand's share of a workgroup's staging: kRows rows of kTileK bytes, 16 bytes a lane and chunk.
template <int kRows, int kTileK, int kThreads, typename Offset>
struct Int8GemmStage {
    static constexpr int kLanesPerRow = kTileK / 16;
    static constexpr int kRowStep = kThreads / kLanesPerRow;
    static constexpr int kChunks = kRows / kRowStep;
    static_assert(kThreads % kLanesPerRow == 0 && kRows % kRowStep == 0 && (kRowStep & (kRowStep - 1)) == 0,
                  "a chunk covers whole rows, whose numbers share no bit with those of other chunks");

    GlobalPointer<const uint8_t> tile;  // first row of the tile
    Offset offset[kChunks];             // from there to this lane's 16 bytes of k = 0
    Uint32x4 value[kChunks];
    LoadPlace place;  // of all chunks of whole steps

    static CK_DEVICE uint32_t column() { return workitem_id() % kLanesPerRow * 16; }

    // Rows past the end of the operand are read as its last row: their results are never written, and the
    // loop needs no test.
    CK_DEVICE void open(uint64_t address, int64_t first_row, int64_t rows, int64_t stride) {
        tile = global_pointer<const uint8_t>(address) + first_row * stride;
        const int64_t left = rows - first_row;
        const uint32_t last = (left < kRows ? static_cast<uint32_t>(left) : kRows) - 1;
        place = LoadPlace::Anywhere;
        if (first_row != 0 && left > kRows) place = LoadPlace::Inside;  // between other rows of the operand
        if (kUnalignedAccess || (address | static_cast<uint64_t>(stride)) % 16 == 0)
            place = LoadPlace::Aligned;
        CK_UNROLL
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            const uint32_t wanted = workitem_id() / kLanesPerRow + chunk * kRowStep;
            const uint32_t row = wanted < last ? wanted : last;
            offset[chunk] = row * static_cast<Offset>(stride) + column();
        }
    }

    CK_DEVICE void load(uint32_t k) {
        const uint64_t base = reinterpret_cast<uint64_t>(tile) + k;
        // The test stands outside of the loop so that the loads of all chunks are under way together.
        if (place == LoadPlace::Aligned) {
            load_chunks<LoadPlace::Aligned>(base);
        } else if (place == LoadPlace::Inside) {
            load_chunks<LoadPlace::Inside>(base);
        } else {
            load_chunks<LoadPlace::Anywhere>(base);
        }
    }

    template <LoadPlace kPlace>
    CK_DEVICE void load_chunks(uint64_t base) {
        CK_UNROLL
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            value[chunk] =
                load_16_bytes<kPlace>(global_pointer<const uint8_t>(kept_lane_address(base, offset[chunk])));
        }
    }

    CK_DEVICE void load_end_of_rows(uint32_t k, uint32_t length) {
        CK_UNROLL
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            value[chunk] = load_16_bytes_of_row(tile + offset[chunk] - column(), k + column(), length);
        }
    }

    template <typename Slot>
    CK_DEVICE void store(LocalPointer<uint8_t> target, int stride, Slot slot) const {
        const LocalPointer<uint8_t> first = target + slot(workitem_id() / kLanesPerRow) * stride + column();
        CK_UNROLL
        for (int chunk = 0; chunk < kChunks; ++chunk) {
            store_local_16_bytes(first + slot(chunk * kRowStep) * stride, value[chunk]);
        }
    }
};

// Moves the accumulators of a core to C. Local memory turns the core's layout into rows, so that a lane owns
// four consecutive columns, the same ones for all its rows, and a wave writes whole cache lines whatever the
// layout was.
template <ElementPlace kPlace, typename Core>
CK_DEVICE void int8_gemm_write_tile(const Int8GemmArgs& args, const Core& core, Int8GemmTileOrigin origin,
                                    LocalPointer<uint8_t> local) {
    constexpr uint32_t kLanesPerRow = Core::kTileN / 4;
    constexpr uint32_t kRowStep = Core::kThreads / kLanesPerRow;
    constexpr int kStride = Core::kTileN + 4;  // an odd multiple of 16 bytes: no bank conflicts
    static_assert(Core::kPassRows * kStride * 4 <= Core::kLocalBytes, "a pass fits into the staging memory");
    static_assert(Core::kThreads % kLanesPerRow == 0 && Core::kPassRows % kRowStep == 0,
                  "a pass is whole rows");

    Int8GemmOutput<kPlace> output;
    output.open(args, origin.row, origin.column, Core::kTileM, Core::kTileN);
    const uint32_t column = workitem_id() % kLanesPerRow * 4;
    const uint32_t count = column >= output.columns      ? 0
                           : output.columns - column < 4 ? output.columns - column
                                                         : 4;
    Int8GemmColumns<4> columns;
    columns.load(output, column);

    const LocalPointer<int32_t> staged = reinterpret_cast<LocalPointer<int32_t>>(local);
    CK_NO_UNROLL
    for (int pass = 0; pass < Core::kPasses; ++pass) {
        local_barrier();
        core.write_pass(pass, staged, kStride);
        local_barrier();
        CK_NO_UNROLL
        for (uint32_t step = 0; step < Core::kPassRows; step += kRowStep) {
            const uint32_t pass_row = step + workitem_id() / kLanesPerRow;
            const uint32_t row = Core::pass_row(pass, pass_row);
            if (row < output.rows && count != 0) {
                const Int32x4 quad =
                    *reinterpret_cast<LocalPointer<const Int32x4>>(staged + pass_row * kStride + column);
                const int32_t accumulator[4] = {quad.x, quad.y, quad.z, quad.w};
                int8_gemm_finish(output, row, column, count, accumulator, columns);
            }
        }
    }
}

// Writes a tile: one that lies inside C as its core can, others, and all of the rows for everything, through
// local memory.
template <typename Offset, typename Core>
CK_DEVICE void int8_gemm_write(const Int8GemmArgs& args, const Core& core, Int8GemmTileOrigin origin,
                               LocalPointer<uint8_t> local) {
    if constexpr (Core::kWritesWholeTiles && sizeof(Offset) == 4) {
        if (args.m - origin.row >= Core::kTileM && args.n - origin.column >= Core::kTileN) {
            Int8GemmOutput<ElementPlace::Anywhere> output;
            output.open(args, origin.row, origin.column, Core::kTileM, Core::kTileN);
            core.write_whole_tile(output);
            return;
        }
    }
    int8_gemm_write_tile<ElementPlace::Anywhere>(args, core, origin, local);
}

// Calls tile(args, id) for each tile of this workgroup: one, or, in the rows for everything, as many as it
// takes. Offset is an unsigned integer that holds a tile's rows times the leading dimension.
template <typename Offset, typename Tile>
CK_DEVICE void int8_gemm_for_tiles(const Int8GemmArgs& whole, Tile tile) {
    Int8GemmArgs args = whole;
    const uint32_t tiles = args.tiles_m * args.tiles_n;
    uint32_t id = int8_gemm_take_part(args, tiles);
    if constexpr (sizeof(Offset) == 8) {
        CK_NO_UNROLL
        for (; tiles - id > kInt8GemmWideGroups; id += kInt8GemmWideGroups) {
            tile(args, id);
            local_barrier();
        }
    }
    tile(args, id);
}

template <typename Core, typename Offset>
CK_DEVICE void int8_gemm_one_tile(const Int8GemmArgs& args, uint32_t id, LocalPointer<uint8_t> local) {
    constexpr uint32_t kTileK = Core::kTileK;
    constexpr uint32_t kBytesA = Core::kTileM * Core::kStride;
    constexpr uint32_t kBytesStep = (Core::kTileM + Core::kTileN) * Core::kStride;

    const Int8GemmTileOrigin origin = int8_gemm_tile_origin(args, id, Core::kTileM, Core::kTileN);
    Int8GemmStage<Core::kTileM, Core::kTileK, Core::kThreads, Offset> a;
    Int8GemmStage<Core::kTileN, Core::kTileK, Core::kThreads, Offset> b;
    a.open(args.a, origin.row, args.m, args.lda);
    b.open(args.b, origin.column, args.n, args.ldb);
    Core core;
    core.begin();

    // The order of the K steps is free in integer arithmetic: the partial one comes first, so that the loop
    // below loads whole steps only and needs no bounds test.
    const uint32_t whole = args.k / kTileK * kTileK;
    uint32_t next = 0;
    if (args.k % kTileK != 0 || whole == 0) {
        a.load_end_of_rows(whole, args.k);
        b.load_end_of_rows(whole, args.k);
    } else {
        a.load(0);
        b.load(0);
        next = kTileK;
    }
    const auto same_slot = [](uint32_t row) { return row; };
    const auto weight_slot = [](uint32_t row) { return Core::weight_slot(row); };
    a.store(local, Core::kStride, same_slot);
    b.store(local + kBytesA, Core::kStride, weight_slot);
    local_barrier();

    // Two buffers in local memory and one step in registers: a step's loads are issued before the arithmetic
    // of the step before it, and one barrier separates steps.
    uint32_t buffer = 0;
    CK_NO_UNROLL
    for (;;) {
        const bool more = next < whole;
        if (more) {
            a.load(next);
            b.load(next);
        }
        core.step(local + buffer, local + buffer + kBytesA);
        if (!more) break;
        buffer = kBytesStep - buffer;
        a.store(local + buffer, Core::kStride, same_slot);
        b.store(local + buffer + kBytesA, Core::kStride, weight_slot);
        local_barrier();
        next += kTileK;
    }
    int8_gemm_write<Offset>(args, core, origin, local);
}

template <typename Core, typename Offset>
CK_DEVICE void int8_gemm_tile(const Int8GemmArgs& args, LocalPointer<uint8_t> local) {
    int8_gemm_for_tiles<Offset>(args, [&](const Int8GemmArgs& part, uint32_t id) CK_INLINE_LAMBDA {
        int8_gemm_one_tile<Core, Offset>(part, id, local);
    });
}

}  // namespace ckitchen

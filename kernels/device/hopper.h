// What sm_90a adds: barriers in local memory that count bytes, copies of whole tiles by a tensor map, and
// matrix products of a warpgroup (four consecutive waves) whose operands lie in local memory.
#pragma once

#include "target.h"
#include "tensor_map.h"

namespace ckitchen {

using LocalBarrier = LocalPointer<uint64_t>;

template <typename T>
CK_DEVICE uint32_t local_address(LocalPointer<T> pointer) {
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(pointer));
}

// Dynamic local memory: its size is the launch's.
extern CK_SHARED __attribute__((aligned(1024))) uint8_t dynamic_local[];

// A barrier's phase ends when `arrivals` arrivals and the bytes that were announced have come.
CK_DEVICE void begin_barrier(LocalBarrier barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(local_address(barrier)), "r"(arrivals)
                 : "memory");
}

// Makes barriers that this lane began known to the copy engine; a workgroup barrier follows.
CK_DEVICE void publish_barriers() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

CK_DEVICE void arrive(LocalBarrier barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(local_address(barrier)) : "memory");
}

CK_DEVICE void arrive_and_expect(LocalBarrier barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(local_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

// Waits for the end of the phase of this parity: 0 for a barrier's first phase, then 1, then 0 again.
CK_DEVICE void wait_for_phase(LocalBarrier barrier, uint32_t parity) {
    uint32_t done = 0;
    CK_NO_UNROLL
    while (done == 0) {
        asm volatile(
            "{\n\t.reg .pred done;\n\t"
            "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
            "selp.u32 %0, 1, 0, done;\n\t}"
            : "=r"(done)
            : "r"(local_address(barrier)), "r"(parity)
            : "memory");
    }
}

// Starts the copy of the map's tile whose first element is (row, column); the barrier gets the tile's bytes.
// What lies outside the matrix becomes zero.
CK_DEVICE void copy_tile(LocalPointer<uint8_t> target, const TensorMap& map, uint32_t row, uint32_t column,
                         LocalBarrier barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
        "[%4];" ::"r"(local_address(target)),
        "l"(&map), "r"(column), "r"(row), "r"(local_address(barrier))
        : "memory");
}

// Adds to a sum in local memory that other work-items add to as well.
CK_DEVICE void add_to_local(LocalPointer<int32_t> sum, int32_t value) {
    asm volatile("red.relaxed.cta.shared::cta.add.s32 [%0], %1;" ::"r"(local_address(sum)), "r"(value)
                 : "memory");
}

CK_DEVICE void prefetch_map(const TensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// An operand of a matrix product: rows of 128 bytes, one behind the other, their 16-byte pieces permuted as a
// tensor map with the 128-byte swizzle leaves them. `tile` is a multiple of 1024. The K of a product is 32
// bytes, two units of the descriptor further for each step along the rows.
CK_DEVICE uint64_t operand_descriptor(LocalPointer<uint8_t> tile) {
    constexpr uint64_t kSwizzle128 = uint64_t{1} << 62;
    constexpr uint64_t kEightRows = uint64_t{1024 / 16} << 32;
    return kSwizzle128 | kEightRows | (local_address(tile) & 0x3ffff) >> 4;
}
constexpr uint64_t kOperandRow = 128 / 16;

// Products of a warpgroup run beside the program: their accumulators must not be touched between the fence in
// front of the first product and the wait.
CK_DEVICE void fence_accumulators() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

CK_DEVICE void commit_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Waits until at most kPending of the committed groups are under way.
template <int kPending>
CK_DEVICE void wait_for_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

#define CK_OPERANDS_8(first)                                                            \
    "+r"(d[(first)]), "+r"(d[(first) + 1]), "+r"(d[(first) + 2]), "+r"(d[(first) + 3]), \
        "+r"(d[(first) + 4]), "+r"(d[(first) + 5]), "+r"(d[(first) + 6]), "+r"(d[(first) + 7])
#define CK_OPERANDS_32(first) \
    CK_OPERANDS_8(first), CK_OPERANDS_8((first) + 8), CK_OPERANDS_8((first) + 16), CK_OPERANDS_8((first) + 24)
#define CK_TEN(tens)                                                                                         \
    "%" tens "0, %" tens "1, %" tens "2, %" tens "3, %" tens "4, %" tens "5, %" tens "6, %" tens "7, %" tens \
    "8, %" tens "9"
#define CK_HUNDRED                                                                                    \
    CK_TEN("")                                                                                        \
    ", " CK_TEN("1") ", " CK_TEN("2") ", " CK_TEN("3") ", " CK_TEN("4") ", " CK_TEN("5") ", " CK_TEN( \
        "6") ", " CK_TEN("7") ", " CK_TEN("8") ", " CK_TEN("9")
#define CK_WGMMA(columns, accumulators, first, second, keep)                                               \
    "{\n\t.reg .pred keep;\n\tsetp.ne.u32 keep, " keep ", 0;\n\twgmma.mma_async.sync.aligned.m64n" columns \
    "k32.s32.s8.s8 {" accumulators "}, " first ", " second ", keep;\n\t}"

// accumulators = (keep != 0 ? accumulators : 0) + 64 x kColumns results of 64 x 32 bytes of the first operand
// and kColumns x 32 of the second. Wave w of the warpgroup has rows 16 * w and on: of row lane / 4, columns 8
// * j + lane % 4 * 2 + 0..1 in elements 4 * j + 0..1, of the eighth row behind it in 4 * j + 2..3.
template <int kColumns>
struct WarpgroupInt8;

template <>
struct WarpgroupInt8<16> {
    static CK_DEVICE void multiply(int32_t (&d)[8], uint64_t first, uint64_t second, uint32_t keep) {
        asm volatile(CK_WGMMA("16", "%0, %1, %2, %3, %4, %5, %6, %7", "%8", "%9", "%10")
                     : CK_OPERANDS_8(0)
                     : "l"(first), "l"(second), "r"(keep));
    }
};

template <>
struct WarpgroupInt8<32> {
    static CK_DEVICE void multiply(int32_t (&d)[16], uint64_t first, uint64_t second, uint32_t keep) {
        asm volatile(CK_WGMMA("32", CK_TEN("") ", %10, %11, %12, %13, %14, %15", "%16", "%17", "%18")
                     : CK_OPERANDS_8(0), CK_OPERANDS_8(8)
                     : "l"(first), "l"(second), "r"(keep));
    }
};

template <>
struct WarpgroupInt8<64> {
    static CK_DEVICE void multiply(int32_t (&d)[32], uint64_t first, uint64_t second, uint32_t keep) {
        asm volatile(
            CK_WGMMA("64", CK_TEN("") ", " CK_TEN("1") ", " CK_TEN("2") ", %30, %31", "%32", "%33", "%34")
            : CK_OPERANDS_32(0)
            : "l"(first), "l"(second), "r"(keep));
    }
};

template <>
struct WarpgroupInt8<96> {
    static CK_DEVICE void multiply(int32_t (&d)[48], uint64_t first, uint64_t second, uint32_t keep) {
        asm volatile(CK_WGMMA("96",
                              CK_TEN("") ", " CK_TEN("1") ", " CK_TEN("2") ", " CK_TEN(
                                  "3") ", %40, %41, %42, %43, %44, %45, %46, %47",
                              "%48", "%49", "%50")
                     : CK_OPERANDS_32(0), CK_OPERANDS_8(32), CK_OPERANDS_8(40)
                     : "l"(first), "l"(second), "r"(keep));
    }
};

template <>
struct WarpgroupInt8<128> {
    static CK_DEVICE void multiply(int32_t (&d)[64], uint64_t first, uint64_t second, uint32_t keep) {
        asm volatile(CK_WGMMA("128",
                              CK_TEN("") ", " CK_TEN("1") ", " CK_TEN("2") ", " CK_TEN("3") ", " CK_TEN(
                                  "4") ", " CK_TEN("5") ", %60, %61, %62, %63",
                              "%64", "%65", "%66")
                     : CK_OPERANDS_32(0), CK_OPERANDS_32(32)
                     : "l"(first), "l"(second), "r"(keep));
    }
};

template <>
struct WarpgroupInt8<144> {
    static CK_DEVICE void multiply(int32_t (&d)[72], uint64_t first, uint64_t second, uint32_t keep) {
        asm volatile(CK_WGMMA("144",
                              CK_TEN("") ", " CK_TEN("1") ", " CK_TEN("2") ", " CK_TEN("3") ", " CK_TEN(
                                  "4") ", " CK_TEN("5") ", " CK_TEN("6") ", %70, %71",
                              "%72", "%73", "%74")
                     : CK_OPERANDS_32(0), CK_OPERANDS_32(32), CK_OPERANDS_8(64)
                     : "l"(first), "l"(second), "r"(keep));
    }
};

template <>
struct WarpgroupInt8<192> {
    static CK_DEVICE void multiply(int32_t (&d)[96], uint64_t first, uint64_t second, uint32_t keep) {
        asm volatile(
            CK_WGMMA(
                "192",
                CK_TEN("") ", " CK_TEN("1") ", " CK_TEN("2") ", " CK_TEN("3") ", " CK_TEN("4") ", " CK_TEN(
                    "5") ", " CK_TEN("6") ", " CK_TEN("7") ", " CK_TEN("8") ", %90, %91, %92, %93, %94, %95",
                "%96", "%97", "%98")
            : CK_OPERANDS_32(0), CK_OPERANDS_32(32), CK_OPERANDS_32(64)
            : "l"(first), "l"(second), "r"(keep));
    }
};

template <>
struct WarpgroupInt8<224> {
    static CK_DEVICE void multiply(int32_t (&d)[112], uint64_t first, uint64_t second, uint32_t keep) {
        asm volatile(CK_WGMMA("224", CK_HUNDRED ", " CK_TEN("10") ", %110, %111", "%112", "%113", "%114")
                     : CK_OPERANDS_32(0), CK_OPERANDS_32(32), CK_OPERANDS_32(64), CK_OPERANDS_8(96),
                       CK_OPERANDS_8(104)
                     : "l"(first), "l"(second), "r"(keep));
    }
};

template <>
struct WarpgroupInt8<256> {
    static CK_DEVICE void multiply(int32_t (&d)[128], uint64_t first, uint64_t second, uint32_t keep) {
        asm volatile(CK_WGMMA("256",
                              CK_HUNDRED ", " CK_TEN("10") ", " CK_TEN("11") ", %120, %121, %122, %123, "
                                                                             "%124, %125, %126, %127",
                              "%128", "%129", "%130")
                     : CK_OPERANDS_32(0), CK_OPERANDS_32(32), CK_OPERANDS_32(64), CK_OPERANDS_32(96)
                     : "l"(first), "l"(second), "r"(keep));
    }
};

#undef CK_OPERANDS_8
#undef CK_OPERANDS_32
#undef CK_TEN
#undef CK_HUNDRED
#undef CK_WGMMA

// Changes the number of registers of every lane of this warpgroup, a multiple of 8; what one warpgroup gives
// back another can take. All of the warpgroup's waves call it.
template <int kRegisters>
CK_DEVICE void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
CK_DEVICE void give_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Waits for the other waves of a part of the workgroup, `threads` work-items that all name the same `barrier`
// (1 to 15).
CK_DEVICE void part_barrier(uint32_t barrier, uint32_t threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

}  // namespace ckitchen

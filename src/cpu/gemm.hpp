// The blocked int8 matrix product that the GEMM and the linears share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cpu/thread_pool.hpp"

namespace ckitchen::cpu {

// Tiles of C: a panel of B of this many columns and as many k as kGemmDepth stays in the first-level cache
// while the rows of A pass by. The depth is a multiple of every SIMD width.
inline constexpr std::int64_t kGemmRows = 64;
inline constexpr std::int64_t kGemmCols = 32;
inline constexpr std::int64_t kGemmDepth = 512;

// acc[kGemmRows][kGemmCols] += A[kGemmRows][depth] * B[kGemmCols][depth]^T for the first `rows` rounded up to
// 2 and `cols` rounded up to 4; rows of the operands are kGemmDepth apart. 16-bit operands, because a sum of
// two products of 16-bit integers is one instruction on every x86-64.
void gemm_panel(const std::int16_t* a, const std::int16_t* b, std::int64_t rows, std::int64_t cols,
                std::int64_t depth, std::int32_t* acc);

// C = A * B^T for any operands that can be read as int8:
//   load_a(row, k_begin, k_count, out), load_b(col, k_begin, k_count, out) write k_count int16 values;
//   finish(row_begin, rows, col_begin, cols, acc) takes a finished tile, whose rows are kGemmCols apart.
// They are called from many threads at once. Memory for the panels is allocated before anything is computed.
template <typename LoadA, typename LoadB, typename Finish>
void blocked_gemm(ThreadPool& pool, std::int64_t m, std::int64_t n, std::int64_t k, const LoadA& load_a,
                  const LoadB& load_b, const Finish& finish) {
    if (m == 0 || n == 0) return;
    struct Panels {
        std::int16_t a[kGemmRows * kGemmDepth];
        std::int16_t b[kGemmCols * kGemmDepth];
        std::int32_t acc[kGemmRows * kGemmCols];
    };
    const std::int64_t row_tiles = (m - 1) / kGemmRows + 1;
    const std::int64_t col_tiles = (n - 1) / kGemmCols + 1;
    std::vector<Panels> scratch(static_cast<std::size_t>(pool.threads()));

    pool.parallel_for(row_tiles * col_tiles, 1,
                      [&](std::int64_t tile_begin, std::int64_t tile_end, int slot) {
                          Panels& panels = scratch[static_cast<std::size_t>(slot)];
                          for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
                              // Column tiles run fastest, so that a tile's rows of A stay in the cache for
                              // the next one.
                              const std::int64_t row_begin = tile / col_tiles * kGemmRows;
                              const std::int64_t col_begin = tile % col_tiles * kGemmCols;
                              const std::int64_t rows = std::min(kGemmRows, m - row_begin);
                              const std::int64_t cols = std::min(kGemmCols, n - col_begin);
                              std::fill_n(panels.acc, kGemmRows * kGemmCols, 0);
                              for (std::int64_t k_begin = 0; k_begin < k; k_begin += kGemmDepth) {
                                  const std::int64_t depth = std::min(kGemmDepth, k - k_begin);
                                  for (std::int64_t i = 0; i < rows; ++i)
                                      load_a(row_begin + i, k_begin, depth, panels.a + i * kGemmDepth);
                                  for (std::int64_t j = 0; j < cols; ++j)
                                      load_b(col_begin + j, k_begin, depth, panels.b + j * kGemmDepth);
                                  gemm_panel(panels.a, panels.b, rows, cols, depth, panels.acc);
                              }
                              finish(row_begin, rows, col_begin, cols, panels.acc);
                          }
                      });
}

}  // namespace ckitchen::cpu

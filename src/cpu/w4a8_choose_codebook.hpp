// CPU backend of ck_w4a8_choose_codebook; see cpu/int8_gemm.hpp for what all entries have in common.
#pragma once

#include <ckitchen.h>

#include <cstdint>

#include "cpu/thread_pool.hpp"

namespace ckitchen::cpu {

std::uint64_t w4a8_choose_codebook_workspace(const ck_w4a8_choose_codebook_args& p);
void w4a8_choose_codebook(ThreadPool& pool, const ck_w4a8_choose_codebook_args& p);

// The host's part for other backends: fits the levels to `count` gathered values, which it reorders; NaNs are
// left out.
void w4a8_fit_codebook(float* values, std::int64_t count, float (&levels)[16]);

}  // namespace ckitchen::cpu

// CPU backend of ck_int8_quantize; see cpu/int8_gemm.hpp for what all entries have in common.
#pragma once

#include <ckitchen.h>

#include <cstdint>

#include "cpu/thread_pool.hpp"

namespace ckitchen::cpu {

std::uint64_t int8_quantize_workspace(const ck_int8_quantize_args& p);
void int8_quantize(ThreadPool& pool, const ck_int8_quantize_args& p);

}  // namespace ckitchen::cpu

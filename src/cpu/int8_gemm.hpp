// CPU backend of ck_int8_gemm. Like all entries of the CPU backend it takes checked arguments with every
// default filled in, computes before it returns, and throws only std::bad_alloc, before anything is written.
#pragma once

#include <ckitchen.h>

#include <cstdint>

#include "cpu/thread_pool.hpp"

namespace ckitchen::cpu {

std::uint64_t int8_gemm_workspace(const ck_int8_gemm_args& p);
void int8_gemm(ThreadPool& pool, const ck_int8_gemm_args& p);

}  // namespace ckitchen::cpu

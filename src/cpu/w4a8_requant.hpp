// CPU backend of ck_w4a8_requant; see cpu/int8_gemm.hpp for what all entries have in common.
#pragma once

#include <ckitchen.h>

#include <cstdint>

#include "cpu/thread_pool.hpp"

namespace ckitchen::cpu {

std::uint64_t w4a8_requant_workspace(const ck_w4a8_requant_args& p);
void w4a8_requant(ThreadPool& pool, const ck_w4a8_requant_args& p);

}  // namespace ckitchen::cpu

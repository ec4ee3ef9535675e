// CPU backend of ck_rotate; see cpu/int8_gemm.hpp for what all entries have in common.
#pragma once

#include <ckitchen.h>

#include <cstdint>

#include "cpu/thread_pool.hpp"

namespace ckitchen::cpu {

std::uint64_t rotate_workspace(const ck_rotate_args& p);
void rotate(ThreadPool& pool, const ck_rotate_args& p);

}  // namespace ckitchen::cpu

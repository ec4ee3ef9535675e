// CPU backend of ck_na3d; see cpu/int8_gemm.hpp for what all entries have in common.
#pragma once

#include <ckitchen.h>

#include <cstdint>

#include "cpu/thread_pool.hpp"

namespace ckitchen::cpu {

std::uint64_t na3d_workspace(const ck_na3d_args& p);
void na3d(ThreadPool& pool, const ck_na3d_args& p);

}  // namespace ckitchen::cpu

// CPU backend of ck_int8_error; see cpu/int8_gemm.hpp for what all entries have in common.
#pragma once

#include <ckitchen.h>

#include "cpu/thread_pool.hpp"

namespace ckitchen::cpu {

void int8_error(ThreadPool& pool, const ck_int8_error_args& p);

}  // namespace ckitchen::cpu

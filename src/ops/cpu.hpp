// The way from an operator to the CPU backend.
#pragma once

#include "core/context.hpp"
#include "cpu/backend.hpp"

namespace ckitchen::ops {

inline cpu::ThreadPool& cpu_threads(ck_context& context) {
    return static_cast<cpu::CpuBackend&>(*context.backend).threads();
}

}  // namespace ckitchen::ops

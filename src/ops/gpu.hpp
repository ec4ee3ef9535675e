// The way from an operator to a GPU.
#pragma once

#include "core/context.hpp"
#include "runtime/gpu_backend.hpp"

namespace ckitchen::ops {

inline runtime::GpuBackend& gpu(ck_context& context) {
    return static_cast<runtime::GpuBackend&>(*context.backend);
}

inline const runtime::GpuBackend& gpu(const ck_context& context) {
    return static_cast<const runtime::GpuBackend&>(*context.backend);
}

}  // namespace ckitchen::ops

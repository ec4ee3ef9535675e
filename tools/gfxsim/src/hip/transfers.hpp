#pragma once

#include "runtime.hpp"

namespace ckitchen::gfxsim {

/// A copy at its turn on the current device's null stream, over when it returns.
int copy_now(Runtime& rt, void* dst, const void* src, size_t bytes, int kind);
/// A copy at its turn on a stream. With memory that the runtime did not allocate it is over when it returns.
int copy_on_stream(Runtime& rt, void* dst, const void* src, size_t bytes, int kind, void* stream);

}  // namespace ckitchen::gfxsim

#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.hpp"

namespace gfxsim_test {

using namespace ckitchen::gfxsim;

/// Simulated device memory for the fixture's worker.
struct Buffer {
    explicit Buffer(size_t bytes)
        : p(static_cast<uint8_t*>(MemoryMap::instance().allocate(bytes, MemoryKind::kDevice, 0, 0, ~0ull))) {}
    ~Buffer() { MemoryMap::instance().release(p, MemoryKind::kDevice); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    uint8_t* p;
};

}  // namespace gfxsim_test

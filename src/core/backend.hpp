// What every backend offers to the layers above: a device, its memory, its variants.
#pragma once

#include <ckitchen.h>

#include <cstdint>
#include <span>

#include "core/status.hpp"

namespace ckitchen {

// One way to run an operator on a device. Names are stable and static; `row` is the backend's own description
// (a row of kernels/<op>/<op>.inc), nullptr on the CPU.
struct Variant {
    ck_op op;
    const char* name;
    const void* row;
};

// One device. Thread-safe; immutable but for what loads lazily.
class Backend {
  public:
    Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;
    virtual ~Backend() = default;

    virtual const ck_device_properties& properties() const = 0;
    // Can the device be used now, in this process?
    virtual Status check() const = 0;

    virtual Status allocate(uint64_t bytes, void** pointer) = 0;
    virtual Status release(void* pointer) = 0;
    // Page-locked host memory.
    virtual Status allocate_host(uint64_t bytes, void** pointer) = 0;
    virtual Status release_host(void* pointer) = 0;
    // A stream beside the default one; nullptr where there are none.
    virtual Status create_stream(void** stream) = 0;
    virtual Status destroy_stream(void* stream) = 0;
    // `copy` returns when the copy is complete, `enqueue_copy` at once where the host memory allows.
    virtual Status copy(void* destination, const void* source, uint64_t bytes, ck_copy_kind kind,
                        void* stream) = 0;
    virtual Status enqueue_copy(void* destination, const void* source, uint64_t bytes, ck_copy_kind kind,
                                void* stream) = 0;
    virtual Status synchronize(void* stream) = 0;
};

}  // namespace ckitchen

// The CPU as a device: ordinary memory, no streams, threads of the context's own.
#pragma once

#include "core/backend.hpp"
#include "cpu/thread_pool.hpp"

namespace ckitchen::cpu {

// The one CPU device, described.
const ck_device_properties& cpu_properties();

class CpuBackend final : public Backend {
  public:
    // threads: 0 = all that this process may use.
    explicit CpuBackend(int threads);

    ThreadPool& threads() { return threads_; }

    const ck_device_properties& properties() const override { return cpu_properties(); }
    Status check() const override { return {}; }
    Status allocate(uint64_t bytes, void** pointer) override;
    Status release(void* pointer) override;
    Status allocate_host(uint64_t bytes, void** pointer) override { return allocate(bytes, pointer); }
    Status release_host(void* pointer) override { return release(pointer); }
    Status create_stream(void** stream) override;
    Status destroy_stream(void* stream) override;
    Status copy(void* destination, const void* source, uint64_t bytes, ck_copy_kind kind,
                void* stream) override;
    Status enqueue_copy(void* destination, const void* source, uint64_t bytes, ck_copy_kind kind,
                        void* stream) override {
        return copy(destination, source, bytes, kind, stream);
    }
    Status synchronize(void* stream) override;

  private:
    ThreadPool threads_;
};

}  // namespace ckitchen::cpu

// The GPU driver as the rest of the library sees it: one interface, filled by the HIP runtime or the CUDA
// driver, both found at run time. Nothing here knows an operator.
#pragma once

#include <ckitchen.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/status.hpp"
#include "runtime/fork_mark.hpp"

namespace ckitchen::runtime {

class RuntimeCompiler;

struct DeviceFacts {
    std::string name;
    std::string arch;                // "gfx1201" without feature suffix, or "sm_90"
    int32_t compute_capability = 0;  // 90 for 9.0; 0 on AMD
    int32_t compute_units = 0;
    int64_t memory_bytes = 0;
    int64_t shared_memory_bytes = 0;  // that a workgroup may use
    bool integrated = false;
};

// A matrix of bytes and the tile of it that a kernel copies at once, for Driver::describe_tiles.
struct ByteTiles {
    uint64_t address = 0;  // a multiple of 16
    uint64_t rows = 0;     // at least 1, as all of these
    uint64_t columns = 0;
    uint64_t row_bytes = 0;     // between rows, a multiple of 16
    uint32_t tile_rows = 0;     // at most 256
    uint32_t tile_columns = 0;  // a multiple of 16, at most 128
    bool swizzled = true;       // the 16-byte pieces of eight rows of 128 bytes are permuted
};

using Module = void*;
using Function = void*;

// When a kernel may start.
enum class LaunchOrder : uint8_t {
    After,   // when all that is before it in the stream has ended
    Beside,  // when the kernel before it, one of ours, allows it (allow_next_kernel); it waits for the end
             // itself
};

// Thread-safe. Handles stay valid until the process ends: nothing is ever unloaded.
class Driver {
  public:
    Driver() = default;
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;
    virtual ~Driver() = default;

    // Handles of the driver are void in a child of the process that opened it.
    bool forked() const { return mark_.forked(); }
    Status forked_error() const;

    virtual ck_backend backend() const = 0;
    // For messages: "HIP 5.2 (/usr/lib/...)".
    virtual const std::string& description() const = 0;
    virtual bool graphs_record_launches() const = 0;

    virtual Status device_count(int& count) = 0;
    virtual Status device_facts(int ordinal, DeviceFacts& facts) = 0;

    // Makes a device current on this thread and remembers what was; `leave` puts it back.
    virtual Status enter(int ordinal, uintptr_t& previous) = 0;
    virtual void leave(uintptr_t previous) = 0;

    // The device is current in all of the following. The image stays alive as long as the process.
    virtual Status load_module(const void* image, std::size_t size, Module& module) = 0;
    virtual Status get_function(Module module, const char* name, Function& function) = 0;
    // Does `launch` know LaunchOrder::Beside, in captures too?
    virtual bool launches_beside() const = 0;
    // One by-value argument struct; `dynamic_bytes` of shared memory besides the static. Sizes of y and z
    // are 1.
    virtual Status launch(Function function, uint32_t groups, uint32_t threads, uint32_t dynamic_bytes,
                          const void* args, void* stream, LaunchOrder order) = 0;
    // Writes the 128 bytes of a tensor map.
    virtual Status describe_tiles(const ByteTiles& tiles, void* map) = 0;

    virtual Status allocate(uint64_t bytes, void** pointer) = 0;
    virtual Status release(void* pointer) = 0;
    // Page-locked memory of the host, for every device of the process.
    virtual Status allocate_host(uint64_t bytes, void** pointer) = 0;
    virtual Status release_host(void* pointer) = 0;
    // A stream that does not wait for the default one, nor the default one for it.
    virtual Status create_stream(void** stream) = 0;
    virtual Status destroy_stream(void* stream) = 0;
    virtual Status enqueue_copy(void* destination, const void* source, uint64_t bytes, ck_copy_kind kind,
                                void* stream) = 0;
    virtual Status synchronize(void* stream) = 0;

    virtual bool is_capturing(void* stream) = 0;
    // Lets this thread load code while a stream of the process captures; returns the mode to give back.
    virtual int relax_capture() = 0;
    virtual void restore_capture(int mode) = 0;

    // The compiler that comes with the runtime, opened on first use; an error where there is none.
    virtual Status compiler(RuntimeCompiler*& compiler) = 0;

  private:
    const ForkMark mark_;
};

// The process's driver of a kind, opened on first use and kept: later calls may name no other library. `path`
// NULL: the environment's or a known name. A failure is not remembered. In a forked child of the process that
// opened it: CK_ERROR_FORKED, and the driver is not called.
Status open_hip(const char* path, Driver*& driver);
Status open_cuda(const char* path, Driver*& driver);

// Current device for the life of the object.
class DeviceScope {
  public:
    DeviceScope(Driver& driver, int ordinal) : driver_(driver), status_(driver.enter(ordinal, previous_)) {}
    ~DeviceScope() {
        if (status_.ok()) driver_.leave(previous_);
    }
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

    const Status& status() const { return status_; }

  private:
    Driver& driver_;
    uintptr_t previous_ = 0;
    Status status_;
};

}  // namespace ckitchen::runtime

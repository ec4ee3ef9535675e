// A GPU as a context's device. What is loaded belongs to the process, not to the context: contexts on the
// same device share it.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "core/backend.hpp"
#include "runtime/driver.hpp"
#include "runtime/object_store.hpp"

namespace ckitchen::runtime {

// One device of the process. Never destroyed.
class GpuDevice {
  public:
    GpuDevice(Driver& driver, int ordinal, const DeviceFacts& facts);

    Driver& driver() { return driver_; }
    int ordinal() const { return ordinal_; }
    const ck_device_properties& properties() const { return properties_; }
    // Features of the target that was chosen, as in Target::features; 0 when unusable.
    uint64_t features() const { return target_ ? target_->features : 0; }
    const std::string& preference_key() const { return preference_key_; }
    // Can both the driver and the kernels do it?
    bool launches_beside() const { return launches_beside_; }

    // Loaded kernels are found without a lock. `kernel` is static text, compared by address.
    Function find(const char* kernel) const;
    // Loads what is missing. The device is current.
    Status load(const char* kernel, Function& function);

  private:
    Status compile_image(const EmbeddedSource& source, CodeImage& image);

    static constexpr std::size_t kSlots = 512;  // power of two, several times the number of kernels
    struct Slot {
        std::atomic<const char*> kernel{nullptr};
        std::atomic<Function> function{nullptr};
    };

    Driver& driver_;
    const int ordinal_;
    const Target* target_ = nullptr;
    bool compiled_ = false;  // no code is built in: the runtime's compiler makes it, an operator at a time
    bool launches_beside_ = false;
    std::string preference_key_;
    ck_device_properties properties_{};
    std::mutex mutex_;
    std::map<std::string, Module> modules_;
    std::array<Slot, kSlots> slots_;
};

// The device's record, made on first use. A failed probe is not remembered.
Status gpu_device(Driver& driver, int ordinal, GpuDevice*& device);

class GpuBackend final : public Backend {
  public:
    explicit GpuBackend(GpuDevice& device);

    GpuDevice& device() { return device_; }

    // Launches a kernel of this library with its argument struct on the caller's stream, with dynamic shared
    // memory where the kernel has any. `order` other than After only behind a kernel of the same operator
    // call.
    Status launch(const char* kernel, uint32_t groups, uint32_t threads, const void* args, void* stream,
                  uint32_t dynamic_bytes = 0, LaunchOrder order = LaunchOrder::After);
    // Writes a tensor map for each of the matrices: see Driver.
    template <std::size_t kCount>
    Status describe_tiles(const ByteTiles (&tiles)[kCount], void* const (&maps)[kCount]) {
        return describe_tiles(tiles, maps, kCount);
    }
    // Loads kernels ahead of time.
    Status prepare(const char* kernel);
    // An error while the stream captures, for what a capture cannot record; `what` is its name.
    Status check_not_capturing(const char* what, void* stream);

    bool launches_beside() const { return device_.launches_beside(); }
    const ck_device_properties& properties() const override { return device_.properties(); }
    Status check() const override;
    Status allocate(uint64_t bytes, void** pointer) override;
    Status release(void* pointer) override;
    Status allocate_host(uint64_t bytes, void** pointer) override;
    Status release_host(void* pointer) override;
    Status create_stream(void** stream) override;
    Status destroy_stream(void* stream) override;
    Status copy(void* destination, const void* source, uint64_t bytes, ck_copy_kind kind,
                void* stream) override;
    Status enqueue_copy(void* destination, const void* source, uint64_t bytes, ck_copy_kind kind,
                        void* stream) override;
    Status synchronize(void* stream) override;

  private:
    template <typename Body>
    Status on_device(Body&& body);
    // For what no capture records: without this it would break the captures of other streams and threads.
    template <typename Body>
    Status unrecorded(Body&& body);
    Status noted(Status status);
    Status refuse_capture(const char* what, void* stream);
    Status describe_tiles(const ByteTiles* tiles, void* const* maps, std::size_t count);

    GpuDevice& device_;
    std::atomic<bool> lost_{false};
};

}  // namespace ckitchen::runtime

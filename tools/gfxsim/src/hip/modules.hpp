#pragma once

#include <array>
#include <memory>
#include <string>

#include "runtime.hpp"

namespace ckitchen::gfxsim {

/// Loads code for a device and enters it into the runtime's tables.
int load_module(Runtime& rt, std::unique_ptr<HipModule> module, const void* image, int device,
                HipModule*& loaded);
/// Removes a module from the tables; nullptr when the handle is none.
std::unique_ptr<HipModule> take_module(Runtime& rt, void* handle);
/// A kernel of a module by its name, 500 when there is none.
int find_function(Runtime& rt, HipModule& module, const std::string& name, HipFunction*& function);

struct LaunchShape {
    std::array<uint32_t, 3> grid;
    std::array<uint32_t, 3> block;
    uint32_t dynamic_lds;
};

/// The stream of a launch: 0 or the error of the release for a handle that is none, or of another device.
int launch_stream(Runtime& rt, void* handle, HipStream*& stream);
/// Enqueues a kernel. Arguments as one pointer each, or as the list {1, buffer, 2, &size, 3}.
int launch(Runtime& rt, HipStream& stream, const HipFunction& function, const LaunchShape& shape,
           void** params, void** extra, bool recordable);

/// Bytes of LDS that a launch may add to what the kernel declares.
int most_dynamic_lds(const Kernel& kernel);
/// Workgroups of that size that a workgroup processor holds.
int resident_groups(Runtime& rt, const HipFunction& function, int block_size, size_t dynamic_lds);

}  // namespace ckitchen::gfxsim

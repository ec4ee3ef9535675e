// What compiled HIP programs call: their device code and its symbols are registered before main(), kernels
// are known by the address of a host function and variables by that of a host variable.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "modules.hpp"
#include "transfers.hpp"

using namespace ckitchen::gfxsim;

namespace {

/// As the compiler lays it out.
struct FatBinaryWrapper {
    uint32_t magic;
    uint32_t version;
    const void* image;
    void* unused;
};
constexpr uint32_t kWrapperMagic = 0x48495046;  // "HIPF"

/// A program's device code. It is loaded for a device when something of it is first used there, since nothing
/// may touch the runtime before main().
struct FatBinary {
    const void* image = nullptr;
    std::map<int, HipModule*> loaded;
};

/// A kernel or a variable of the program.
struct Symbol {
    FatBinary* binary = nullptr;
    std::string name;  // in the device code
};

struct Program {
    std::mutex mutex;
    std::map<FatBinary*, std::unique_ptr<FatBinary>> binaries;
    std::map<const void*, Symbol> kernels, variables;
};

Program& program() {
    // Never destroyed: programs take their code away in their own exit handlers.
    static Program* all = new Program;
    return *all;
}

int module_on(Runtime& rt, FatBinary& binary, int device, HipModule*& module) {
    HipModule*& loaded = binary.loaded[device];
    if (!loaded)
        if (const int error = load_module(rt, std::make_unique<HipModule>(), binary.image, device, loaded))
            return error;
    module = loaded;
    return kSuccess;
}

int kernel_on(Runtime& rt, const void* stub, int device, HipFunction*& function) {
    Program& all = program();
    std::lock_guard lock(all.mutex);
    const auto it = all.kernels.find(stub);
    if (it == all.kernels.end()) return kInvalidDeviceFunction;
    HipModule* module = nullptr;
    if (const int error = module_on(rt, *it->second.binary, device, module)) return error;
    const int error = find_function(rt, *module, it->second.name, function);
    return error == kNotFound ? kInvalidDeviceFunction : error;
}

/// The variable on the current device.
int variable_of(Runtime& rt, const void* shadow, Global& global) {
    Program& all = program();
    std::lock_guard lock(all.mutex);
    const auto it = all.variables.find(shadow);
    if (it == all.variables.end()) return kInvalidSymbol;
    HipModule* module = nullptr;
    if (const int error = module_on(rt, *it->second.binary, thread_state().device, module)) return error;
    const Global* found = module->object->find_global(it->second.name);
    if (!found) return kInvalidSymbol;
    global = *found;
    return kSuccess;
}

/// The bytes [offset, offset + bytes) of a variable.
int part_of(Runtime& rt, const void* shadow, size_t bytes, size_t offset, void*& part) {
    Global global;
    if (const int error = variable_of(rt, shadow, global)) return error;
    if (offset > global.size || bytes > global.size - offset) return kInvalidValue;
    part = reinterpret_cast<void*>(global.address + offset);
    return kSuccess;
}

struct Dim3 {
    uint32_t x, y, z;
};

struct CallConfiguration {
    Dim3 grid, block;
    size_t dynamic_lds;
    void* stream;
};
thread_local std::vector<CallConfiguration> configurations;

int launch_stub(const void* stub, Dim3 grid, Dim3 block, void** arguments, size_t dynamic_lds,
                void* stream_handle) {
    return guarded([&](Runtime& rt) -> int {
        HipStream* stream = nullptr;
        if (const int error = launch_stream(rt, stream_handle, stream)) return error;
        HipFunction* function = nullptr;
        if (const int error = kernel_on(rt, stub, stream->device, function)) return error;
        if (dynamic_lds > UINT32_MAX) return kInvalidValue;
        const LaunchShape shape{
            {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<uint32_t>(dynamic_lds)};
        return launch(rt, *stream, *function, shape, arguments, nullptr, true);
    });
}

struct FunctionAttributes {
    int binary_version;
    int cache_mode;
    size_t constant_bytes;
    size_t local_bytes;
    int most_dynamic_lds;
    int most_threads;
    int registers;
    int carveout;
    int ptx_version;
    size_t lds_bytes;
};
static_assert(sizeof(FunctionAttributes) == 56);

}  // namespace

GFXSIM_API void** __hipRegisterFatBinary(const void* data) {
    const auto* wrapper = static_cast<const FatBinaryWrapper*>(data);
    if (!wrapper || wrapper->magic != kWrapperMagic || wrapper->version != 1) {
        std::fprintf(stderr, "gfxsim: the program registers device code in a wrapper of an unknown kind\n");
        std::abort();
    }
    auto binary = std::make_unique<FatBinary>();
    binary->image = wrapper->image;
    FatBinary* handle = binary.get();
    Program& all = program();
    std::lock_guard lock(all.mutex);
    all.binaries.emplace(handle, std::move(binary));
    return reinterpret_cast<void**>(handle);
}

GFXSIM_API void __hipRegisterFunction(void** binary, const void* stub, char*, const char* name, unsigned,
                                      void*, void*, void*, void*, int*) {
    Program& all = program();
    std::lock_guard lock(all.mutex);
    all.kernels[stub] = {reinterpret_cast<FatBinary*>(binary), name};
}

GFXSIM_API void __hipRegisterVar(void** binary, void* shadow, char*, char* name, int, size_t, int, int) {
    Program& all = program();
    std::lock_guard lock(all.mutex);
    all.variables[shadow] = {reinterpret_cast<FatBinary*>(binary), name};
}

GFXSIM_API void __hipUnregisterFatBinary(void** handle) {
    auto* binary = reinterpret_cast<FatBinary*>(handle);
    Program& all = program();
    std::lock_guard lock(all.mutex);
    const auto of_binary = [&](const auto& entry) { return entry.second.binary == binary; };
    std::erase_if(all.kernels, of_binary);
    std::erase_if(all.variables, of_binary);
    const auto it = all.binaries.find(binary);
    if (it == all.binaries.end()) return;
    // Without a module the runtime may never have been used, and a forked child has none.
    if (!binary->loaded.empty() && Runtime::instance().same_process()) {
        Runtime& rt = Runtime::instance();
        for (const auto& [device, module] : binary->loaded) {
            if (!module) continue;
            rt.wait_for_device(device);
            take_module(rt, module);
        }
    }
    all.binaries.erase(it);
}

GFXSIM_API int __hipPushCallConfiguration(Dim3 grid, Dim3 block, size_t dynamic_lds, void* stream) {
    configurations.push_back({grid, block, dynamic_lds, stream});
    return kSuccess;
}

GFXSIM_API int __hipPopCallConfiguration(Dim3* grid, Dim3* block, size_t* dynamic_lds, void** stream) {
    if (configurations.empty()) return kUnknownError;
    const CallConfiguration& last = configurations.back();
    *grid = last.grid;
    *block = last.block;
    *dynamic_lds = last.dynamic_lds;
    *stream = last.stream;
    configurations.pop_back();
    return kSuccess;
}

GFXSIM_API int hipLaunchKernel(const void* stub, Dim3 grid, Dim3 block, void** arguments, size_t dynamic_lds,
                               void* stream) {
    return launch_stub(stub, grid, block, arguments, dynamic_lds, stream);
}

GFXSIM_API int hipLaunchCooperativeKernel(const void* stub, Dim3 grid, Dim3 block, void** arguments,
                                          unsigned dynamic_lds, void* stream) {
    return launch_stub(stub, grid, block, arguments, dynamic_lds, stream);
}

GFXSIM_API int hipFuncGetAttributes(void* out, const void* stub) {
    return guarded([&](Runtime& rt) -> int {
        if (!out) return kInvalidValue;
        HipFunction* function = nullptr;
        if (const int error = kernel_on(rt, stub, thread_state().device, function)) return error;
        const Kernel& k = *function->kernel;
        FunctionAttributes attributes{};
        attributes.local_bytes = k.private_segment_size;
        attributes.most_dynamic_lds = most_dynamic_lds(k);
        attributes.most_threads = static_cast<int>(k.max_workgroup_size);
        attributes.registers = static_cast<int>(k.vgpr_count);
        attributes.lds_bytes = k.group_segment_size;
        std::memcpy(out, &attributes, sizeof attributes);
        return kSuccess;
    });
}

GFXSIM_API int hipFuncSetAttribute(const void* f, int, int) {
    return guarded([&](Runtime& rt) -> int {
        if (kFlavor < 63) return kSuccess;
        if (!f) return kInvalidDeviceFunction;
        HipFunction* function = nullptr;
        const int error = kernel_on(rt, f, thread_state().device, function);
        if (error != kInvalidDeviceFunction) return error;
        // 6.3 takes host stubs only, and a module's function is none.
        if (kFlavor < 70) return kInvalidSymbol;
        return rt.function(const_cast<void*>(f)) ? kSuccess : kInvalidDeviceFunction;
    });
}

GFXSIM_API int hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* stub, int block_size,
                                                            size_t dynamic_lds) {
    return guarded([&](Runtime& rt) -> int {
        if (!blocks || block_size <= 0) return kInvalidValue;
        HipFunction* function = nullptr;
        if (const int error = kernel_on(rt, stub, thread_state().device, function)) return error;
        *blocks = resident_groups(rt, *function, block_size, dynamic_lds);
        return kSuccess;
    });
}

GFXSIM_API int hipGetSymbolAddress(void** address, const void* shadow) {
    return guarded([&](Runtime& rt) -> int {
        if (!address) return kInvalidValue;
        Global global;
        if (const int error = variable_of(rt, shadow, global)) return error;
        *address = reinterpret_cast<void*>(global.address);
        return kSuccess;
    });
}

GFXSIM_API int hipGetSymbolSize(size_t* bytes, const void* shadow) {
    return guarded([&](Runtime& rt) -> int {
        if (!bytes) return kInvalidValue;
        Global global;
        if (const int error = variable_of(rt, shadow, global)) return error;
        *bytes = global.size;
        return kSuccess;
    });
}

GFXSIM_API int hipMemcpyToSymbol(const void* shadow, const void* src, size_t bytes, size_t offset, int kind) {
    return guarded([&](Runtime& rt) -> int {
        void* part = nullptr;
        if (const int error = part_of(rt, shadow, bytes, offset, part)) return error;
        return copy_now(rt, part, src, bytes, kind);
    });
}

GFXSIM_API int hipMemcpyToSymbolAsync(const void* shadow, const void* src, size_t bytes, size_t offset,
                                      int kind, void* stream) {
    return guarded([&](Runtime& rt) -> int {
        void* part = nullptr;
        if (const int error = part_of(rt, shadow, bytes, offset, part)) return error;
        return copy_on_stream(rt, part, src, bytes, kind, stream);
    });
}

GFXSIM_API int hipMemcpyFromSymbol(void* dst, const void* shadow, size_t bytes, size_t offset, int kind) {
    return guarded([&](Runtime& rt) -> int {
        void* part = nullptr;
        if (const int error = part_of(rt, shadow, bytes, offset, part)) return error;
        return copy_now(rt, dst, part, bytes, kind);
    });
}

GFXSIM_API int hipMemcpyFromSymbolAsync(void* dst, const void* shadow, size_t bytes, size_t offset, int kind,
                                        void* stream) {
    return guarded([&](Runtime& rt) -> int {
        void* part = nullptr;
        if (const int error = part_of(rt, shadow, bytes, offset, part)) return error;
        return copy_on_stream(rt, dst, part, bytes, kind, stream);
    });
}

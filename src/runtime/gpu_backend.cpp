#include "runtime/gpu_backend.hpp"

#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "core/bounded_text.hpp"
#include "core/env.hpp"
#include "core/log.hpp"
#include "core/struct_io.hpp"
#include "runtime/runtime_compiler.hpp"

namespace ckitchen::runtime {
namespace {

// The target whose code a device runs: by exact name on AMD; on NVIDIA the most capable PTX that it takes.
const Target* choose_target(const DeviceFacts& facts) {
    const Target* best = nullptr;
    for (const Target& target : known_targets()) {
        if (facts.compute_capability == 0) {
            if (std::strcmp(target.kind, "elf") == 0 && facts.arch == target.name) return &target;
            continue;
        }
        if (std::strcmp(target.kind, "ptx") != 0 || !has_code(target.name)) continue;
        const auto capability = static_cast<uint32_t>(facts.compute_capability);
        const bool fits = target.exact ? capability == target.min_compute_capability
                                       : capability >= target.min_compute_capability;
        if (fits && (!best || target.min_compute_capability > best->min_compute_capability)) best = &target;
    }
    return best;
}

std::string feature_list(uint64_t features) {
    std::string list;
    const auto names = feature_names();
    for (std::size_t i = 0; i < names.size(); ++i) {
        if ((features >> i & 1) == 0) continue;
        if (!list.empty()) list += ' ';
        list += names[i];
    }
    return list;
}

// Kernels are named by static text: its address is the key.
std::size_t slot_of(const char* kernel, std::size_t slots) {
    auto key = reinterpret_cast<uintptr_t>(kernel);
    key ^= key >> 17;
    return (key * 0x9e3779b97f4a7c15u >> 32) & (slots - 1);
}

}  // namespace

GpuDevice::GpuDevice(Driver& driver, int ordinal, const DeviceFacts& facts)
    : driver_(driver), ordinal_(ordinal) {
    properties_.struct_size = sizeof(properties_);
    properties_.backend = driver.backend();
    properties_.ordinal = ordinal;
    properties_.usable = CK_OK;
    if (facts.integrated) properties_.flags |= CK_DEVICE_INTEGRATED;
    if (env().gfx_override && driver.backend() == CK_BACKEND_HIP) properties_.flags |= CK_DEVICE_OVERRIDDEN;
    properties_.compute_units = facts.compute_units;
    properties_.memory_bytes = facts.memory_bytes;
    properties_.shared_memory_bytes = facts.shared_memory_bytes;
    copy_text(properties_.name, facts.name);
    copy_text(properties_.arch, facts.arch);
    preference_key_ = facts.arch;

    target_ = choose_target(facts);
    if (target_ && has_code(target_->name)) {
        copy_text(properties_.features, feature_list(target_->features));
        launches_beside_ = driver.launches_beside() && (features() & feature_bit("ptx_grid_wait")) != 0;
        return;
    }
    std::string why =
        facts.compute_capability == 0 ? "this library knows no such processor" : "no PTX runs on it";
    if (target_) {
        RuntimeCompiler* compiler = nullptr;
        Status status = embedded_sources().empty()
                            ? error(CK_ERROR_UNSUPPORTED_ARCH, "this build has no sources to compile")
                            : driver.compiler(compiler);
        if (status.ok()) status = compiler->check_target(target_->name);
        if (status.ok()) {
            compiled_ = true;
            properties_.flags |= CK_DEVICE_COMPILED;
            copy_text(properties_.features, feature_list(target_->features));
            return;
        }
        why = status.message();
    }
    const std::string built = target_ranges(builtin_targets());
    const std::string reason =
        format_text("no code for {}: {}; built in: {}; {}",
                    fmt::make_format_args(facts.arch, why, built, driver.description()));
    target_ = nullptr;
    properties_.usable = CK_ERROR_UNSUPPORTED_ARCH;
    copy_text(properties_.unusable_reason, reason);
}

Function GpuDevice::find(const char* kernel) const {
    for (std::size_t i = slot_of(kernel, kSlots), step = 0; step < kSlots;
         ++step, i = (i + 1) & (kSlots - 1)) {
        const char* entry = slots_[i].kernel.load(std::memory_order_acquire);
        if (entry == kernel) return slots_[i].function.load(std::memory_order_relaxed);
        if (!entry) return nullptr;
    }
    return nullptr;
}

Status GpuDevice::compile_image(const EmbeddedSource& source, CodeImage& image) {
    RuntimeCompiler* compiler = nullptr;
    CK_RETURN_IF_ERROR(driver_.compiler(compiler));
    std::vector<char> code;
    CK_RETURN_IF_ERROR(compiler->compile(*target_, source, code));
    return keep_image(code.data(), code.size(), *target_, image);
}

Status GpuDevice::load(const char* kernel, Function& function) {
    std::lock_guard lock(mutex_);
    function = find(kernel);
    if (function) return {};
    if (!target_) return error(properties_.usable, "{}", properties_.unusable_reason);
    const EmbeddedSource* source = compiled_ ? source_of(kernel) : nullptr;
    const std::string module_name = source                                   ? source->op
                                    : std::strcmp(target_->kind, "elf") == 0 ? "all"
                                                                             : kernel;
    const auto loaded = modules_.find(module_name);
    Module module = loaded == modules_.end() ? nullptr : loaded->second;
    // Loading is legal during a capture, but on some drivers only for threads that say so.
    const int mode = driver_.relax_capture();
    Status status;
    if (!module) {
        CodeImage image;
        status = source ? compile_image(*source, image) : load_image(*target_, module_name, image);
        if (status.ok()) status = driver_.load_module(image.data, image.size, module);
        if (status.ok()) modules_[module_name] = module;
    }
    if (status.ok()) status = driver_.get_function(module, kernel, function);
    driver_.restore_capture(mode);
    if (!status.ok())
        return status.with_prefix(format_text(
            "device {} ({}), code of {}, {}: ",
            fmt::make_format_args(ordinal_, properties_.arch, target_->name, driver_.description())));
    log(CK_LOG_DEBUG, "device {} ({}): loaded {}", ordinal_, properties_.arch, kernel);
    for (std::size_t i = slot_of(kernel, kSlots);; i = (i + 1) & (kSlots - 1)) {
        if (slots_[i].kernel.load(std::memory_order_relaxed)) continue;
        slots_[i].function.store(function, std::memory_order_relaxed);
        slots_[i].kernel.store(kernel, std::memory_order_release);
        return {};
    }
}

Status gpu_device(Driver& driver, int ordinal, GpuDevice*& device) {
    static std::mutex mutex;
    static auto* devices = new std::map<std::pair<Driver*, int>, GpuDevice*>;
    std::lock_guard lock(mutex);
    const auto found = devices->find({&driver, ordinal});
    if (found != devices->end()) {
        device = found->second;
        return {};
    }
    DeviceFacts facts;
    CK_RETURN_IF_ERROR(driver.device_facts(ordinal, facts));
    auto made = std::make_unique<GpuDevice>(driver, ordinal, facts);
    device = made.get();
    (*devices)[{&driver, ordinal}] = made.release();
    return {};
}

GpuBackend::GpuBackend(GpuDevice& device) : device_(device) {}

Status GpuBackend::check() const {
    if (device_.driver().forked()) return device_.driver().forked_error();
    if (lost_.load(std::memory_order_relaxed))
        return error(CK_ERROR_DEVICE_LOST, "device {} ({}) faulted earlier", device_.ordinal(),
                     properties().arch);
    return {};
}

Status GpuBackend::noted(Status status) {
    if (status.code() == CK_ERROR_DEVICE_LOST) lost_ = true;
    return status;
}

template <typename Body>
Status GpuBackend::on_device(Body&& body) {
    const DeviceScope scope(device_.driver(), device_.ordinal());
    if (!scope.status().ok()) return noted(scope.status());
    return noted(body());
}

template <typename Body>
Status GpuBackend::unrecorded(Body&& body) {
    return on_device([&] {
        const int mode = device_.driver().relax_capture();
        Status status = body();
        device_.driver().restore_capture(mode);
        return status;
    });
}

Status GpuBackend::refuse_capture(const char* what, void* stream) {
    if (device_.driver().is_capturing(stream))
        return error(CK_ERROR_NOT_PREPARED, "{} is not possible while the stream captures", what);
    return {};
}

Status GpuBackend::launch(const char* kernel, uint32_t groups, uint32_t threads, const void* args,
                          void* stream, uint32_t dynamic_bytes, LaunchOrder order) {
    if (!device_.launches_beside()) order = LaunchOrder::After;
    return on_device([&]() -> Status {
        Function function = device_.find(kernel);
        if (!function) {
            if (device_.driver().is_capturing(stream))
                return error(CK_ERROR_NOT_PREPARED,
                             "{} is not loaded and the stream captures: give the problem to ck_prepare first",
                             kernel);
            CK_RETURN_IF_ERROR(device_.load(kernel, function));
        }
        if (!device_.driver().graphs_record_launches() && device_.driver().is_capturing(stream))
            return error(CK_ERROR_NOT_PREPARED,
                         "{} does not record launches in a capture: HIP 5.3 or newer does",
                         device_.driver().description());
        return device_.driver().launch(function, groups, threads, dynamic_bytes, args, stream, order);
    });
}

Status GpuBackend::describe_tiles(const ByteTiles* tiles, void* const* maps, std::size_t count) {
    return on_device([&]() -> Status {
        for (std::size_t i = 0; i < count; ++i)
            CK_RETURN_IF_ERROR(device_.driver().describe_tiles(tiles[i], maps[i]));
        return {};
    });
}

Status GpuBackend::prepare(const char* kernel) {
    if (device_.find(kernel)) return {};
    return on_device([&] {
        Function function = nullptr;
        return device_.load(kernel, function);
    });
}

Status GpuBackend::check_not_capturing(const char* what, void* stream) {
    return on_device([&] { return refuse_capture(what, stream); });
}

Status GpuBackend::allocate(uint64_t bytes, void** pointer) {
    return unrecorded([&] { return device_.driver().allocate(bytes, pointer); });
}

Status GpuBackend::release(void* pointer) {
    return unrecorded([&] { return device_.driver().release(pointer); });
}

Status GpuBackend::allocate_host(uint64_t bytes, void** pointer) {
    return unrecorded([&] { return device_.driver().allocate_host(bytes, pointer); });
}

Status GpuBackend::release_host(void* pointer) {
    return unrecorded([&] { return device_.driver().release_host(pointer); });
}

Status GpuBackend::create_stream(void** stream) {
    return unrecorded([&] { return device_.driver().create_stream(stream); });
}

Status GpuBackend::destroy_stream(void* stream) {
    return unrecorded([&] { return device_.driver().destroy_stream(stream); });
}

Status GpuBackend::copy(void* destination, const void* source, uint64_t bytes, ck_copy_kind kind,
                        void* stream) {
    return unrecorded([&]() -> Status {
        CK_RETURN_IF_ERROR(refuse_capture("ck_copy", stream));
        CK_RETURN_IF_ERROR(device_.driver().enqueue_copy(destination, source, bytes, kind, stream));
        return device_.driver().synchronize(stream);
    });
}

Status GpuBackend::enqueue_copy(void* destination, const void* source, uint64_t bytes, ck_copy_kind kind,
                                void* stream) {
    return on_device([&]() -> Status {
        CK_RETURN_IF_ERROR(refuse_capture("ck_copy_async", stream));
        return device_.driver().enqueue_copy(destination, source, bytes, kind, stream);
    });
}

Status GpuBackend::synchronize(void* stream) {
    return unrecorded([&]() -> Status {
        CK_RETURN_IF_ERROR(refuse_capture("ck_synchronize", stream));
        return device_.driver().synchronize(stream);
    });
}

}  // namespace ckitchen::runtime

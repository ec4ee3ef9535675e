#include "cpu/backend.hpp"

#include <sys/sysinfo.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "core/bounded_text.hpp"
#include "core/struct_io.hpp"
#include "cpu/thread_count.hpp"

namespace ckitchen::cpu {
namespace {

constexpr std::size_t kAlignment = 256;

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("model name", 0) != 0) continue;
        const std::size_t at = line.find(": ");
        if (at != std::string::npos) return line.substr(at + 2);
    }
    return "CPU";
}

const char* isa_level() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    // By the instructions that matter: not every compiler knows the levels by name.
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt")) return "x86-64";
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
        return "x86-64-v2";
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return "x86-64-v3";
    return "x86-64-v4";
#elif defined(__aarch64__)
    return "aarch64";
#else
    return "generic";
#endif
}

ck_device_properties describe() {
    ck_device_properties result{};
    result.struct_size = sizeof(result);
    result.backend = CK_BACKEND_CPU;
    result.usable = CK_OK;
    result.compute_units = available_threads();
    struct sysinfo info {};
    if (sysinfo(&info) == 0) result.memory_bytes = static_cast<int64_t>(info.totalram) * info.mem_unit;
    copy_text(result.name, processor_name());
    copy_text(result.arch, isa_level());
    return result;
}

}  // namespace

const ck_device_properties& cpu_properties() {
    static const ck_device_properties properties = describe();
    return properties;
}

CpuBackend::CpuBackend(int threads) : threads_(threads > 0 ? threads : available_threads()) {}

Status CpuBackend::allocate(uint64_t bytes, void** pointer) {
    const uint64_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    void* memory = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded);
    if (!memory) return error(CK_ERROR_OUT_OF_MEMORY, "{} bytes of memory could not be allocated", bytes);
    *pointer = memory;
    return {};
}

Status CpuBackend::release(void* pointer) {
    std::free(pointer);
    return {};
}

Status CpuBackend::create_stream(void** stream) {
    *stream = nullptr;
    return {};
}

Status CpuBackend::destroy_stream(void*) {
    return {};
}

Status CpuBackend::copy(void* destination, const void* source, uint64_t bytes, ck_copy_kind, void*) {
    std::memcpy(destination, source, bytes);
    return {};
}

Status CpuBackend::synchronize(void*) {
    return {};
}

}  // namespace ckitchen::cpu

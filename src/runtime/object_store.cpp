#include "runtime/object_store.hpp"

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <mutex>
#include <sstream>

#include "core/env.hpp"
#include "core/log.hpp"

namespace ckitchen::runtime {
namespace {

constexpr std::size_t kLargestImage = std::size_t{1} << 30;
constexpr uint16_t kMachineAmdgpu = 224;
constexpr unsigned char kOsAbiHsa = 64;
constexpr uint32_t kMachMask = 0xff;

Status anonymous_memory(std::size_t size, void*& memory) {
    memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return error(CK_ERROR_OUT_OF_MEMORY, "{} bytes for device code could not be allocated", size);
    return {};
}

std::string file_name(const std::string& target, bool elf, const std::string& module) {
    const std::string& folder = env().code_object_dir;
    return elf ? folder + "/" + target + ".elf" : folder + "/" + target + "/" + module + ".ptx";
}

bool exists(const std::string& path) {
    struct stat info {};
    return stat(path.c_str(), &info) == 0;
}

Status read_file(const std::string& path, CodeImage& image) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
    if (size < 0) return error(CK_ERROR_DRIVER, "{} could not be read", path);
    if (static_cast<uint64_t>(size) > kLargestImage)
        return error(CK_ERROR_DRIVER, "{} has {} bytes, must be at most {}", path, size, kLargestImage);
    void* memory = nullptr;
    // One more byte, zero, ends PTX text.
    CK_RETURN_IF_ERROR(anonymous_memory(static_cast<std::size_t>(size) + 1, memory));
    file.seekg(0);
    if (!file.read(static_cast<char*>(memory), size)) {
        munmap(memory, static_cast<std::size_t>(size) + 1);
        return error(CK_ERROR_DRIVER, "{} could not be read", path);
    }
    image = {memory, static_cast<std::size_t>(size)};
    return {};
}

// `Packed` is an EmbeddedObject or EmbeddedSource.
template <typename Packed>
Status unpack_to(const Packed& packed, void* memory, const std::string& what) {
    const std::size_t got = ZSTD_decompress(memory, packed.raw_size, packed.data, packed.compressed_size);
    if (!ZSTD_isError(got) && got == packed.raw_size) return {};
    return error(CK_ERROR_INTERNAL, "embedded {} does not unpack: {}", what,
                 ZSTD_isError(got) ? ZSTD_getErrorName(got) : "wrong size");
}

Status unpack(const EmbeddedObject& object, CodeImage& image) {
    void* memory = nullptr;
    CK_RETURN_IF_ERROR(anonymous_memory(object.raw_size + 1, memory));
    Status status =
        unpack_to(object, memory, std::string("code of ") + object.target + " (" + object.module + ")");
    if (status.ok())
        image = {memory, object.raw_size};
    else
        munmap(memory, object.raw_size + 1);
    return status;
}

}  // namespace

Status check_code_object_dir() {
    const std::string& folder = env().code_object_dir;
    struct stat info {};
    if (folder.empty() || (stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode))) return {};
    return error(CK_ERROR_INVALID_CONFIGURATION,
                 "environment variable CKITCHEN_CODE_OBJECT_DIR is '{}', which is no folder", folder);
}

uint64_t feature_bit(const char* feature) {
    const auto names = feature_names();
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (std::strcmp(names[i], feature) == 0) return uint64_t{1} << i;
    }
    return 0;
}

bool has_code(const std::string& target) {
    const auto embedded = embedded_objects();
    if (std::any_of(embedded.begin(), embedded.end(),
                    [&](const EmbeddedObject& o) { return target == o.target; }))
        return true;
    if (env().code_object_dir.empty()) return false;
    return exists(file_name(target, true, "")) || exists(env().code_object_dir + "/" + target);
}

Status check_code_object(const void* data, std::size_t size, const Target& target,
                         const std::string& source) {
    Elf64_Ehdr header;
    if (size < sizeof(header))
        return error(CK_ERROR_DRIVER, "{} has {} bytes: not an ELF file", source, size);
    std::memcpy(&header, data, sizeof(header));
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
        return error(CK_ERROR_DRIVER, "{} is not a 64-bit ELF file (a bundle must be unpacked first)",
                     source);
    if (header.e_machine != kMachineAmdgpu || header.e_ident[EI_OSABI] != kOsAbiHsa)
        return error(CK_ERROR_DRIVER, "{} is not an AMDGPU code object (machine {}, OS ABI {})", source,
                     header.e_machine, header.e_ident[EI_OSABI]);
    if ((header.e_flags & kMachMask) != target.elf_mach)
        return error(CK_ERROR_DRIVER, "{} is for machine {:#x}, {} is {:#x}", source,
                     header.e_flags & kMachMask, target.name, target.elf_mach);
    // HIP computes the file's size from the section headers: they must lie inside it.
    const uint64_t sections = uint64_t{header.e_shnum} * header.e_shentsize;
    if (header.e_shoff > size || sections > size - header.e_shoff)
        return error(CK_ERROR_DRIVER, "{} is cut off: {} bytes, section headers to {}", source, size,
                     header.e_shoff + sections);
    return {};
}

Status load_image(const Target& target, const std::string& module, CodeImage& image) {
    const bool elf = std::strcmp(target.kind, "elf") == 0;
    if (!env().code_object_dir.empty()) {
        const std::string path = file_name(target.name, elf, module);
        if (exists(path)) {
            CK_RETURN_IF_ERROR(read_file(path, image));
            if (elf) CK_RETURN_IF_ERROR(check_code_object(image.data, image.size, target, path));
            log(CK_LOG_INFO, "device code of {} from {}", target.name, path);
            return {};
        }
    }
    for (const EmbeddedObject& object : embedded_objects()) {
        if (std::strcmp(object.target, target.name) != 0 || module != object.module) continue;
        CK_RETURN_IF_ERROR(unpack(object, image));
        return elf ? check_code_object(image.data, image.size, target, "embedded code") : Status();
    }
    return error(CK_ERROR_UNSUPPORTED_ARCH, "no device code for {} ({}); built in: {}", target.name, module,
                 target_ranges(builtin_targets()));
}

Status keep_image(const void* data, std::size_t size, const Target& target, CodeImage& image) {
    CK_RETURN_IF_ERROR(check_code_object(data, size, target, "compiled code"));
    void* memory = nullptr;
    CK_RETURN_IF_ERROR(anonymous_memory(size, memory));
    std::memcpy(memory, data, size);
    image = {memory, size};
    return {};
}

const EmbeddedSource* source_of(const std::string& kernel) {
    const EmbeddedSource* found = nullptr;
    for (const EmbeddedSource& source : embedded_sources()) {
        const std::string prefix = std::string("ckitchen_") + source.op + "_";
        if (kernel.compare(0, prefix.size(), prefix) != 0) continue;
        if (!found || std::strlen(source.op) > std::strlen(found->op)) found = &source;
    }
    return found;
}

Status unpack_source(const EmbeddedSource& source, std::string& text) {
    text.resize(source.raw_size);
    return unpack_to(source, text.data(), std::string("source of ") + source.op);
}

const char* builtin_targets() {
    static const std::string text = [] {
        std::string list;
        const char* last = "";
        for (const EmbeddedObject& object : embedded_objects()) {
            if (std::strcmp(object.target, last) == 0) continue;
            last = object.target;
            if (!list.empty()) list += ' ';
            list += last;
        }
        return list;
    }();
    return text.c_str();
}

std::string target_ranges(const std::string& targets) {
    const auto follows = [](const std::string& name, const std::string& before) {
        return name.size() == before.size() && !name.empty() &&
               name.compare(0, name.size() - 1, before, 0, before.size() - 1) == 0 &&
               name.back() == before.back() + 1;
    };
    std::istringstream names(targets);
    std::string result;
    std::string first;
    std::string last;
    const auto add = [&] {
        if (first.empty()) return;
        if (!result.empty()) result += ' ';
        result += first == last ? first : first + "-" + last;
    };
    for (std::string name; names >> name; last = name) {
        if (follows(name, last)) continue;
        add();
        first = name;
    }
    add();
    return result.empty() ? "none" : result;
}

}  // namespace ckitchen::runtime

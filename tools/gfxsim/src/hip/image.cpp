#include "image.hpp"

#include <elf.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "hip_types.hpp"

namespace ckitchen::gfxsim {
namespace {

constexpr char kBundleMagic[] = "__CLANG_OFFLOAD_BUNDLE__";
constexpr size_t kBundleMagicSize = sizeof kBundleMagic - 1;
constexpr char kPackedMagic[] = "CCOB";
constexpr size_t kPackedMagicSize = sizeof kPackedMagic - 1;
constexpr uint64_t kLargest = 1ull << 30;

/// Reads memory that may not be there.
bool peek(const void* from, void* to, size_t bytes) {
    iovec local{to, bytes}, remote{const_cast<void*>(from), bytes};
    const ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (n < 0 && (errno == EPERM || errno == ENOSYS)) {
        // Sandboxes may forbid the call; then the client is taken at its word.
        std::memcpy(to, from, bytes);
        return true;
    }
    return n == static_cast<ssize_t>(bytes);
}

template <class T>
bool peek(const uint8_t* from, T& to) {
    return peek(from, &to, sizeof to);
}

/// Is the address in a mapping of a file that cannot be opened again by what /proc/self/maps calls it?
bool in_file_that_cannot_be_reopened(const void* image) {
    std::ifstream maps("/proc/self/maps");
    const uint64_t address = reinterpret_cast<uint64_t>(image);
    for (std::string line; std::getline(maps, line);) {
        uint64_t begin = 0, end = 0;
        int path = 0;
        if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %n", &begin, &end, &path) < 2)
            continue;
        if (address < begin || address >= end) continue;
        const std::string name = path > 0 ? line.substr(static_cast<size_t>(path)) : "";
        return !name.empty() && name[0] == '/' && name.find(' ') != name.npos;
    }
    return false;
}

/// "gfx1201" of "hipv4-amdgcn-amd-amdhsa--gfx1201:xnack-"; empty for entries that are no HIP code.
std::string entry_target(const std::string& entry) {
    for (const char* prefix : {"hipv4-amdgcn-amd-amdhsa--", "hip-amdgcn-amd-amdhsa--"}) {
        if (entry.compare(0, std::strlen(prefix), prefix) != 0) continue;
        const std::string target = entry.substr(std::strlen(prefix));
        return target.substr(0, target.find(':'));
    }
    return {};
}

}  // namespace

int ModuleImage::resolve(const void* image, const std::string& arch) {
    const auto* bytes = static_cast<const uint8_t*>(image);
    // Releases 6.0 to 6.4.1 open the file behind an address by its path, as far as the first space.
    if (kFlavor == 63 && in_file_that_cannot_be_reopened(image)) return kFileNotFound;
    char magic[kBundleMagicSize] = {};
    elf_ = bytes;
    if (kFlavor >= 60 && peek(bytes, magic, kPackedMagicSize) &&
        std::memcmp(magic, kPackedMagic, kPackedMagicSize) == 0) {
        if (const int error = unpack_bundle(bytes)) return error;
        if (const int error = find_in_bundle(unpacked_.data(), arch)) return error;
    } else if (peek(bytes, magic, sizeof magic) && std::memcmp(magic, kBundleMagic, sizeof magic) == 0) {
        if (const int error = find_in_bundle(bytes, arch)) return error;
    }
    Elf64_Ehdr header;
    size_ = 0;
    if (peek(elf_, header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0)
        size_ = std::clamp<uint64_t>(header.e_shoff, sizeof header, 4096);
    bool readable = false;
    fingerprint_ = fingerprint(readable);
    return kSuccess;  // whether it is code for the device is the loader's to say
}

int ModuleImage::find_in_bundle(const uint8_t* bundle, const std::string& arch) {
    uint64_t count = 0;
    const uint8_t* at = bundle + kBundleMagicSize;
    if (!peek(at, count)) return kFlavor < 63 ? kInvalidKernelFile : kInvalidImage;
    at += sizeof count;
    for (uint64_t i = 0; i < std::min<uint64_t>(count, 4096); ++i) {
        uint64_t field[3];  // offset, size, length of the name
        if (!peek(at, field) || field[2] > 4096) break;
        at += sizeof field;
        std::string name(field[2], '\0');
        if (!peek(at, name.data(), name.size())) break;
        at += field[2];
        if (entry_target(name) != arch || field[1] == 0) continue;
        elf_ = bundle + field[0];
        return kSuccess;
    }
    if (kFlavor <= 53) {
        std::fprintf(stderr, "gfxsim: the bundle has no code for %s, where releases up to 5.3 abort\n",
                     arch.c_str());
        std::abort();
    }
    return kFlavor < 70 ? kNoBinaryForGpu : kInvalidImage;
}

int ModuleImage::unpack_bundle(const uint8_t* image) {
    constexpr uint16_t kZlib = 0, kZstd = 1;
    uint16_t version = 0, method = 0;
    uint64_t packed = 0, raw = 0;
    const uint8_t* at = image + kPackedMagicSize;
    bool read = peek(at, version) && peek(at + 2, method);
    at += 4;
    if (version == 2) {
        uint32_t sizes[2];
        read = read && peek(at, sizes);
        packed = sizes[0], raw = sizes[1];
        at += sizeof sizes;
    } else if (version == 3) {
        uint64_t sizes[2];
        read = read && peek(at, sizes);
        packed = sizes[0], raw = sizes[1];
        at += sizeof sizes;
    } else {
        return kNotSupported;  // version 1 does not say where it ends
    }
    at += sizeof(uint64_t);  // a hash of the contents
    const uint64_t header = static_cast<uint64_t>(at - image);
    if (!read || packed <= header || packed > kLargest || raw > kLargest) return kInvalidImage;
    std::vector<uint8_t> input(packed - header);
    if (!peek(at, input.data(), input.size())) return kInvalidImage;
    unpacked_.resize(raw);
    if (method == kZstd) {
        if (ZSTD_decompress(unpacked_.data(), raw, input.data(), input.size()) != raw) return kInvalidImage;
    } else if (method == kZlib) {
        uLongf size = raw;
        if (uncompress(unpacked_.data(), &size, input.data(), input.size()) != Z_OK || size != raw)
            return kInvalidImage;
    } else {
        return kNotSupported;
    }
    return kSuccess;
}

/// Of the first page: the end of the file is where damaged headers put it, and what frees memory or uses it
/// again rarely spares its begin.
uint64_t ModuleImage::fingerprint(bool& readable) const {
    std::vector<uint8_t> page(size_);
    readable = peek(elf_, page.data(), page.size());
    uint64_t hash = 0xcbf29ce484222325u;
    for (const uint8_t byte : page) hash = (hash ^ byte) * 0x100000001b3u;
    return hash;
}

void ModuleImage::require_intact() const {
    bool readable = false;
    if (fingerprint(readable) == fingerprint_ && readable) return;
    std::fprintf(
        stderr,
        "gfxsim: the image of a loaded module was %s: the runtime keeps the pointer, it must outlive "
        "the module\n",
        readable ? "overwritten" : "freed");
    std::abort();
}

}  // namespace ckitchen::gfxsim

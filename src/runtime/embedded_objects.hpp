// What the build of the device code leaves in the library. The definitions are generated from
// kernels/arch.json, kernels/tuning.json and the compiled kernels. All data is static and lives as long as
// the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace ckitchen {

// One file for a GPU driver, compressed with zstd as a single frame.
struct EmbeddedObject {
    const char* target;  // "gfx1201", "sm_80"
    const char* kind;    // "elf": an AMDGPU code object, version 4; "ptx": PTX text
    const char* module;  // "all": every kernel of the target; otherwise the one kernel that the file holds
    const unsigned char* data;  // 16-byte aligned
    std::size_t compressed_size;
    std::size_t raw_size;
};

// One line of kernels/arch.json.
struct Target {
    const char* name;                      // "gfx1201", "sm_80"
    const char* kind;                      // "elf" or "ptx", as in EmbeddedObject
    const char* family;                    // "rdna4"; empty for PTX
    std::uint32_t elf_mach;                // low byte of the ELF header's e_flags; 0 for PTX
    std::uint32_t min_compute_capability;  // 80 means 8.0; 0 for AMD targets
    bool exact;                            // PTX that only this compute capability can run
    std::uint64_t features;                // bit i stands for feature_names()[i]
};

// The device code of one operator as one C++ file, compressed likewise. Its kernels are those whose names
// begin with "ckitchen_<op>_", and with no longer operator's name.
struct EmbeddedSource {
    const char* op;
    const unsigned char* data;
    std::size_t compressed_size;
    std::size_t raw_size;
};

// The embedded files, in the order of arch.json; empty in a build without device code.
std::span<const EmbeddedObject> embedded_objects();

// The operators' sources; empty in a build without device code. Besides the flags a compiler needs the target
// and -DCKITCHEN_FEATURE_<feature>=1 for each feature of it.
std::span<const EmbeddedSource> embedded_sources();
std::span<const char* const> runtime_compiler_flags();

// Every target that arch.json knows, whether or not this build has code for it.
std::span<const Target> known_targets();

// Names of the features, as the rows of the kernel lists use them.
std::span<const char* const> feature_names();

// Text of kernels/tuning.json.
std::string_view default_tuning();

// First line of the device compiler's version; empty in a build without device code.
std::string_view device_compiler();

}  // namespace ckitchen

// Where device code comes from: a folder that the user names, else what is embedded in the library.
#pragma once

#include <cstddef>
#include <string>

#include "core/status.hpp"
#include "runtime/embedded_objects.hpp"

namespace ckitchen::runtime {

// Device code as a driver takes it: a whole ELF file, or PTX text with its NUL. Lies in anonymous memory and
// stays there: drivers keep pointers into it, and some look up the file behind an address.
struct CodeImage {
    const void* data = nullptr;
    std::size_t size = 0;
};

// CKITCHEN_CODE_OBJECT_DIR, when it is set, must be a folder.
Status check_code_object_dir();

// Bit of a feature in Target::features, 0 for an unknown one.
uint64_t feature_bit(const char* feature);

// Is there code for a target at all?
bool has_code(const std::string& target);

// `module` as in EmbeddedObject. A folder's file is <target>.elf for AMD, <target>/<module>.ptx for PTX. AMD
// files are checked before a driver sees them: ELF of an AMDGPU, the target's machine number, a code object
// version that exists.
Status load_image(const Target& target, const std::string& module, CodeImage& image);

// The same for what a compiler made: a copy that stays, checked.
Status keep_image(const void* data, std::size_t size, const Target& target, CodeImage& image);

// The embedded source that holds a kernel, nullptr when none does.
const EmbeddedSource* source_of(const std::string& kernel);
Status unpack_source(const EmbeddedSource& source, std::string& text);

// The checks of an AMD file; `source` names it in messages.
Status check_code_object(const void* data, std::size_t size, const Target& target, const std::string& source);

// All targets with embedded code, for ck_builtin_targets: space-separated, each once, static text.
const char* builtin_targets();

// A list of targets for messages, which are short: names that differ in their last digit, each one above the
// one before, become "first-last"; "none" for an empty list.
std::string target_ranges(const std::string& targets);

}  // namespace ckitchen::runtime

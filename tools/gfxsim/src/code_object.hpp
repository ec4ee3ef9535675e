#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "targets.hpp"

namespace ckitchen::gfxsim {

class CodeImage;

/// One kernel argument as the metadata describes it; offset and size in bytes of the kernarg segment.
struct KernelArg {
    uint32_t offset = 0;
    uint32_t size = 0;
    std::string value_kind;  // "by_value", "global_buffer", "hidden_block_count_x", ...
    bool hidden() const { return value_kind.rfind("hidden_", 0) == 0; }
};

struct Kernel {
    std::string name;
    uint64_t descriptor_address = 0;    // where the descriptor lies in simulated memory
    uint64_t entry = 0;                 // first instruction, in simulated memory
    uint32_t group_segment_size = 0;    // static LDS, bytes
    uint32_t private_segment_size = 0;  // scratch, bytes per lane
    uint32_t kernarg_size = 0;
    uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
    uint16_t properties = 0;
    uint32_t vgpr_count = 0, sgpr_count = 0, vgpr_spills = 0, sgpr_spills = 0;
    uint32_t max_workgroup_size = 1024;
    uint32_t explicit_args_size = 0;  // end of the last argument that is not hidden
    std::vector<KernelArg> args;
    const CodeImage* image = nullptr;
};

struct Global {
    uint64_t address = 0;
    uint64_t size = 0;
};

enum class LoadStatus : uint8_t { kOk, kNotAnObject, kWrongTarget, kVersionTooNew, kMalformed, kOutOfMemory };

/// A code object placed in simulated memory, relocated, with its symbols and kernels.
class CodeObject {
  public:
    /// `version_limit` is the newest code object version (4, 5, 6) that the runtime accepts. On failure
    /// `error` says why. The bytes are read from `image` only, up to the end of its section header table.
    static std::unique_ptr<CodeObject> load(const void* image, const Target& target, int device,
                                            int version_limit, LoadStatus& status, std::string& error);
    ~CodeObject();
    CodeObject(const CodeObject&) = delete;
    CodeObject& operator=(const CodeObject&) = delete;

    const Kernel* find_kernel(std::string_view name) const;
    const Global* find_global(std::string_view name) const;
    const Target& target() const { return *target_; }
    int version() const { return version_; }
    const std::map<std::string, Kernel, std::less<>>& kernels() const { return kernels_; }

  private:
    CodeObject() = default;
    friend class ElfLoader;

    const Target* target_ = nullptr;
    int version_ = 0;
    uint8_t* memory_ = nullptr;
    std::unique_ptr<CodeImage> image_;
    std::map<std::string, Kernel, std::less<>> kernels_;
    std::map<std::string, Global, std::less<>> globals_;
};

}  // namespace ckitchen::gfxsim

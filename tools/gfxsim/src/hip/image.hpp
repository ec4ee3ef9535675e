#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ckitchen::gfxsim {

/// What hipModuleLoadData was given, resolved to one ELF file: itself, or the part of an offload bundle that
/// is for the device. The runtime keeps the client's pointer, so the bytes must outlive the module.
class ModuleImage {
  public:
    /// kSuccess, or the error by which the release refuses the image. A bundle without code for the device
    /// ends the process where it does in the release.
    int resolve(const void* image, const std::string& arch);
    const void* elf() const { return elf_; }
    /// Ends the process with a message when the client has freed or overwritten the image.
    void require_intact() const;

  private:
    int find_in_bundle(const uint8_t* bundle, const std::string& arch);
    int unpack_bundle(const uint8_t* image);
    uint64_t fingerprint(bool& readable) const;

    const uint8_t* elf_ = nullptr;
    size_t size_ = 0;                // of what the fingerprint covers
    std::vector<uint8_t> unpacked_;  // of a compressed bundle; the ELF file lies in it
    uint64_t fingerprint_ = 0;
};

}  // namespace ckitchen::gfxsim

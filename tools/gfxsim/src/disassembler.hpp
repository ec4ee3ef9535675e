#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "targets.hpp"

namespace ckitchen::gfxsim {

/// LLVM's AMDGPU disassembler for one target. Not thread-safe.
class Disassembler {
  public:
    explicit Disassembler(const Target& target);
    ~Disassembler();
    Disassembler(const Disassembler&) = delete;
    Disassembler& operator=(const Disassembler&) = delete;

    /// Length in bytes of the instruction at `bytes`, its text in `text`; 0 when the bytes are none.
    size_t disassemble(const uint8_t* bytes, size_t size, uint64_t address, std::string& text);

  private:
    Generation generation_;
    void* context_;
};

}  // namespace ckitchen::gfxsim

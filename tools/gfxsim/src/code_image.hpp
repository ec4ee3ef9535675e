#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "inst.hpp"
#include "targets.hpp"

namespace ckitchen::gfxsim {

class Decoder;

/// The executable bytes of one code object with their decoded instructions, which are made on first use and
/// then shared by all waves.
class CodeImage {
  public:
    /// The bytes [begin, end) must stay in place and unchanged.
    CodeImage(const Target& target, uint64_t begin, uint64_t end);
    ~CodeImage();
    CodeImage(const CodeImage&) = delete;
    CodeImage& operator=(const CodeImage&) = delete;

    uint64_t begin() const { return begin_; }
    uint64_t end() const { return end_; }
    size_t slots() const { return slots_.size(); }
    bool contains(uint64_t address) const { return address >= begin_ && address < end_; }
    const Target& target() const { return target_; }

    /// The instruction at a 4-aligned address inside the image. One that cannot be decoded or has no
    /// semantics comes back with class kUnknown and a handler that stops the launch.
    const Inst& at(uint64_t address) const {
        const Inst* inst = slots_[(address - begin_) >> 2].load(std::memory_order_acquire);
        return inst ? *inst : decode(address);
    }
    /// Already decoded instruction of a slot, or nullptr.
    const Inst* peek(size_t slot) const { return slots_[slot].load(std::memory_order_acquire); }

  private:
    const Inst& decode(uint64_t address) const;

    const Target& target_;
    uint64_t begin_, end_;
    mutable std::vector<std::atomic<const Inst*>> slots_;
    mutable std::mutex mutex_;
    mutable std::unique_ptr<Decoder> decoder_;
};

}  // namespace ckitchen::gfxsim

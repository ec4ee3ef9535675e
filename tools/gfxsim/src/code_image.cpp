#include "code_image.hpp"

#include "decoder.hpp"

namespace ckitchen::gfxsim {

CodeImage::CodeImage(const Target& target, uint64_t begin, uint64_t end)
    : target_(target), begin_(begin), end_(end), slots_((end - begin + 3) / 4) {}

CodeImage::~CodeImage() = default;

const Inst& CodeImage::decode(uint64_t address) const {
    std::lock_guard lock(mutex_);
    std::atomic<const Inst*>& slot = slots_[(address - begin_) >> 2];
    if (const Inst* done = slot.load(std::memory_order_acquire)) return *done;
    if (!decoder_) decoder_ = std::make_unique<Decoder>(target_);
    const Inst& inst = decoder_->decode(reinterpret_cast<const uint8_t*>(address), end_ - address, address);
    slot.store(&inst, std::memory_order_release);
    return inst;
}

}  // namespace ckitchen::gfxsim

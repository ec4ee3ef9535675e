#include "control.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace ckitchen::gfxsim {
namespace {

constexpr uint32_t kHostDefault = 0x1f80;  // all exceptions masked, nearest even

/// The host's control word for two bits of rounding and two of denormals of the MODE register.
uint32_t host_word(uint32_t round, uint32_t denorm) {
    // Here 1 is up and 2 down, on the host the other way round.
    static constexpr uint32_t kRound[] = {0, 2, 1, 3};
    uint32_t word = kHostDefault | kRound[round] << 13;
    if (!(denorm & 1)) word |= 0x0040;  // inputs flushed
    if (!(denorm & 2)) word |= 0x8000;  // results flushed
    return word;
}

void set_host_word(uint32_t word) {
#if defined(__SSE2__)
    _mm_setcsr(word);
#else
    if (word != kHostDefault) raise(FaultKind::kUnsupportedMode, -1, "this float mode needs an x86-64 host");
#endif
}

}  // namespace

void apply_float_mode(Wave& w) {
    w.host_word = {host_word(w.mode & 3, w.mode >> 4 & 3), host_word(w.mode >> 2 & 3, w.mode >> 6 & 3)};
    w.split_modes = w.host_word[0] != w.host_word[1];
    set_host_word(w.host_word[0]);
}

void select_float_mode(const Wave& w, const Inst& inst) {
    set_host_word(w.host_word[inst.wide_float]);
}

void reset_float_mode() {
    set_host_word(kHostDefault);
}

NearestEven::NearestEven(const Wave& w, const Inst& inst) : word_(w.host_word[inst.wide_float]) {
    if (w.mode & 0xf) set_host_word(word_ & ~0x6000u);
    changed_ = w.mode & 0xf;
}

NearestEven::~NearestEven() {
    if (changed_) set_host_word(word_);
}

}  // namespace ckitchen::gfxsim

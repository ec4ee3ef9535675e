#include "control.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace ckitchen::gfxsim {
namespace {

constexpr unsigned kMxcsrDefault = 0x1f80;
constexpr unsigned kMxcsrFlush = 0x8040;  // FTZ and DAZ

void set_flush(bool flush) {
#if defined(__SSE2__)
    _mm_setcsr(flush ? kMxcsrDefault | kMxcsrFlush : kMxcsrDefault);
#else
    if (flush) raise(FaultKind::kUnsupportedMode, -1, "flushed float32 denormals need an x86-64 host");
#endif
}

}  // namespace

void apply_float_mode(const Wave& w) {
    if (w.mode & 0xf)
        raise(FaultKind::kUnsupportedMode, -1,
              "rounding mode " + std::to_string(w.mode & 0xf) + " (only 0, nearest even, is simulated)");
    const unsigned single = w.mode >> 4 & 3, wide = w.mode >> 6 & 3;
    if (wide != 3) raise(FaultKind::kUnsupportedMode, -1, "float16 and float64 denormals flushed");
    if (single == 1 || single == 2)
        raise(FaultKind::kUnsupportedMode, -1, "float32 denormals flushed on one side only");
    set_flush(single == 0);
}

void reset_float_mode() {
    set_flush(false);
}

}  // namespace ckitchen::gfxsim

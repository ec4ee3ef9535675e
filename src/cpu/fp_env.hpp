// The floating-point environment of a computing thread.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ckitchen::cpu {

// While it lives the thread computes in the default environment: round to nearest even, subnormals kept, no
// traps. Hosts do set flush-to-zero, and results must not depend on it. The destructor puts back what was
// there, sticky flags included, so that the host sees no trace of the computation.
class FpEnv {
  public:
    FpEnv() : saved_(read()) { write(kDefault); }
    ~FpEnv() { write(saved_); }
    FpEnv(const FpEnv&) = delete;
    FpEnv& operator=(const FpEnv&) = delete;

  private:
#if defined(__x86_64__)
    using Control = unsigned int;
    static constexpr Control kDefault = 0x1F80;  // MXCSR: all exceptions masked, nothing else set
    static Control read() {
        return _mm_getcsr();
    }
    static void write(Control control) {
        _mm_setcsr(control);
    }
#elif defined(__aarch64__)
    using Control = std::uint64_t;
    static constexpr Control kDefault = 0;  // FPCR
    static Control read() {
        Control control = 0;
        __asm__ __volatile__("mrs %0, fpcr" : "=r"(control));
        return control;
    }
    static void write(Control control) {
        __asm__ __volatile__("msr fpcr, %0" : : "r"(control) : "memory");
    }
#else
#error "The floating-point control register of this processor is not known"
#endif

    Control saved_;
};

}  // namespace ckitchen::cpu

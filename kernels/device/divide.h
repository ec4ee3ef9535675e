// Many divisions by one number, and reciprocals that need not be exact.
#pragma once

#include "target.h"

namespace ckitchen {

// 2^-40 and 2^40: between them, no intermediate result of a quick division leaves the normal numbers.
constexpr float kOrdinaryLow = 0x1p-40f;
constexpr float kOrdinaryHigh = 0x1p40f;

// x / divisor rounded to nearest even, from the correctly rounded reciprocal. x is 0 or, like the difference
// of two such numbers, not smaller than 2^-63, the divisor at most 2^40, and the quotient is finite.
//
// The product is within two units in the last place of the quotient. The first correction adds the product's
// remainder, which puts it within one; for such a number the remainder is exact, and then, the reciprocal
// being correctly rounded, so is the second correction (Markstein, IBM J. Res. Dev. 34, 1990).
CK_DEVICE float quick_quotient(float x, float divisor, float reciprocal) {
    float quotient = x * reciprocal;
    quotient = __builtin_fmaf(__builtin_fmaf(-quotient, divisor, x), reciprocal, quotient);
    return __builtin_fmaf(__builtin_fmaf(-quotient, divisor, x), reciprocal, quotient);
}

// 1 / x within 2^-23 of itself, for x between 2^-100 and 2^122. The last bits are the hardware's own.
CK_DEVICE float approximate_reciprocal(float x) {
#if defined(__AMDGCN__)
    return __builtin_amdgcn_rcpf(x);
#else
    return __nvvm_rcp_approx_ftz_f(x);
#endif
}

}  // namespace ckitchen

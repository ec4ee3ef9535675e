/* The public header stands alone, in strict C99. */
#include "ckitchen.h"

typedef char header_needs_nothing_else[sizeof(ck_na3d_args) > 0 ? 1 : -1];

/* CK_INIT sets the size and zeroes the rest, in C by designated initialisation. */
ck_int8_gemm_args header_initialised(void);
ck_int8_gemm_args header_initialised(void) {
    ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
    return args;
}

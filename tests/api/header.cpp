// The public header stands alone, in C++11.
#include "ckitchen.h"

static_assert(sizeof(ck_context_options) == 40, "the layout does not depend on the language");

ck_na3d_args header_initialised_cpp();
ck_na3d_args header_initialised_cpp() {
    ck_na3d_args args = CK_INIT(ck_na3d_args);
    return args;
}

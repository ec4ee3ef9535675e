// Section 11 of ckitchen.h.
#include "ops/na3d.hpp"

#include "api/operators.hpp"

CK_DEFINE_OPERATOR(ck_na3d, ckitchen::ops::Na3d, ck_na3d_args)

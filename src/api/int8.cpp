// Sections 7 to 9 of ckitchen.h.
#include "api/operators.hpp"
#include "ops/int8_error.hpp"
#include "ops/int8_gemm.hpp"
#include "ops/int8_linear.hpp"
#include "ops/int8_quantize.hpp"
#include "ops/rotate.hpp"

CK_DEFINE_OPERATOR(ck_int8_gemm, ckitchen::ops::Int8Gemm, ck_int8_gemm_args)
CK_DEFINE_OPERATOR(ck_rotate, ckitchen::ops::Rotate, ck_rotate_args)
CK_DEFINE_OPERATOR(ck_int8_quantize, ckitchen::ops::Int8Quantize, ck_int8_quantize_args)
CK_DEFINE_OPERATOR(ck_int8_error, ckitchen::ops::Int8Error, ck_int8_error_args)
CK_DEFINE_OPERATOR(ck_int8_linear, ckitchen::ops::Int8Linear, ck_int8_linear_args)

// Section 10 of ckitchen.h.
#include "api/operators.hpp"
#include "core/codebook.hpp"
#include "ops/w4a8_choose_codebook.hpp"
#include "ops/w4a8_dequant.hpp"
#include "ops/w4a8_linear.hpp"
#include "ops/w4a8_requant.hpp"

extern "C" const float* ck_w4a8_default_codebook(void) {
    return ckitchen::kDefaultCodebook;
}

CK_DEFINE_OPERATOR(ck_w4a8_requant, ckitchen::ops::W4a8Requant, ck_w4a8_requant_args)
CK_DEFINE_OPERATOR(ck_w4a8_choose_codebook, ckitchen::ops::W4a8ChooseCodebook, ck_w4a8_choose_codebook_args)
CK_DEFINE_OPERATOR(ck_w4a8_dequant, ckitchen::ops::W4a8Dequant, ck_w4a8_dequant_args)
CK_DEFINE_OPERATOR(ck_w4a8_linear, ckitchen::ops::W4a8Linear, ck_w4a8_linear_args)

// The kernels of w4a8_choose_codebook.inc that this target has the features for.
#include "gather_groups.h"

#define CK_W4A8_CHOOSE_CODEBOOK_KERNEL_0(name, waves)
#define CK_W4A8_CHOOSE_CODEBOOK_KERNEL_1(name, waves)                                        \
    CK_KERNEL((waves)*ckitchen::kWaveSize)                                                   \
    void ckitchen_w4a8_choose_codebook_##name(ckitchen::W4a8ChooseCodebookArgs args) {       \
        ckitchen::gather_groups<waves>(args);                                                \
    }
#define CK_W4A8_CHOOSE_CODEBOOK_EXPAND(condition, ...) CK_W4A8_CHOOSE_CODEBOOK_KERNEL_##condition(__VA_ARGS__)
#define CK_W4A8_CHOOSE_CODEBOOK_IF(condition, ...) CK_W4A8_CHOOSE_CODEBOOK_EXPAND(condition, __VA_ARGS__)
#define CK_W4A8_CHOOSE_CODEBOOK_ROW(name, feature, waves) \
    CK_W4A8_CHOOSE_CODEBOOK_IF(CK_ROW_ENABLED(name, feature), name, waves)

#include "w4a8_choose_codebook.inc"

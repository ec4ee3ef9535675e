#include "cpu/reference/rotate.hpp"

#include "cpu/reference/elements.hpp"

namespace ckitchen::reference {

void rotate_block(float* block, std::int64_t group) {
    // kron(H4, ..., H4) factors into one radix-4 stage a factor; stage s mixes the values s apart.
    float factor = 1.0f;
    for (std::int64_t stride = 1; stride < group; stride *= 4) {
        for (std::int64_t base = 0; base < group; base += 4 * stride) {
            float* const v0 = block + base;
            float* const v1 = v0 + stride;
            float* const v2 = v1 + stride;
            float* const v3 = v2 + stride;
            for (std::int64_t i = 0; i < stride; ++i) {
                const float a = v0[i];
                const float b = v1[i];
                const float c = v2[i];
                const float e = v3[i];
                v0[i] = ((a + b) + c) - e;
                v1[i] = ((a + b) - c) + e;
                v2[i] = ((a - b) + c) + e;
                v3[i] = ((b - a) + c) + e;
            }
        }
        factor *= 0.5f;  // 1/sqrt(4) a stage: a power of two, exact
    }
    for (std::int64_t i = 0; i < group; ++i) block[i] *= factor;
}

void rotate(const ck_rotate_args& p, std::int64_t row_begin, std::int64_t row_end) {
    float block[kMaxRotateGroup];
    for (std::int64_t row = row_begin; row < row_end; ++row) {
        for (std::int64_t col = 0; col < p.k; col += p.group) {
            load_floats(p.dtype, p.x, row * p.ldx + col, p.group, block);
            rotate_block(block, p.group);
            store_floats(p.dtype, p.y, row * p.ldy + col, p.group, block);
        }
    }
}

}  // namespace ckitchen::reference

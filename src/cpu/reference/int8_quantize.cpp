#include "cpu/reference/int8_quantize.hpp"

#include <algorithm>

#include "cpu/reference/elements.hpp"
#include "cpu/reference/rotate.hpp"

namespace ckitchen::reference {
namespace {

// The values that the quantizer reads, for columns [begin, begin + count) of a row: activation in float32,
// then the rotation rounded to the dtype. `begin` and `count` are multiples of the rotation group.
void prepare_columns(const ck_int8_quantize_args& p, std::int64_t row, std::int64_t begin, std::int64_t count,
                     float* values) {
    const std::int64_t first = row * p.ldx + begin;
    load_floats(p.dtype, p.x, first, count, values);
    if (p.activation == CK_ACTIVATION_GELU_TANH) {
        for (std::int64_t i = 0; i < count; ++i) values[i] = gelu_tanh(values[i]);
    } else if (p.activation == CK_ACTIVATION_SWIGLU) {
        float up[kMaxRotateGroup];
        load_floats(p.dtype, p.x, first + p.k, count, up);
        for (std::int64_t i = 0; i < count; ++i) values[i] = swiglu(values[i], up[i]);
    }
    if (p.rotate_group != 0) {
        for (std::int64_t i = 0; i < count; i += p.rotate_group) rotate_block(values + i, p.rotate_group);
        round_floats(p.dtype, count, values);
    }
}

}  // namespace

void int8_quantize(const ck_int8_quantize_args& p, std::int64_t row_begin, std::int64_t row_end) {
    // The row is prepared twice, in pieces, instead of being kept: no width needs any scratch memory.
    float values[kMaxRotateGroup];
    for (std::int64_t row = row_begin; row < row_end; ++row) {
        float amax = 0.0f;
        for (std::int64_t begin = 0; begin < p.k; begin += kMaxRotateGroup) {
            const std::int64_t count = std::min(kMaxRotateGroup, p.k - begin);
            prepare_columns(p, row, begin, count, values);
            for (std::int64_t i = 0; i < count; ++i) {
                const float magnitude = is_finite(values[i]) ? absolute(values[i]) : 0.0f;
                amax = larger(magnitude, amax);
            }
        }
        const float scale = larger(amax / 127.0f, 1e-30f);
        store(p.scale, row, scale);
        for (std::int64_t begin = 0; begin < p.k; begin += kMaxRotateGroup) {
            const std::int64_t count = std::min(kMaxRotateGroup, p.k - begin);
            prepare_columns(p, row, begin, count, values);
            for (std::int64_t i = 0; i < count; ++i)
                store(p.q, row * p.ldq + begin + i, to_int8(rne(values[i] / scale), -128.0f, 127.0f));
        }
    }
}

}  // namespace ckitchen::reference

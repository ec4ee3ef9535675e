#include "cpu/reference/int8_error.hpp"

#include <algorithm>

#include "cpu/reference/elements.hpp"
#include "cpu/reference/rotate.hpp"

namespace ckitchen::reference {
namespace {

constexpr std::int64_t kStepColumns = 1024;
constexpr std::int64_t kPieceColumns = 16;
constexpr std::int64_t kAccumulators = 8;

static_assert(kStepColumns == kMaxRotateGroup, "a step holds whole blocks of every rotation");

// Adds the second half of `count` (a power of two) values to the first until one is left.
template <std::int64_t count>
double halve(double* values) {
    if constexpr (count > 1) {
        for (std::int64_t i = 0; i < count / 2; ++i) values[i] += values[i + count / 2];
        return halve<count / 2>(values);
    } else {
        return values[0];
    }
}

// c_j of a step's values. A square of a float32 is exact in float64. Each level of halving is a loop of its
// own over neighbours, which compilers turn into vectors.
double sum_of_squares(const float* values) {
    constexpr std::int64_t kPieces = kStepColumns / kPieceColumns;
    double fours[kPieces * 4];
    for (std::int64_t piece = 0; piece < kPieces; ++piece) {
        double eight[8];
        for (std::int64_t i = 0; i < 8; ++i) {
            const double low = static_cast<double>(values[piece * kPieceColumns + i]);
            const double high = static_cast<double>(values[piece * kPieceColumns + 8 + i]);
            eight[i] = low * low + high * high;
        }
        for (std::int64_t i = 0; i < 4; ++i) fours[piece * 4 + i] = eight[i] + eight[i + 4];
    }
    double sums[kPieces];
    for (std::int64_t piece = 0; piece < kPieces; ++piece) {
        const double* const four = fours + piece * 4;
        sums[piece] = (four[0] + four[2]) + (four[1] + four[3]);
    }
    return halve<kPieces>(sums);
}

}  // namespace

void int8_error(const ck_int8_error_args& p, std::int64_t row_begin, std::int64_t row_end) {
    float original[kStepColumns];
    float decoded[kStepColumns];
    for (std::int64_t row = row_begin; row < row_end; ++row) {
        double difference_sums[kAccumulators] = {};
        double original_sums[kAccumulators] = {};
        for (std::int64_t begin = 0; begin < p.k; begin += kStepColumns) {
            const std::int64_t count = std::min(kStepColumns, p.k - begin);
            const float scale = load<float>(p.scale, p.scale_mode == CK_SCALE_SCALAR ? 0 : row);
            for (std::int64_t i = 0; i < count; ++i)
                decoded[i] = static_cast<float>(load<std::int8_t>(p.q, row * p.ldq + begin + i)) * scale;
            if (p.rotate_group != 0)
                for (std::int64_t i = 0; i < count; i += p.rotate_group)
                    rotate_block(decoded + i, p.rotate_group);
            load_floats(p.dtype, p.x, row * p.ldx + begin, count, original);
            std::fill(decoded + count, decoded + kStepColumns, 0.0f);
            std::fill(original + count, original + kStepColumns, 0.0f);
            for (std::int64_t i = 0; i < kStepColumns; ++i) decoded[i] -= original[i];
            const std::int64_t accumulator = begin / kStepColumns % kAccumulators;
            difference_sums[accumulator] += sum_of_squares(decoded);
            original_sums[accumulator] += sum_of_squares(original);
        }
        store(p.difference, row, halve<kAccumulators>(difference_sums));
        store(p.original, row, halve<kAccumulators>(original_sums));
    }
}

}  // namespace ckitchen::reference

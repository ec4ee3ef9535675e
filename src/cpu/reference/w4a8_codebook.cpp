#include "cpu/reference/w4a8_codebook.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/codebook.hpp"
#include "cpu/reference/sort_floats.hpp"
#include "cpu/reference/w4a8.hpp"

namespace ckitchen::reference {
namespace {

// Enough values for levels that no longer move, few enough to sort in a moment.
constexpr std::int64_t kSampleValues = 4194304;
constexpr int kPasses = 25;

// Weights whose distribution is no more peaked than this are served best by the default levels, which were
// fitted to a group-normalized Gaussian (rotated weights of real models are near -0.5).
constexpr double kGaussianKurtosis = -0.1;

// The sum of term(value) over the values, in several parts: one would wait for its last addition each time.
template <typename Term>
double sum_of(const float* values, std::int64_t count, Term term) {
    constexpr std::int64_t kParts = 8;
    double parts[kParts] = {};
    std::int64_t i = 0;
    for (; i + kParts <= count; i += kParts) {
        for (std::int64_t part = 0; part < kParts; ++part) parts[part] += term(values[i + part]);
    }
    for (; i < count; ++i) parts[0] += term(values[i]);
    double sum = 0.0;
    for (const double part : parts) sum += part;
    return sum;
}

// True where the fit would start from data that has a shape of its own.
bool is_peaked(const float* values, std::int64_t count) {
    if (count == 0) return false;
    const double n = static_cast<double>(count);
    const double mean = sum_of(values, count, [](double value) { return value; }) / n;
    const auto square = [mean](double value) { return (value - mean) * (value - mean); };
    const double m2 = sum_of(values, count, square) / n;
    const double m4 = sum_of(values, count, [&](double value) { return square(value) * square(value); }) / n;
    return m2 > 0.0 && m4 / (m2 * m2) - 3.0 > kGaussianKurtosis;
}

// The first of the ascending values that belongs to the cell of `high` and not to that of `low`, the level
// before it, by the rule of `nearest`.
const float* cell_border(const float* begin, const float* end, double low, double high) {
    // Equal levels: the first takes what is not above them and the last what is.
    if (!(low < high)) return std::partition_point(begin, end, [&](float value) { return value <= low; });
    return std::partition_point(begin, end, [&](float value) {
        return value < high && !(std::abs(value - high) < std::abs(value - low));
    });
}

}  // namespace

std::int64_t codebook_sample_rows(const ck_w4a8_choose_codebook_args& p) {
    if (p.n == 0 || p.k == 0) return 0;
    return std::min(p.n, std::max<std::int64_t>(1, kSampleValues / p.k));
}

std::int64_t codebook_sample_row(const ck_w4a8_choose_codebook_args& p, std::int64_t sample) {
    // floor(sample * n / rows) without a product that could overflow.
    const std::int64_t rows = codebook_sample_rows(p);
    return sample * (p.n / rows) + sample * (p.n % rows) / rows;
}

void codebook_gather(const ck_w4a8_choose_codebook_args& p, std::int64_t sample_begin,
                     std::int64_t sample_end, float* values) {
    for (std::int64_t sample = sample_begin; sample < sample_end; ++sample) {
        float* const row = values + sample * p.k;
        load_floats(p.dtype, p.weight, codebook_sample_row(p, sample) * p.ldw, p.k, row);
        for (std::int64_t begin = 0; begin < p.k; begin += p.group) {
            float* const w = row + begin;
            float amax = 0.0f;
            for (std::int64_t i = 0; i < p.group; ++i)
                amax = larger(is_finite(w[i]) ? absolute(w[i]) : 0.0f, amax);
            const float scale = larger(amax, 1e-8f);
            for (std::int64_t i = 0; i < p.group; ++i)
                w[i] = is_finite(w[i]) ? w[i] / scale : std::numeric_limits<float>::quiet_NaN();
        }
    }
}

void codebook_fit(float* values, std::int64_t count, float levels[16]) {
    float* const end = std::remove_if(values, values + count, [](float value) { return value != value; });
    const std::int64_t n = end - values;
    std::copy_n(kDefaultCodebook, kLevels, levels);
    if (!is_peaked(values, n)) return;

    // In sorted order every cell is a contiguous range, so an assignment is 15 borders.
    sort_floats(values, n);
    double current[kLevels];
    for (int j = 0; j < kLevels; ++j) {
        const double position = static_cast<double>(j) / 15.0 * static_cast<double>(n - 1);
        const std::int64_t below = std::min(static_cast<std::int64_t>(position), n - 1);
        const std::int64_t above = std::min(below + 1, n - 1);
        const double fraction = position - static_cast<double>(below);
        const double low = values[below];
        current[j] = low + (values[above] - low) * fraction;
    }
    for (int pass = 0; pass < kPasses; ++pass) {
        double next[kLevels];
        const float* begin = values;
        for (int j = 0; j < kLevels; ++j) {
            const float* const border =
                j + 1 < kLevels ? cell_border(begin, end, current[j], current[j + 1]) : end;
            const double sum = sum_of(begin, border - begin, [](double value) { return value; });
            next[j] = border == begin ? current[j] : sum / static_cast<double>(border - begin);
            begin = border;
        }
        std::copy_n(next, kLevels, current);
    }
    for (int j = 0; j < kLevels; ++j) levels[j] = static_cast<float>(current[j]);
}

}  // namespace ckitchen::reference

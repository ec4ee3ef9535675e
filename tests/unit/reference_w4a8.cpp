// The W4A8 building blocks: draw, nearest level, tree sum, the choice of a codebook.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>
#include "catch.hpp"

#include "core/codebook.hpp"
#include "cpu/reference/sort_floats.hpp"
#include "cpu/reference/w4a8.hpp"
#include "cpu/reference/w4a8_codebook.hpp"

using namespace ckitchen::reference;

namespace {

int nearest_of(float x, const float* levels) {
    float values[4] = {0.0f, x, 0.0f, 0.0f};
    std::int32_t codes[4];
    nearest<4>(values, levels, codes);
    return codes[1];
}

ck_w4a8_choose_codebook_args codebook_args(const std::vector<float>& weight, std::int64_t n, std::int64_t k,
                                           int group) {
    ck_w4a8_choose_codebook_args args = CK_INIT(ck_w4a8_choose_codebook_args);
    args.dtype = CK_F32;
    args.n = n;
    args.k = k;
    args.weight = weight.data();
    args.ldw = k;
    args.group = group;
    return args;
}

std::vector<float> fit(const std::vector<float>& values) {
    std::vector<float> copy = values;
    std::vector<float> levels(16);
    codebook_fit(copy.data(), static_cast<std::int64_t>(copy.size()), levels.data());
    return levels;
}

bool is_default(const std::vector<float>& levels) {
    return std::equal(levels.begin(), levels.end(), ckitchen::kDefaultCodebook);
}

// The definition word for word: every value looks for its cell by itself.
std::vector<float> fit_by_definition(std::vector<float> values) {
    std::sort(values.begin(), values.end());
    double levels[16];
    for (int j = 0; j < 16; ++j) {
        const double position = j / 15.0 * static_cast<double>(values.size() - 1);
        const auto below = static_cast<std::size_t>(position);
        const std::size_t above = std::min(below + 1, values.size() - 1);
        const double low = values[below];
        levels[j] = low + (values[above] - low) * (position - static_cast<double>(below));
    }
    for (int pass = 0; pass < 25; ++pass) {
        double sums[16] = {};
        int counts[16] = {};
        for (const float value : values) {
            int below = 0;
            while (below < 16 && levels[below] < value) ++below;
            const int low = std::max(below - 1, 0);
            const int high = std::min(below, 15);
            const int cell = std::abs(value - levels[high]) < std::abs(value - levels[low]) ? high : low;
            sums[cell] += value;
            ++counts[cell];
        }
        for (int j = 0; j < 16; ++j)
            if (counts[j] > 0) levels[j] = sums[j] / counts[j];
    }
    return std::vector<float>(levels, levels + 16);
}

}  // namespace

TEST_CASE("Floats are sorted by their digits as by comparisons") {
    std::mt19937 generator(3);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    for (const std::size_t count : {0u, 1u, 2u, 1000u, 100'000u}) {
        std::vector<float> values(count);
        for (float& value : values) {
            // Of all magnitudes, most of them many times.
            const auto bits = static_cast<std::uint32_t>(generator()) & 0xFFFF0000u;
            value = std::bit_cast<float>(bits);
            if (value != value) value = (bits >> 31) != 0 ? -kInfinity : kInfinity;
        }
        std::vector<float> expected = values;
        std::sort(expected.begin(), expected.end());
        sort_floats(values.data(), static_cast<std::int64_t>(count));
        CHECK((values == expected));
    }
}

TEST_CASE("the draw of known places and seeds") {
    // Worked out with arbitrary-precision integers from the hash's definition.
    CHECK(stochastic_draw(0, 1) == 11058922.0f / 16777216.0f);
    CHECK(stochastic_draw(1, 1) == 506671.0f / 16777216.0f);
    CHECK(stochastic_draw(0, 0x100000001u) == 506671.0f / 16777216.0f);  // the seed's halves are combined
    CHECK(stochastic_draw(0, 244837814094590u) == 6413187.0f / 16777216.0f);
    CHECK(stochastic_draw(12345, 19088743) == 8732238.0f / 16777216.0f);
    CHECK(stochastic_draw((std::uint64_t{1} << 32) + 12345, 19088743) == 8732238.0f / 16777216.0f);
    CHECK(stochastic_draw(~std::uint64_t{0}, 0xDEADBEEFCAFEBABEu) == 15614258.0f / 16777216.0f);
}

TEST_CASE("nearest level: ties go down, ends hold, equal levels are legal") {
    float levels[16];
    for (int j = 0; j < 16; ++j) levels[j] = static_cast<float>(j);
    CHECK(nearest_of(3.5f, levels) == 3);
    CHECK(nearest_of(std::nextafter(3.5f, 4.0f), levels) == 4);
    CHECK(nearest_of(3.0f, levels) == 3);
    CHECK(nearest_of(-100.0f, levels) == 0);
    CHECK(nearest_of(100.0f, levels) == 15);
    CHECK(nearest_of(0.0f, levels) == 0);
    CHECK(nearest_of(15.0f, levels) == 15);
    CHECK(nearest_of(std::numeric_limits<float>::quiet_NaN(), levels) == 0);

    for (int j = 0; j < 16; ++j) levels[j] = j < 8 ? -1.0f : 1.0f;
    CHECK(nearest_of(-1.0f, levels) == 0);
    CHECK(nearest_of(-0.5f, levels) == 7);
    CHECK(nearest_of(0.0f, levels) == 7);
    CHECK(nearest_of(0.5f, levels) == 8);
    CHECK(nearest_of(1.0f, levels) == 8);
    CHECK(nearest_of(2.0f, levels) == 15);
}

TEST_CASE("distances to levels are compared after rounding") {
    // 0.25 is nearer to the upper level, but both distances round to 2^24, and a tie goes down.
    float levels[16];
    for (int j = 0; j < 16; ++j) levels[j] = j < 8 ? -0x1p24f : 0x1p24f;
    CHECK(nearest_of(0.25f, levels) == 7);
    CHECK(nearest_of(2.0f, levels) == 8);
}

TEST_CASE("the tree sum's order") {
    // 2^24 + 1 + 1 is 2^24 from the left and 2^24 + 2 pairwise.
    float p[16] = {0x1p24f, 0.0f, 1.0f, 1.0f};
    CHECK(tree_sum<4>(p) == 0x1p24f + 2.0f);
    float q[16] = {0x1p24f, 1.0f, 1.0f, 0.0f};
    CHECK(tree_sum<4>(q) == 0x1p24f);
    float r[16];
    for (int i = 0; i < 16; ++i) r[i] = 1.0f / static_cast<float>(i + 1);
    const float low = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    const float high = ((r[8] + r[9]) + (r[10] + r[11])) + ((r[12] + r[13]) + (r[14] + r[15]));
    CHECK(tree_sum<8>(r) == low);
    CHECK(tree_sum<16>(r) == low + high);
}

TEST_CASE("the int8 grid") {
    CHECK(grid_value(0.5f, 1.0f) == 0);
    CHECK(grid_value(1.5f, 1.0f) == 2);
    CHECK(grid_value(-1.0f, 448.0f) == -127);
    CHECK(grid_value(-8.0f, 15.875f) == -127);
    CHECK(grid_value(1.0f, std::numeric_limits<float>::quiet_NaN()) == 0);
}

TEST_CASE("sampled rows are spread over the weight") {
    const std::vector<float> none;
    ck_w4a8_choose_codebook_args args = codebook_args(none, 10, 2097152, 16);
    CHECK(codebook_sample_rows(args) == 2);
    CHECK(codebook_sample_row(args, 1) == 5);
    args.k = 4194320;
    CHECK(codebook_sample_rows(args) == 1);
    args.k = 1398096;  // 3 rows
    CHECK(codebook_sample_rows(args) == 3);
    CHECK(codebook_sample_row(args, 1) == 3);
    CHECK(codebook_sample_row(args, 2) == 6);
    args.k = 16;
    CHECK(codebook_sample_rows(args) == 10);
    args.n = std::int64_t{1} << 60;
    CHECK(codebook_sample_rows(args) == 262144);
    CHECK(codebook_sample_row(args, 262143) == (std::int64_t{262143} << 42));
    args.n = 0;
    CHECK(codebook_sample_rows(args) == 0);
}

TEST_CASE("gathered values are divided by their group's largest finite magnitude") {
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> weight = {1.0f, -4.0f, infinity, 2.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    float values[8];
    codebook_gather(codebook_args(weight, 1, 8, 4), 0, 1, values);
    CHECK(values[0] == 0.25f);
    CHECK(values[1] == -1.0f);
    CHECK(values[2] != values[2]);
    CHECK(values[3] == 0.5f);
    CHECK(values[4] == 0.0f);
}

TEST_CASE("flat, constant and absent data take the default codebook") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(is_default(fit({})));
    CHECK(is_default(fit({nan, nan, nan})));
    CHECK(is_default(fit(std::vector<float>(100, 0.25f))));
    std::vector<float> uniform;
    for (int i = 0; i < 1000; ++i) uniform.push_back(static_cast<float>(i) / 1000.0f);
    CHECK(is_default(fit(uniform)));
}

TEST_CASE("a peaked distribution gets levels of its own, by the definition") {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    std::vector<float> values;
    for (int i = 0; i < 20000; ++i) {
        const float x = normal(random);
        // Half zeros, so that several of the first levels are equal.
        values.push_back(i % 2 == 0 ? 0.0f : std::clamp(0.1f * x * x * x, -1.0f, 1.0f));
    }
    const std::vector<float> levels = fit(values);
    CHECK_FALSE(is_default(levels));
    CHECK(std::is_sorted(levels.begin(), levels.end()));
    const std::vector<float> expected = fit_by_definition(values);
    for (int j = 0; j < 16; ++j)
        CHECK(levels[static_cast<std::size_t>(j)] ==
              Approx(expected[static_cast<std::size_t>(j)]).epsilon(1e-6));

    values.insert(values.begin(), std::numeric_limits<float>::quiet_NaN());
    CHECK(fit(values) == levels);
}

#include "cases/fill.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "cases/floats.hpp"
#include "cases/random.hpp"

namespace ckitchen::cases {
namespace {

constexpr const char* kNames[kFillCount] = {"normal", "extreme", "ties",     "nonfinite",
                                            "tiny",   "zero",    "same_rows"};

// The largest magnitude that survives an addition or two in the type.
float large(ck_dtype dtype) {
    return dtype == CK_F16 ? 30000.0f : 1e18f;
}

float tiny(Random& random, ck_dtype dtype) {
    if (dtype == CK_F16) return static_cast<float>(random.between(-64, 64)) * 0x1p-24f;
    if (random.one_in(2)) return random.normal() * 1e-38f;
    // Multiples of the smallest subnormal: of float32, or of bfloat16 (both are subnormal float32 numbers).
    return static_cast<float>(random.between(-100, 100)) * (dtype == CK_F32 ? 0x1p-149f : 0x1p-133f);
}

float next_to(Random& random, float value, ck_dtype dtype) {
    if (dtype != CK_F32 || value == 0) return value;
    const int64_t side = random.between(-1, 1);
    return side == 0 ? value : std::nextafterf(value, side < 0 ? -HUGE_VALF : HUGE_VALF);
}

// Activations and weights. Ties: with a largest magnitude of 127 units a row's scale is exactly one unit and
// the rest are halves of it; with 7 units (or 8 and -7) in every group of four the same holds for the grids
// of 4-bit codes.
float value(Random& random, Fill fill, ck_dtype dtype, float row_scale, int64_t column, uint64_t seed) {
    switch (fill) {
        case Fill::kExtreme:
            switch (random.below(6)) {
                case 0:
                    return random.one_in(2) ? large(dtype) : -large(dtype);
                case 1:
                    return tiny(random, dtype);
                case 2:
                    return 0.0f;
                default:
                    return random.normal() * std::ldexp(1.0f, static_cast<int>(random.between(-12, 12)));
            }
        case Fill::kTies: {
            const float unit = std::ldexp(1.0f, static_cast<int>(seed % 7) - 3);
            switch (seed / 8 % 3) {
                case 0:
                    if (column == 0) return 127 * unit;
                    return next_to(random, (static_cast<float>(random.between(-126, 125)) + 0.5f) * unit,
                                   dtype);
                case 1:
                    if (column % 4 == 0) return 7 * unit;
                    return next_to(random, (static_cast<float>(random.between(-7, 6)) + 0.5f) * unit, dtype);
                default:
                    if (column % 4 == 0) return 8 * unit;
                    if (column % 4 == 1) return -7 * unit;
                    return next_to(random, (static_cast<float>(random.between(-7, 7)) + 0.5f) * unit, dtype);
            }
        }
        case Fill::kNonFinite:
            switch (random.below(12)) {
                case 0:
                    return std::numeric_limits<float>::quiet_NaN();
                case 1:
                    return HUGE_VALF;
                case 2:
                    return -HUGE_VALF;
                default:
                    return random.normal();
            }
        case Fill::kTiny:
            return tiny(random, dtype);
        case Fill::kZero:
            return random.one_in(2) ? 0.0f : -0.0f;
        default: {
            const float sample = random.normal() * row_scale;
            return random.one_in(64) ? sample * 12 : sample;
        }
    }
}

float scale(Random& random, Fill fill) {
    const float ordinary = std::ldexp(0.5f + random.unit(), static_cast<int>(random.between(-9, -3)));
    switch (fill) {
        case Fill::kExtreme:
            switch (random.below(5)) {
                case 0:
                    return std::ldexp(1.0f + random.unit(), static_cast<int>(random.between(-140, -100)));
                case 1:
                    return std::ldexp(1.0f + random.unit(), static_cast<int>(random.between(20, 60)));
                case 2:
                    return -ordinary;
                default:
                    return ordinary;
            }
        case Fill::kTies:
            return std::ldexp(1.0f, static_cast<int>(random.between(-8, 2)));
        case Fill::kNonFinite:
            switch (random.below(8)) {
                case 0:
                    return std::numeric_limits<float>::quiet_NaN();
                case 1:
                    return HUGE_VALF;
                case 2:
                    return -HUGE_VALF;
                default:
                    return ordinary;
            }
        case Fill::kTiny:
            return std::ldexp(random.unit(), static_cast<int>(random.between(-148, -110)));
        case Fill::kZero:
            switch (random.below(4)) {
                case 0:
                    return 0.0f;
                case 1:
                    return -0.0f;
                case 2:
                    return -ordinary;
                default:
                    return ordinary;
            }
        default:
            return random.one_in(16) ? -ordinary : ordinary;
    }
}

float bias(Random& random, Fill fill, ck_dtype dtype) {
    switch (fill) {
        case Fill::kExtreme:
            return random.one_in(4) ? large(dtype) : random.normal() * 100;
        case Fill::kTies:
            return static_cast<float>(random.between(-4, 4)) * 0.5f;
        case Fill::kNonFinite:
            return random.one_in(8) ? std::numeric_limits<float>::infinity() : random.normal();
        case Fill::kTiny:
            return tiny(random, dtype);
        case Fill::kZero:
            return random.one_in(2) ? 0.0f : -0.0f;
        default:
            return random.normal();
    }
}

int8_t int8(Random& random, Fill fill, int64_t row) {
    switch (fill) {
        case Fill::kExtreme: {
            constexpr int8_t kEnds[] = {-128, -127, 127, -1, 0, 1};
            return kEnds[random.below(random.one_in(8) ? 6 : 3)];
        }
        case Fill::kZero:
            return row % 2 == 0 ? int8_t{0} : static_cast<int8_t>(random.between(-128, 127));
        case Fill::kTies:
            return static_cast<int8_t>(random.between(-2, 2));
        default:
            return static_cast<int8_t>(random.between(-128, 127));
    }
}

float relative(Random& random, Fill fill) {
    switch (fill) {
        case Fill::kExtreme:
            return random.one_in(3)
                       ? 448.0f
                       : std::ldexp(1.0f + random.unit(), static_cast<int>(random.between(-9, 8)));
        case Fill::kTies:
            return static_cast<float>(random.between(1, 32)) * 0.5f;
        case Fill::kTiny:
            return static_cast<float>(random.between(0, 15)) * 0x1p-9f;
        case Fill::kZero:
            return random.one_in(2) ? 0.0f : 64.0f;
        default:
            return 20.0f + 100.0f * random.unit();
    }
}

// Ascending, with equal levels now and then; with ties the levels are multiples of 1/8.
void fill_codebook(Random& random, Fill fill, uint8_t* to) {
    if (fill == Fill::kTies) {
        for (int j = 0; j < 16; ++j) store_float(to + 4 * j, CK_F32, (static_cast<float>(j) - 7.5f) * 0.125f);
        return;
    }
    float level = -1.0f - random.unit();
    for (int j = 0; j < 16; ++j) {
        store_float(to + 4 * j, CK_F32, level);
        if (!random.one_in(8)) level += 0.02f + 0.22f * random.unit();
    }
}

}  // namespace

const char* fill_name(Fill fill) {
    return kNames[static_cast<int>(fill)];
}

std::optional<Fill> find_fill(std::string_view name) {
    for (int i = 0; i < kFillCount; ++i)
        if (name == kNames[i]) return static_cast<Fill>(i);
    return std::nullopt;
}

void fill_row(const Operand& operand, Fill fill, uint64_t seed, int64_t row, uint8_t* to) {
    uint64_t name = 0;
    for (const char* c = operand.name; *c != 0; ++c) name = name * 131 + static_cast<uint64_t>(*c);
    const uint64_t row_seed = fill == Fill::kSameRows ? 0 : static_cast<uint64_t>(row) + 1;
    Random random(mix(seed ^ mix(name)) + row_seed);

    // One row in a few is of another kind than the fill says, so that rows of unlike magnitude lie side by
    // side: a scale that leaks into the neighbour shows.
    Fill row_fill = fill;
    float row_scale = 1.0f;
    if (fill != Fill::kSameRows && operand.content == Content::kValues) {
        row_scale = std::ldexp(1.0f, static_cast<int>(random.between(-4, 4)));
        if (fill == Fill::kZero && random.one_in(3)) row_fill = Fill::kNormal;
        if (fill == Fill::kTiny && random.one_in(4)) row_fill = Fill::kNormal;
    }
    const bool no_finite = fill == Fill::kNonFinite && random.one_in(5);

    if (operand.content == Content::kCodebook) {
        fill_codebook(random, fill, to);
        return;
    }
    for (int64_t column = 0; column < operand.width(); ++column) {
        uint8_t* element = to + column * operand.element_size;
        switch (operand.content) {
            case Content::kInt8:
                *element = static_cast<uint8_t>(int8(random, row_fill, row));
                break;
            case Content::kCodes:
                *element = static_cast<uint8_t>(random.bits());
                break;
            case Content::kValues: {
                float x = value(random, row_fill, operand.dtype, row_scale, column, seed);
                if (no_finite && std::isfinite(x)) x = random.one_in(2) ? HUGE_VALF : std::nanf("");
                store_float(element, operand.dtype, x);
                break;
            }
            case Content::kScales:
                store_float(element, CK_F32, scale(random, fill));
                break;
            case Content::kBias:
                store_float(element, operand.dtype, bias(random, fill, operand.dtype));
                break;
            case Content::kRelative:
                store_float(element, operand.dtype, relative(random, fill));
                break;
            case Content::kCounter: {
                const uint64_t start = random.bits() >> 8;
                std::memcpy(element, &start, sizeof(start));
                break;
            }
            case Content::kCodebook:
            case Content::kSums:  // an output only
                break;
        }
    }
}

}  // namespace ckitchen::cases

// Which variant runs, without any device: the operators on every target over many shapes, against a table.
// The table is rewritten with CK_REWRITE_GOLDEN=1, and its change reviewed.
#include <cmath>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <sstream>

#include "catch.hpp"
#include "core/context.hpp"
#include "core/problem_text.hpp"
#include "int8_gemm/int8_gemm_rows.hpp"
#include "ops/int8_error.hpp"
#include "ops/int8_gemm.hpp"
#include "ops/int8_linear.hpp"
#include "ops/int8_quantize.hpp"
#include "ops/na3d.hpp"
#include "ops/rotate.hpp"
#include "runtime/embedded_objects.hpp"

using namespace ckitchen;

namespace {

std::string read_file(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Under which a device's preferences stand that runs this target's code: on NVIDIA the device's capability.
std::string key_of(const Target& target) {
    if (std::string(target.kind) != "ptx") return target.name;
    return "sm_" + std::to_string(target.min_compute_capability);
}

template <typename Op>
struct Device {
    std::deque<VariantSlot> variants;
    std::vector<VariantSlot*> slots;
    std::vector<ResolvedRule> rules;

    Device(const Target& target, const Preferences& preferences, bool tiled_a = false) {
        const auto names = feature_names();
        for (const ops::DeviceRow& row : Op::device_rows()) {
            if (row.needs_tiled_a && !tiled_a) continue;
            for (std::size_t i = 0; i < names.size(); ++i) {
                if (std::string(names[i]) != row.feature || (target.features >> i & 1) == 0) continue;
                slots.push_back(&variants.emplace_back(Variant{Op::id, row.name, row.row}));
            }
        }
        const std::string name = find_op(Op::id)->name;
        std::string preferred = name;
        if constexpr (requires { Op::preferences; }) preferred = Op::preferences;
        const Status status = resolve_rules(preferences.rules(preferred, key_of(target)), Op::metric_names,
                                            name + "_", slots, rules);
        INFO(status.message());
        REQUIRE(status.ok());
    }

    const VariantSlot* slot(const typename Op::Args& args) const {
        for (const ResolvedRule& rule : rules) {
            if (!rule.holds(Op::metrics(args))) continue;
            for (const VariantSlot* candidate : rule.order) {
                if (!Op::refusal(args, candidate->variant)) return candidate;
            }
            break;
        }
        return nullptr;
    }

    std::string choose(const typename Op::Args& args) const {
        const VariantSlot* chosen = slot(args);
        return chosen ? chosen->variant.name : "none";
    }
};

const Int8GemmRow& gemm_row(const VariantSlot& slot) {
    return *static_cast<const Int8GemmRow*>(slot.variant.row);
}

Preferences built_in() {
    Preferences preferences;
    const Status status = Preferences::parse(read_file(CK_TUNING_FILE), "tuning.json", preferences);
    INFO(status.message());
    REQUIRE(status.ok());
    return preferences;
}

ck_int8_gemm_args problem(int64_t m, int64_t n, int64_t k, uint64_t a = 256, int64_t lda = 0) {
    ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
    args.out_dtype = CK_BF16;
    args.m = m;
    args.n = n;
    args.k = k;
    args.a = reinterpret_cast<void*>(a);
    args.lda = lda;
    REQUIRE(ops::Int8Gemm::normalise(args).ok());
    return args;
}

ck_int8_quantize_args quantize(int64_t rows, int64_t k, uint64_t x = 256, int64_t ldx = 0,
                               ck_activation activation = CK_ACTIVATION_NONE) {
    ck_int8_quantize_args args = CK_INIT(ck_int8_quantize_args);
    args.dtype = CK_BF16;
    args.rows = rows;
    args.k = k;
    args.x = reinterpret_cast<void*>(x);
    args.ldx = ldx;
    args.ldq = (k + 15) / 16 * 16;
    args.activation = activation;
    REQUIRE(ops::Int8Quantize::normalise(args).ok());
    return args;
}

ck_rotate_args rotation(int64_t rows, int64_t k, uint64_t x = 256, int64_t ldx = 0) {
    ck_rotate_args args = CK_INIT(ck_rotate_args);
    args.dtype = CK_BF16;
    args.rows = rows;
    args.k = k;
    args.x = reinterpret_cast<void*>(x);
    args.ldx = ldx;
    args.group = 4;
    REQUIRE(ops::Rotate::normalise(args).ok());
    return args;
}

ck_na3d_args attention(int64_t h, int64_t w, int64_t head_dim, uint64_t q = 256, int64_t pad = 0) {
    ck_na3d_args args = CK_INIT(ck_na3d_args);
    args.dtype = CK_BF16;
    args.batch = 2;
    args.t = 3;
    args.h = h;
    args.w = w;
    args.heads = 5;
    args.head_dim = head_dim;
    args.kernel[0] = args.kernel[1] = args.kernel[2] = 3;
    args.q = reinterpret_cast<void*>(q);
    if (pad != 0) {
        int64_t step = head_dim + pad;
        const int64_t extent[5] = {args.batch, args.t, args.h, args.w, args.heads};
        for (int axis = 4; axis >= 0; --axis) {
            args.k_stride[axis] = -step;
            step *= extent[axis];
        }
    }
    REQUIRE(ops::Na3d::normalise(args).ok());
    return args;
}

ck_int8_error_args error_of(int64_t rows, int64_t k, uint64_t x, int64_t ldx) {
    ck_int8_error_args args = CK_INIT(ck_int8_error_args);
    args.dtype = CK_BF16;
    args.rows = rows;
    args.k = k;
    args.x = reinterpret_cast<void*>(x);
    args.ldx = ldx;
    REQUIRE(ops::Int8Error::normalise(args).ok());
    return args;
}

ck_int8_linear_args linear(int64_t m, int64_t n, int64_t k, uint64_t w = 256) {
    ck_int8_linear_args args = CK_INIT(ck_int8_linear_args);
    args.x_dtype = CK_BF16;
    args.out_dtype = CK_BF16;
    args.m = m;
    args.n = n;
    args.k = k;
    args.w = reinterpret_cast<void*>(w);
    REQUIRE(ops::Int8Linear::normalise(args).ok());
    return args;
}

void add_gemm(std::ostream& table, const Target& target, const Preferences& preferences) {
    const int64_t sizes[][3] = {
        {1, 1, 1},           {1, 9216, 3072},     {8, 28672, 5376},    {9, 4096, 4096},
        {16, 28672, 5376},   {64, 64, 64},        {65, 64, 4096},      {128, 128, 128},
        {256, 9216, 3072},   {512, 512, 4097},    {1024, 1024, 512},   {2048, 4, 6144},
        {12544, 3072, 3072}, {12544, 3072, 8192}, {12544, 9216, 3072}, {30000, 21504, 5376},
        {4096, 4096, 0},     {100000, 1, 64}};
    const Device<ops::Int8Gemm> device(target, preferences);
    for (const auto& [m, n, k] : sizes)
        table << target.name << " m=" << m << " n=" << n << " k=" << k << " "
              << device.choose(problem(m, n, k)) << "\n";
    table << target.name << " m=4096 n=4096 k=4096 a=@1 " << device.choose(problem(4096, 4096, 4096, 1))
          << "\n";
    table << target.name << " m=4096 n=4096 k=4096 lda=4097 "
          << device.choose(problem(4096, 4096, 4096, 256, 4097)) << "\n";
    table << target.name << " m=300 n=300 k=64 lda=2^40 "
          << device.choose(problem(300, 300, 64, 256, int64_t{1} << 40)) << "\n";
}

void add_linear(std::ostream& table, const Target& target, const Preferences& preferences) {
    const Device<ops::Int8Linear> device(target, preferences);
    const int64_t sizes[][3] = {{1, 9216, 3072},   {8, 28672, 5376},     {16, 28672, 5376}, {512, 512, 4097},
                                {12544, 3072, 64}, {30000, 21504, 5376}, {4096, 4096, 0}};
    for (const auto& [m, n, k] : sizes)
        table << target.name << " linear m=" << m << " n=" << n << " k=" << k << " "
              << device.choose(linear(m, n, k)) << "\n";
    table << target.name << " linear m=4096 n=4096 k=4096 w=@1 " << device.choose(linear(4096, 4096, 4096, 1))
          << "\n";
    const Device<ops::Int8Linear> tiled(target, preferences, true);
    for (const auto& [m, n, k] : sizes)
        table << target.name << " linear, tiled A m=" << m << " n=" << n << " k=" << k << " "
              << tiled.choose(linear(m, n, k)) << "\n";
}

void add_rows(std::ostream& table, const Target& target, const Preferences& preferences) {
    const Device<ops::Int8Quantize> quantizer(target, preferences);
    for (const int64_t k : {0, 1, 64, 3072, 8192, 8193, 16384, 16385, 32768, 32769, 1 << 20})
        table << target.name << " quantize rows=4096 k=" << k << " " << quantizer.choose(quantize(4096, k))
              << "\n";
    table << target.name << " quantize rows=1 k=3073 " << quantizer.choose(quantize(1, 3073)) << "\n";
    for (const int64_t k : {3072, 28672}) {
        table << target.name << " quantize rows=4096 k=" << k << " x=@2 "
              << quantizer.choose(quantize(4096, k, 2)) << "\n";
        table << target.name << " quantize rows=4096 k=" << k << " ldx=60001 "
              << quantizer.choose(quantize(4096, k, 256, 60001)) << "\n";
        table << target.name << " quantize rows=4096 k=" << k << " swiglu "
              << quantizer.choose(quantize(4096, k, 256, 0, CK_ACTIVATION_SWIGLU)) << "\n";
    }
    table << target.name << " quantize rows=4096 k=3076 swiglu "
          << quantizer.choose(quantize(4096, 3076, 256, 0, CK_ACTIVATION_SWIGLU)) << "\n";
    const Device<ops::Rotate> rotator(target, preferences);
    for (const int64_t k : {4, 3072, 1 << 20})
        table << target.name << " rotate rows=4096 k=" << k << " " << rotator.choose(rotation(4096, k))
              << "\n";
    table << target.name << " rotate rows=4096 k=3072 x=@1 " << rotator.choose(rotation(4096, 3072, 1))
          << "\n";
    table << target.name << " rotate rows=4096 k=3072 ldx=3076 "
          << rotator.choose(rotation(4096, 3072, 256, 3076)) << "\n";
    const Device<ops::Int8Error> comparer(target, preferences);
    for (const int64_t k : {16, 3072, 1 << 20})
        table << target.name << " error rows=4096 k=" << k << " "
              << comparer.choose(error_of(4096, k, 256, 0)) << "\n";
    table << target.name << " error rows=4096 k=3072 x=@2 " << comparer.choose(error_of(4096, 3072, 2, 0))
          << "\n";
    table << target.name << " error rows=4096 k=3072 ldx=3076 "
          << comparer.choose(error_of(4096, 3072, 256, 3076)) << "\n";
}

void add_attention(std::ostream& table, const Target& target, const Preferences& preferences) {
    const Device<ops::Na3d> device(target, preferences);
    const auto add = [&](const char* text, const ck_na3d_args& args) {
        table << target.name << " na3d " << text << " " << device.choose(args) << "\n";
    };
    add("h=30 w=52 head_dim=64", attention(30, 52, 64));
    add("h=1 w=1 head_dim=8", attention(1, 1, 8));
    add("h=30 w=52 head_dim=72", attention(30, 52, 72));
    ck_na3d_args args = attention(30, 52, 64);
    args.dtype = CK_F32;
    add("f32 h=30 w=52 head_dim=64", args);
    args.dtype = CK_F16;
    add("f16 h=30 w=52 head_dim=64", args);
    add("h=9 w=1 head_dim=256", attention(9, 1, 256));
    add("h=30 w=52 head_dim=64 q=@2", attention(30, 52, 64, 2));
    add("h=30 w=52 head_dim=64 k reversed, pad 1", attention(30, 52, 64, 256, 1));
    add("h=30 w=52 head_dim=64 k reversed, pad 8", attention(30, 52, 64, 256, 8));
}

}  // namespace

TEST_CASE("selection on every target") {
    const Preferences preferences = built_in();
    std::ostringstream table;
    for (const Target& target : known_targets()) add_gemm(table, target, preferences);
    for (const Target& target : known_targets()) {
        add_linear(table, target, preferences);
        add_rows(table, target, preferences);
        add_attention(table, target, preferences);
    }
    if (std::getenv("CK_REWRITE_GOLDEN")) std::ofstream(CK_SELECTION_GOLDEN) << table.str();
    CHECK(table.str() == read_file(CK_SELECTION_GOLDEN));
}

TEST_CASE("no legal INT8 GEMM is refused anywhere") {
    const Preferences preferences = built_in();
    for (const Target& target : known_targets()) {
        const Device<ops::Int8Gemm> device(target, preferences);
        for (const int64_t m : {1, 2, 8, 9, 63, 64, 65, 127, 129, 70000})
            for (const int64_t n : {1, 3, 64, 65, 255, 257, 70000})
                for (const int64_t k : {0, 1, 15, 16, 17, 64, 4097, 131071})
                    for (const uint64_t a : {1, 2, 16})
                        for (const int64_t lda : {int64_t{0}, int64_t{131073}, int64_t{1} << 40}) {
                            INFO(target.name << " " << m << " " << n << " " << k << " @" << a << " lda "
                                             << lda);
                            REQUIRE(device.choose(problem(m, n, k, a, lda)) != "none");
                        }
    }
}

// Rows for everything: what other rows refuse.
bool is_general(const Int8GemmRow& row) {
    return std::string_view(row.name).find("general") != std::string_view::npos;
}

TEST_CASE("no INT8 GEMM that a fast row could take goes to a general row") {
    const Preferences preferences = built_in();
    for (const Target& target : known_targets()) {
        const Device<ops::Int8Gemm> device(target, preferences);
        for (const int64_t m : {1, 2, 3, 8, 9, 63, 64, 65, 127, 129, 255, 257, 5000, 70000})
            for (const int64_t n : {1, 3, 63, 64, 65, 127, 129, 255, 257, 5000, 70000})
                for (const int64_t k : {0, 1, 15, 16, 17, 63, 64, 127, 4096, 4097, 131071})
                    for (const uint64_t a : {1, 2, 8, 16})
                        for (const int64_t lda :
                             {int64_t{0}, int64_t{131073}, int64_t{1} << 24, int64_t{1} << 40}) {
                            ck_int8_gemm_args args = problem(m, n, k, a, lda);
                            const VariantSlot* chosen = device.slot(args);
                            REQUIRE(chosen);
                            if (!is_general(gemm_row(*chosen))) continue;
                            for (const VariantSlot* slot : device.slots) {
                                INFO(target.name << " " << m << " " << n << " " << k << " @" << a << " lda "
                                                 << lda << " " << slot->variant.name);
                                REQUIRE((is_general(gemm_row(*slot)) ||
                                         ops::Int8Gemm::refusal(args, slot->variant)));
                            }
                        }
    }
}

// Multiply-adds that a unit (a WGP) of the row's targets does in a cycle.
double rate(const Int8GemmRow& row) {
    switch (row.kind) {
        case Int8GemmKind::Wmma:
        case Int8GemmKind::Tiled:
            return std::string_view(row.feature) == "wmma_gfx12" ? 2048 : 512;
        default:
            return 512;
    }
}

// Units of the largest part of each target.
int32_t units_of(const std::string& target) {
    const std::map<std::string, int32_t> units = {
        {"gfx1030", 40}, {"gfx1031", 20}, {"gfx1032", 16}, {"gfx1033", 4},  {"gfx1034", 8}, {"gfx1035", 6},
        {"gfx1036", 1},  {"gfx1100", 48}, {"gfx1101", 30}, {"gfx1102", 16}, {"gfx1103", 6}, {"gfx1150", 8},
        {"gfx1151", 20}, {"gfx1152", 4},  {"gfx1153", 2},  {"gfx1200", 16}, {"gfx1201", 32}};
    return units.at(target);
}

// Cycles of a launch and of a problem's arithmetic, with what padding and idle units cost.
double cycles(const Int8GemmRow& row, const ck_int8_gemm_args& args, int32_t units) {
    constexpr double kLaunch = 4000;
    const Int8GemmGrid grid = int8_gemm_grid(row, args.m, args.n, units);
    const Int8GemmSplit split = int8_gemm_split(row, args.m, args.n, args.k, units);
    const double tiles = static_cast<double>(grid.tiles_m) * grid.tiles_n;
    const double depth = std::ceil(static_cast<double>(split.split_k) / row.tile_k) * row.tile_k;
    return kLaunch + std::ceil(tiles * split.splits / units) * row.tile_m * row.tile_n * depth / rate(row);
}

TEST_CASE("no AMD INT8 GEMM takes three times as long as its fastest row would") {
    const Preferences preferences = built_in();
    const int64_t sizes[] = {1,   2,   3,   8,   9,   16,   17,   63,   64,    65,   128,
                             129, 200, 256, 257, 511, 1024, 1500, 4096, 12544, 70000};
    for (const Target& target : known_targets()) {
        if (std::string_view(target.kind) != "elf") continue;
        const Device<ops::Int8Gemm> device(target, preferences);
        for (const int32_t units : {units_of(target.name), (units_of(target.name) + 1) / 2})
            for (const int64_t m : sizes)
                for (const int64_t n : sizes)
                    for (const int64_t k : {16, 64, 100, 130, 1000, 3072, 8192, 131071}) {
                        const ck_int8_gemm_args args = problem(m, n, k);
                        const VariantSlot* chosen = device.slot(args);
                        REQUIRE(chosen);
                        const double own = cycles(gemm_row(*chosen), args, units);
                        for (const VariantSlot* slot : device.slots) {
                            if (ops::Int8Gemm::refusal(args, slot->variant)) continue;
                            INFO(target.name << " " << m << " " << n << " " << k << " on " << units
                                             << " units: " << chosen->variant.name << " " << own << ", "
                                             << slot->variant.name << " "
                                             << cycles(gemm_row(*slot), args, units));
                            CHECK(own <= 3 * cycles(gemm_row(*slot), args, units));
                        }
                    }
    }
}

TEST_CASE("no legal row quantization, rotation, INT8 error or INT8 linear is refused anywhere") {
    const Preferences preferences = built_in();
    for (const Target& target : known_targets()) {
        const Device<ops::Int8Quantize> quantizer(target, preferences);
        const Device<ops::Rotate> rotator(target, preferences);
        const Device<ops::Int8Error> comparer(target, preferences);
        const Device<ops::Int8Linear> layer(target, preferences);
        for (const int64_t rows : {int64_t{1}, int64_t{9}, int64_t{70000}, int64_t{1} << 33})
            for (const int64_t k : {int64_t{0}, int64_t{4}, int64_t{8196}, int64_t{40000}, int64_t{1} << 40})
                for (const uint64_t at : {1, 2, 16})
                    for (const int64_t ld : {k, k + 1, (int64_t{1} << 40) + 16}) {
                        INFO(target.name << " rows " << rows << " k " << k << " @" << at << " ld " << ld);
                        for (const ck_activation activation : {CK_ACTIVATION_NONE, CK_ACTIVATION_SWIGLU})
                            REQUIRE(quantizer.choose(quantize(rows, k, at, 2 * ld, activation)) != "none");
                        REQUIRE(rotator.choose(rotation(rows, k, at, ld)) != "none");
                        REQUIRE(comparer.choose(error_of(rows, k, at, ld)) != "none");
                        if (k <= 131071) REQUIRE(layer.choose(linear(rows % 100000, 77, k, at)) != "none");
                    }
    }
}

TEST_CASE("no legal neighborhood attention is refused anywhere") {
    const Preferences preferences = built_in();
    for (const Target& target : known_targets()) {
        const Device<ops::Na3d> device(target, preferences);
        for (const int64_t h : {int64_t{1}, int64_t{9}, int64_t{1} << 33})
            for (const int64_t w : {1, 7, 4096})
                for (int64_t head_dim = 8; head_dim <= 256; head_dim += 8)
                    for (const uint64_t at : {1, 2, 16})
                        for (const int64_t pad : {0, 1, 8}) {
                            INFO(target.name << " h " << h << " w " << w << " head_dim " << head_dim << " @"
                                             << at << " pad " << pad);
                            REQUIRE(device.choose(attention(h, w, head_dim, at, pad)) != "none");
                        }
    }
}

TEST_CASE("preferences reorder and never remove") {
    Preferences preferences;
    REQUIRE(Preferences::parse(
                R"({"format":1,"int8_gemm":{"*":[{"m":[1,8],"rows":["b"]},{"rows":["c","zz","b"]}]}})", "t",
                preferences)
                .ok());
    std::deque<VariantSlot> variants;
    std::vector<VariantSlot*> slots;
    for (const char* name : {"p_a", "p_b", "p_c"})
        slots.push_back(&variants.emplace_back(Variant{1, name, nullptr}));
    std::vector<ResolvedRule> rules;
    constexpr const char* metrics[] = {"m"};
    REQUIRE(resolve_rules(preferences.rules("int8_gemm", "gfx1"), metrics, "p_", slots, rules).ok());
    REQUIRE(rules.size() == 3);
    CHECK(rules[0].holds({8}));
    CHECK_FALSE(rules[0].holds({9}));
    CHECK(rules[0].order == std::vector<VariantSlot*>{slots[1], slots[0], slots[2]});
    CHECK(rules[1].order == std::vector<VariantSlot*>{slots[2], slots[1], slots[0]});
    CHECK(rules[2].order == slots);
    constexpr const char* other[] = {"n"};
    CHECK(resolve_rules(preferences.rules("int8_gemm", "gfx1"), other, "p_", slots, rules).code() ==
          CK_ERROR_INVALID_CONFIGURATION);
}

TEST_CASE("a tuning file that is wrong is told where") {
    const std::pair<const char*, const char*> wrong[] = {
        {"", "not a JSON object"},
        {"[]", "not a JSON object"},
        {"{}", "format is not 1"},
        {R"({"format":2})", "format is not 1"},
        {R"({"format":1,"conv":{}})", "'conv' is no operator"},
        {R"({"format":1,"int8_gemm":[]})", "int8_gemm is not an object"},
        {R"({"format":1,"int8_gemm":{"*":{}}})", "int8_gemm.* is not a list"},
        {R"({"format":1,"int8_gemm":{"*":[3]}})", "int8_gemm.*[0] is not an object"},
        {R"({"format":1,"int8_gemm":{"*":[{"rows":3}]}})", "[0].rows is not a list"},
        {R"({"format":1,"int8_gemm":{"*":[{"rows":[3]}]}})", "not a name"},
        {R"({"format":1,"int8_gemm":{"*":[{"m":[3]}]}})", "[0].m is not a pair"},
        {R"({"format":1,"int8_gemm":{"*":[{"m":[3,4,5]}]}})", "[0].m is not a pair"},
        {R"({"format":1,"int8_gemm":{"*":[{"m":[3,4.5]}]}})", "[0].m is not a pair"},
        {R"({"format":1,"int8_gemm":{"*":[{"m":[3,18446744073709551615]}]}})", "[0].m is not a pair"},
        {R"({"format":1,"int8_gemm":{"*":[{"m":"x"}]}})", "[0].m is not a pair"},
        {R"({"format":1,"int8_gemm":{"*":[{},[]]}})", "int8_gemm.*[1] is not an object"},
        {R"({"format":1,"int8_gemm":{"*":[{"m":[3,4],"m":[3,4]}]}})", "[0].m is given twice"},
        {R"({"format":1,"int8_gemm":{"*":[],"*":[]}})", "int8_gemm.* is given twice"},
        {R"({"format":1,"int8_gemm":{},"int8_gemm":{}})", "int8_gemm is given twice"},
        {R"({"format":{}})", "format is not 1"},
        {R"({"format":1,"int8_gemm":{"*":[)", "not a JSON object"},
        {R"({"format":1} {})", "not a JSON object"},
    };
    for (const auto& [text, reason] : wrong) {
        Preferences preferences;
        const Status status = Preferences::parse(text, "file", preferences);
        INFO(text);
        CHECK(status.code() == CK_ERROR_INVALID_CONFIGURATION);
        CHECK(status.message().find(reason) != std::string::npos);
    }
}

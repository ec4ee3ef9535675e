// Which variant runs, without any device: the INT8 GEMM on every target over many shapes, against a table.
// The table is rewritten with CK_REWRITE_GOLDEN=1, and its change reviewed.
#include <cstdlib>
#include <deque>
#include <fstream>
#include <sstream>

#include "catch.hpp"
#include "core/context.hpp"
#include "ops/int8_gemm.hpp"
#include "runtime/embedded_objects.hpp"

using namespace ckitchen;

namespace {

std::string read_file(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

struct Device {
    std::deque<VariantSlot> variants;
    std::vector<VariantSlot*> slots;
    std::vector<ResolvedRule> rules;

    Device(const Target& target, const Preferences& preferences) {
        const auto names = feature_names();
        for (const ops::DeviceRow& row : ops::Int8Gemm::device_rows()) {
            for (std::size_t i = 0; i < names.size(); ++i) {
                if (std::string(names[i]) != row.feature || (target.features >> i & 1) == 0) continue;
                slots.push_back(&variants.emplace_back(Variant{CK_OP_INT8_GEMM, row.name, row.row}));
            }
        }
        const std::vector<PreferenceRule>& said = preferences.rules("int8_gemm", target.name);
        const Status status = resolve_rules(said, ops::Int8Gemm::metric_names, "int8_gemm_", slots, rules);
        INFO(status.message());
        REQUIRE(status.ok());
    }

    std::string choose(const ck_int8_gemm_args& args) const {
        for (const ResolvedRule& rule : rules) {
            if (!rule.holds(ops::Int8Gemm::metrics(args))) continue;
            for (VariantSlot* slot : rule.order) {
                if (!ops::Int8Gemm::refusal(args, slot->variant)) return slot->variant.name;
            }
            break;
        }
        return "none";
    }
};

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

}  // namespace

TEST_CASE("the INT8 GEMM's selection on every target") {
    const Preferences preferences = built_in();
    const int64_t sizes[][3] = {
        {1, 1, 1},           {1, 9216, 3072},     {8, 28672, 5376},    {9, 4096, 4096},
        {16, 28672, 5376},   {64, 64, 64},        {65, 64, 4096},      {128, 128, 128},
        {256, 9216, 3072},   {512, 512, 4097},    {1024, 1024, 512},   {2048, 4, 6144},
        {12544, 3072, 3072}, {12544, 3072, 8192}, {12544, 9216, 3072}, {30000, 21504, 5376},
        {4096, 4096, 0},     {100000, 1, 64}};
    std::ostringstream table;
    for (const Target& target : known_targets()) {
        const Device device(target, preferences);
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
    if (std::getenv("CK_REWRITE_GOLDEN")) std::ofstream(CK_SELECTION_GOLDEN) << table.str();
    CHECK(table.str() == read_file(CK_SELECTION_GOLDEN));
}

TEST_CASE("no legal INT8 GEMM is refused anywhere") {
    const Preferences preferences = built_in();
    for (const Target& target : known_targets()) {
        const Device device(target, preferences);
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
    };
    for (const auto& [text, reason] : wrong) {
        Preferences preferences;
        const Status status = Preferences::parse(text, "file", preferences);
        INFO(text);
        CHECK(status.code() == CK_ERROR_INVALID_CONFIGURATION);
        CHECK(status.message().find(reason) != std::string::npos);
    }
}

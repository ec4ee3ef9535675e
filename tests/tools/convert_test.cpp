// Whole conversions, cut into blocks of different sizes, on different devices: one result.
#include "convert.hpp"

#include <cstdlib>
#include <random>

#include "catch.hpp"
#include "numbers.hpp"
#include "support.hpp"
#include "weight_quantizer.hpp"

namespace ckitchen::cli::test {
namespace {

// Heavy-tailed values, so that codebooks are fitted, as BF16 or F32.
std::string random_values(std::int64_t count, bool is_bf16, unsigned seed) {
    std::mt19937 generator(seed);
    std::string out;
    for (std::int64_t i = 0; i < count; ++i) {
        const double unit = (generator() + 0.5) / 4294967296.0 - 0.5;
        const float value = static_cast<float>(unit * unit * unit * unit * unit * 3);
        const std::uint16_t half = float_to_bf16(value);
        if (is_bf16)
            out.append(reinterpret_cast<const char*>(&half), sizeof half);
        else
            out.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    return out;
}

std::string model_bytes() {
    std::vector<TestTensor> tensors;
    const std::pair<std::int64_t, std::int64_t> shapes[] = {
        {257, 272}, {64, 16}, {1, 1040}, {129, 64}, {61, 512}};
    for (std::size_t i = 0; i < std::size(shapes); ++i) {
        const auto [n, k] = shapes[i];
        const bool is_bf16 = i % 2 == 0;
        tensors.push_back({"a." + std::to_string(i) + ".weight",
                           is_bf16 ? "BF16" : "F32",
                           {n, k},
                           random_values(n * k, is_bf16, static_cast<unsigned>(i))});
        tensors.push_back({"a." + std::to_string(i) + ".bias", "F32", {n}, random_values(n, false, 99)});
    }
    return safetensors_bytes(tensors);
}

struct Result {
    std::string file;
    std::vector<LayerResult> layers;
    ConversionReport report;
};

Result converted(const Session& session, const PlanOptions& plan, std::uint64_t seed, std::int64_t block) {
    const TemporaryFolder folder;
    write_file(folder / "m.safetensors", model_bytes());
    const Checkpoint input(folder / "m.safetensors");
    ConvertOptions options;
    options.output = folder / "q.safetensors";
    options.plan = plan;
    options.seed = seed;
    options.block_elements = block;
    Result out;
    out.report = convert(
                     input, [&]() -> const Session& { return session; }, options)
                     .report;
    out.layers = out.report.layers;
    out.file = read_file(options.output);
    return out;
}

void check_equal(const Result& a, const Result& b) {
    CHECK((a.file == b.file));
    REQUIRE(a.layers.size() == b.layers.size());
    for (std::size_t i = 0; i < a.layers.size(); ++i) {
        CHECK(a.layers[i].tensor == b.layers[i].tensor);
        CHECK(a.layers[i].default_codebook == b.layers[i].default_codebook);
        CHECK(a.layers[i].relative_error == b.layers[i].relative_error);
    }
}

// Calls body(plan, seed) for the kinds of conversion.
template <typename Body>
void for_each_kind(Body body) {
    for (const bool is_int8 : {false, true}) {
        for (const bool uniform : {false, true}) {
            PlanOptions plan;
            plan.format = is_int8 ? TargetFormat::kInt8 : TargetFormat::kW4a8;
            plan.uniform = uniform;
            if (is_int8 && uniform) plan.rotate = 0;
            const std::uint64_t seed = is_int8 || uniform ? 0 : 0x123456789ABCDEF;
            CAPTURE(is_int8, uniform);
            body(plan, seed);
        }
    }
}

TEST_CASE("A conversion does not depend on the size of its blocks") {
    const Session session({CK_BACKEND_CPU, 0, 2});
    for_each_kind([&](const PlanOptions& plan, std::uint64_t seed) {
        const Result whole = converted(session, plan, seed, kBlockElements);
        REQUIRE(whole.layers.size() == 5);
        CHECK_FALSE(whole.report.device_idle_share.has_value());
        for (const std::int64_t block : {1, 1000, 4096})
            check_equal(converted(session, plan, seed, block), whole);
    });
}

TEST_CASE("Blocks on their way take bounded memory") {
    const Session session({CK_BACKEND_CPU, 0, 1});
    PlanOptions plan;
    plan.format = TargetFormat::kInt8;
    const Result result = converted(session, plan, 0, 1024);
    CHECK(result.report.file_bytes_in > 240'000);
    CHECK(result.report.buffer_bytes > 0);
    CHECK(result.report.buffer_bytes < 150'000);
}

// Hidden: the environment names the GPU.
TEST_CASE("A GPU converts as the CPU does", "[.][gpu]") {
    const Session cpu({CK_BACKEND_CPU, 0, 2});
    const Session gpu({CK_BACKEND_HIP, 0, 0});
    for_each_kind([&](const PlanOptions& plan, std::uint64_t seed) {
        for (const std::int64_t block : {std::int64_t{2048}, kBlockElements}) {
            const Result expected = converted(cpu, plan, seed, block);
            const Result got = converted(gpu, plan, seed, block);
            check_equal(got, expected);
            REQUIRE(got.report.device_idle_share.has_value());
            CHECK(*got.report.device_idle_share >= 0);
            CHECK(*got.report.device_idle_share < 1);
            CHECK(got.report.device_seconds > 0);
            // Twenty blocks in work and 32 pieces to be written at most; the samples are all of this model.
            if (block == 2048) CHECK(got.report.buffer_bytes < (needs_codebook(plan) ? 1'000'000 : 600'000));
        }
    });
}

// Each copy and each kernel keeps its stream busy for a while. One after the other, or on one stream, they
// would take the sum of that.
TEST_CASE("Work on the blocks of a GPU overlaps", "[.][gpu]") {
    constexpr double kPiece = 0.01;    // seconds, as GFXSIM_FAULT says below
    constexpr int kPiecesOfBlock = 6;  // in, quantize, 2 out, compare, out
    constexpr int kBlocks = 9 + 1 + 1 + 2 + 4;
    const Session gpu({CK_BACKEND_HIP, 0, 0});
    PlanOptions plan;
    plan.format = TargetFormat::kInt8;
    const Result undelayed = converted(gpu, plan, 0, 8192);
    REQUIRE(::setenv("GFXSIM_FAULT", "slow=10", 1) == 0);
    const Result delayed = converted(gpu, plan, 0, 8192);
    REQUIRE(::unsetenv("GFXSIM_FAULT") == 0);
    CHECK((delayed.file == undelayed.file));
    const double sum = kPiece * kPiecesOfBlock * kBlocks;
    CHECK(delayed.report.device_seconds > sum / 8);
    CHECK(delayed.report.seconds < sum * 0.7);
    CHECK(*delayed.report.device_idle_share < 0.5);
}

}  // namespace
}  // namespace ckitchen::cli::test

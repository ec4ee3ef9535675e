// LoRA files: which layer a name means, what is refused, and merging to the bit.
#include "lora.hpp"

#include <cstring>
#include <random>

#include "catch.hpp"
#include "lora_merge.hpp"
#include "numbers.hpp"
#include "support.hpp"

namespace ckitchen::cli::test {
namespace {

std::string bytes_of(const std::vector<float>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

std::vector<float> random_floats(std::size_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<float> out(count);
    for (float& value : out) value = static_cast<float>(generator()) / 4294967296.0f - 0.5f;
    return out;
}

TEST_CASE("A LoRA's strength is the number after the last colon") {
    const auto is = [](const std::string& text, const std::string& path, float strength) {
        CAPTURE(text);
        CHECK(parse_lora(text).path == path);
        CHECK(parse_lora(text).strength == strength);
    };
    is("a.safetensors", "a.safetensors", 1);
    is("a.safetensors:0.5", "a.safetensors", 0.5f);
    is("a.safetensors:-1e-3", "a.safetensors", -1e-3f);
    is("a:2:0", "a:2", 0);
    is("x:1/a.safetensors", "x:1/a.safetensors", 1);
    for (const char* bad : {"a:", "a:one", "a:nan", "a:inf", "a:1e39", "a:1x", "a:0x1"}) {
        CAPTURE(bad);
        CHECK(failure_of([&] { parse_lora(bad); }).status() == Exit::kUsage);
    }
    const TemporaryFolder folder;
    write_file(folder / "with:colon", "x");
    is(folder / "with:colon", folder / "with:colon", 1);
}

TEST_CASE("A LoRA names layers as they are, without prefixes, or with underscores") {
    LayerNames names;
    names.add("model.diffusion_model.blocks.0.attn.to_q", 0);
    names.add("blocks.1.attn", 1);
    names.add("net.blocks.2", 2);
    names.add("a.b_c", 3);
    names.add("a_b.c", 4);
    names.add("model.same", 5);
    names.add("same", 6);
    const auto finds = [&](const std::string& module, const std::vector<std::size_t>& expected) {
        CAPTURE(module);
        CHECK(names.find(module) == expected);
    };
    for (const char* prefix : {"model.diffusion_model.", "diffusion_model.", "transformer.", "unet.", "",
                               "base_model.model.", "base_model.model.diffusion_model.", "model."}) {
        finds(std::string(prefix) + "blocks.0.attn.to_q", {0});
        finds(std::string(prefix) + "blocks.1.attn", {1});
        finds(std::string(prefix) + "blocks.2", {});
    }
    for (const char* prefix : {"lora_unet_", "lora_transformer_", "lycoris_"}) {
        finds(std::string(prefix) + "blocks_0_attn_to_q", {0});
        finds(std::string(prefix) + "blocks_1_attn", {1});
        finds(std::string(prefix) + "net_blocks_2", {2});
        finds(std::string(prefix) + "a_b_c", {3, 4});
    }
    finds("a.b_c", {3});
    finds("a_b_c", {});
    finds("blocks_1_attn", {});
    finds("lora_te_blocks_1_attn", {});
    finds("model.same", {5});
    finds("same", {6});
    finds("transformer.same", {5, 6});
    finds("", {});
}

// A checkpoint with one weight, LoRA files for it, and the plan.
struct Model {
    TemporaryFolder folder;
    std::unique_ptr<Checkpoint> checkpoint;
    PlanOptions options;
    Plan plan;

    void open(const TestTensor& weight) {
        write_file(folder / "m.safetensors", safetensors_bytes({weight}));
        checkpoint = std::make_unique<Checkpoint>(folder / "m.safetensors");
    }
    void add(const std::vector<TestTensor>& tensors, float strength) {
        const std::string path = folder / ("lora" + std::to_string(options.loras.size()));
        write_file(path, safetensors_bytes(tensors));
        options.loras.push_back(std::make_shared<const LoraFile>(LoraChoice{path, strength}));
    }
    const PlannedTensor& make() {
        plan = make_plan(*checkpoint, options);
        return plan.tensors[0];
    }
};

TEST_CASE("Merging rounds every operation to float32, whatever the rows, threads and tiles") {
    // 700 ranks of 4096 columns do not fit into one tile.
    constexpr std::size_t kRows = 13;
    constexpr std::size_t kColumns = 4096;
    Model model;
    const std::vector<float> weight = random_floats(kRows * kColumns, 1);
    model.open({"a.weight", "F32", {kRows, kColumns}, bytes_of(weight)});
    std::vector<float> expected = weight;
    for (const std::size_t rank : {std::size_t{700}, std::size_t{3}}) {
        const std::vector<float> up = random_floats(kRows * rank, 2);
        const std::vector<float> down = random_floats(rank * kColumns, 3);
        const float alpha = 5;
        const float strength = 0.3f;
        model.add({{"a.lora_B.weight", "F32", {kRows, static_cast<std::int64_t>(rank)}, bytes_of(up)},
                   {"a.lora_A.weight", "F32", {static_cast<std::int64_t>(rank), kColumns}, bytes_of(down)},
                   {"a.alpha", "F32", {}, bytes_of({alpha})}},
                  strength);
        for (std::size_t i = 0; i < kRows; ++i) {
            for (std::size_t j = 0; j < kColumns; ++j) {
                float product = 0;
                for (std::size_t r = 0; r < rank; ++r) product += up[i * rank + r] * down[r * kColumns + j];
                expected[i * kColumns + j] += strength * (alpha / static_cast<float>(rank)) * product;
            }
        }
    }
    const PlannedTensor& tensor = model.make();
    REQUIRE(tensor.loras.size() == 2);
    check_lora_values(model.plan);
    for (const int threads : {1, 3, 40}) {
        LoraMerger merger(threads);
        for (const std::size_t step : {std::size_t{1}, std::size_t{5}, kRows}) {
            std::string merged;
            for (std::size_t row = 0; row < kRows; row += step) {
                std::vector<std::int64_t> rows;
                for (std::size_t i = row; i < std::min(row + step, kRows); ++i) {
                    rows.push_back(static_cast<std::int64_t>(i));
                }
                const auto data =
                    std::as_bytes(std::span(weight))
                        .subspan(row * kColumns * sizeof(float), rows.size() * kColumns * sizeof(float));
                const Buffer block = merger.merge(tensor, TargetFormat::kW4a8, rows, data);
                merged.append(reinterpret_cast<const char*>(block.bytes().data()), block.size());
            }
            CHECK(merged == bytes_of(expected));
        }
    }
    // Rows that do not follow one another, as the codebook's sample has them.
    std::vector<float> picked;
    std::vector<float> picked_expected;
    for (const std::size_t row : {0, 4, 12}) {
        const auto at = static_cast<std::ptrdiff_t>(row * kColumns);
        picked.insert(picked.end(), weight.begin() + at, weight.begin() + at + kColumns);
        picked_expected.insert(picked_expected.end(), expected.begin() + at,
                               expected.begin() + at + kColumns);
    }
    const std::vector<std::int64_t> rows = {0, 4, 12};
    const Buffer block = LoraMerger(2).merge(tensor, TargetFormat::kW4a8, rows,
                                             std::as_bytes(std::span(std::as_const(picked))));
    CHECK(std::memcmp(block.bytes().data(), picked_expected.data(), block.size()) == 0);
}

TEST_CASE("A LoRA that makes finite weights infinite is refused, NaN in a kept weight stays") {
    Model model;
    const std::string halves("\x00\x7b\x00\x7e\x00\x3c", 6);  // 57344, NaN, 1
    model.open({"a.weight", "F16", {1, 3}, halves});
    model.add({{"a.lora_B.weight", "F32", {1, 1}, bytes_of({1})},
               {"a.lora_A.weight", "F32", {1, 3}, bytes_of({1, 1, 1})}},
              1);
    const std::vector<std::int64_t> rows = {0};
    {
        const Buffer merged =
            LoraMerger(1).merge(model.make(), TargetFormat::kW4a8, rows, std::as_bytes(std::span(halves)));
        CHECK(std::string(reinterpret_cast<const char*>(merged.bytes().data()), merged.size()) ==
              std::string("\x00\x7b\x00\x7e\x00\x40", 6));
    }
    model.add({{"a.lora_B.weight", "F32", {1, 1}, bytes_of({1e4f})},
               {"a.lora_A.weight", "F32", {1, 3}, bytes_of({1, 1, 1})}},
              2);
    const Failure failure = failure_of([&] {
        LoraMerger(1).merge(model.make(), TargetFormat::kW4a8, rows, std::as_bytes(std::span(halves)));
    });
    CHECK(failure.status() == Exit::kInput);
    for (const char* part : {"m.safetensors", "\"a.weight\"", "lora1 (strength 2)", "F16"}) {
        CHECK_THAT(failure.what(), ContainsSubstring(part));
    }
}

TEST_CASE("A weight of 2^100 from a LoRA is refused for W4A8 alone") {
    Model model;
    const std::vector<float> weight(16, 1.0f);
    model.open({"a.weight", "F32", {1, 16}, bytes_of(weight)});
    model.add({{"a.lora_B.weight", "F32", {1, 1}, bytes_of({0x1p60f})},
               {"a.lora_A.weight", "F32", {1, 16}, bytes_of(std::vector<float>(16, 0x1p40f))}},
              1);
    const std::vector<std::int64_t> rows = {0};
    const auto data = std::as_bytes(std::span(weight));
    CHECK(LoraMerger(1).merge(model.make(), TargetFormat::kInt8, rows, data).size() == 64);
    CHECK_THAT(failure_of([&] { LoraMerger(1).merge(model.make(), TargetFormat::kW4a8, rows, data); }).what(),
               ContainsSubstring("2^100"));
}

}  // namespace
}  // namespace ckitchen::cli::test

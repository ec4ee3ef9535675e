// Which tensors are quantized, why the others are not, and what the output holds.
#include "plan.hpp"

#include "catch.hpp"
#include "support.hpp"

namespace ckitchen::cli::test {
namespace {

TestTensor tensor(const std::string& name, const std::string& dtype, std::vector<std::int64_t> shape) {
    std::uint64_t bytes = 0;
    tensor_bytes(*parse_dtype(dtype), shape, bytes);
    return {name, dtype, std::move(shape), std::string(bytes, '\0')};
}

struct Planned {
    TemporaryFolder folder;
    std::unique_ptr<Checkpoint> checkpoint;
    Plan plan;

    Planned(const std::vector<TestTensor>& tensors, const PlanOptions& options,
            const std::string& metadata = "") {
        write_file(folder / "m.safetensors", safetensors_bytes(tensors, metadata));
        checkpoint = std::make_unique<Checkpoint>(folder / "m.safetensors");
        plan = make_plan(*checkpoint, options);
    }

    const PlannedTensor& operator[](const std::string& name) const {
        for (const PlannedTensor& planned : plan.tensors) {
            if (planned.source->info->name == name) return planned;
        }
        throw std::runtime_error("no tensor " + name);
    }
    const OutputTensor* output(const std::string& name) const {
        for (const OutputTensor& planned : plan.outputs) {
            if (planned.name == name) return &planned;
        }
        return nullptr;
    }
    void keeps(const std::string& name, Keep reason) const {
        CAPTURE(name);
        CHECK_FALSE((*this)[name].quantize);
        CHECK(keep_key((*this)[name].reason) == keep_key(reason));
        CHECK(output(name) != nullptr);
    }
};

TEST_CASE("Floating matrices are quantized, the rest is kept with a reason") {
    const Planned planned({tensor("blocks.0.attn.qkv.weight", "BF16", {48, 256}),
                           tensor("blocks.0.attn.qkv.bias", "BF16", {48}),
                           tensor("f32.weight", "F32", {3, 64}), tensor("f16.weight", "F16", {3, 16}),
                           tensor("f64.weight", "F64", {3, 16}), tensor("f8.weight", "F8_E4M3", {3, 16}),
                           tensor("i8.weight", "I8", {3, 16}), tensor("one.weight", "F32", {16}),
                           tensor("conv.weight", "F32", {2, 16, 1}), tensor("none.weight", "F32", {0, 16}),
                           tensor("narrow.weight", "F32", {2, 24}), tensor("matrix", "F32", {2, 16}),
                           tensor("input_embedder.weight", "F32", {2, 16}), tensor("count", "I64", {})},
                          {});
    CHECK(planned.plan.quantized_count() == 3);
    CHECK(planned["blocks.0.attn.qkv.weight"].layer == "blocks.0.attn.qkv");
    CHECK(planned["blocks.0.attn.qkv.weight"].marker.rotate_group == 256);
    CHECK(planned["f32.weight"].marker.rotate_group == 64);
    CHECK(planned["f16.weight"].marker.rotate_group == 16);
    planned.keeps("blocks.0.attn.qkv.bias", Keep::kNotWeight);
    planned.keeps("f64.weight", Keep::kDtype);
    planned.keeps("f8.weight", Keep::kDtype);
    planned.keeps("i8.weight", Keep::kDtype);
    planned.keeps("one.weight", Keep::kRank);
    planned.keeps("conv.weight", Keep::kRank);
    planned.keeps("none.weight", Keep::kEmpty);
    planned.keeps("narrow.weight", Keep::kDivisibility);
    planned.keeps("matrix", Keep::kNotWeight);
    planned.keeps("input_embedder.weight", Keep::kName);
    planned.keeps("count", Keep::kNotWeight);
}

TEST_CASE("The default list keeps names by dot-separated segments, without regard to case") {
    for (const char* name : {"token_embedding.weight",
                             "a.x_embedder.proj.weight",
                             "EMBED.weight",
                             "blocks.0.norm1.weight",
                             "LayerNorm.weight",
                             "img_modulation.lin.weight",
                             "a.adaLN_modulation.1.weight",
                             "adaln.weight",
                             "ada_ln.weight",
                             "pos_table.weight",
                             "abs_pos_x.weight",
                             "time_mlp.0.weight",
                             "timestep_proj.weight",
                             "timesteps.weight",
                             "final_layer.linear.weight",
                             "Final.weight",
                             "proj_out.weight",
                             "a.proj_out.weight",
                             "lm_head.weight",
                             "class_head.weight",
                             "img_in.weight",
                             "txt_in.weight",
                             "x_in.weight",
                             "vector_in.in_layer.weight",
                             "guidance_in.weight",
                             "time_in.weight",
                             "context_in.weight",
                             "patch_in.weight"}) {
        CAPTURE(name);
        CHECK_FALSE(default_keep_pattern(name).empty());
    }
    for (const char* name :
         {"blocks.0.attn.qkv.weight", "proj_out2.weight", "attn.proj_out_x.weight", "head.weight",
          "lm_headx.weight", "runtime_mlp.weight", "img_in2.weight", "my_img_in.weight", "linear_in.weight",
          "semifinal.weight", "position.weight", "a_da_ln.weight", "nor.m.weight", "lm.head.weight",
          "xlm_head_1.weight", "mlp.timestep"}) {
        CAPTURE(name);
        CHECK(default_keep_pattern(name).empty() == (std::string_view(name) != "mlp.timestep"));
    }
    CHECK(default_keep_pattern("a.norm.b") == ".*norm.*");
    CHECK(default_keep_pattern("").empty());
    CHECK(default_keep_pattern("...").empty());
}

TEST_CASE("The options include and exclude override the list, and exclude is the stronger") {
    PlanOptions options;
    options.include.emplace_back("--include", "^final");
    options.include.emplace_back("--include", "narrow");
    options.exclude.emplace_back("--exclude", "\\.1\\.");
    const Planned planned({tensor("final.0.weight", "F32", {2, 16}), tensor("final.1.weight", "F32", {2, 16}),
                           tensor("a.1.weight", "F32", {2, 16}), tensor("a.2.weight", "F32", {2, 16}),
                           tensor("norm.weight", "F32", {2, 16}), tensor("narrow.weight", "F32", {2, 24})},
                          options);
    CHECK(planned["final.0.weight"].quantize);
    CHECK(planned["a.2.weight"].quantize);
    planned.keeps("final.1.weight", Keep::kExcluded);
    planned.keeps("a.1.weight", Keep::kExcluded);
    planned.keeps("norm.weight", Keep::kName);
    planned.keeps("narrow.weight", Keep::kDivisibility);  // no wish makes 16 divide 24
}

TEST_CASE("Widths that the group or the rotation does not divide are kept") {
    PlanOptions options;
    options.group_size = 48;
    const std::vector<TestTensor> tensors = {tensor("a.weight", "F32", {1, 48}),
                                             tensor("b.weight", "F32", {1, 64}),
                                             tensor("c.weight", "F32", {1, 768})};
    {
        const Planned planned(tensors, options);
        CHECK(planned["a.weight"].quantize);
        planned.keeps("b.weight", Keep::kDivisibility);
        CHECK(planned["b.weight"].detail == "K=64 is not divisible by the group size 48");
        CHECK(planned["c.weight"].marker.rotate_group == 256);
    }
    options.group_size = 16;
    options.rotate = 64;
    {
        const Planned planned(tensors, options);
        planned.keeps("a.weight", Keep::kDivisibility);
        CHECK(planned["a.weight"].detail == "K=48 is not divisible by the rotation group 64");
        CHECK(planned["c.weight"].marker.rotate_group == 64);
    }
    options.format = TargetFormat::kInt8;
    options.rotate = 0;
    options.group_size = 48;  // of no meaning here
    {
        const Planned planned(tensors, options);
        CHECK(planned.plan.quantized_count() == 3);
        CHECK(planned["b.weight"].marker.rotate_group == 0);
    }
}

TEST_CASE("Options that contradict each other are refused") {
    const auto refused = [](const PlanOptions& options) {
        CHECK(failure_of([&] {
                  Planned({tensor("a.weight", "F32", {1, 16})}, options);
              }).status() == Exit::kUsage);
    };
    PlanOptions options;
    options.rotate = 0;
    refused(options);
    options.rotate = 32;
    refused(options);
    options.rotate.reset();
    for (const int group : {0, 1, 2, 5, 12, 24, -16}) {
        options.group_size = group;
        refused(options);
    }
}

TEST_CASE("A W4A8 layer's output tensors and markers") {
    PlanOptions options;
    options.group_size = 32;
    const Planned planned({tensor("a.b.weight", "BF16", {6, 512}), tensor("a.b.bias", "BF16", {6})}, options,
                          R"({"format":"pt"})");
    REQUIRE(planned.plan.outputs.size() == 6);
    const auto has = [&](const char* name, Dtype dtype, std::vector<std::int64_t> shape) {
        CAPTURE(name);
        REQUIRE(planned.output(name) != nullptr);
        CHECK(planned.output(name)->dtype == dtype);
        CHECK(planned.output(name)->shape == shape);
    };
    const std::string marker =
        R"({"format":"asym_w4a8_int8","group_size":32,"convrot":true,"convrot_groupsize":256})";
    has("a.b.weight", Dtype::kI8, {6, 256});
    has("a.b.weight_s_rel", Dtype::kF8E4m3, {6, 16});
    has("a.b.weight_s_channel", Dtype::kF32, {6});
    has("a.b.weight_codebook", Dtype::kF32, {16});
    has("a.b.comfy_quant", Dtype::kU8, {static_cast<std::int64_t>(marker.size())});
    has("a.b.bias", Dtype::kBf16, {6});
    CHECK(planned.plan.metadata ==
          Metadata{{"format", "pt"}, {"_quantization_metadata", R"({"layers":{"a.b":)" + marker + "}}"}});
}

TEST_CASE("Uniform levels have no codebook") {
    PlanOptions options;
    options.uniform = true;
    const Planned planned({tensor("a.weight", "F32", {2, 16})}, options);
    CHECK(planned.output("a.weight_s_rel") != nullptr);
    CHECK(planned.output("a.weight_codebook") == nullptr);
}

TEST_CASE("An INT8 layer's output tensors and markers, rotated and plain") {
    PlanOptions options;
    options.format = TargetFormat::kInt8;
    {
        const Planned planned({tensor("a.weight", "F16", {2, 64})}, options);
        CHECK(planned.output("a.weight")->shape == std::vector<std::int64_t>{2, 64});
        CHECK(planned.output("a.weight")->dtype == Dtype::kI8);
        CHECK(planned.output("a.weight_scale")->shape == std::vector<std::int64_t>{2, 1});
        CHECK(planned.output("a.weight_scale")->dtype == Dtype::kF32);
        CHECK(planned.plan.metadata.at("_quantization_metadata") ==
              R"({"layers":{"a":{"format":"int8_tensorwise","convrot":true,"convrot_groupsize":64}}})");
    }
    options.rotate = 0;
    const Planned planned({tensor("a.weight", "F16", {2, 64})}, options);
    CHECK(planned.plan.metadata.at("_quantization_metadata") ==
          R"({"layers":{"a":{"format":"int8_tensorwise"}}})");
}

TEST_CASE("Layers that are quantized already are copied with what belongs to them") {
    const std::string marker = R"({"format":"float8_e4m3fn"})";
    const Planned planned(
        {tensor("by_tensor.weight", "F8_E4M3", {2, 16}),
         {"by_tensor.comfy_quant", "U8", {static_cast<std::int64_t>(marker.size())}, marker},
         tensor("by_metadata.weight", "U8", {2, 16}),
         tensor("by_sidecar.weight", "F8_E4M3", {2, 16}),
         tensor("by_sidecar.weight_scale", "F32", {2, 1}),
         tensor("plain.weight", "BF16", {2, 16})},
        {},
        R"({"_quantization_metadata":"{\"format_version\":\"1.0\",\"layers\":{\"by_metadata\":{\"format\":\"nvfp4\",\"x\":[1]}}}"})");
    CHECK(planned.plan.quantized_count() == 1);
    CHECK(planned["plain.weight"].quantize);
    for (const char* name : {"by_tensor.weight", "by_tensor.comfy_quant", "by_metadata.weight",
                             "by_sidecar.weight", "by_sidecar.weight_scale"}) {
        planned.keeps(name, Keep::kAlreadyQuantized);
    }
    CHECK(planned.plan.notices.empty());
    // What was written about them stays, whether this program understands it or not.
    CHECK(planned.plan.metadata.at("_quantization_metadata") ==
          R"({"format_version":"1.0","layers":{"by_metadata":{"format":"nvfp4","x":[1]},"plain":)"
          R"({"format":"asym_w4a8_int8","group_size":16,"convrot":true,"convrot_groupsize":16}}})");
}

TEST_CASE("A float weight beside a scale without a marker is kept, with a notice") {
    const Planned planned({tensor("a.weight", "BF16", {2, 16}), tensor("a.weight_scale", "F32", {}),
                           tensor("b.weight_scale", "F32", {}), tensor("c.weight", "BF16", {2, 16})},
                          {});
    for (const char* name : {"a.weight", "a.weight_scale", "b.weight_scale"})
        planned.keeps(name, Keep::kUnmarked);
    CHECK(planned["c.weight"].quantize);
    REQUIRE(planned.plan.notices.size() == 1);
    CHECK_THAT(planned.plan.notices[0], ContainsSubstring("\"a.weight\" is kept as it is") &&
                                            ContainsSubstring("no marker") && ContainsSubstring("BF16"));
}

TEST_CASE("A float weight that is marked as quantized is kept, with a notice") {
    const std::string marker = R"({"format":"float8_e4m3fn"})";
    const Planned planned(
        {tensor("a.weight", "F32", {2, 16}),
         tensor("b.weight", "F16", {2, 16}),
         {"b.comfy_quant", "U8", {static_cast<std::int64_t>(marker.size())}, marker}},
        {}, R"({"_quantization_metadata":"{\"layers\":{\"a\":{\"format\":\"int8_tensorwise\"}}}"})");
    for (const char* name : {"a.weight", "b.weight"}) planned.keeps(name, Keep::kAlreadyQuantized);
    REQUIRE(planned.plan.notices.size() == 3);  // the last: nothing is quantized
    CHECK_THAT(planned.plan.notices[0], ContainsSubstring("\"a.weight\" is kept as it is") &&
                                            ContainsSubstring("int8_tensorwise by its marker") &&
                                            ContainsSubstring("its dtype is F32"));
    CHECK_THAT(planned.plan.notices[1], ContainsSubstring("\"b.weight\" is kept as it is") &&
                                            ContainsSubstring("float8_e4m3fn by its marker") &&
                                            ContainsSubstring("its dtype is F16"));
}

TEST_CASE("Broken quantization metadata is passed over with a notice, and the marker tensors count") {
    for (const char* broken : {R"({"_quantization_metadata":"{"})", R"({"_quantization_metadata":"[]"})",
                               R"({"_quantization_metadata":"{\"layers\":[]}"})",
                               R"({"_quantization_metadata":"{\"layers\":{},\"layers\":{}}"})"}) {
        CAPTURE(broken);
        const std::string marker = R"({"format":"float8_e4m3fn"})";
        const Planned planned({tensor("a.weight", "F32", {1, 16}),
                               tensor("b.weight", "F8_E4M3", {1, 16}),
                               {"b.comfy_quant", "U8", {static_cast<std::int64_t>(marker.size())}, marker}},
                              {}, broken);
        CHECK(planned["a.weight"].quantize);
        planned.keeps("b.weight", Keep::kAlreadyQuantized);
        REQUIRE(planned.plan.notices.size() == 1);
        CHECK_THAT(planned.plan.notices[0],
                   ContainsSubstring("m.safetensors: metadata _quantization_metadata"));
        // What is written is sound.
        CHECK_THAT(planned.plan.metadata.at("_quantization_metadata"),
                   ContainsSubstring(R"({"layers":{"a":)"));
    }
}

TEST_CASE("Tensors found unfit are kept and say why") {
    PlanOptions options;
    options.faults["a.weight"] = {3, 1};
    options.faults["b.weight"] = {0, 2};
    const Planned planned({tensor("a.weight", "F32", {1, 16}), tensor("b.weight", "F32", {1, 16})}, options);
    planned.keeps("a.weight", Keep::kNonFinite);
    planned.keeps("b.weight", Keep::kMagnitude);
    CHECK(planned["a.weight"].detail == "3 NaN or infinite values");
    CHECK(planned.plan.metadata.empty());
}

TEST_CASE("The codebook's sample is the rows floor(i * n / R)") {
    CHECK(codebook_sample_rows(10, 16) == 10);
    CHECK(codebook_sample_rows(5120, 5120) == 819);
    CHECK(codebook_sample_rows(7, 4194304) == 1);
    CHECK(codebook_sample_rows(7, 5000000) == 1);
    CHECK(codebook_sample_row(5120, 819, 0) == 0);
    CHECK(codebook_sample_row(5120, 819, 1) == 6);
    CHECK(codebook_sample_row(5120, 819, 818) == 5113);
    for (std::int64_t i = 0; i < 10; ++i) CHECK(codebook_sample_row(10, 10, i) == i);
}

}  // namespace
}  // namespace ckitchen::cli::test

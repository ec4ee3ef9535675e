// Markers and the tensors of quantized layers.
#include "layers.hpp"

#include "catch.hpp"
#include "strict_json.hpp"
#include "support.hpp"

namespace ckitchen::cli::test {
namespace {

constexpr const char* kMarker =
    R"({"format":"asym_w4a8_int8","group_size":16,"convrot":true,"convrot_groupsize":256})";

TestTensor tensor(const std::string& name, const std::string& dtype, std::vector<std::int64_t> shape) {
    std::uint64_t bytes = 0;
    tensor_bytes(*parse_dtype(dtype), shape, bytes);
    return {name, dtype, std::move(shape), std::string(bytes, '\0')};
}

TestTensor marker_tensor(const std::string& layer, const std::string& text) {
    return {layer + ".comfy_quant", "U8", {static_cast<std::int64_t>(text.size())}, text};
}

// The tensors of a sound W4A8 layer "L" with n=2, k=256.
std::vector<TestTensor> sound_layer() {
    return {tensor("L.weight", "I8", {2, 128}), tensor("L.weight_s_rel", "F8_E4M3", {2, 16}),
            tensor("L.weight_s_channel", "F32", {2}), tensor("L.weight_codebook", "F32", {16})};
}

struct Loaded {
    TemporaryFolder folder;
    std::unique_ptr<Checkpoint> checkpoint;
    QuantizedLayers layers;

    explicit Loaded(const std::vector<TestTensor>& tensors, const std::string& metadata = "") {
        write_file(folder / "m.safetensors", safetensors_bytes(tensors, metadata));
        checkpoint = std::make_unique<Checkpoint>(folder / "m.safetensors");
        layers = find_quantized_layers(*checkpoint);
    }

    // "" when the layer is sound.
    std::string fault(const std::string& name, DecodableLayer* out = nullptr) const {
        DecodableLayer layer;
        std::string error;
        const bool ok = resolve_layer(*checkpoint, name, layers.at(name), layer, error);
        CHECK(ok == error.empty());
        if (out != nullptr) *out = layer;
        return error;
    }
};

TEST_CASE("Either marker alone makes a layer") {
    std::vector<TestTensor> with_tensor = sound_layer();
    with_tensor.push_back(marker_tensor("L", kMarker));
    const std::string metadata = R"({"_quantization_metadata":)" +
                                 nlohmann::json(R"({"layers":{"L":)" + std::string(kMarker) + "}}").dump() +
                                 "}";
    const Loaded by_tensor(with_tensor);
    const Loaded by_metadata(sound_layer(), metadata);
    for (const Loaded* loaded : {&by_tensor, &by_metadata}) {
        DecodableLayer layer;
        CHECK(loaded->fault("L", &layer).empty());
        CHECK(layer.n == 2);
        CHECK(layer.k == 256);
        CHECK(layer.marker.group_size == 16);
        CHECK(layer.marker.rotate_group == 256);
        CHECK(layer.codebook != nullptr);
        CHECK(layer.scale == nullptr);
    }
    CHECK(by_tensor.layers.at("L").tensors.size() == 5);
    CHECK(by_metadata.layers.at("L").tensors.size() == 4);
}

TEST_CASE("A marker that this program writes is the one that it reads") {
    for (const Marker& marker : {Marker{"asym_w4a8_int8", 32, 64}, Marker{"int8_tensorwise", 0, 256},
                                 Marker{"int8_tensorwise", 0, 0}}) {
        Marker back;
        std::string error;
        CHECK(parse_marker(nlohmann::json::parse(marker_json(marker).dump()), back, error));
        CHECK(back.format == marker.format);
        CHECK(back.group_size == marker.group_size);
        CHECK(back.rotate_group == marker.rotate_group);
    }
    CHECK(marker_json({"int8_tensorwise", 0, 0}).dump() == R"({"format":"int8_tensorwise"})");
}

TEST_CASE("Markers that are none") {
    for (const char* text :
         {"[]", "{}", R"({"format":1})", R"({"format":"asym_w4a8_int8","group_size":"16"})",
          R"({"format":"asym_w4a8_int8","group_size":-16})", R"({"format":"x","convrot":1})",
          R"({"format":"x","convrot":true,"convrot_groupsize":1e9})"}) {
        CAPTURE(text);
        Marker marker;
        std::string error;
        CHECK_FALSE(parse_marker(nlohmann::json::parse(text), marker, error));
        CHECK_FALSE(error.empty());
    }
    for (const std::string& text : {std::string("{"), std::string("\xff"), std::string(), std::string("null"),
                                    std::string(70000, ' '), std::string(5000, '[')}) {
        std::vector<TestTensor> tensors = sound_layer();
        tensors.push_back(marker_tensor("L", text));
        CHECK_FALSE(Loaded(tensors).fault("L").empty());
    }
    CHECK_THAT(Loaded(sound_layer()).fault("L"), ContainsSubstring("no marker"));
}

TEST_CASE("Layers whose tensors do not fit the marker are told apart") {
    const auto fault = [](std::size_t index, const TestTensor& replacement,
                          const std::string& marker = kMarker) {
        std::vector<TestTensor> tensors = sound_layer();
        if (replacement.name.empty())
            tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(index));
        else
            tensors[index] = replacement;
        tensors.push_back(marker_tensor("L", marker));
        return Loaded(tensors).fault("L");
    };
    const auto with_marker = [&](const std::string& marker) { return fault(0, sound_layer()[0], marker); };
    CHECK(fault(0, sound_layer()[0]).empty());
    CHECK(fault(1, tensor("L.weight_s_rel", "U8", {2, 16})).empty());
    CHECK(fault(3, {}).empty());  // uniform levels
    CHECK_THAT(fault(0, {}), ContainsSubstring("\"L.weight\" is missing"));
    CHECK_THAT(fault(1, {}), ContainsSubstring("\"L.weight_s_rel\" is missing"));
    CHECK_THAT(fault(2, {}), ContainsSubstring("\"L.weight_s_channel\" is missing"));
    CHECK_THAT(fault(0, tensor("L.weight", "F32", {2, 128})), ContainsSubstring("is F32 [2, 128]"));
    CHECK_THAT(fault(0, tensor("L.weight", "I8", {2, 128, 1})), ContainsSubstring("expected I8 [N, K/2]"));
    CHECK_THAT(fault(0, tensor("L.weight", "I8", {0, std::int64_t{1} << 62})), ContainsSubstring("L.weight"));
    CHECK_THAT(fault(1, tensor("L.weight_s_rel", "F8_E4M3", {2, 15})),
               ContainsSubstring("expected F8_E4M3 [2, 16]"));
    CHECK_THAT(fault(1, tensor("L.weight_s_rel", "F32", {2, 16})), ContainsSubstring("is F32"));
    CHECK_THAT(fault(2, tensor("L.weight_s_channel", "F32", {3})), ContainsSubstring("expected F32 [2]"));
    CHECK_THAT(fault(3, tensor("L.weight_codebook", "F32", {15})), ContainsSubstring("expected F32 [16]"));
    CHECK_THAT(with_marker(R"({"format":"asym_w4a8_int8","group_size":0})"),
               ContainsSubstring("group size 0"));
    CHECK_THAT(with_marker(R"({"format":"asym_w4a8_int8","group_size":24})"),
               ContainsSubstring("group size 24"));
    CHECK_THAT(with_marker(R"({"format":"asym_w4a8_int8","convrot":true,"convrot_groupsize":1024})"),
               ContainsSubstring("rotation group 1024"));
    CHECK_THAT(with_marker(R"({"format":"asym_w4a8_int8","convrot":true,"convrot_groupsize":8})"),
               ContainsSubstring("rotation group 8"));
    CHECK_THAT(with_marker(R"({"format":"nvfp4"})"), ContainsSubstring("not one that this program decodes"));
}

TEST_CASE("INT8 layers take one scale or one for each row") {
    const auto fault = [](std::vector<std::int64_t> shape, const std::string& dtype = "F32") {
        return Loaded({tensor("L.weight", "I8", {3, 16}), tensor("L.weight_scale", dtype, std::move(shape)),
                       marker_tensor("L", R"({"format":"int8_tensorwise"})")})
            .fault("L");
    };
    CHECK(fault({3, 1}).empty());
    CHECK(fault({3}).empty());
    CHECK(fault({}).empty());
    CHECK(fault({1}).empty());
    CHECK_FALSE(fault({2, 1}).empty());
    CHECK_FALSE(fault({1, 3}).empty());
    CHECK_FALSE(fault({3, 1}, "F16").empty());
}

TEST_CASE("Strict JSON") {
    nlohmann::json value;
    std::string error;
    CHECK(parse_strict_json(R"({"a":[1,{"b":null}]})", 3, value, error));
    CHECK_FALSE(parse_strict_json(R"({"a":[1,{"b":null}]})", 2, value, error));
    CHECK_FALSE(parse_strict_json(R"({"a":1,"a":1})", 3, value, error));
    CHECK_FALSE(parse_strict_json(R"([{"x":{"a":1,"b":2,"a":1}}])", 4, value, error));
    CHECK(parse_strict_json(R"([{"a":1},{"a":1}])", 4, value, error));
    CHECK_FALSE(parse_strict_json(std::string_view("1\0", 2), 4, value, error));
    CHECK_FALSE(parse_strict_json("\"\xff\"", 4, value, error));
    CHECK_FALSE(parse_strict_json("", 4, value, error));
}

}  // namespace
}  // namespace ckitchen::cli::test

// The golden vectors of tests/golden, every case of every file.
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "suite.hpp"
#include "tools/ckitchen/safetensors.hpp"

namespace ckitchen::conformance {
namespace {

using nlohmann::json;

ck_dtype dtype_of(const json& name) {
    if (name.is_null()) return CK_DTYPE_NONE;
    const std::string text = name.get<std::string>();
    if (text == "F32") return CK_F32;
    if (text == "F16") return CK_F16;
    if (text == "BF16") return CK_BF16;
    if (text == "F8_E4M3") return CK_F8_E4M3;
    if (text == "I32") return CK_I32;
    throw std::runtime_error("golden file: unknown dtype " + text);
}

class Golden {
  public:
    explicit Golden(const std::string& name)
        : file_(suite().golden_directory + "/" + name + ".safetensors"),
          cases_(json::parse(file_.metadata().at("cases"))) {}

    const json& cases() const { return cases_; }

    bool has(const std::string& name) const { return file_.find(name) != nullptr; }
    Bytes load(const std::string& name) const {
        const auto* info = file_.find(name);
        if (info == nullptr) throw std::runtime_error(file_.path() + " has no tensor " + name);
        const std::vector<std::byte> data = file_.load(*info);
        Bytes bytes(data.size());
        if (!bytes.empty()) std::memcpy(bytes.data(), data.data(), data.size());
        return bytes;
    }
    // The first `width` bytes of every `stride` bytes.
    Bytes load_columns(const std::string& name, int64_t width, int64_t stride) const {
        const Bytes whole = load(name);
        Bytes result;
        if (stride == 0) return result;
        for (int64_t at = 0; at + width <= static_cast<int64_t>(whole.size()); at += stride)
            result.insert(result.end(), whole.begin() + at, whole.begin() + at + width);
        return result;
    }

  private:
    cli::SafetensorsFile file_;
    json cases_;
};

ck_w4a8_layout layout_of(const json& name) {
    return name == "codebook" ? CK_W4A8_CODEBOOK : name == "uniform" ? CK_W4A8_UNIFORM : CK_W4A8_ASYMMETRIC;
}

ck_activation activation_of(const json& name) {
    return name.is_null()        ? CK_ACTIVATION_NONE
           : name == "gelu_tanh" ? CK_ACTIVATION_GELU_TANH
                                 : CK_ACTIVATION_SWIGLU;
}

// Of a simulator's smoke tier.
bool too_large(const Case& which) {
    if (!device().is_simulated() || suite().full || cost(which.problem) <= 3e5) return false;
    skip("too long for a simulator's smoke tier");
    return true;
}

TEST_CASE("golden vectors of int8_gemm", "[golden][int8_gemm]") {
    const Golden golden("int8_gemm");
    REQUIRE(golden.cases().size() == 24);
    for (const json& entry : golden.cases()) {
        const std::string name = entry["case"].get<std::string>() + ".";
        INFO("golden int8_gemm " << name);
        Case which = make_case([&](ck_int8_gemm_args& args) {
            args.out_dtype = dtype_of(entry["out"]);
            args.m = entry["m"];
            args.n = entry["n"];
            args.k = entry["k"];
            args.lda = entry["lda"];
            args.ldb = entry["ldb"];
            args.ldc = entry["ldc"];
            args.scale_a_mode = entry["scale_a"] == "scalar" ? CK_SCALE_SCALAR : CK_SCALE_VECTOR;
            args.scale_b_mode = entry["scale_b"] == "scalar" ? CK_SCALE_SCALAR : CK_SCALE_VECTOR;
            args.bias_dtype = dtype_of(entry["bias"]);
            if (args.bias_dtype != CK_DTYPE_NONE) args.bias = at_alignment(256);
        });
        if (too_large(which)) continue;
        const ck_int8_gemm_args& args = which.problem.args.int8_gemm;
        which.given["a"] = golden.load_columns(name + "a", args.k, args.lda);
        which.given["b"] = golden.load_columns(name + "b", args.k, args.ldb);
        for (const char* tensor : {"scale_a", "scale_b", "c"})
            which.given[tensor] = golden.load(name + tensor);
        if (args.bias != nullptr) which.given["bias"] = golden.load(name + "bias");
        check(which);
    }
}

TEST_CASE("golden vectors of row quantization and rotation", "[golden][int8_quantize][rotate]") {
    const Golden golden("int8_quantize");
    REQUIRE(golden.cases().size() == 132);
    for (const json& entry : golden.cases()) {
        const std::string name = entry["case"].get<std::string>() + ".";
        INFO("golden int8_quantize " << name);
        Case which = make_case([&](ck_int8_quantize_args& args) {
            args.dtype = dtype_of(entry["dtype"]);
            args.rows = entry["m"];
            args.k = entry["k"];
            args.rotate_group = entry["rotate_group"];
        });
        if (too_large(which)) continue;
        const ck_int8_quantize_args& args = which.problem.args.int8_quantize;
        for (const char* tensor : {"x", "q", "scale"}) which.given[tensor] = golden.load(name + tensor);
        check(which);
        if (args.rotate_group == 0) continue;

        Case rotation = make_case([&](ck_rotate_args& rotate) {
            rotate.dtype = args.dtype;
            rotate.rows = args.rows;
            rotate.k = args.k;
            rotate.group = args.rotate_group;
        });
        rotation.given["x"] = golden.load(name + "x");
        rotation.given["y"] = golden.load(name + "rotated");
        check(rotation);
        rotation.in_place = true;
        check(rotation);
    }
}

TEST_CASE("golden vectors of w4a8_requant, decoded again", "[golden][w4a8_requant][w4a8_dequant]") {
    const Golden golden("w4a8_requant");
    REQUIRE(golden.cases().size() == 64);
    for (const json& entry : golden.cases()) {
        const std::string name = entry["case"].get<std::string>() + ".";
        INFO("golden w4a8_requant " << name);
        Case which = make_case([&](ck_w4a8_requant_args& args) {
            args.dtype = dtype_of(entry["dtype"]);
            args.n = entry["n"];
            args.k = entry["k"];
            args.group = entry["group"];
            args.layout = layout_of(entry["layout"]);
            args.s_rel_dtype = dtype_of(entry["scale_dtype"]);
            args.seed = entry["seed"];
            args.row_offset = entry["row_offset"];
            if (args.layout == CK_W4A8_CODEBOOK) args.codebook = static_cast<float*>(at_alignment(256));
            args.nonfinite = static_cast<uint64_t*>(at_alignment(256));
        });
        if (too_large(which)) continue;
        const ck_w4a8_requant_args& args = which.problem.args.w4a8_requant;
        for (const char* tensor : {"weight", "packed", "s_rel", "s_channel"})
            which.given[tensor] = golden.load(name + tensor);
        if (args.layout == CK_W4A8_ASYMMETRIC) which.given["correction"] = golden.load(name + "correction");
        if (args.layout == CK_W4A8_CODEBOOK) which.given["codebook"] = golden.load("codebook");
        which.given["nonfinite"] = to_bytes(std::vector<uint64_t>{entry["nonfinite"].get<uint64_t>()});
        check(which);

        Case decode = make_case([&](ck_w4a8_dequant_args& decoded) {
            decoded.out_dtype = CK_I8;
            decoded.n = args.n;
            decoded.k = args.k;
            decoded.group = args.group;
            decoded.layout = args.layout;
            decoded.s_rel_dtype = args.s_rel_dtype;
            decoded.codebook = args.codebook;
        });
        for (const char* tensor : {"packed", "s_rel"}) decode.given[tensor] = which.given[tensor];
        if (args.layout == CK_W4A8_CODEBOOK) decode.given["codebook"] = which.given["codebook"];
        decode.given["out"] = golden.load(name + "decoded_int8");
        check(decode);
    }
}

// The linears' file has every intermediate result: each operator is held against it by itself, then the
// whole.
TEST_CASE("golden vectors of the linears", "[golden][int8_linear][w4a8_linear]") {
    const Golden golden("linear");
    REQUIRE(golden.cases().size() == 14);
    for (const json& entry : golden.cases()) {
        const std::string name = entry["case"].get<std::string>() + ".";
        INFO("golden linear " << name);
        const ck_dtype dtype = dtype_of(entry["dtype"]);
        const ck_dtype out_dtype = dtype_of(entry["out"]);
        const ck_dtype bias_dtype = dtype_of(entry["bias"]);
        const int64_t m = entry["m"];
        const int64_t n = entry["n"];
        const int64_t k = entry["k"];
        const int32_t rotate_group = entry["rotate_group"];
        const ck_activation activation = activation_of(entry["activation"]);
        void* const present = at_alignment(256);

        Case quantize = make_case([&](ck_int8_quantize_args& args) {
            args.dtype = dtype;
            args.rows = m;
            args.k = k;
            args.rotate_group = rotate_group;
            args.activation = activation;
        });
        quantize.given["x"] = golden.load(name + "x");
        quantize.given["q"] = golden.load(name + "x_q");
        quantize.given["scale"] = golden.load(name + "x_scale");
        check(quantize);

        if (entry["weight_kind"] == "int8") {
            Case weight = make_case([&](ck_int8_quantize_args& args) {
                args.dtype = dtype;
                args.rows = n;
                args.k = k;
                args.rotate_group = rotate_group;
            });
            weight.given["x"] = golden.load(name + "weight");
            weight.given["q"] = golden.load(name + "w_q");
            weight.given["scale"] = golden.load(name + "w_scale");
            check(weight);

            Case linear = make_case([&](ck_int8_linear_args& args) {
                args.x_dtype = dtype;
                args.m = m;
                args.n = n;
                args.k = k;
                args.out_dtype = out_dtype;
                args.bias_dtype = bias_dtype;
                if (bias_dtype != CK_DTYPE_NONE) args.bias = present;
                args.activation = activation;
                args.rotate_group = rotate_group;
            });
            linear.given["x"] = golden.load(name + "x");
            linear.given["w"] = golden.load(name + "w_q");
            linear.given["w_scale"] = golden.load(name + "w_scale");
            if (bias_dtype != CK_DTYPE_NONE) linear.given["bias"] = golden.load(name + "bias");
            linear.given["y"] = golden.load(name + "y");
            check(linear);
            continue;
        }

        const ck_w4a8_layout layout = layout_of(entry["weight_kind"]);
        const int32_t group = entry["group"];
        const ck_dtype s_rel_dtype =
            golden.load(name + "s_rel").size() == static_cast<size_t>(n * k / group) ? CK_F8_E4M3 : CK_F32;
        const bool corrected = layout == CK_W4A8_ASYMMETRIC;
        Case requant = make_case([&](ck_w4a8_requant_args& args) {
            args.dtype = dtype;
            args.n = n;
            args.k = k;
            args.group = group;
            args.layout = layout;
            args.rotate_group = rotate_group;
            args.s_rel_dtype = s_rel_dtype;
        });
        std::map<std::string, Bytes> quantized;
        for (const char* tensor : {"packed", "s_rel", "s_channel"})
            quantized[tensor] = golden.load(name + tensor);
        if (corrected) quantized["correction"] = golden.load(name + "correction");
        requant.given = quantized;
        requant.given["weight"] = golden.load(name + "weight");
        check(requant);

        Case dequant = make_case([&](ck_w4a8_dequant_args& args) {
            args.out_dtype = out_dtype;
            args.n = n;
            args.k = k;
            args.group = group;
            args.layout = layout;
            args.rotate_group = rotate_group;
            args.s_rel_dtype = s_rel_dtype;
            if (corrected) args.correction_dtype = dtype;
        });
        dequant.given = quantized;
        dequant.given["out"] = golden.load(name + "dequant");
        check(dequant);

        Case linear = make_case([&](ck_w4a8_linear_args& args) {
            args.x_dtype = dtype;
            args.m = m;
            args.n = n;
            args.k = k;
            args.group = group;
            args.layout = layout;
            args.s_rel_dtype = s_rel_dtype;
            if (corrected) args.correction_dtype = dtype;
            args.out_dtype = out_dtype;
            args.bias_dtype = bias_dtype;
            if (bias_dtype != CK_DTYPE_NONE) args.bias = present;
            args.activation = activation;
            args.rotate_group = rotate_group;
        });
        linear.given = quantized;
        linear.given["x"] = golden.load(name + "x");
        if (bias_dtype != CK_DTYPE_NONE) linear.given["bias"] = golden.load(name + "bias");
        linear.given["y"] = golden.load(name + "y");
        check(linear);
    }
}

// One value a row: q is then +-127 (or 0) and the scale is the activation's magnitude / 127, which pins the
// exponential to a few ulps for every argument of the table and to the bit through gelu_tanh's rows above.
// With up = 1 and gate x, swiglu is x / (1 + exp32(-x)).
TEST_CASE("golden table of the exponential, through swiglu", "[golden][int8_quantize]") {
    const Golden golden("linear");
    const std::vector<float> x = to_floats(golden.load("exp32.x"), CK_F32);
    const std::vector<float> y = to_floats(golden.load("exp32.y"), CK_F32);
    REQUIRE(x.size() == y.size());
    REQUIRE(x.size() > 10);
    Case which = make_case([&](ck_int8_quantize_args& args) {
        args.dtype = CK_F32;
        args.rows = static_cast<int64_t>(x.size());
        args.k = 1;
        args.activation = CK_ACTIVATION_SWIGLU;
    });
    std::vector<float> input;
    std::vector<float> scale;
    std::vector<int8_t> q;
    for (size_t i = 0; i < x.size(); ++i) {
        const float gate = -x[i];
        input.push_back(gate);
        input.push_back(1.0f);
        const float value = gate / (1.0f + y[i]);
        const float amax = std::isfinite(value) ? std::fabs(value) : 0.0f;
        scale.push_back(std::fmax(amax / 127.0f, 1e-30f));
        const float quotient = std::fmin(std::fmax(std::nearbyintf(value / scale.back()), -128.0f), 127.0f);
        q.push_back(std::isnan(value) ? int8_t{0} : static_cast<int8_t>(quotient));
    }
    which.given["x"] = to_bytes(input);
    which.given["scale"] = to_bytes(scale);
    which.given["q"] = to_bytes(q);
    check(which);
}

TEST_CASE("golden vectors of na3d", "[golden][na3d]") {
    const Golden golden("na3d");
    REQUIRE(golden.cases().size() == 38);
    for (const json& entry : golden.cases()) {
        const std::string name = entry["case"].get<std::string>() + ".";
        INFO("golden na3d " << name);
        Case which = make_case([&](ck_na3d_args& args) {
            args.dtype = dtype_of(entry["dtype"]);
            int64_t* const extents[] = {&args.batch, &args.t, &args.h, &args.w, &args.heads, &args.head_dim};
            for (size_t axis = 0; axis < 6; ++axis) *extents[axis] = entry["shape"][axis];
            for (size_t axis = 0; axis < 3; ++axis) {
                args.kernel[axis] = entry["kernel"][axis];
                args.dilation[axis] = entry["dilation"][axis];
                args.causal[axis] = entry["causal"][axis].get<bool>() ? 1 : 0;
            }
            args.scale = entry["scale"];
        });
        if (too_large(which)) continue;
        const ck_na3d_args& args = which.problem.args.na3d;
        for (const char* tensor : {"q", "k", "v"}) which.given[tensor] = golden.load(name + tensor);
        const Outcome outcome = check(which);

        // The suite's own float64 attention against the file (which is rounded to float32), then the result
        // against the file.
        AttentionReference reference =
            attention_reference(args, which.given["q"], which.given["k"], which.given["v"]);
        const std::vector<float> expected = to_floats(golden.load(name + "out"), CK_F32);
        REQUIRE(expected.size() == reference.out.size());
        double error = 0;
        for (size_t i = 0; i < expected.size(); ++i)
            error = std::max(error, std::fabs(reference.out[i] - static_cast<double>(expected[i])));
        CHECK(error <= 1.2e-7 * reference.largest_value);
        reference.out.assign(expected.begin(), expected.end());
        if (outcome.outputs.count("out") != 0)
            CHECK(attention_error(args, reference, outcome.outputs.at("out")) == "");
    }
}

}  // namespace
}  // namespace ckitchen::conformance

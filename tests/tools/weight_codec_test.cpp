// Blocks of rows against whole tensors: the cut must not show in a single bit.
#include "weight_quantizer.hpp"

#include <cmath>
#include <random>

#include "catch.hpp"
#include "numbers.hpp"
#include "support.hpp"

namespace ckitchen::cli::test {
namespace {

// A weight whose rotation in groups of 64 or 256 is heavy-tailed inside the scale groups, so that a codebook
// is fitted instead of the default one taken. The rotation is its own inverse.
std::vector<float> heavy_tailed(const Session& session, std::int64_t n, std::int64_t k) {
    std::mt19937 generator(17);
    std::vector<float> out(static_cast<std::size_t>(n * k));
    for (float& value : out) {
        const double unit = (generator() + 0.5) / 4294967296.0 - 0.5;
        value =
            static_cast<float>((unit < 0 ? -1 : 1) * std::pow(-std::log(1 - 2 * std::abs(unit)), 2.0) * 0.01);
    }
    ck_rotate_args args = CK_INIT(ck_rotate_args);
    args.dtype = CK_F32;
    args.rows = n;
    args.k = k;
    args.x = out.data();
    args.y = out.data();
    args.group = k % 256 == 0 ? 256 : 64;
    check(ck_rotate(session.context(), &args, nullptr), "rotate");
    return out;
}

// A checkpoint with one float32 weight, and its plan.
struct Model {
    TemporaryFolder folder;
    std::unique_ptr<Checkpoint> checkpoint;
    Plan plan;
    std::vector<float> values;

    Model(const Session& session, std::int64_t n, std::int64_t k, const PlanOptions& options)
        : values(heavy_tailed(session, n, k)) {
        const std::string data(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
        write_file(folder / "m.safetensors", safetensors_bytes({{"a.weight", "F32", {n, k}, data}}));
        checkpoint = std::make_unique<Checkpoint>(folder / "m.safetensors");
        plan = make_plan(*checkpoint, options);
    }
    const PlannedTensor& tensor() const { return plan.tensors[0]; }
    std::span<const std::byte> rows(std::int64_t row, std::int64_t count) const {
        const auto k = static_cast<std::size_t>(tensor().k);
        return std::as_bytes(std::span(values).subspan(static_cast<std::size_t>(row) * k,
                                                       static_cast<std::size_t>(count) * k));
    }
    std::vector<std::byte> sample() const {
        const std::int64_t count = codebook_sample_rows(tensor().n, tensor().k);
        std::vector<std::byte> out;
        for (std::int64_t i = 0; i < count; ++i) {
            const auto row = rows(codebook_sample_row(tensor().n, count, i), 1);
            out.insert(out.end(), row.begin(), row.end());
        }
        return out;
    }
};

std::string quantized_in_blocks(const Model& model, const Session& session, std::int64_t step,
                                std::uint64_t seed, double& error) {
    BufferPool pool(session);
    WorkTimes times;
    WeightQuantizer quantizer(session, pool, times, model.plan.options, seed);
    Codebook codebook;
    if (needs_codebook(model.plan.options)) codebook = quantizer.fit_codebook(model.tensor(), model.sample());
    std::string weight;
    std::string s_rel;
    std::string channel;
    ErrorSums errors;
    const auto append = [](std::string& to, const Buffer& from) {
        to.append(reinterpret_cast<const char*>(from.bytes().data()), from.size());
    };
    const std::int64_t n = model.tensor().n;
    for (std::int64_t row = 0; row < n; row += step) {
        const std::int64_t rows = std::min(step, n - row);
        const QuantizedBlock block =
            quantizer.quantize(model.tensor(), codebook, row, rows, model.rows(row, rows));
        append(weight, block.weight);
        append(s_rel, block.s_rel);
        append(channel, block.channel);
        errors.add_rows({reinterpret_cast<const double*>(block.errors.bytes().data()),
                         block.errors.size() / sizeof(double)});
    }
    error = errors.relative();
    CHECK(times.library.seconds() > 0);
    CHECK(times.library.seconds() >= times.device.seconds());
    return weight + s_rel + channel;
}

TEST_CASE("The size of the blocks does not change a bit of the result") {
    const Session session({CK_BACKEND_CPU, 0, 2});
    for (const bool is_int8 : {false, true}) {
        for (const bool uniform : {false, true}) {
            for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{0x123456789ABCDEF}}) {
                PlanOptions options;
                options.format = is_int8 ? TargetFormat::kInt8 : TargetFormat::kW4a8;
                options.uniform = uniform;
                const Model model(session, 61, 192, options);
                double whole_error = 0;
                const std::string whole = quantized_in_blocks(model, session, 61, seed, whole_error);
                CHECK(whole_error > 0.001);
                CHECK(whole_error < 0.5);
                for (const std::int64_t step : {1, 7, 60}) {
                    double error = 0;
                    CHECK(quantized_in_blocks(model, session, step, seed, error) == whole);
                    CHECK(error == whole_error);
                }
            }
        }
    }
}

TEST_CASE("The codebook of the sampled rows is the codebook of the whole tensor") {
    // 4.5 million elements: only 1024 of the 1100 rows are looked at.
    const Session session({CK_BACKEND_CPU, 0, 2});
    const Model model(session, 1100, 4096, {});
    REQUIRE(codebook_sample_rows(1100, 4096) == 1024);
    BufferPool pool(session);
    WorkTimes times;
    const Codebook fitted = WeightQuantizer(session, pool, times, model.plan.options, 0)
                                .fit_codebook(model.tensor(), model.sample());

    std::vector<float> rotated(model.values.size());
    ck_rotate_args rotate = CK_INIT(ck_rotate_args);
    rotate.dtype = CK_F32;
    rotate.rows = 1100;
    rotate.k = 4096;
    rotate.x = model.values.data();
    rotate.y = rotated.data();
    rotate.group = 256;
    check(ck_rotate(session.context(), &rotate, nullptr), "rotate");
    std::vector<float> levels(16);
    ck_w4a8_choose_codebook_args choose = CK_INIT(ck_w4a8_choose_codebook_args);
    choose.dtype = CK_F32;
    choose.n = 1100;
    choose.k = 4096;
    choose.weight = rotated.data();
    choose.group = 16;
    choose.codebook = levels.data();
    std::uint64_t bytes = 0;
    check(ck_w4a8_choose_codebook_workspace_size(session.context(), &choose, &bytes), "workspace");
    std::vector<std::byte> workspace(bytes);
    choose.workspace = workspace.data();
    choose.workspace_size = bytes;
    check(ck_w4a8_choose_codebook(session.context(), &choose, nullptr), "choose");

    CHECK(fitted == levels);
    INFO("the data must not give the default levels, or the comparison shows nothing");
    CHECK_FALSE(is_default_codebook(fitted));
}

}  // namespace
}  // namespace ckitchen::cli::test

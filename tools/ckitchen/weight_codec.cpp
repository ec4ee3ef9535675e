#include "weight_codec.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "failure.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

constexpr std::int64_t kBlockElements = 4194304;
constexpr std::size_t kLevels = 16;

// Adds its own lifetime to a sum of seconds.
class Stopwatch {
  public:
    explicit Stopwatch(double& sum) : sum_(sum) {}
    ~Stopwatch() { sum_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
    Stopwatch(const Stopwatch&) = delete;
    Stopwatch& operator=(const Stopwatch&) = delete;

  private:
    double& sum_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::uint64_t bytes_of(std::int64_t rows, std::int64_t columns, std::uint64_t element) {
    return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns) * element;
}

Buffer download(const DeviceBuffer& from, std::uint64_t bytes) {
    Buffer out(static_cast<std::size_t>(bytes));
    from.download(out.bytes());
    return out;
}

std::string of_tensor(const SourceTensor& tensor, const char* what) {
    return printable(tensor.file->path()) + ": tensor " + in_quotes(tensor.info->name) + ": " + what;
}

// decoded[i][j] = q[i][j] * scale[i], then un-rotated by the library: `on_device` takes the floats and gives
// them back.
void decode_int8_rows(const Session& session, std::int64_t rows, std::int64_t k, int rotate_group,
                      std::span<const std::byte> q, std::span<const float> scales, DeviceBuffer& on_device,
                      std::span<float> decoded, const SourceTensor& tensor) {
    const auto columns = static_cast<std::size_t>(k);
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
        const float scale = scales[scales.size() == 1 ? 0 : row];
        for (std::size_t column = 0; column < columns; ++column) {
            const std::size_t i = row * columns + column;
            decoded[i] = static_cast<float>(static_cast<std::int8_t>(q[i])) * scale;
        }
    }
    if (rotate_group == 0) return;
    on_device.upload(std::as_bytes(decoded));
    ck_rotate_args args = CK_INIT(ck_rotate_args);
    args.dtype = CK_F32;
    args.rows = rows;
    args.k = k;
    args.x = on_device.data();
    args.y = on_device.data();
    args.group = rotate_group;
    check(ck_rotate(session.context(), &args, nullptr), of_tensor(tensor, "cannot un-rotate"));
    on_device.download(std::as_writable_bytes(decoded));
}

}  // namespace

std::int64_t block_rows(std::int64_t k) {
    return std::max<std::int64_t>(1, kBlockElements / std::max<std::int64_t>(k, 1));
}

ck_dtype library_dtype(Dtype dtype) {
    switch (dtype) {
        case Dtype::kF32:
            return CK_F32;
        case Dtype::kF16:
            return CK_F16;
        case Dtype::kBf16:
            return CK_BF16;
        default:
            throw Failure(Exit::kInternal, "no library dtype for " + std::string(dtype_name(dtype)));
    }
}

WeightQuantizer::WeightQuantizer(const Session& session, const PlanOptions& options, std::uint64_t seed)
    : session_(session),
      options_(options),
      seed_(seed),
      input_(session),
      weight_(session),
      s_rel_(session),
      channel_(session),
      levels_(session),
      decoded_device_(session),
      workspace_(session) {}

bool WeightQuantizer::needs_sample() const {
    return options_.format == TargetFormat::kW4a8 && !options_.uniform;
}

bool WeightQuantizer::codebook_is_default() const {
    return codebook_.size() == kLevels &&
           std::memcmp(codebook_.data(), ck_w4a8_default_codebook(), kLevels * sizeof(float)) == 0;
}

void WeightQuantizer::begin(const PlannedTensor& tensor, std::span<const std::byte> sample) {
    tensor_ = &tensor;
    error_ = ErrorSums{};
    codebook_.clear();
    if (needs_sample()) fit_codebook(sample);
}

void* WeightQuantizer::reserve_workspace(ck_status status, std::uint64_t bytes, const char* what) {
    check(status, of_tensor(*tensor_->source, what));
    return workspace_.reserve(bytes);
}

void WeightQuantizer::fit_codebook(std::span<const std::byte> sample) {
    const Stopwatch watch(library_seconds_);
    const ck_dtype dtype = library_dtype(tensor_->value_dtype());
    const std::int64_t rows = codebook_sample_rows(tensor_->n, tensor_->k);

    ck_rotate_args rotate = CK_INIT(ck_rotate_args);
    rotate.dtype = dtype;
    rotate.rows = rows;
    rotate.k = tensor_->k;
    rotate.x = input_.upload(sample);
    rotate.y = input_.data();
    rotate.group = tensor_->marker.rotate_group;
    check(ck_rotate(session_.context(), &rotate, nullptr), of_tensor(*tensor_->source, "cannot rotate"));

    // The sampled rows as a tensor of their own: its sample is all of it.
    ck_w4a8_choose_codebook_args choose = CK_INIT(ck_w4a8_choose_codebook_args);
    choose.dtype = dtype;
    choose.n = rows;
    choose.k = tensor_->k;
    choose.weight = input_.data();
    choose.group = options_.group_size;
    choose.codebook = static_cast<float*>(levels_.reserve(kLevels * sizeof(float)));
    const char* const what = "cannot choose a codebook";
    std::uint64_t bytes = 0;
    const ck_status status = ck_w4a8_choose_codebook_workspace_size(session_.context(), &choose, &bytes);
    choose.workspace = reserve_workspace(status, bytes, what);
    choose.workspace_size = bytes;
    check(ck_w4a8_choose_codebook(session_.context(), &choose, nullptr), of_tensor(*tensor_->source, what));
    codebook_.resize(kLevels);
    levels_.download(std::as_writable_bytes(std::span(codebook_)));
}

QuantizedBlock WeightQuantizer::quantize(std::int64_t row, std::int64_t rows,
                                         std::span<const std::byte> data) {
    const auto elements = static_cast<std::size_t>(rows * tensor_->k);
    const bool is_w4a8 = options_.format == TargetFormat::kW4a8;
    original_.resize(elements);
    decoded_.resize(elements);
    QuantizedBlock block;
    {
        const Stopwatch watch(library_seconds_);
        input_.upload(data);
        block = is_w4a8 ? quantize_w4a8(row, rows) : quantize_int8(rows);
        if (is_w4a8)
            measure_w4a8(rows);
        else
            measure_int8(rows, block);
    }
    to_floats(tensor_->value_dtype(), data, original_);
    error_.add(original_, decoded_);
    return block;
}

QuantizedBlock WeightQuantizer::quantize_w4a8(std::int64_t row, std::int64_t rows) {
    const std::int64_t k = tensor_->k;
    const std::uint64_t packed_bytes = bytes_of(rows, k / 2, 1);
    const std::uint64_t s_rel_bytes = bytes_of(rows, k / options_.group_size, 1);
    const std::uint64_t channel_bytes = bytes_of(rows, 1, sizeof(float));

    ck_w4a8_requant_args args = CK_INIT(ck_w4a8_requant_args);
    args.dtype = library_dtype(tensor_->value_dtype());
    args.n = rows;
    args.k = k;
    args.weight = input_.data();
    args.group = options_.group_size;
    args.layout = options_.uniform ? CK_W4A8_UNIFORM : CK_W4A8_CODEBOOK;
    args.rotate_group = tensor_->marker.rotate_group;
    args.s_rel_dtype = CK_F8_E4M3;
    args.seed = seed_;
    args.row_offset = static_cast<std::uint64_t>(row);
    args.codebook = options_.uniform ? nullptr : static_cast<const float*>(levels_.data());
    args.packed = weight_.reserve(packed_bytes);
    args.s_rel = s_rel_.reserve(s_rel_bytes);
    args.s_channel = static_cast<float*>(channel_.reserve(channel_bytes));
    const char* const what = "cannot quantize";
    std::uint64_t bytes = 0;
    const ck_status status = ck_w4a8_requant_workspace_size(session_.context(), &args, &bytes);
    args.workspace = reserve_workspace(status, bytes, what);
    args.workspace_size = bytes;
    check(ck_w4a8_requant(session_.context(), &args, nullptr), of_tensor(*tensor_->source, what));
    return {download(weight_, packed_bytes), download(s_rel_, s_rel_bytes),
            download(channel_, channel_bytes)};
}

void WeightQuantizer::measure_w4a8(std::int64_t rows) {
    const std::int64_t k = tensor_->k;
    ck_w4a8_dequant_args args = CK_INIT(ck_w4a8_dequant_args);
    args.out_dtype = CK_F32;
    args.n = rows;
    args.k = k;
    args.group = options_.group_size;
    args.layout = options_.uniform ? CK_W4A8_UNIFORM : CK_W4A8_CODEBOOK;
    args.s_rel_dtype = CK_F8_E4M3;
    args.rotate_group = tensor_->marker.rotate_group;
    args.packed = weight_.data();
    args.s_rel = s_rel_.data();
    args.s_channel = static_cast<const float*>(channel_.data());
    args.codebook = options_.uniform ? nullptr : static_cast<const float*>(levels_.data());
    args.out = decoded_device_.reserve(bytes_of(rows, k, sizeof(float)));
    check(ck_w4a8_dequant(session_.context(), &args, nullptr), of_tensor(*tensor_->source, "cannot decode"));
    decoded_device_.download(std::as_writable_bytes(std::span(decoded_)));
}

QuantizedBlock WeightQuantizer::quantize_int8(std::int64_t rows) {
    const std::uint64_t weight_bytes = bytes_of(rows, tensor_->k, 1);
    const std::uint64_t scale_bytes = bytes_of(rows, 1, sizeof(float));
    ck_int8_quantize_args args = CK_INIT(ck_int8_quantize_args);
    args.dtype = library_dtype(tensor_->value_dtype());
    args.rows = rows;
    args.k = tensor_->k;
    args.x = input_.data();
    args.q = weight_.reserve(weight_bytes);
    args.scale = static_cast<float*>(channel_.reserve(scale_bytes));
    args.rotate_group = tensor_->marker.rotate_group;
    const char* const what = "cannot quantize";
    std::uint64_t bytes = 0;
    const ck_status status = ck_int8_quantize_workspace_size(session_.context(), &args, &bytes);
    args.workspace = reserve_workspace(status, bytes, what);
    args.workspace_size = bytes;
    check(ck_int8_quantize(session_.context(), &args, nullptr), of_tensor(*tensor_->source, what));
    return {download(weight_, weight_bytes), Buffer(), download(channel_, scale_bytes)};
}

void WeightQuantizer::measure_int8(std::int64_t rows, const QuantizedBlock& block) {
    std::vector<float> scales(static_cast<std::size_t>(rows));
    std::memcpy(scales.data(), block.channel.bytes().data(), block.channel.size());
    decode_int8_rows(session_, rows, tensor_->k, tensor_->marker.rotate_group, block.weight.bytes(), scales,
                     decoded_device_, decoded_, *tensor_->source);
}

WeightDecoder::WeightDecoder(const Session& session, Dtype out_dtype)
    : session_(session),
      out_dtype_(out_dtype),
      weight_(session),
      s_rel_(session),
      channel_(session),
      levels_(session),
      out_(session) {}

void WeightDecoder::begin(const DecodableLayer& layer) {
    layer_ = &layer;
    if (layer.codebook != nullptr) levels_.upload(layer.codebook->load());
}

Buffer WeightDecoder::decode(std::int64_t row, std::int64_t rows) {
    return layer_->scale == nullptr ? decode_w4a8(row, rows) : decode_int8(row, rows);
}

Buffer WeightDecoder::decode_w4a8(std::int64_t row, std::int64_t rows) {
    const DecodableLayer& layer = *layer_;
    const auto upload_rows = [&](const SourceTensor& source, DeviceBuffer& buffer, std::uint64_t row_bytes) {
        Buffer data(static_cast<std::size_t>(static_cast<std::uint64_t>(rows) * row_bytes));
        source.read(static_cast<std::uint64_t>(row) * row_bytes, data.bytes());
        return buffer.upload(data.bytes());
    };
    ck_w4a8_dequant_args args = CK_INIT(ck_w4a8_dequant_args);
    args.out_dtype = library_dtype(out_dtype_);
    args.n = rows;
    args.k = layer.k;
    args.group = layer.marker.group_size;
    args.layout = layer.codebook == nullptr ? CK_W4A8_UNIFORM : CK_W4A8_CODEBOOK;
    args.s_rel_dtype = CK_F8_E4M3;
    args.rotate_group = layer.marker.rotate_group;
    args.packed = upload_rows(*layer.weight, weight_, static_cast<std::uint64_t>(layer.k / 2));
    args.s_rel =
        upload_rows(*layer.s_rel, s_rel_, static_cast<std::uint64_t>(layer.k / layer.marker.group_size));
    args.s_channel = static_cast<const float*>(upload_rows(*layer.s_channel, channel_, sizeof(float)));
    args.codebook = layer.codebook == nullptr ? nullptr : static_cast<const float*>(levels_.data());
    const std::uint64_t out_bytes = bytes_of(rows, layer.k, dtype_size(out_dtype_));
    args.out = out_.reserve(out_bytes);
    check(ck_w4a8_dequant(session_.context(), &args, nullptr), of_tensor(*layer.weight, "cannot decode"));
    return download(out_, out_bytes);
}

Buffer WeightDecoder::decode_int8(std::int64_t row, std::int64_t rows) {
    const DecodableLayer& layer = *layer_;
    const auto first = static_cast<std::uint64_t>(row);
    Buffer q(static_cast<std::size_t>(bytes_of(rows, layer.k, 1)));
    layer.weight->read(first * static_cast<std::uint64_t>(layer.k), q.bytes());
    const bool one_scale = layer.scale->info->elements() == 1;
    std::vector<float> scales(one_scale ? 1 : static_cast<std::size_t>(rows));
    layer.scale->read(one_scale ? 0 : first * sizeof(float), std::as_writable_bytes(std::span(scales)));
    std::vector<float> decoded(q.size());
    decode_int8_rows(session_, rows, layer.k, layer.marker.rotate_group, q.bytes(), scales, out_, decoded,
                     *layer.weight);
    Buffer out(decoded.size() * static_cast<std::size_t>(dtype_size(out_dtype_)));
    from_floats(out_dtype_, decoded, out.bytes());
    return out;
}

}  // namespace ckitchen::cli

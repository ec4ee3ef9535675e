#include "weight_codec.hpp"

#include <algorithm>

#include "failure.hpp"
#include "numbers.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

std::uint64_t bytes_of(std::int64_t rows, std::int64_t columns, std::uint64_t element) {
    return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns) * element;
}

Buffer download(const DeviceBuffer& from, std::uint64_t bytes) {
    Buffer out(static_cast<std::size_t>(bytes));
    from.download(out.bytes());
    return out;
}

}  // namespace

std::string of_tensor(const SourceTensor& tensor, const char* what) {
    return printable(tensor.file->path()) + ": tensor " + in_quotes(tensor.info->name) + ": " + what;
}

void scale_int8_rows(std::span<const std::byte> q, std::span<const float> scales, std::int64_t k,
                     std::span<float> out) {
    const auto columns = static_cast<std::size_t>(k);
    for (std::size_t row = 0, i = 0; i < out.size(); ++row) {
        const float scale = scales[scales.size() == 1 ? 0 : row];
        for (const std::size_t end = i + columns; i < end; ++i) {
            out[i] = static_cast<float>(static_cast<std::int8_t>(q[i])) * scale;
        }
    }
}

std::int64_t block_rows(std::int64_t k, std::int64_t elements) {
    return std::max<std::int64_t>(1, elements / std::max<std::int64_t>(k, 1));
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
    scale_int8_rows(q.bytes(), scales, layer.k, decoded);
    if (layer.marker.rotate_group != 0) {
        ck_rotate_args args = CK_INIT(ck_rotate_args);
        args.dtype = CK_F32;
        args.rows = rows;
        args.k = layer.k;
        args.x = out_.upload(std::as_bytes(std::span(decoded)));
        args.y = out_.data();
        args.group = layer.marker.rotate_group;
        check(ck_rotate(session_.context(), &args, nullptr), of_tensor(*layer.weight, "cannot un-rotate"));
        out_.download(std::as_writable_bytes(std::span(decoded)));
    }
    Buffer out(decoded.size() * static_cast<std::size_t>(dtype_size(out_dtype_)));
    from_floats(out_dtype_, decoded, out.bytes());
    return out;
}

}  // namespace ckitchen::cli

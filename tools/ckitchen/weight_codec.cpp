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

std::span<float> floats_in(Buffer& buffer) {
    return {reinterpret_cast<float*>(buffer.bytes().data()), buffer.size() / sizeof(float)};
}

// out[i][j] = q[i][j] * scales[i], rows of k; one scale may stand for all rows.
void scale_rows(std::span<const std::byte> q, std::span<const float> scales, std::int64_t k,
                std::span<float> out) {
    const auto columns = static_cast<std::size_t>(k);
    for (std::size_t i = 0, row = 0; i < q.size(); ++row) {
        const float scale = scales[scales.size() == 1 ? 0 : row];
        for (const std::size_t end = i + columns; i < end; ++i) {
            out[i] = static_cast<float>(static_cast<std::int8_t>(q[i])) * scale;
        }
    }
}

}  // namespace

std::string of_tensor(const SourceTensor& tensor, const char* what) {
    return printable(tensor.file->path()) + ": tensor " + in_quotes(tensor.info->name) + ": " + what;
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

WeightDecoder::WeightDecoder(const Session& session, BufferPool& pool, Dtype out_dtype)
    : session_(session),
      pool_(pool),
      out_dtype_(out_dtype),
      weight_(session),
      s_rel_(session),
      channel_(session),
      levels_(session),
      out_(session),
      stream_(session) {}

Buffer WeightDecoder::decode(const DecodableLayer& layer, std::int64_t row, std::int64_t rows) {
    return layer.scale == nullptr ? decode_w4a8(layer, row, rows) : decode_int8(layer, row, rows);
}

Buffer WeightDecoder::read(const SourceTensor& tensor, std::uint64_t offset, std::uint64_t bytes) {
    Buffer data = pool_.take(static_cast<std::size_t>(bytes));
    tensor.read(offset, data.bytes());
    return data;
}

Buffer WeightDecoder::decode_w4a8(const DecodableLayer& layer, std::int64_t row, std::int64_t rows) {
    const auto read_rows = [&](const SourceTensor& tensor, std::int64_t row_bytes) {
        return read(tensor, bytes_of(row, row_bytes, 1), bytes_of(rows, row_bytes, 1));
    };
    const Buffer packed = read_rows(*layer.weight, layer.k / 2);
    const Buffer s_rel = read_rows(*layer.s_rel, layer.k / layer.marker.group_size);
    const Buffer channel = read_rows(*layer.s_channel, sizeof(float));
    Buffer levels;
    if (layer.codebook != nullptr) levels = read(*layer.codebook, 0, layer.codebook->info->bytes());
    Buffer out = pool_.take(bytes_of(rows, layer.k, dtype_size(out_dtype_)));
    Stream::Work work(stream_, busy_);
    ck_w4a8_dequant_args args = CK_INIT(ck_w4a8_dequant_args);
    args.out_dtype = library_dtype(out_dtype_);
    args.n = rows;
    args.k = layer.k;
    args.group = layer.marker.group_size;
    args.layout = layer.codebook == nullptr ? CK_W4A8_UNIFORM : CK_W4A8_CODEBOOK;
    args.s_rel_dtype = CK_F8_E4M3;
    args.rotate_group = layer.marker.rotate_group;
    if (layer.codebook != nullptr)
        args.codebook = static_cast<const float*>(stream_.upload(levels.bytes(), levels_));
    args.packed = stream_.upload(packed.bytes(), weight_);
    args.s_rel = stream_.upload(s_rel.bytes(), s_rel_);
    args.s_channel = static_cast<const float*>(stream_.upload(channel.bytes(), channel_));
    args.out = stream_.room_for(out, out_);
    check(ck_w4a8_dequant(session_.context(), &args, stream_.handle()),
          of_tensor(*layer.weight, "cannot decode"));
    stream_.download(args.out, out);
    work.finish();
    return out;
}

Buffer WeightDecoder::decode_int8(const DecodableLayer& layer, std::int64_t row, std::int64_t rows) {
    const Buffer q = read(*layer.weight, bytes_of(row, layer.k, 1), bytes_of(rows, layer.k, 1));
    const bool one_scale = layer.scale->info->elements() == 1;
    Buffer scales = read(*layer.scale, one_scale ? 0 : bytes_of(row, 1, sizeof(float)),
                         bytes_of(one_scale ? 1 : rows, 1, sizeof(float)));
    Buffer decoded = pool_.take(bytes_of(rows, layer.k, sizeof(float)));
    scale_rows(q.bytes(), floats_in(scales), layer.k, floats_in(decoded));
    if (layer.marker.rotate_group != 0) {
        Stream::Work work(stream_, busy_);
        ck_rotate_args args = CK_INIT(ck_rotate_args);
        args.dtype = CK_F32;
        args.rows = rows;
        args.k = layer.k;
        args.x = stream_.upload(decoded.bytes(), out_);
        args.y = stream_.room_for(decoded, out_);
        args.group = layer.marker.rotate_group;
        check(ck_rotate(session_.context(), &args, stream_.handle()),
              of_tensor(*layer.weight, "cannot un-rotate"));
        stream_.download(args.y, decoded);
        work.finish();
    }
    if (out_dtype_ == Dtype::kF32) return decoded;
    Buffer out = pool_.take(bytes_of(rows, layer.k, dtype_size(out_dtype_)));
    from_floats(out_dtype_, floats_in(decoded), out.bytes());
    return out;
}

}  // namespace ckitchen::cli

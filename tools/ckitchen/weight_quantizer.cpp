#include "weight_quantizer.hpp"

#include <cstring>

#include "text.hpp"
#include "weight_codec.hpp"

namespace ckitchen::cli {
namespace {

constexpr std::size_t kLevels = 16;

std::uint64_t bytes_of(std::int64_t rows, std::int64_t columns, std::uint64_t element) {
    return static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(columns) * element;
}

std::span<float> floats_in(Buffer& buffer) {
    return {reinterpret_cast<float*>(buffer.bytes().data()), buffer.size() / sizeof(float)};
}

}  // namespace

bool is_default_codebook(const Codebook& codebook) {
    return codebook.size() == kLevels &&
           std::memcmp(codebook.data(), ck_w4a8_default_codebook(), kLevels * sizeof(float)) == 0;
}

bool needs_codebook(const PlanOptions& options) {
    return options.format == TargetFormat::kW4a8 && !options.uniform;
}

WeightQuantizer::WeightQuantizer(const Session& session, BufferPool& pool, WorkTimes& times,
                                 const PlanOptions& options, std::uint64_t seed)
    : session_(session),
      pool_(pool),
      times_(times),
      options_(options),
      seed_(seed),
      input_(session),
      weight_(session),
      s_rel_(session),
      channel_(session),
      levels_(session),
      decoded_(session),
      errors_(session),
      workspace_(session),
      stream_(session) {}

Codebook WeightQuantizer::fit_codebook(const PlannedTensor& tensor, std::span<const std::byte> sample) {
    const BusyTime::Scope inside(times_.library);
    const std::int64_t rows = codebook_sample_rows(tensor.n, tensor.k);
    Buffer levels = pool_.take(kLevels * sizeof(float));

    ck_rotate_args rotate = CK_INIT(ck_rotate_args);
    rotate.dtype = library_dtype(tensor.value_dtype());
    rotate.rows = rows;
    rotate.k = tensor.k;
    rotate.group = tensor.marker.rotate_group;
    // The sampled rows as a tensor of their own: its sample is all of it.
    ck_w4a8_choose_codebook_args choose = CK_INIT(ck_w4a8_choose_codebook_args);
    choose.dtype = rotate.dtype;
    choose.n = rows;
    choose.k = tensor.k;
    choose.group = options_.group_size;
    {
        Stream::Work work(stream_, times_.device);
        rotate.x = stream_.upload(sample, input_);
        rotate.y = decoded_.reserve(sample.size());
        check(ck_rotate(session_.context(), &rotate, stream_.handle()),
              of_tensor(*tensor.source, "cannot rotate"));
        work.finish();
    }
    choose.weight = rotate.y;
    choose.codebook = static_cast<float*>(stream_.room_for(levels, levels_));
    const std::string what = of_tensor(*tensor.source, "cannot choose a codebook");
    check(ck_w4a8_choose_codebook_workspace_size(session_.context(), &choose, &choose.workspace_size), what);
    choose.workspace = workspace_.reserve(choose.workspace_size);
    // Most of it is the host's work, so it is no time of the device.
    check(ck_w4a8_choose_codebook(session_.context(), &choose, stream_.handle()), what);
    Stream::Work work(stream_, times_.device);
    stream_.download(choose.codebook, levels);
    work.finish();
    const std::span<const float> fitted = floats_in(levels);
    return {fitted.begin(), fitted.end()};
}

QuantizedBlock WeightQuantizer::quantize(const PlannedTensor& tensor, const Codebook& codebook,
                                         std::int64_t row, std::int64_t rows,
                                         std::span<const std::byte> data) {
    return options_.format == TargetFormat::kW4a8 ? quantize_w4a8(tensor, codebook, row, rows, data)
                                                  : quantize_int8(tensor, rows, data);
}

QuantizedBlock WeightQuantizer::quantize_w4a8(const PlannedTensor& tensor, const Codebook& codebook,
                                              std::int64_t row, std::int64_t rows,
                                              std::span<const std::byte> data) {
    const std::int64_t k = tensor.k;
    QuantizedBlock block;
    block.weight = pool_.take(bytes_of(rows, k / 2, 1));
    block.s_rel = pool_.take(bytes_of(rows, k / options_.group_size, 1));
    block.channel = pool_.take(bytes_of(rows, 1, sizeof(float)));
    block.errors = pool_.take(bytes_of(rows, 2, sizeof(double)));
    {
        const BusyTime::Scope inside(times_.library);
        Stream::Work work(stream_, times_.device);
        ck_w4a8_requant_args args = CK_INIT(ck_w4a8_requant_args);
        args.dtype = library_dtype(tensor.value_dtype());
        args.n = rows;
        args.k = k;
        args.group = options_.group_size;
        args.layout = options_.uniform ? CK_W4A8_UNIFORM : CK_W4A8_CODEBOOK;
        args.rotate_group = tensor.marker.rotate_group;
        args.s_rel_dtype = CK_F8_E4M3;
        args.seed = seed_;
        args.row_offset = static_cast<std::uint64_t>(row);
        // Before the large copy: a small one from ordinary memory may wait for what is in front of it.
        args.codebook =
            codebook.empty()
                ? nullptr
                : static_cast<const float*>(stream_.upload(std::as_bytes(std::span(codebook)), levels_));
        args.weight = stream_.upload(data, input_);
        args.packed = stream_.room_for(block.weight, weight_);
        args.s_rel = stream_.room_for(block.s_rel, s_rel_);
        args.s_channel = static_cast<float*>(stream_.room_for(block.channel, channel_));
        const std::string what = of_tensor(*tensor.source, "cannot quantize");
        check(ck_w4a8_requant_workspace_size(session_.context(), &args, &args.workspace_size), what);
        args.workspace = workspace_.reserve(args.workspace_size);
        check(ck_w4a8_requant(session_.context(), &args, stream_.handle()), what);
        stream_.download(args.packed, block.weight);
        stream_.download(args.s_rel, block.s_rel);
        stream_.download(args.s_channel, block.channel);

        // A layout without a correction is its int8 grid times s_channel.
        ck_w4a8_dequant_args decode = CK_INIT(ck_w4a8_dequant_args);
        decode.out_dtype = CK_I8;
        decode.n = rows;
        decode.k = k;
        decode.group = options_.group_size;
        decode.layout = args.layout;
        decode.s_rel_dtype = args.s_rel_dtype;
        decode.packed = args.packed;
        decode.s_rel = args.s_rel;
        decode.codebook = args.codebook;
        decode.out = decoded_.reserve(bytes_of(rows, k, 1));
        check(ck_w4a8_dequant(session_.context(), &decode, stream_.handle()),
              of_tensor(*tensor.source, "cannot decode"));
        compare(tensor, rows, args.weight, decode.out, args.s_channel, block.errors);
        work.finish();
    }
    return block;
}

QuantizedBlock WeightQuantizer::quantize_int8(const PlannedTensor& tensor, std::int64_t rows,
                                              std::span<const std::byte> data) {
    QuantizedBlock block;
    block.weight = pool_.take(bytes_of(rows, tensor.k, 1));
    block.channel = pool_.take(bytes_of(rows, 1, sizeof(float)));
    block.errors = pool_.take(bytes_of(rows, 2, sizeof(double)));
    {
        const BusyTime::Scope inside(times_.library);
        Stream::Work work(stream_, times_.device);
        ck_int8_quantize_args args = CK_INIT(ck_int8_quantize_args);
        args.dtype = library_dtype(tensor.value_dtype());
        args.rows = rows;
        args.k = tensor.k;
        args.rotate_group = tensor.marker.rotate_group;
        args.x = stream_.upload(data, input_);
        args.q = stream_.room_for(block.weight, weight_);
        args.scale = static_cast<float*>(stream_.room_for(block.channel, channel_));
        const std::string what = of_tensor(*tensor.source, "cannot quantize");
        check(ck_int8_quantize_workspace_size(session_.context(), &args, &args.workspace_size), what);
        args.workspace = workspace_.reserve(args.workspace_size);
        check(ck_int8_quantize(session_.context(), &args, stream_.handle()), what);
        stream_.download(args.q, block.weight);
        stream_.download(args.scale, block.channel);
        compare(tensor, rows, args.x, args.q, args.scale, block.errors);
        work.finish();
    }
    return block;
}

void WeightQuantizer::compare(const PlannedTensor& tensor, std::int64_t rows, const void* x, const void* q,
                              const float* scale, Buffer& errors) {
    ck_int8_error_args args = CK_INIT(ck_int8_error_args);
    args.dtype = library_dtype(tensor.value_dtype());
    args.rows = rows;
    args.k = tensor.k;
    args.x = x;
    args.q = q;
    args.scale = scale;
    args.rotate_group = tensor.marker.rotate_group;
    args.difference = static_cast<double*>(stream_.room_for(errors, errors_));
    args.original = args.difference + rows;
    check(ck_int8_error(session_.context(), &args, stream_.handle()),
          of_tensor(*tensor.source, "cannot compare"));
    stream_.download(args.difference, errors);
}

}  // namespace ckitchen::cli

#include "lora_merge.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <system_error>
#include <thread>

#include "failure.hpp"
#include "numbers.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

constexpr std::uint64_t kScanBytes = 8 << 20;
// Elements of up and of down that are in memory at once, unless one row of down alone has more.
constexpr std::int64_t kTileElements = 1 << 20;
// A strip of down that stays in the nearest cache while rows pass by.
constexpr std::size_t kStripColumns = 1024;

void check_values(const LoraFile& file, const TensorInfo& tensor) {
    for (std::uint64_t offset = 0; offset < tensor.bytes(); offset += kScanBytes) {
        Buffer data(static_cast<std::size_t>(std::min(kScanBytes, tensor.bytes() - offset)));
        file.file().read(tensor, offset, data.bytes());
        if (scan_values(tensor.dtype, data.bytes()).non_finite != 0) {
            throw Failure(Exit::kInput, of_lora(file, tensor) + "has NaN or infinite values");
        }
    }
}

float read_alpha(const LoraFile& file, const TensorInfo& tensor) {
    const std::vector<std::byte> data = file.file().load(tensor);
    if (tensor.dtype == Dtype::kF64) {
        double value = 0;
        std::memcpy(&value, data.data(), sizeof value);
        return static_cast<float>(value);
    }
    if (tensor.dtype == Dtype::kI64) {
        std::int64_t value = 0;
        std::memcpy(&value, data.data(), sizeof value);
        return static_cast<float>(value);
    }
    float value = 0;
    to_floats(tensor.dtype, data, {&value, 1});
    return value;
}

// strength * (alpha / rank)
float factor_of(const LoraTerm& term) {
    const TensorInfo* const alpha = term.module->alpha;
    if (alpha == nullptr) return term.file->strength();
    return term.file->strength() * (read_alpha(*term.file, *alpha) / static_cast<float>(term.rank));
}

void check_factor(const LoraTerm& term) {
    if (std::isfinite(factor_of(term))) return;
    // Without an alpha the factor is the strength, which is finite.
    throw Failure(Exit::kInput,
                  of_lora(*term.file, *term.module->alpha) +
                      format("alpha %g, rank %lld and strength %g: the factor is not finite",
                             static_cast<double>(read_alpha(*term.file, *term.module->alpha)),
                             static_cast<long long>(term.rank), static_cast<double>(term.file->strength())));
}

// product[j] += sum over r ascending of up[r] * down[r][j], for one row and `columns` columns. Four ranks a
// pass over the products; the order of the additions to each of them is that of one rank a pass.
void accumulate(const float* up, std::size_t ranks, const float* down, std::size_t stride, float* product,
                std::size_t columns) {
    std::size_t r = 0;
    for (; r + 4 <= ranks; r += 4) {
        const float* const d0 = down + r * stride;
        const float* const d1 = d0 + stride;
        const float* const d2 = d1 + stride;
        const float* const d3 = d2 + stride;
        const float u0 = up[r];
        const float u1 = up[r + 1];
        const float u2 = up[r + 2];
        const float u3 = up[r + 3];
        for (std::size_t j = 0; j < columns; ++j) {
            product[j] = (((product[j] + u0 * d0[j]) + u1 * d1[j]) + u2 * d2[j]) + u3 * d3[j];
        }
    }
    for (; r < ranks; ++r) {
        const float* const d = down + r * stride;
        const float u = up[r];
        for (std::size_t j = 0; j < columns; ++j) product[j] = product[j] + u * d[j];
    }
}

// Calls body(first, last) for parts of [0, count), one on each thread, or on this one where the system gives
// no further thread.
template <typename Body>
void in_parallel(unsigned threads, std::size_t count, const Body& body) {
    const std::size_t parts = std::clamp<std::size_t>(count, 1, threads);
    std::vector<std::jthread> helpers;
    for (std::size_t part = 1; part < parts; ++part) {
        const auto work = [&, part] { body(count * part / parts, count * (part + 1) / parts); };
        try {
            helpers.emplace_back(work);
        } catch (const std::system_error&) {
            work();
        }
    }
    body(0, count / parts);
}

// Reads columns [first, first + columns) of the given rows of a matrix as floats.
void read_part(const LoraFile& file, const TensorInfo& tensor, std::span<const std::int64_t> rows,
               std::int64_t first, std::int64_t columns, std::vector<float>& out) {
    const std::uint64_t size = dtype_size(tensor.dtype);
    const auto width = static_cast<std::uint64_t>(tensor.shape[1]);
    const auto part_bytes = static_cast<std::uint64_t>(columns) * size;
    const std::size_t elements = rows.size() * static_cast<std::size_t>(columns);
    Buffer data(elements * static_cast<std::size_t>(size));
    const auto place = [&](std::int64_t row) {
        return (static_cast<std::uint64_t>(row) * width + static_cast<std::uint64_t>(first)) * size;
    };
    const bool is_dense = columns == tensor.shape[1] &&
                          rows.back() - rows.front() + 1 == static_cast<std::int64_t>(rows.size());
    if (is_dense) {
        file.file().read(tensor, place(rows.front()), data.bytes());
    } else {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            file.file().read(tensor, place(rows[i]),
                             data.bytes().subspan(i * static_cast<std::size_t>(part_bytes),
                                                  static_cast<std::size_t>(part_bytes)));
        }
    }
    out.resize(elements);
    to_floats(tensor.dtype, data.bytes(), out);
}

std::string names_of(const std::vector<LoraTerm>& terms) {
    std::string out;
    for (const LoraTerm& term : terms) {
        out += (out.empty() ? "" : ", ") + printable(term.file->path()) +
               format(" (strength %g)", static_cast<double>(term.file->strength()));
    }
    return out;
}

}  // namespace

void check_lora_values(const Plan& plan) {
    for (const PlannedTensor& tensor : plan.tensors) {
        for (const LoraTerm& term : tensor.loras) {
            check_values(*term.file, *term.module->up);
            check_values(*term.file, *term.module->down);
            check_factor(term);
        }
    }
}

LoraMerger::LoraMerger(int threads)
    : threads_(threads > 0 ? static_cast<unsigned>(threads)
                           : std::max(1u, std::thread::hardware_concurrency())) {}

Buffer LoraMerger::merge(const PlannedTensor& tensor, TargetFormat format, std::span<const std::int64_t> rows,
                         std::span<const std::byte> data) {
    const TensorInfo& info = *tensor.source->info;
    const std::int64_t k = info.shape[1];
    const Dtype dtype = tensor.value_dtype();
    const std::size_t elements = rows.size() * static_cast<std::size_t>(k);
    Buffer out(elements * static_cast<std::size_t>(dtype_size(dtype)));
    if (dtype == Dtype::kF32) {
        // In place: a block in float32 is large enough to be had only once. new aligns it for any type.
        const std::span<float> weight(reinterpret_cast<float*>(out.bytes().data()), elements);
        to_floats(info.dtype, data, weight);
        for (const LoraTerm& term : tensor.loras) add(term, k, rows, weight);
    } else {
        std::vector<float> weight(elements);
        to_floats(info.dtype, data, weight);
        for (const LoraTerm& term : tensor.loras) add(term, k, rows, weight);
        from_floats(dtype, weight, out.bytes());
    }
    const ValueFault before = scan_values(info.dtype, data);
    const ValueFault after = scan_values(dtype, out.bytes());
    const bool is_limited = tensor.quantize && format == TargetFormat::kW4a8;
    if (after.non_finite > before.non_finite || (is_limited && after.too_large > before.too_large)) {
        throw Failure(Exit::kInput, printable(tensor.source->file->path()) + ": tensor " +
                                        in_quotes(info.name) + ": merging " + names_of(tensor.loras) +
                                        " gives values that are not finite" +
                                        (is_limited ? ", or are 2^100 or more" : "") + ", as " +
                                        std::string(dtype_name(dtype)));
    }
    return out;
}

void LoraMerger::add(const LoraTerm& term, std::int64_t k, std::span<const std::int64_t> rows,
                     std::span<float> weight) {
    const auto row_count = static_cast<std::int64_t>(rows.size());
    const auto columns = static_cast<std::size_t>(k);
    const std::int64_t tile = std::clamp<std::int64_t>(kTileElements / std::max(k, row_count), 1, term.rank);
    product_.assign(weight.size(), 0.0f);
    std::vector<std::int64_t> ranks;
    for (std::int64_t first = 0; first < term.rank; first += tile) {
        const std::int64_t count = std::min(tile, term.rank - first);
        ranks.resize(static_cast<std::size_t>(count));
        for (std::int64_t r = 0; r < count; ++r) ranks[static_cast<std::size_t>(r)] = first + r;
        read_part(*term.file, *term.module->down, ranks, 0, k, down_);
        read_part(*term.file, *term.module->up, rows, first, count, up_);
        in_parallel(threads_, rows.size(), [&](std::size_t begin, std::size_t end) {
            for (std::size_t column = 0; column < columns; column += kStripColumns) {
                const std::size_t strip = std::min(kStripColumns, columns - column);
                for (std::size_t row = begin; row < end; ++row) {
                    accumulate(&up_[row * ranks.size()], ranks.size(), &down_[column], columns,
                               &product_[row * columns + column], strip);
                }
            }
        });
    }
    const float factor = factor_of(term);
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = weight[i] + factor * product_[i];
}

}  // namespace ckitchen::cli

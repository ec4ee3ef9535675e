#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cases/check.hpp"
#include "cases/floats.hpp"

namespace ckitchen::cases {
namespace {

// The indices of an axis that the query at `index` attends.
std::vector<int64_t> window(int64_t index, int64_t length, int64_t kernel, int64_t dilation, bool causal) {
    const int64_t residue = index % dilation;
    const int64_t class_length = (length - residue + dilation - 1) / dilation;
    const int64_t place = index / dilation;
    int64_t first = 0;
    int64_t end = 0;
    if (causal) {
        first = std::max<int64_t>(0, place - kernel + 1);
        end = place + 1;
    } else {
        const int64_t size = std::min(kernel, class_length);
        first = std::min(std::max<int64_t>(place - size / 2, 0), class_length - size);
        end = first + size;
    }
    std::vector<int64_t> result;
    for (int64_t j = first; j < end; ++j) result.push_back(residue + dilation * j);
    return result;
}

std::vector<float> to_floats(const std::vector<uint8_t>& bytes, ck_dtype dtype) {
    const auto size = static_cast<size_t>(element_size(dtype));
    std::vector<float> result(bytes.size() / size);
    for (size_t i = 0; i < result.size(); ++i) result[i] = load_float(bytes.data() + i * size, dtype);
    return result;
}

}  // namespace

AttentionReference attention_reference(const ck_na3d_args& args, const std::vector<uint8_t>& q,
                                       const std::vector<uint8_t>& k, const std::vector<uint8_t>& v) {
    const std::vector<float> query = to_floats(q, args.dtype);
    const std::vector<float> key = to_floats(k, args.dtype);
    const std::vector<float> value = to_floats(v, args.dtype);
    const auto width = static_cast<size_t>(args.head_dim);
    // The default scale is a float32, as is a given one.
    const double scale =
        args.scale == 0
            ? static_cast<double>(static_cast<float>(1.0 / std::sqrt(static_cast<double>(args.head_dim))))
            : static_cast<double>(args.scale);

    AttentionReference result;
    result.out.resize(query.size());
    for (float x : value)
        result.largest_value = std::max(result.largest_value, std::fabs(static_cast<double>(x)));

    const int64_t extent[3] = {args.t, args.h, args.w};
    std::vector<std::vector<int64_t>> windows[3];
    for (int axis = 0; axis < 3; ++axis)
        for (int64_t i = 0; i < extent[axis]; ++i)
            windows[axis].push_back(window(i, extent[axis], args.kernel[axis],
                                           std::max<int64_t>(args.dilation[axis], 1),
                                           args.causal[axis] != 0));

    std::vector<double> logits;
    std::vector<size_t> places;
    for (int64_t batch = 0; batch < args.batch; ++batch)
        for (int64_t t = 0; t < args.t; ++t)
            for (int64_t h = 0; h < args.h; ++h)
                for (int64_t w = 0; w < args.w; ++w)
                    for (int64_t head = 0; head < args.heads; ++head) {
                        const auto place = [&](int64_t pt, int64_t ph, int64_t pw) {
                            return static_cast<size_t>((((batch * args.t + pt) * args.h + ph) * args.w + pw) *
                                                           args.heads +
                                                       head) *
                                   width;
                        };
                        const size_t here = place(t, h, w);
                        logits.clear();
                        places.clear();
                        double highest = -HUGE_VAL;
                        for (int64_t pt : windows[0][static_cast<size_t>(t)])
                            for (int64_t ph : windows[1][static_cast<size_t>(h)])
                                for (int64_t pw : windows[2][static_cast<size_t>(w)]) {
                                    const size_t there = place(pt, ph, pw);
                                    double sum = 0;
                                    double magnitude = 0;
                                    for (size_t d = 0; d < width; ++d) {
                                        const double product = static_cast<double>(query[here + d]) *
                                                               static_cast<double>(key[there + d]);
                                        sum += product;
                                        magnitude += std::fabs(product);
                                    }
                                    result.largest_logit =
                                        std::max(result.largest_logit, std::fabs(scale) * magnitude);
                                    logits.push_back(scale * sum);
                                    places.push_back(there);
                                    highest = std::max(highest, logits.back());
                                }
                        double total = 0;
                        for (size_t j = 0; j < logits.size(); ++j) {
                            const double weight = std::exp(logits[j] - highest);
                            total += weight;
                            for (size_t d = 0; d < width; ++d)
                                result.out[here + d] += weight * static_cast<double>(value[places[j] + d]);
                        }
                        for (size_t d = 0; d < width; ++d) result.out[here + d] /= total;
                    }
    return result;
}

std::string attention_error(const ck_na3d_args& args, const AttentionReference& reference,
                            const std::vector<uint8_t>& out) {
    const bool bf16 = args.dtype == CK_BF16;
    const bool f16 = args.dtype == CK_F16;
    const double relative_bound = (bf16 ? 4e-3 : f16 ? 6e-4 : 2e-6) + 0x1p-23 * reference.largest_logit;
    const double element_relative = (bf16 ? 2e-2 : f16 ? 3e-3 : 2e-5) + 0x1p-22 * reference.largest_logit;
    const double element_bound = element_relative * reference.largest_value;

    const std::vector<float> found = to_floats(out, args.dtype);
    double error = 0;
    double norm = 0;
    char text[160];
    for (size_t i = 0; i < found.size(); ++i) {
        const double difference = static_cast<double>(found[i]) - reference.out[i];
        // Written so that a NaN fails.
        if (!(std::fabs(difference) <= element_bound)) {
            std::snprintf(text, sizeof(text), "out element %zu is %.9g, must be %.9g within %.3g", i,
                          static_cast<double>(found[i]), reference.out[i], element_bound);
            return text;
        }
        error += difference * difference;
        norm += reference.out[i] * reference.out[i];
    }
    if (norm == 0) return error == 0 ? "" : "out must be 0";
    if (!(std::sqrt(error) <= relative_bound * std::sqrt(norm))) {
        std::snprintf(text, sizeof(text), "relative L2 error of out is %.4g, limit %.4g",
                      std::sqrt(error / norm), relative_bound);
        return text;
    }
    return {};
}

}  // namespace ckitchen::cases

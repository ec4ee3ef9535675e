#include "cpu/reference/na3d.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/reference/elements.hpp"

namespace ckitchen::reference {
namespace {

constexpr std::int64_t kMaxHeadDim = 256;

// The keys that index i of one axis attends: first, first + step, ... (count of them).
struct AxisWindow {
    std::int64_t first;
    std::int64_t count;
    std::int64_t step;
};

AxisWindow axis_window(std::int64_t index, std::int64_t length, std::int64_t kernel, std::int64_t dilation,
                       bool causal) {
    // Dilation splits the axis into residue classes, and inside its class a query has an ordinary window.
    const std::int64_t residue = index % dilation;
    const std::int64_t place = index / dilation;
    const std::int64_t class_length = (length - residue - 1) / dilation + 1;
    std::int64_t low = 0;
    std::int64_t count = 0;
    if (causal) {
        low = std::max<std::int64_t>(0, place - kernel + 1);
        count = place + 1 - low;
    } else {
        count = std::min(kernel, class_length);
        low = std::min(std::max<std::int64_t>(place - count / 2, 0), class_length - count);
    }
    return {residue + dilation * low, count, dilation};
}

// Index of every axis of a query: batch, t, h, w, heads.
struct Position {
    std::int64_t axis[5];
};

Position query_position(const ck_na3d_args& p, std::int64_t query) {
    const std::int64_t extents[5] = {p.batch, p.t, p.h, p.w, p.heads};
    Position position{};
    for (int axis = 4; axis >= 0; --axis) {
        position.axis[axis] = query % extents[axis];
        query /= extents[axis];
    }
    return position;
}

std::int64_t element_offset(const Position& position, const std::int64_t stride[5]) {
    std::int64_t offset = 0;
    // Index 0 reads no stride: that of an axis of extent 1 may be anything.
    for (int axis = 0; axis < 5; ++axis)
        if (position.axis[axis] != 0) offset += position.axis[axis] * stride[axis];
    return offset;
}

}  // namespace

std::int64_t na3d_queries(const ck_na3d_args& p) {
    if (p.head_dim == 0) return 0;
    return p.batch * p.t * p.h * p.w * p.heads;
}

void na3d_query(const ck_na3d_args& p, std::int64_t query, double* result, double* magnitude) {
    const Position at = query_position(p, query);
    const std::int64_t extents[3] = {p.t, p.h, p.w};
    AxisWindow window[3];
    for (int axis = 0; axis < 3; ++axis)
        window[axis] = axis_window(at.axis[axis + 1], extents[axis], p.kernel[axis], p.dilation[axis],
                                   p.causal[axis] != 0);

    double q[kMaxHeadDim];
    const std::int64_t q_offset = element_offset(at, p.q_stride);
    for (std::int64_t d = 0; d < p.head_dim; ++d) q[d] = load_float(p.dtype, p.q, q_offset + d);

    // One pass over the keys: the sums are kept relative to the largest logit so far and rescaled when a
    // larger one comes, so that no logit, however large, overflows the exponential.
    const double scale = p.scale;
    double largest = -std::numeric_limits<double>::infinity();
    double denominator = 0.0;
    std::fill_n(result, p.head_dim, 0.0);
    Position key = at;
    for (std::int64_t it = 0; it < window[0].count; ++it) {
        key.axis[1] = window[0].first + it * window[0].step;
        for (std::int64_t ih = 0; ih < window[1].count; ++ih) {
            key.axis[2] = window[1].first + ih * window[1].step;
            for (std::int64_t iw = 0; iw < window[2].count; ++iw) {
                key.axis[3] = window[2].first + iw * window[2].step;
                const std::int64_t k_offset = element_offset(key, p.k_stride);
                const std::int64_t v_offset = element_offset(key, p.v_stride);
                double dot = 0.0;
                double absolute_dot = 0.0;
                for (std::int64_t d = 0; d < p.head_dim; ++d) {
                    const double product = q[d] * load_float(p.dtype, p.k, k_offset + d);
                    dot += product;
                    absolute_dot += std::abs(product);
                }
                if (magnitude != nullptr) *magnitude = std::max(*magnitude, std::abs(scale) * absolute_dot);
                const double logit = scale * dot;
                if (logit > largest) {
                    const double shrink = std::exp(largest - logit);
                    denominator *= shrink;
                    for (std::int64_t d = 0; d < p.head_dim; ++d) result[d] *= shrink;
                    largest = logit;
                }
                const double probability = std::exp(logit - largest);
                denominator += probability;
                for (std::int64_t d = 0; d < p.head_dim; ++d)
                    result[d] += probability * load_float(p.dtype, p.v, v_offset + d);
            }
        }
    }
    for (std::int64_t d = 0; d < p.head_dim; ++d) result[d] /= denominator;
}

void na3d(const ck_na3d_args& p, std::int64_t begin, std::int64_t end) {
    double result[kMaxHeadDim];
    for (std::int64_t query = begin; query < end; ++query) {
        na3d_query(p, query, result, nullptr);
        const std::int64_t out_offset = element_offset(query_position(p, query), p.out_stride);
        for (std::int64_t d = 0; d < p.head_dim; ++d)
            store_float(p.dtype, p.out, out_offset + d, static_cast<float>(result[d]));
    }
}

}  // namespace ckitchen::reference

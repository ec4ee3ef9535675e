// Neighborhood attention: widths, windows, strides.
#include <cmath>
#include <cstring>

#include "suite.hpp"

namespace ckitchen::conformance {
namespace {

struct Shape {
    int64_t batch, t, h, w, heads, head_dim;
    int32_t kernel[3];
};

template <typename Set>
Case attention(const Shape& shape, ck_dtype dtype, Set set, Fill fill = Fill::kNormal) {
    return make_case(
        CK_OP_NA3D,
        [&](Args& all) {
            ck_na3d_args& args = all.na3d;
            args.dtype = dtype;
            args.batch = shape.batch;
            args.t = shape.t;
            args.h = shape.h;
            args.w = shape.w;
            args.heads = shape.heads;
            args.head_dim = shape.head_dim;
            std::copy(shape.kernel, shape.kernel + 3, args.kernel);
            set(args);
        },
        fill);
}
Case attention(const Shape& shape, ck_dtype dtype, Fill fill = Fill::kNormal) {
    return attention(
        shape, dtype, [](ck_na3d_args&) {}, fill);
}

TEST_CASE("na3d with every head width", "[na3d]") {
    for (int64_t head_dim = 8; head_dim <= 256; head_dim += 8)
        for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16}) {
            if (!suite().full && head_dim % 64 != 0 && head_dim / 8 % 3 != dtype - 1) continue;
            check(attention({1, 1, 3, 17, 1, head_dim, {1, 3, 5}}, dtype));
        }
}

TEST_CASE("na3d on rows beside a tile's width", "[na3d]") {
    for (const int64_t w : {1, 2, 15, 16, 17, 31, 32, 33}) {
        check(attention({1, 1, 3, w, 1, 32, {1, 3, 7}}, CK_F16));
        check(attention({1, 1, 1, w, 2, 16, {1, 1, 3}}, CK_BF16));
        check(attention({1, 2, 1, w, 1, 8, {2, 1, 4}}, CK_F32));
    }
    check(attention({1, 1, 16, 16, 1, 128, {1, 7, 7}}, suite().full ? CK_F32 : CK_F16));
}

TEST_CASE("na3d with windows of every kind", "[na3d]") {
    // Larger than the axis, as large, even, one; all of them on a time axis with a window on two others.
    for (const int32_t kernel : {1, 2, 3, 4, 5, 6, 7, 64, 2147483647})
        check(attention({1, 5, 4, 6, 1, 16, {kernel > 6 ? kernel : 1, kernel, kernel}}, CK_F32));
    check(attention({1, 2, 4, 16, 1, 16, {3, 3, 3}}, CK_F16));
    check(attention({1, 5, 8, 16, 2, 32, {5, 3, 3}}, suite().full ? CK_F32 : CK_BF16));
    // Dilations that leave residue classes of unequal length, of one element, and larger than the axis.
    for (const int32_t dilation : {2, 3, 4, 7, 8, 100, 2147483647})
        check(attention({1, 4, 5, 13, 1, 8, {2, 3, 3}}, CK_F32, [&](ck_na3d_args& args) {
            args.dilation[0] = 2;
            args.dilation[1] = dilation;
            args.dilation[2] = dilation;
        }));
    // Causal axes in every combination, with and without dilation.
    for (int bits = 0; bits < 8; ++bits)
        for (const int32_t dilation : {1, 2})
            check(attention({1, 3, 4, 7, 1, 8, {2, 3, 4}}, CK_BF16, [&](ck_na3d_args& args) {
                for (int axis = 0; axis < 3; ++axis) {
                    args.causal[axis] = bits >> axis & 1;
                    args.dilation[axis] = dilation;
                }
            }));
}

TEST_CASE("na3d: a window larger than its axis is the axis", "[na3d]") {
    const Outcome clamped = check(attention({1, 2, 4, 16, 1, 16, {3, 3, 3}}, CK_F32));
    const Outcome exact = check(attention({1, 2, 4, 16, 1, 16, {2, 3, 3}}, CK_F32));
    CHECK(clamped.outputs == exact.outputs);
}

// The first query along a causal axis sees only itself: out is v there.
TEST_CASE("na3d: a causal axis begins with the value itself", "[na3d]") {
    for (int axis = 0; axis < 3; ++axis) {
        Shape shape = {1, 1, 1, 1, 1, 16, {1, 1, 1}};
        (axis == 0 ? shape.t : axis == 1 ? shape.h : shape.w) = 6;
        shape.kernel[axis] = 3;
        Case which = attention(shape, CK_F32, [&](ck_na3d_args& args) { args.causal[axis] = 1; });
        std::vector<float> v(6 * 16);
        for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(i) * 0.25f - 3.0f;
        which.given["v"] = to_bytes(v);
        const Outcome outcome = check(which);
        if (!outcome.ok()) continue;
        const std::vector<float> out = to_floats(outcome.outputs.at("out"), CK_F32);
        for (size_t d = 0; d < 16; ++d) CHECK(std::fabs(out[d] - v[d]) <= 1e-6f * std::fabs(v[d]));
    }
}

TEST_CASE("na3d with a kernel of one returns v", "[na3d]") {
    for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16}) {
        Case which = attention({2, 2, 3, 5, 2, 24, {1, 1, 1}}, dtype);
        std::vector<float> values(2 * 2 * 3 * 5 * 2 * 24);
        for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 37) - 18.0f;
        which.given["v"] = to_bytes(values, dtype);
        const Outcome outcome = check(which);
        if (outcome.ok()) CHECK(to_floats(outcome.outputs.at("out"), dtype) == values);
    }
}

TEST_CASE("na3d with logits far beyond the exponential's range", "[na3d]") {
    for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16})
        for (const float scale : {50.0f, -50.0f, 3e4f}) {
            Case which = attention({1, 1, 3, 9, 1, 16, {1, 3, 3}}, dtype,
                                   [&](ck_na3d_args& args) { args.scale = scale; });
            const Outcome outcome = check(which);
            if (!outcome.ok()) continue;
            for (float value : to_floats(outcome.outputs.at("out"), dtype)) CHECK(std::isfinite(value));
        }
}

// A few keys have the logit `gap` and the value 0, all others the logit 0 and the value 1: the result is a
// sum of many equal small weights, which are subnormal in f16 where the largest weight is 1, and which all
// kernels that round weights, or add them to a sum of the size of the largest, round alike.
TEST_CASE("na3d of many light keys beside heavy ones", "[na3d]") {
    constexpr int64_t kKeys = 256;
    struct Keys {
        int64_t heavy;
        float gap;
    };
    for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16})
        for (const int64_t head_dim : {8, 64, 256})
            for (const Keys keys : {Keys{1, 13.625f}, Keys{1, 14.375f}, Keys{3, 13.25f}, Keys{3, 9.0f},
                                    Keys{3, 6.375f}, Keys{8, 6.875f}}) {
                if (!suite().full && (keys.heavy > 1) != (head_dim == 64)) continue;
                Case which = attention({1, 1, 1, kKeys, 1, head_dim, {1, 1, kKeys}}, dtype,
                                       [](ck_na3d_args& args) { args.scale = 1.0f; });
                std::vector<float> q(static_cast<size_t>(kKeys * head_dim), 0.0f);
                std::vector<float> k(q.size(), 0.0f);
                std::vector<float> v(q.size(), 1.0f);
                for (size_t i = 0; i < q.size(); i += static_cast<size_t>(head_dim)) q[i] = 1.0f;
                const auto heavy = static_cast<size_t>(keys.heavy * head_dim);
                for (size_t i = 0; i < heavy; i += static_cast<size_t>(head_dim)) k[i] = keys.gap;
                std::fill(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(heavy), 0.0f);
                which.given["q"] = to_bytes(q, dtype);
                which.given["k"] = to_bytes(k, dtype);
                which.given["v"] = to_bytes(v, dtype);
                check(which);
            }
}

TEST_CASE("na3d of zeros is zero, of equal keys the mean", "[na3d]") {
    for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16}) {
        Case which = attention({1, 1, 2, 8, 1, 8, {1, 1, 4}}, dtype);
        const size_t count = 2 * 8 * 8;
        which.given["v"] = Bytes(count * static_cast<size_t>(element_size(dtype)), 0);
        const Outcome zero = check(which);
        if (zero.ok())
            for (float value : to_floats(zero.outputs.at("out"), dtype)) CHECK(value == 0);
        which.given["k"] = which.given["v"];
        std::vector<float> v(count);
        for (size_t i = 0; i < count; ++i) v[i] = static_cast<float>(i / 8 % 8);
        which.given["v"] = to_bytes(v, dtype);
        check(which);
    }
}

// Non-finite inputs: any values, but nothing outside of out and no fault.
TEST_CASE("na3d with non-finite inputs", "[na3d]") {
    for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16})
        for (const int64_t head_dim : {8, 64, 72})
            check(attention({1, 2, 3, 17, 2, head_dim, {2, 3, 5}}, dtype, Fill::kNonFinite));
}

TEST_CASE("na3d takes strides of size-1 axes for nothing", "[na3d]") {
    for (const int64_t junk : {int64_t{0}, int64_t{1}, int64_t{3}, INT64_MIN, INT64_MAX})
        check(attention({1, 1, 3, 5, 1, 8, {1, 3, 3}}, CK_F16, [&](ck_na3d_args& args) {
            for (auto* stride : {&args.q_stride, &args.k_stride, &args.v_stride, &args.out_stride}) {
                (*stride)[0] = junk;
                (*stride)[1] = junk;
                (*stride)[2] = 5 * 8;
                (*stride)[3] = 8;
                (*stride)[4] = junk;
            }
        }));
}

TEST_CASE("na3d with transposed, reversed, padded and broadcast tensors", "[na3d]") {
    const Shape shape = {2, 2, 3, 5, 2, 8, {2, 3, 3}};
    // Heads outermost, as [batch, heads, t, h, w, d].
    check(attention(shape, CK_BF16, [](ck_na3d_args& args) {
        const int64_t stride[5] = {2 * 2 * 3 * 5 * 8, 3 * 5 * 8, 5 * 8, 8, 2 * 3 * 5 * 8};
        for (auto* s : {&args.q_stride, &args.k_stride, &args.v_stride, &args.out_stride})
            std::copy(stride, stride + 5, *s);
    }));
    // q, k and v interleaved, as slices of one projection of three times the width.
    check(attention(shape, CK_F16, [](ck_na3d_args& args) {
        const int64_t stride[5] = {2 * 3 * 5 * 3 * 16, 3 * 5 * 3 * 16, 5 * 3 * 16, 3 * 16, 8};
        for (auto* s : {&args.q_stride, &args.k_stride, &args.v_stride}) std::copy(stride, stride + 5, *s);
    }));
    // Rows of width + 1: no element but the first of the tensor is aligned.
    check(attention(shape, CK_F16, [](ck_na3d_args& args) {
        const int64_t stride[5] = {2 * 3 * 5 * 2 * 9, 3 * 5 * 2 * 9, 5 * 2 * 9, 2 * 9, 9};
        for (auto* s : {&args.q_stride, &args.k_stride, &args.v_stride, &args.out_stride})
            std::copy(stride, stride + 5, *s);
    }));
    // Backwards along every axis.
    check(attention(shape, CK_F32, [](ck_na3d_args& args) {
        const int64_t stride[5] = {-2 * 3 * 5 * 2 * 8, -3 * 5 * 2 * 8, -5 * 2 * 8, -2 * 8, -8};
        for (auto* s : {&args.q_stride, &args.k_stride, &args.v_stride, &args.out_stride})
            std::copy(stride, stride + 5, *s);
    }));
    // One key and value for all heads; one query for all places, which needs the flag.
    check(attention(shape, CK_F32, [](ck_na3d_args& args) {
        const int64_t stride[5] = {2 * 3 * 5 * 8, 3 * 5 * 8, 5 * 8, 8, 0};
        std::copy(stride, stride + 5, args.k_stride);
        std::copy(stride, stride + 5, args.v_stride);
        const int64_t packed_stride[5] = {2 * 3 * 5 * 2 * 8, 3 * 5 * 2 * 8, 5 * 2 * 8, 2 * 8, 8};
        std::copy(packed_stride, packed_stride + 5, args.out_stride);
        args.flags = CK_NA3D_EXPLICIT_STRIDES;
    }));
}

// Kernels that list a tile's keys do so in parts here.
TEST_CASE("na3d with windows of many keys", "[na3d]") {
    for (const ck_dtype dtype : {CK_F16, CK_BF16}) {
        check(attention({1, 3, 12, 14, 1, 16, {3, 12, 13}}, dtype));
        check(attention({1, 1, 1, 400, 2, 8, {1, 1, 350}}, dtype));
        check(attention({1, 2, 20, 21, 1, 24, {2, 9, 10}}, dtype, [](ck_na3d_args& args) {
            args.causal[0] = args.causal[2] = 1;
            args.scale = -0.3f;
        }));
    }
}

TEST_CASE("na3d backwards in 16 bits", "[na3d]") {
    for (const ck_dtype dtype : {CK_F16, CK_BF16})
        check(attention({2, 2, 5, 9, 2, 16, {2, 3, 5}}, dtype, [](ck_na3d_args& args) {
            const int64_t stride[5] = {-2 * 5 * 9 * 2 * 16, -5 * 9 * 2 * 16, -9 * 2 * 16, -2 * 16, -16};
            for (auto* s : {&args.q_stride, &args.k_stride, &args.v_stride, &args.out_stride})
                std::copy(stride, stride + 5, *s);
            args.dilation[2] = 2;
        }));
}

// Tiles behind the ends of axes and of classes, windows that are whole axes, causal axes, keys backwards.
TEST_CASE("na3d with ragged tiles of whole head vectors", "[na3d]") {
    const std::vector<Shape> shapes = {
        {1, 3, 9, 11, 2, 64, {3, 5, 5}}, {2, 1, 21, 18, 1, 64, {1, 7, 7}},   {1, 6, 10, 13, 1, 64, {3, 7, 7}},
        {1, 5, 7, 6, 3, 64, {5, 5, 5}},  {1, 1, 30, 37, 2, 64, {1, 13, 13}}, {1, 12, 3, 5, 1, 64, {4, 2, 3}},
        {1, 2, 40, 5, 1, 64, {2, 6, 5}}, {1, 20, 4, 4, 1, 64, {20, 3, 3}},   {3, 1, 4, 33, 1, 64, {1, 4, 8}}};
    for (const ck_dtype dtype : {CK_BF16, CK_F16})
        for (const Shape& shape : shapes) {
            if (!suite().full && shape.t * shape.h * shape.w > 800) continue;
            check(attention(shape, dtype));
            check(attention(shape, dtype, [](ck_na3d_args& args) { args.causal[1] = 1; }));
            check(attention(shape, dtype, [](ck_na3d_args& args) {
                args.causal[0] = args.causal[2] = 1;
                args.scale = -0.2f;
            }));
            check(attention(shape, dtype, [](ck_na3d_args& args) { args.dilation[2] = 2; }));
            check(attention(shape, dtype, [&](ck_na3d_args& args) {
                args.dilation[0] = shape.t > 2 ? 2 : 1;
                args.dilation[1] = 3;
                int64_t step = -shape.head_dim;
                for (const int axis : {4, 3, 2, 1, 0}) {
                    const int64_t extent[5] = {shape.batch, shape.t, shape.h, shape.w, shape.heads};
                    args.k_stride[axis] = step;
                    step *= extent[axis];
                }
            }));
        }
}

// A wave takes several heads of a tile then, and the last one of a tile fewer.
TEST_CASE("na3d with tiles in plenty", "[na3d][full]") {
    check(attention({1, 1, 256, 128, 5, 8, {1, 3, 3}}, CK_BF16));
    check(attention({1, 1, 250, 130, 5, 8, {1, 3, 2}}, CK_F16));
}

TEST_CASE("na3d at larger sizes", "[na3d][full]") {
    check(attention({1, 5, 12, 20, 2, 64, {3, 5, 5}}, CK_BF16));
    check(attention({1, 1, 40, 40, 1, 64, {1, 13, 13}}, CK_F16));
    check(attention({2, 3, 9, 33, 1, 128, {3, 3, 5}}, CK_F32));
    check(attention({1, 1, 28, 28, 1, 32, {1, 7, 7}}, CK_F32,
                    [](ck_na3d_args& args) { args.dilation[1] = args.dilation[2] = 4; }));
}

}  // namespace
}  // namespace ckitchen::conformance

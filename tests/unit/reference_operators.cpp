// The CPU backend's entries against the plain reference, and what holds for any address, stride and host
// mode.
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>
#include "catch.hpp"

#include "core/codebook.hpp"
#include "cpu/fp_env.hpp"
#include "cpu/int8_gemm.hpp"
#include "cpu/int8_linear.hpp"
#include "cpu/int8_quantize.hpp"
#include "cpu/na3d.hpp"
#include "cpu/reference/elements.hpp"
#include "cpu/reference/int8_gemm.hpp"
#include "cpu/reference/int8_linear.hpp"
#include "cpu/reference/na3d.hpp"
#include "cpu/reference/w4a8_linear.hpp"
#include "cpu/rotate.hpp"
#include "cpu/thread_count.hpp"
#include "cpu/w4a8_choose_codebook.hpp"
#include "cpu/w4a8_dequant.hpp"
#include "cpu/w4a8_linear.hpp"
#include "cpu/w4a8_requant.hpp"

namespace cpu = ckitchen::cpu;
namespace reference = ckitchen::reference;

namespace {

constexpr char kPoison = static_cast<char>(0xA5);

// Bytes at an odd address between guards.
class Bytes {
  public:
    explicit Bytes(std::int64_t size)
        : memory_(static_cast<std::size_t>(size) + 2 * kGuard, kPoison),
          size_(static_cast<std::size_t>(size)) {}

    char* data() { return memory_.data() + kGuard; }
    template <typename T>
    T* as() {
        return reinterpret_cast<T*>(data());
    }
    std::vector<char> contents() { return std::vector<char>(data(), data() + size_); }
    bool guards_hold() const {
        const auto poisoned = [](char byte) { return byte == kPoison; };
        return std::all_of(memory_.begin(), memory_.begin() + kGuard, poisoned) &&
               std::all_of(memory_.end() - kGuard, memory_.end(), poisoned);
    }

  private:
    static constexpr std::ptrdiff_t kGuard = 33;
    std::vector<char> memory_;
    std::size_t size_;
};

std::mt19937 g_random(20);

Bytes random_int8(std::int64_t count) {
    Bytes bytes(count);
    for (std::int64_t i = 0; i < count; ++i) bytes.data()[i] = static_cast<char>(g_random());
    return bytes;
}

Bytes random_floats(ck_dtype dtype, std::int64_t count, float scale = 1.0f) {
    std::normal_distribution<float> normal(0.0f, scale);
    Bytes bytes(count * reference::element_size(dtype));
    for (std::int64_t i = 0; i < count; ++i) reference::store_float(dtype, bytes.data(), i, normal(g_random));
    return bytes;
}

// Address space without memory: pages appear where they are touched.
class Sparse {
  public:
    explicit Sparse(std::int64_t size)
        : size_(static_cast<std::size_t>(size)),
          base_(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                     0)) {
        REQUIRE(base_ != MAP_FAILED);
    }
    ~Sparse() { munmap(base_, size_); }
    Sparse(const Sparse&) = delete;
    Sparse& operator=(const Sparse&) = delete;

    void* data() const { return base_; }

  private:
    std::size_t size_;
    void* base_;
};

constexpr std::int64_t kFar = (std::int64_t{1} << 31) + 4096;

// A W4A8 weight with all its parts, made by the requantizer from random values.
struct Weight {
    Weight(cpu::ThreadPool& pool, ck_w4a8_layout layout, ck_dtype s_rel_dtype, int group, std::int64_t n,
           std::int64_t k)
        : source(random_floats(CK_BF16, n * k, 0.02f)),
          packed(n * k / 2),
          s_rel(n * (k / group) * reference::element_size(s_rel_dtype)),
          s_channel(n * 4),
          correction(n * (k / group) * 2) {
        args.dtype = CK_BF16;
        args.n = n;
        args.k = k;
        args.weight = source.data();
        args.ldw = k;
        args.group = group;
        args.layout = layout;
        args.s_rel_dtype = s_rel_dtype;
        args.codebook = ckitchen::kDefaultCodebook;
        args.packed = packed.data();
        args.ld_packed = k / 2;
        args.s_rel = s_rel.data();
        args.ld_s_rel = k / group;
        args.s_channel = s_channel.as<float>();
        if (layout == CK_W4A8_ASYMMETRIC) {
            args.correction = correction.data();
            args.ld_correction = n;
        }
        cpu::w4a8_requant(pool, args);
    }

    Bytes source;
    Bytes packed;
    Bytes s_rel;
    Bytes s_channel;
    Bytes correction;
    ck_w4a8_requant_args args = CK_INIT(ck_w4a8_requant_args);
};

// A packed attention problem.
ck_na3d_args attention(ck_dtype dtype, std::int64_t t, std::int64_t h, std::int64_t w, std::int64_t heads,
                       std::int64_t head_dim) {
    ck_na3d_args args = CK_INIT(ck_na3d_args);
    args.dtype = dtype;
    args.batch = 1;
    args.t = t;
    args.h = h;
    args.w = w;
    args.heads = heads;
    args.head_dim = head_dim;
    const std::int64_t strides[5] = {t * h * w * heads * head_dim, h * w * heads * head_dim,
                                     w * heads * head_dim, heads * head_dim, head_dim};
    std::copy_n(strides, 5, args.q_stride);
    std::copy_n(strides, 5, args.k_stride);
    std::copy_n(strides, 5, args.v_stride);
    std::copy_n(strides, 5, args.out_stride);
    for (int axis = 0; axis < 3; ++axis) {
        args.kernel[axis] = 3;
        args.dilation[axis] = 1;
    }
    args.scale = 0.25f;
    return args;
}

}  // namespace

TEST_CASE("the blocked GEMM is the reference's, around every block size") {
    cpu::ThreadPool pool(3);
    const std::int64_t rows[] = {1, 2, 63, 65, 130};
    const std::int64_t cols[] = {1, 5, 31, 33, 67};
    const std::int64_t depths[] = {0, 1, 17, 511, 512, 513, 1030};
    int out = 0;
    for (const std::int64_t m : rows)
        for (const std::int64_t n : cols)
            for (const std::int64_t k : depths) {
                const ck_dtype dtypes[] = {CK_I32, CK_F32, CK_F16, CK_BF16};
                ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
                args.out_dtype = dtypes[out++ % 4];
                args.m = m;
                args.n = n;
                args.k = k;
                args.lda = k + 3;
                args.ldb = k + 1;
                args.ldc = n + 5;
                Bytes a = random_int8(m * args.lda);
                Bytes b = random_int8(n * args.ldb);
                Bytes scale_a = random_floats(CK_F32, m, 1e-3f);
                Bytes scale_b = random_floats(CK_F32, n, 1e-3f);
                Bytes bias = random_floats(CK_F16, n);
                args.a = a.data();
                args.b = b.data();
                args.scale_a = scale_a.as<float>();
                args.scale_b = scale_b.as<float>();
                if (out % 3 != 0) {
                    args.bias = bias.data();
                    args.bias_dtype = CK_F16;
                }
                const std::int64_t bytes = m * args.ldc * reference::element_size(args.out_dtype);
                Bytes got(bytes);
                Bytes expected(bytes);
                args.c = got.data();
                cpu::int8_gemm(pool, args);
                args.c = expected.data();
                reference::int8_gemm(args, 0, m, 0, n);
                INFO("m " << m << " n " << n << " k " << k << " out " << args.out_dtype);
                REQUIRE(got.contents() == expected.contents());  // padding included
                REQUIRE(got.guards_hold());
            }
}

TEST_CASE("the largest sums of the GEMM are exact") {
    cpu::ThreadPool pool(2);
    constexpr std::int64_t kDepth = 131071;
    std::vector<std::int8_t> low(kDepth, -128);
    std::int32_t sum = 0;
    ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
    args.out_dtype = CK_I32;
    args.m = args.n = 1;
    args.k = args.lda = args.ldb = kDepth;
    args.a = args.b = low.data();
    args.c = &sum;
    args.ldc = 1;
    cpu::int8_gemm(pool, args);
    CHECK(sum == 2147467264);
}

TEST_CASE("the linears are the reference's") {
    cpu::ThreadPool pool(3);
    for (const ck_activation activation : {CK_ACTIVATION_NONE, CK_ACTIVATION_GELU_TANH, CK_ACTIVATION_SWIGLU})
        for (const int rotate_group : {0, 16}) {
            const std::int64_t m = 5, n = 37, k = 1056;
            const std::int64_t width = activation == CK_ACTIVATION_SWIGLU ? 2 * k : k;
            Bytes x = random_floats(CK_F16, m * width);
            Bytes bias = random_floats(CK_BF16, n);
            std::vector<std::int8_t> q(static_cast<std::size_t>(m * k));
            std::vector<float> scale(static_cast<std::size_t>(m));

            ck_int8_linear_args plain = CK_INIT(ck_int8_linear_args);
            Bytes w = random_int8(n * k);
            Bytes w_scale = random_floats(CK_F32, 1, 0.01f);
            plain.x_dtype = CK_F16;
            plain.m = m;
            plain.n = n;
            plain.k = k;
            plain.x = x.data();
            plain.ldx = width;
            plain.w = w.data();
            plain.ldw = k;
            plain.w_scale = w_scale.as<float>();
            plain.w_scale_mode = CK_SCALE_SCALAR;
            plain.bias = bias.data();
            plain.bias_dtype = CK_BF16;
            plain.ldy = n;
            plain.out_dtype = CK_F32;
            plain.activation = activation;
            plain.rotate_group = rotate_group;
            Bytes plain_workspace(static_cast<std::int64_t>(cpu::int8_linear_workspace(plain)));
            plain.workspace = plain_workspace.data();
            Bytes got(m * n * 4);
            Bytes expected(m * n * 4);
            plain.y = got.data();
            cpu::int8_linear(pool, plain);
            plain.y = expected.data();
            reference::int8_linear(plain, q.data(), scale.data());
            CHECK(got.contents() == expected.contents());
            CHECK(plain_workspace.guards_hold());

            for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_UNIFORM, CK_W4A8_ASYMMETRIC})
                for (const int group : {4, 8, 16, 48, 1056}) {
                    const ck_dtype s_rel_dtype = group % 16 == 0 ? CK_F8_E4M3 : CK_F32;
                    Weight weight(pool, layout, s_rel_dtype, group, n, k);
                    ck_w4a8_linear_args args = CK_INIT(ck_w4a8_linear_args);
                    args.x_dtype = CK_F16;
                    args.m = m;
                    args.n = n;
                    args.k = k;
                    args.x = x.data();
                    args.ldx = width;
                    args.packed = weight.packed.data();
                    args.ld_packed = k / 2;
                    args.s_rel = weight.s_rel.data();
                    args.ld_s_rel = k / group;
                    args.s_channel = weight.s_channel.as<float>();
                    args.codebook = ckitchen::kDefaultCodebook;
                    args.correction = weight.args.correction;
                    args.ld_correction = n;
                    args.correction_dtype = CK_BF16;
                    args.bias = bias.data();
                    args.bias_dtype = CK_BF16;
                    args.ldy = n + 1;
                    args.group = group;
                    args.layout = layout;
                    args.s_rel_dtype = s_rel_dtype;
                    args.out_dtype = CK_F16;
                    args.activation = activation;
                    args.rotate_group = rotate_group;
                    Bytes workspace(static_cast<std::int64_t>(cpu::w4a8_linear_workspace(args)));
                    args.workspace = workspace.data();
                    Bytes y(m * (n + 1) * 2);
                    Bytes y_expected(m * (n + 1) * 2);
                    args.y = y.data();
                    cpu::w4a8_linear(pool, args);
                    args.y = y_expected.data();
                    reference::w4a8_linear(args, q.data(), scale.data());
                    INFO("layout " << layout << " group " << group);
                    CHECK(y.contents() == y_expected.contents());
                    CHECK(workspace.guards_hold());
                    CHECK(y.guards_hold());
                }
        }
}

TEST_CASE("requantizing in pieces, and rotating first, give the same bytes") {
    cpu::ThreadPool pool(2);
    const std::int64_t n = 12, k = 256;
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{0x123456789}})
        for (const ck_w4a8_layout layout : {CK_W4A8_CODEBOOK, CK_W4A8_UNIFORM}) {
            Weight weight(pool, layout, CK_F8_E4M3, 16, n, k);
            ck_w4a8_requant_args args = weight.args;
            args.seed = seed;
            args.row_offset = (std::uint64_t{1} << 62) + 5;
            args.rotate_group = 64;
            cpu::w4a8_requant(pool, args);
            const std::vector<char> packed = weight.packed.contents();
            const std::vector<char> s_rel = weight.s_rel.contents();

            Bytes rotated(n * k * 2);
            ck_rotate_args rotation = CK_INIT(ck_rotate_args);
            rotation.dtype = CK_BF16;
            rotation.rows = n;
            rotation.k = rotation.ldx = rotation.ldy = k;
            rotation.x = weight.source.data();
            rotation.y = rotated.data();
            rotation.group = 64;
            cpu::rotate(pool, rotation);
            rotation.y = weight.source.data();
            cpu::rotate(pool, rotation);
            CHECK(rotated.contents() == weight.source.contents());  // in place

            args.rotate_group = 0;
            args.n = 5;
            for (std::int64_t row = 0; row < n; row += args.n) {
                ck_w4a8_requant_args piece = args;
                piece.n = std::min(args.n, n - row);
                piece.weight = rotated.data() + row * k * 2;
                piece.packed = weight.packed.data() + row * k / 2;
                piece.s_rel = weight.s_rel.data() + row * k / 16;
                piece.s_channel = weight.s_channel.as<float>() + row;
                piece.row_offset = args.row_offset + static_cast<std::uint64_t>(row);
                cpu::w4a8_requant(pool, piece);
            }
            CHECK(weight.packed.contents() == packed);
            CHECK(weight.s_rel.contents() == s_rel);
        }
}

TEST_CASE("a rotation's overflow counts as 0 and is not counted") {
    cpu::ThreadPool pool(1);
    const std::int64_t k = 16;
    Bytes source(k * 2);
    // Three of 4: their sum overflows binary16 in one place of the block.
    for (std::int64_t i = 0; i < k; ++i) reference::store_float(CK_F16, source.data(), i, 65504.0f);
    reference::store_float(CK_F16, source.data(), 3, -65504.0f);
    reference::store_float(CK_F16, source.data(), 15, std::numeric_limits<float>::quiet_NaN());
    Bytes packed(k / 2), s_rel(k / 4 * 4), s_channel(4), count(8);
    reference::store<std::uint64_t>(count.data(), 0, 7);
    ck_w4a8_requant_args args = CK_INIT(ck_w4a8_requant_args);
    args.dtype = CK_F16;
    args.n = 1;
    args.k = args.ldw = k;
    args.weight = source.data();
    args.group = 4;
    args.rotate_group = 4;
    args.s_rel_dtype = CK_F32;
    args.codebook = ckitchen::kDefaultCodebook;
    args.packed = packed.data();
    args.ld_packed = k / 2;
    args.s_rel = s_rel.data();
    args.ld_s_rel = k / 4;
    args.s_channel = s_channel.as<float>();
    args.nonfinite = count.as<std::uint64_t>();
    cpu::w4a8_requant(pool, args);
    CHECK(reference::load<std::uint64_t>(count.data(), 0) == 8);
    const float scale = reference::load<float>(s_channel.data(), 0);
    CHECK(scale > 0.0f);
    CHECK(scale < 131008.0f / 127.0f);
    for (std::int64_t i = 0; i < k / 4; ++i)
        CHECK(reference::is_finite(reference::load<float>(s_rel.data(), i)));
}

TEST_CASE("a weight without columns still has channel scales, and a row without columns a scale") {
    cpu::ThreadPool pool(2);
    float scales[3] = {};
    ck_w4a8_requant_args requant = CK_INIT(ck_w4a8_requant_args);
    requant.dtype = CK_F32;
    requant.n = 3;
    requant.group = 16;
    requant.s_rel_dtype = CK_F8_E4M3;
    requant.codebook = ckitchen::kDefaultCodebook;
    requant.s_channel = scales;
    cpu::w4a8_requant(pool, requant);
    for (const float scale : scales) CHECK(scale == 1e-8f);

    ck_int8_quantize_args quantize = CK_INIT(ck_int8_quantize_args);
    quantize.dtype = CK_F32;
    quantize.rows = 3;
    quantize.scale = scales;
    cpu::int8_quantize(pool, quantize);
    for (const float scale : scales) CHECK(scale == 1e-30f);
}

TEST_CASE("non-finite values in a row") {
    cpu::ThreadPool pool(1);
    const float infinity = std::numeric_limits<float>::infinity();
    const float x[2][4] = {{65504.0f, infinity, -infinity, std::numeric_limits<float>::quiet_NaN()},
                           {infinity, -infinity, infinity, 0.0f}};
    std::int8_t q[2][4];
    float scale[2];
    ck_int8_quantize_args args = CK_INIT(ck_int8_quantize_args);
    args.dtype = CK_F32;
    args.rows = 2;
    args.k = args.ldx = args.ldq = 4;
    args.x = x;
    args.q = q;
    args.scale = scale;
    cpu::int8_quantize(pool, args);
    CHECK(scale[0] == 65504.0f / 127.0f);
    CHECK(std::vector<int>(q[0], q[0] + 4) == std::vector<int>{127, 127, -128, 0});
    CHECK(scale[1] == 1e-30f);
    CHECK(std::vector<int>(q[1], q[1] + 4) == std::vector<int>{127, -128, 127, 0});
}

TEST_CASE("elements beyond 2^31 are reached") {
    cpu::ThreadPool pool(2);
    const std::int64_t k = 32;
    {
        INFO("rows far apart in A, B and C");
        const Sparse a(2 * kFar), b(2 * kFar), c(2 * kFar * 4);
        std::memset(static_cast<char*>(a.data()) + kFar, 3, k);
        std::memset(static_cast<char*>(b.data()) + kFar, 5, k);
        ck_int8_gemm_args args = CK_INIT(ck_int8_gemm_args);
        args.out_dtype = CK_I32;
        args.m = args.n = 2;
        args.k = k;
        args.a = a.data();
        args.b = b.data();
        args.c = c.data();
        args.lda = args.ldb = args.ldc = kFar;
        cpu::int8_gemm(pool, args);
        CHECK(reference::load<std::int32_t>(c.data(), kFar + 1) == 3 * 5 * k);
    }
    {
        INFO("rows far apart in a weight and its parts");
        const Sparse weight(2 * kFar * 2), packed(2 * kFar), s_rel(2 * kFar);
        for (std::int64_t i = 0; i < k; ++i)
            reference::store_float(CK_BF16, weight.data(), kFar + i, i % 2 == 0 ? 1.0f : -1.0f);
        float s_channel[2];
        ck_w4a8_requant_args args = CK_INIT(ck_w4a8_requant_args);
        args.dtype = CK_BF16;
        args.n = 2;
        args.k = k;
        args.weight = weight.data();
        args.ldw = args.ld_packed = args.ld_s_rel = kFar;
        args.group = 16;
        args.layout = CK_W4A8_UNIFORM;
        args.s_rel_dtype = CK_F8_E4M3;
        args.packed = packed.data();
        args.s_rel = s_rel.data();
        args.s_channel = s_channel;
        cpu::w4a8_requant(pool, args);
        CHECK(reference::load<std::uint8_t>(packed.data(), kFar) == 0x1F);
        CHECK(reference::load<std::uint8_t>(packed.data(), 0) == 0x88);
    }
    {
        INFO("tokens far apart in attention");
        ck_na3d_args args = attention(CK_F32, 1, 1, 2, 1, 8);
        const Sparse q(2 * kFar * 4), v(2 * kFar * 4), out(2 * kFar * 4);
        for (std::int64_t i = 0; i < 8; ++i) reference::store(v.data(), kFar + i, 4.0f);
        args.q = args.k = q.data();
        args.v = v.data();
        args.out = out.data();
        args.q_stride[3] = args.k_stride[3] = args.v_stride[3] = args.out_stride[3] = kFar;
        cpu::na3d(pool, args);
        CHECK(reference::load<float>(out.data(), kFar + 7) == 2.0f);
    }
}

TEST_CASE("attention takes any stride and never faults") {
    cpu::ThreadPool pool(2);
    ck_na3d_args args = attention(CK_F32, 2, 3, 4, 2, 8);
    const std::int64_t elements = 2 * 3 * 4 * 2 * 8;
    Bytes q = random_floats(CK_F32, elements);
    Bytes k = random_floats(CK_F32, elements);
    Bytes v = random_floats(CK_F32, elements);
    Bytes out(elements * 4);
    args.q = q.data();
    args.k = k.data();
    args.v = v.data();
    args.out = out.data();
    cpu::na3d(pool, args);
    const std::vector<char> expected = out.contents();

    SECTION("the stride of an axis of extent 1 is not read") {
        args.q_stride[0] = args.k_stride[0] = INT64_MAX;
        args.v_stride[0] = args.out_stride[0] = INT64_MIN;
        cpu::na3d(pool, args);
        CHECK(out.contents() == expected);
    }
    SECTION("a mirrored axis has negative strides") {
        // A window is symmetric only inside the axis; with a kernel as long as the axis it is all of it.
        args.kernel[2] = 5;
        cpu::na3d(pool, args);
        const std::vector<char> whole = out.contents();
        const std::int64_t last = 3 * args.k_stride[3] * 4;
        args.k = k.data() + last;
        args.v = v.data() + last;
        args.k_stride[3] = -args.k_stride[3];
        args.v_stride[3] = -args.v_stride[3];
        cpu::na3d(pool, args);
        for (std::int64_t i = 0; i < elements; ++i) {
            const float a = reference::load<float>(out.data(), i);
            const float b = reference::load<float>(whole.data(), i);
            REQUIRE(std::abs(a - b) <= 1e-5f);
        }
    }
    SECTION("a broadcast value comes back, whatever the weights") {
        for (std::int64_t& stride : args.v_stride) stride = 0;
        cpu::na3d(pool, args);
        for (std::int64_t i = 0; i < elements; ++i)
            REQUIRE(reference::load<float>(out.data(), i) ==
                    Approx(reference::load<float>(v.data(), i % 8)).epsilon(1e-5));
    }
    SECTION("non-finite inputs") {
        const float infinity = std::numeric_limits<float>::infinity();
        for (const float value : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(),
                                  std::numeric_limits<float>::max()}) {
            for (std::int64_t i = 0; i < elements; ++i) reference::store(k.data(), i, value);
            cpu::na3d(pool, args);
        }
        CHECK(out.guards_hold());
    }
    SECTION("logits beyond a naive exponential") {
        args.scale = 1e6f;
        cpu::na3d(pool, args);
        for (std::int64_t i = 0; i < elements; ++i)
            REQUIRE(reference::is_finite(reference::load<float>(out.data(), i)));
    }
}

TEST_CASE("the backend's attention is within its bounds of the reference") {
    cpu::ThreadPool pool(2);
    for (const ck_dtype dtype : {CK_F32, CK_F16, CK_BF16})
        for (const std::int64_t head_dim : {8, 24, 64, 256}) {
            ck_na3d_args args = attention(dtype, 3, 5, 7, 2, head_dim);
            args.kernel[1] = 4;
            args.dilation[2] = 2;
            args.causal[0] = 1;
            const std::int64_t elements = 3 * 5 * 7 * 2 * head_dim;
            Bytes q = random_floats(dtype, elements);
            Bytes k = random_floats(dtype, elements);
            Bytes v = random_floats(dtype, elements);
            Bytes out(elements * reference::element_size(dtype));
            args.q = q.data();
            args.k = k.data();
            args.v = v.data();
            args.out = out.data();
            cpu::na3d(pool, args);
            double error = 0.0;
            double norm = 0.0;
            double magnitude = 0.0;
            std::vector<double> expected(static_cast<std::size_t>(head_dim));
            for (std::int64_t query = 0; query < reference::na3d_queries(args); ++query) {
                reference::na3d_query(args, query, expected.data(), &magnitude);
                for (std::int64_t d = 0; d < head_dim; ++d) {
                    const double want = expected[static_cast<std::size_t>(d)];
                    const double got = reference::load_float(dtype, out.data(), query * head_dim + d);
                    error += (got - want) * (got - want);
                    norm += want * want;
                }
            }
            const double base = dtype == CK_BF16 ? 4e-3 : dtype == CK_F16 ? 6e-4 : 2e-6;
            INFO("dtype " << dtype << " head_dim " << head_dim);
            CHECK(std::sqrt(error / norm) <= base + std::ldexp(magnitude, -23));
            CHECK(out.guards_hold());
        }
}

TEST_CASE("the codebook is written to any address and is a constant weight's default") {
    cpu::ThreadPool pool(2);
    std::vector<float> weight(64, 0.5f);
    Bytes codebook(64);
    ck_w4a8_choose_codebook_args args = CK_INIT(ck_w4a8_choose_codebook_args);
    args.dtype = CK_F32;
    args.n = 4;
    args.k = args.ldw = 16;
    args.weight = weight.data();
    args.group = 16;
    args.codebook = codebook.as<float>();
    for (const std::int64_t n : {4, 0}) {
        args.n = n;
        cpu::w4a8_choose_codebook(pool, args);
        CHECK(std::memcmp(codebook.data(), ckitchen::kDefaultCodebook, 64) == 0);
    }
    CHECK(codebook.guards_hold());
}

#if defined(__x86_64__)
TEST_CASE("a host that flushes subnormals gets the same bytes") {
    cpu::ThreadPool pool(2);
    const std::int64_t n = 4, k = 64;
    Bytes source = random_floats(CK_F32, n * k, 1e-39f);
    Bytes scale(n * 4);
    Bytes q(n * k);
    ck_int8_quantize_args quantize = CK_INIT(ck_int8_quantize_args);
    quantize.dtype = CK_F32;
    quantize.rows = n;
    quantize.k = quantize.ldx = quantize.ldq = k;
    quantize.x = source.data();
    quantize.q = q.data();
    quantize.scale = scale.as<float>();
    Bytes rotated(n * k * 4);
    ck_rotate_args rotation = CK_INIT(ck_rotate_args);
    rotation.dtype = CK_F32;
    rotation.rows = n;
    rotation.k = rotation.ldx = rotation.ldy = k;
    rotation.x = source.data();
    rotation.y = rotated.data();
    rotation.group = 16;

    cpu::int8_quantize(pool, quantize);
    cpu::rotate(pool, rotation);
    const std::vector<char> expected_q = q.contents();
    const std::vector<char> expected_rotated = rotated.contents();
    CHECK(std::any_of(expected_rotated.begin(), expected_rotated.end(), [](char byte) { return byte != 0; }));

    const unsigned int saved = _mm_getcsr();
    _mm_setcsr(saved | 0x8040);
    cpu::int8_quantize(pool, quantize);
    cpu::rotate(pool, rotation);
    _mm_setcsr(saved);
    CHECK(q.contents() == expected_q);
    CHECK(rotated.contents() == expected_rotated);
}
#endif

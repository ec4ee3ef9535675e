// Runs every row of int8_gemm.inc that an object holds on a device and compares with a plain loop, bit for
// bit.
//
//   run_int8_gemm hip  <libamdhip64> <code object> [far]
//   run_int8_gemm cuda <libcuda> <directory with one PTX file per row> [far]
//
// With "far", rows of A, B and C lie gigabytes apart instead, which takes up to 16 GiB of device memory.
//
// Uses the drivers' own functions, found in the library that the command line names; nothing of ckitchen but
// the rows and the argument struct. Buffers have exactly the sizes that the problem needs; C lies between
// guard bytes that must survive, and so must the padding between its rows.

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "../int8_gemm/int8_gemm_rows.hpp"

namespace {

using namespace ckitchen;

[[noreturn]] void stop(const std::string& text) {
    std::fprintf(stderr, "run_int8_gemm: %s\n", text.c_str());
    std::exit(2);
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return {};
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// The few driver calls that a launch needs. Device addresses are integers in both interfaces.
class Device {
  public:
    Device(bool cuda, const char* library) : cuda_(cuda) {
        library_ = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (library_ == nullptr) stop(dlerror());
        if (cuda_) {
            check(call<int(unsigned)>("cuInit")(0), "cuInit");
            int device = 0;
            check(call<int(int*, int)>("cuDeviceGet")(&device, 0), "cuDeviceGet");
            void* context = nullptr;
            check(call<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device),
                  "cuDevicePrimaryCtxRetain");
            check(call<int(void*)>("cuCtxSetCurrent")(context), "cuCtxSetCurrent");
        } else {
            check(call<int(unsigned)>("hipInit")(0), "hipInit");
            check(call<int(int)>("hipSetDevice")(0), "hipSetDevice");
        }
    }

    // The kernel, or null when the object does not hold it.
    void* kernel(const std::string& object, const char* name) {
        void* module = nullptr;
        void* function = nullptr;
        check(call<int(void**, const void*)>(cuda_ ? "cuModuleLoadData" : "hipModuleLoadData")(
                  &module, object.c_str()),
              "loading the module");
        const int status = call<int(void**, void*, const char*)>(
            cuda_ ? "cuModuleGetFunction" : "hipModuleGetFunction")(&function, module, name);
        return status == 0 ? function : nullptr;
    }

    std::uint64_t allocate(std::size_t bytes) {
        std::uint64_t address = 0;
        check(call<int(std::uint64_t*, std::size_t)>(cuda_ ? "cuMemAlloc_v2" : "hipMalloc")(&address, bytes),
              "allocation");
        return address;
    }

    void release(std::uint64_t address) {
        check(call<int(std::uint64_t)>(cuda_ ? "cuMemFree_v2" : "hipFree")(address), "release");
    }

    void upload(std::uint64_t address, const void* data, std::size_t bytes) {
        if (cuda_) {
            check(call<int(std::uint64_t, const void*, std::size_t)>("cuMemcpyHtoD_v2")(address, data, bytes),
                  "copy");
        } else {
            check(
                call<int(std::uint64_t, const void*, std::size_t, int)>("hipMemcpy")(address, data, bytes, 1),
                "copy");
        }
    }

    void download(void* data, std::uint64_t address, std::size_t bytes) {
        if (cuda_) {
            check(call<int(void*, std::uint64_t, std::size_t)>("cuMemcpyDtoH_v2")(data, address, bytes),
                  "copy");
        } else {
            check(call<int(void*, std::uint64_t, std::size_t, int)>("hipMemcpy")(data, address, bytes, 2),
                  "copy");
        }
    }

    // `args` without what comes from the row's grid.
    void launch(void* function, const Int8GemmRow& row, Int8GemmArgs args) {
        const Int8GemmGrid grid = int8_gemm_grid(row, args.m, args.n, kComputeUnits);
        args.tiles_m = grid.tiles_m;
        args.tiles_n = grid.tiles_n;
        args.group_m = grid.group_m;
        Int8GemmMappedArgs mapped{};
        void* arguments[] = {&args};
        std::uint32_t dynamic_bytes = 0;
        if (int8_gemm_mapped(row.kind)) {
            mapped.a = map(args.a, args.m, args.k, args.lda, row.tile_m);
            mapped.b = map(args.b, args.n, args.k, args.ldb, row.tile_n);
            mapped.gemm = args;
            arguments[0] = &mapped;
            dynamic_bytes = row.local_bytes;
            check(call<int(void*, int, int)>("cuFuncSetAttribute")(function, 8,
                                                                   static_cast<int>(dynamic_bytes)),
                  "cuFuncSetAttribute");
        }
        using Launch = int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                           void**, void**);
        check(
            call<Launch>(cuda_ ? "cuLaunchKernel" : "hipModuleLaunchKernel")(
                function, grid.groups, 1, 1, grid.threads, 1, 1, dynamic_bytes, nullptr, arguments, nullptr),
            "launch");
        check(call<int()>(cuda_ ? "cuCtxSynchronize" : "hipDeviceSynchronize")(), "synchronization");
    }

  private:
    // Few, so that a workgroup that goes from tile to tile has several.
    static constexpr std::uint32_t kComputeUnits = 3;

    // Tiles of `rows` x 128 bytes with the 128-byte swizzle, zeros outside of the matrix.
    TensorMap map(std::uint64_t address, std::int64_t rows, std::uint32_t columns, std::int64_t stride,
                  std::uint32_t tile_rows) {
        TensorMap result{};
        const std::uint64_t extents[] = {columns, static_cast<std::uint64_t>(rows)};
        const std::uint64_t strides[] = {static_cast<std::uint64_t>(stride)};
        const std::uint32_t tile[] = {128, tile_rows};
        const std::uint32_t steps[] = {1, 1};
        using Encode = int(void*, int, unsigned, std::uint64_t, const std::uint64_t*, const std::uint64_t*,
                           const std::uint32_t*, const std::uint32_t*, int, int, int, int);
        check(call<Encode>("cuTensorMapEncodeTiled")(&result, 0, 2, address, extents, strides, tile, steps, 0,
                                                     3, 3, 0),
              "cuTensorMapEncodeTiled");
        return result;
    }

    template <typename Signature>
    Signature* call(const char* name) {
        void* symbol = dlsym(library_, name);
        if (symbol == nullptr) stop(std::string("no symbol ") + name);
        return reinterpret_cast<Signature*>(symbol);
    }

    static void check(int status, const char* what) {
        if (status != 0) stop(std::string(what) + " returned " + std::to_string(status));
    }

    bool cuda_;
    void* library_;
};

struct Random {
    std::uint64_t state = 0x9e3779b97f4a7c15u;
    std::uint32_t next() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<std::uint32_t>(state >> 32);
    }
    float uniform() { return static_cast<float>(next() >> 8) / 16777216.0f - 0.5f; }
};

std::uint16_t to_bfloat16(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (std::isnan(value)) return 0x7fc0;
    const std::uint32_t half = bits & 0xffff;
    std::uint32_t top = bits >> 16;
    if (half > 0x8000 || (half == 0x8000 && (top & 1) != 0)) ++top;
    return static_cast<std::uint16_t>(top);
}

// By the value: the nearest multiple of the format's step at this size.
std::uint16_t to_float16(float value) {
    if (std::isnan(value)) return 0x7e00;
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    const double size = std::fabs(static_cast<double>(value));
    if (size >= 65520.0) return sign | 0x7c00;
    const int exponent = size == 0.0 ? -14 : std::max(-14, std::ilogb(size));
    const auto steps = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
    return static_cast<std::uint16_t>(sign | ((exponent + 14) * 1024 + static_cast<int>(steps)));
}

float from_float16(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31;
    const int fraction = bits & 1023;
    double size = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) size = fraction == 0 ? std::numeric_limits<double>::infinity() : std::nan("");
    return static_cast<float>(bits & 0x8000 ? -size : size);
}

float from_bfloat16(std::uint16_t bits) {
    const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
}

struct Case {
    std::int64_t m, n, k;
    std::int64_t pad_a, pad_b, pad_c;  // leading dimension beyond the extent
    std::uint32_t shift;               // bytes by which A and B miss their alignment
    std::uint32_t output, bias;
    bool scalar_a, scalar_b;
    bool special;  // scales with NaN, infinities, subnormals and negative values
    bool extreme;  // operands at the ends of int8
};

std::string describe(const Case& c) {
    std::ostringstream text;
    text << "m=" << c.m << " n=" << c.n << " k=" << c.k << " lda=" << c.k + c.pad_a
         << " ldb=" << c.k + c.pad_b << " ldc=" << c.n + c.pad_c << " shift=" << c.shift
         << " output=" << c.output << " bias=" << c.bias << " scalar_a=" << c.scalar_a
         << " scalar_b=" << c.scalar_b << " special=" << c.special << " extreme=" << c.extreme;
    return text.str();
}

std::size_t element_size(std::uint32_t type) {
    return type == kInt8GemmFloat16 || type == kInt8GemmBfloat16 ? 2 : 4;
}

// Bytes of a matrix without the padding after its last row.
std::size_t extent(std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    return static_cast<std::size_t>((rows - 1) * stride + columns);
}

struct Buffer {
    Device& device;
    std::uint64_t base;
    std::uint64_t address;
    Buffer(Device& on, const void* data, std::size_t bytes, std::size_t offset = 0) : device(on) {
        base = device.allocate(offset + std::max<std::size_t>(bytes, 1));
        address = base + offset;
        if (bytes != 0) device.upload(address, data, bytes);
    }
    Buffer(const Buffer&) = delete;
    ~Buffer() { device.release(base); }
};

constexpr std::size_t kGuard = 64;
constexpr unsigned char kPoison = 0xa5;

// Runs one case and returns what is wrong with the result, empty when nothing is.
std::string run_case(Device& device, void* function, const Int8GemmRow& row, const Case& c, Random& random) {
    const std::int64_t lda = c.k + c.pad_a;
    const std::int64_t ldb = c.k + c.pad_b;
    const std::int64_t ldc = c.n + c.pad_c;
    std::vector<std::int8_t> a(c.k == 0 ? 0 : extent(c.m, c.k, lda));
    std::vector<std::int8_t> b(c.k == 0 ? 0 : extent(c.n, c.k, ldb));
    for (auto* operand : {&a, &b}) {
        for (auto& value : *operand) {
            value =
                static_cast<std::int8_t>(c.extreme ? (random.next() % 8 != 0 ? -128 : 127) : random.next());
        }
    }
    std::vector<float> scale_a(c.scalar_a ? 1 : c.m);
    std::vector<float> scale_b(c.scalar_b ? 1 : c.n);
    for (auto& value : scale_a) value = 0.02f * random.uniform();
    for (auto& value : scale_b) value = 0.02f * random.uniform();
    if (c.special) {
        const float values[] = {std::nanf(""), std::numeric_limits<float>::infinity(), -0.0f, 1e-40f, 3e38f,
                                -1.0f};
        for (auto& value : scale_a) value = random.next() % 3 == 0 ? values[random.next() % 6] : value;
        for (auto& value : scale_b) value = random.next() % 3 == 0 ? values[random.next() % 6] : value;
    }
    std::vector<float> bias(c.n);
    std::vector<std::uint16_t> bias_bits(c.n);
    for (std::int64_t j = 0; j < c.n; ++j) {
        bias[j] = random.uniform();
        if (c.bias == kInt8GemmFloat16) bias[j] = from_float16(bias_bits[j] = to_float16(bias[j]));
        if (c.bias == kInt8GemmBfloat16) bias[j] = from_bfloat16(bias_bits[j] = to_bfloat16(bias[j]));
    }

    const std::size_t size = element_size(c.output);
    const std::size_t c_bytes = extent(c.m, c.n, ldc) * size;
    std::vector<unsigned char> expected(c_bytes + 2 * kGuard, kPoison);
    for (std::int64_t i = 0; i < c.m; ++i) {
        for (std::int64_t j = 0; j < c.n; ++j) {
            std::int32_t sum = 0;
            for (std::int64_t k = 0; k < c.k; ++k) sum += a[i * lda + k] * b[j * ldb + k];
            unsigned char* target = expected.data() + kGuard + (i * ldc + j) * size;
            float value = static_cast<float>(sum);
            value = value * scale_a[c.scalar_a ? 0 : i];
            value = value * scale_b[c.scalar_b ? 0 : j];
            if (c.bias != kInt8GemmNone) value = value + bias[j];
            const std::uint16_t half = c.output == kInt8GemmFloat16 ? to_float16(value) : to_bfloat16(value);
            if (c.output == kInt8GemmInt32) {
                std::memcpy(target, &sum, 4);
            } else if (c.output == kInt8GemmFloat32) {
                std::memcpy(target, &value, 4);
            } else {
                std::memcpy(target, &half, 2);
            }
        }
    }

    const std::vector<unsigned char> poison(c_bytes + 2 * kGuard, kPoison);
    Buffer device_a(device, a.data(), a.size(), c.shift);
    Buffer device_b(device, b.data(), b.size(), c.shift);
    Buffer device_c(device, poison.data(), poison.size());
    Buffer device_scale_a(device, scale_a.data(), scale_a.size() * 4);
    Buffer device_scale_b(device, scale_b.data(), scale_b.size() * 4);
    Buffer device_bias(
        device, c.bias == kInt8GemmFloat32 ? static_cast<void*>(bias.data()) : bias_bits.data(),
        c.n * element_size(c.bias == kInt8GemmNone ? static_cast<std::uint32_t>(kInt8GemmBfloat16) : c.bias));
    Int8GemmArgs args{};
    args.a = device_a.address;
    args.b = device_b.address;
    args.c = device_c.address + kGuard;
    if (c.output != kInt8GemmInt32) {
        args.scale_a = device_scale_a.address;
        args.scale_b = device_scale_b.address;
        args.bias = c.bias != kInt8GemmNone ? device_bias.address : 0;
    }
    args.m = c.m;
    args.n = c.n;
    args.lda = lda;
    args.ldb = ldb;
    args.ldc = ldc;
    args.k = static_cast<std::uint32_t>(c.k);
    args.output_type = c.output;
    args.bias_type = c.bias;
    args.scale_a_stride = c.scalar_a ? 0 : 1;
    args.scale_b_stride = c.scalar_b ? 0 : 1;
    device.launch(function, row, args);
    std::vector<unsigned char> result(poison.size());
    device.download(result.data(), device_c.base, result.size());

    for (std::size_t index = 0; index < result.size(); ++index) {
        if (result[index] == expected[index]) continue;
        if (index < kGuard || index >= kGuard + c_bytes) return "a byte outside C changed";
        const std::size_t element = (index - kGuard) / size;
        const std::size_t i = element / ldc;
        const std::size_t j = element % ldc;
        std::uint32_t want = 0;
        std::uint32_t got = 0;
        std::memcpy(&want, expected.data() + kGuard + element * size, size);
        std::memcpy(&got, result.data() + kGuard + element * size, size);
        // Any NaN equals any NaN.
        const std::uint32_t infinity = c.output == kInt8GemmFloat32   ? 0x7f800000
                                       : c.output == kInt8GemmFloat16 ? 0x7c00
                                                                      : 0x7f80;
        const std::uint32_t magnitude = size == 4 ? 0x7fffffff : 0x7fff;
        if (c.output != kInt8GemmInt32 && (want & magnitude) > infinity && (got & magnitude) > infinity)
            continue;
        std::ostringstream text;
        text << std::hex << "C[" << std::dec << i << "][" << j << "] is 0x" << std::hex << got
             << ", expected 0x" << want;
        if (j >= static_cast<std::size_t>(c.n)) text << " (padding)";
        return text.str();
    }
    return {};
}

// One small problem whose rows lie so far apart that offsets need more than 32 bits (in A and B: as far as
// the row allows).
std::string run_far_case(Device& device, void* function, const Int8GemmRow& row, Random& random) {
    const std::int64_t limit = (std::int64_t{1} << 32) - 1;
    const std::int64_t m = row.wide ? 2 : row.tile_m;
    const std::int64_t n = row.wide ? 2 : row.tile_n;
    const std::int64_t k = 80;
    const std::int64_t lda = row.wide ? (std::int64_t{1} << 32) + 16 : limit / row.tile_m / 16 * 16;
    const std::int64_t ldb = row.wide ? (std::int64_t{1} << 32) + 32 : limit / row.tile_n / 16 * 16;
    const std::int64_t ldc = (std::int64_t{1} << 31) / (m - 1) + 8;
    const std::uint64_t a = device.allocate(extent(m, k, lda));
    const std::uint64_t b = device.allocate(extent(n, k, ldb));
    const std::uint64_t c = device.allocate(extent(m, n, ldc) * 2);
    std::vector<std::int8_t> rows_a(m * k);
    std::vector<std::int8_t> rows_b(n * k);
    for (auto& value : rows_a) value = static_cast<std::int8_t>(random.next());
    for (auto& value : rows_b) value = static_cast<std::int8_t>(random.next());
    for (std::int64_t i = 0; i < m; ++i) device.upload(a + i * lda, rows_a.data() + i * k, k);
    for (std::int64_t j = 0; j < n; ++j) device.upload(b + j * ldb, rows_b.data() + j * k, k);
    const float one = 1.0f;
    const std::uint64_t scale = device.allocate(4);
    device.upload(scale, &one, 4);
    Int8GemmArgs args{a,
                      b,
                      c,
                      scale,
                      scale,
                      0,
                      m,
                      n,
                      lda,
                      ldb,
                      ldc,
                      static_cast<std::uint32_t>(k),
                      kInt8GemmBfloat16,
                      kInt8GemmNone,
                      0,
                      0,
                      0,
                      0,
                      0,
                      1,
                      static_cast<std::uint32_t>(k)};
    device.launch(function, row, args);
    std::string error;
    std::vector<std::uint16_t> result(n);
    for (std::int64_t i = 0; i < m && error.empty(); ++i) {
        device.download(result.data(), c + i * ldc * 2, n * 2);
        for (std::int64_t j = 0; j < n && error.empty(); ++j) {
            std::int32_t sum = 0;
            for (std::int64_t l = 0; l < k; ++l) sum += rows_a[i * k + l] * rows_b[j * k + l];
            if (result[j] != to_bfloat16(static_cast<float>(sum))) {
                error =
                    "C[" + std::to_string(i) + "][" + std::to_string(j) + "] is wrong with rows far apart";
            }
        }
    }
    for (const std::uint64_t address : {a, b, c, scale}) device.release(address);
    return error;
}

std::vector<Case> cases_for(const Int8GemmRow& row, Random& random) {
    const std::int64_t tm = row.tile_m;
    const std::int64_t tn = row.tile_n;
    const std::int64_t tk = row.tile_k;
    const bool few = int8_gemm_few(row.kind);
    const std::int64_t rows[] = {1, tm - 1, tm, few ? tm : tm + 1, few ? 1 : 2 * tm + 3};
    const std::int64_t columns[] = {1, 3, tn - 1, tn, tn + 1, 2 * tn + 5};
    const std::int64_t depths[] = {0,      1,  15,     16,      17,     31,          48,
                                   tk - 1, tk, tk + 1, tk + 16, 2 * tk, 3 * tk + 80, 4 * tk + 33};
    std::vector<Case> cases;
    const std::uint32_t outputs[] = {kInt8GemmFloat32, kInt8GemmFloat16, kInt8GemmBfloat16, kInt8GemmInt32};
    const std::uint32_t biases[] = {kInt8GemmNone, kInt8GemmFloat32, kInt8GemmFloat16, kInt8GemmBfloat16};
    std::uint32_t turn = 0;
    for (const std::int64_t k : depths) {
        for (int repeat = 0; repeat < 4; ++repeat, ++turn) {
            Case c{};
            c.m = std::max<std::int64_t>(1, rows[random.next() % 5]);
            c.n = columns[random.next() % 6];
            c.k = k;
            const bool aligned = row.alignment > 1;
            c.pad_a = aligned ? 16 * (random.next() % 3) : random.next() % 4;
            c.pad_b = aligned ? 16 * (random.next() % 3) : random.next() % 4;
            c.pad_c = random.next() % 5;
            c.shift = aligned ? 0 : random.next() % 2 * (random.next() % 16);
            c.output = outputs[turn % 4];
            c.bias = biases[turn / 4 % 4];
            c.scalar_a = random.next() % 3 == 0;
            c.scalar_b = random.next() % 3 == 0;
            c.special = random.next() % 4 == 0;
            c.extreme = random.next() % 4 == 0;
            if (aligned && (k == 0 || k % row.alignment != 0)) continue;
            cases.push_back(c);
        }
    }
    // More row groups than one in the launch order.
    if (!few) {
        cases.push_back({17 * tm + 1, tn + 1, 16, 0, 0, 0, 0, kInt8GemmBfloat16, kInt8GemmNone, false, false,
                         false, false});
        // More tiles than workgroups: some compute two.
        if (detail::int8_gemm_loops(row))
            cases.push_back({kInt8GemmWideGroups * tm + 1, 1, 1, 0, 0, 0, 0, kInt8GemmInt32, kInt8GemmNone,
                             true, true, false, false});
    }
    return cases;
}

}  // namespace

int main(int count, char** values) {
    if (count < 4)
        stop("usage: run_int8_gemm hip|cuda <driver library> <code object or PTX directory> [far]");
    const bool cuda = std::string(values[1]) == "cuda";
    const bool far = count > 4 && std::string(values[4]) == "far";
    Device device(cuda, values[2]);
    const std::string object = cuda ? std::string() : read_file(values[3]);
    int failures = 0;
    int rows = 0;
    for (const Int8GemmRow& row : kInt8GemmRows) {
        const std::string text =
            cuda ? read_file(std::string(values[3]) + "/" + row.kernel + ".ptx") : object;
        if (text.empty()) continue;
        void* function = device.kernel(text, row.kernel);
        if (function == nullptr) continue;
        ++rows;
        Random random;
        int failed = 0;
        if (far) {
            const std::string error = run_far_case(device, function, row, random);
            std::printf("%s: %s\n", row.name, error.empty() ? "passed with rows far apart" : error.c_str());
            std::fflush(stdout);
            failures += error.empty() ? 0 : 1;
            continue;
        }
        const std::vector<Case> cases = cases_for(row, random);
        for (const Case& c : cases) {
            const Int8GemmShape shape{0, 0, c.m, c.n, c.k, c.k + c.pad_a, c.k + c.pad_b};
            if (int8_gemm_refusal(row, shape) != Int8GemmRefusal::None)
                stop("a case that the row refuses: " + describe(c));
            const std::string error = run_case(device, function, row, c, random);
            if (error.empty()) continue;
            ++failed;
            std::printf("FAILED %s %s: %s\n", row.name, describe(c).c_str(), error.c_str());
        }
        std::printf("%s: %zu cases, %d failed\n", row.name, cases.size(), failed);
        std::fflush(stdout);
        failures += failed;
    }
    if (rows == 0) stop("the object holds no row");
    return failures == 0 ? 0 : 1;
}

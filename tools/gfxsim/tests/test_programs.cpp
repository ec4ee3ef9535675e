// Compiled programs through the runtime library, on one target per machine code, at -O0, -O2 and -O3, against
// the same per-element source compiled for the host and against plain loops.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>

#include "hip_client.hpp"
#include "programs_shared.h"

using namespace gfxsim_test;

namespace {

const std::vector<std::string>& targets() {
    static const std::vector<std::string> t = {"gfx1030", "gfx1100", "gfx1101", "gfx1151", "gfx1201"};
    return t;
}

const HipClient& hip() {
    static const HipClient* client = [] {
        setenv("GFXSIM_DEVICES", "gfx1030,gfx1100,gfx1101,gfx1151,gfx1201", 1);
        return new HipClient(GFXSIM_LIBRARY);
    }();
    return *client;
}

struct Random {
    u64 state = 0x9e3779b97f4a7c15ull;
    u32 next() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<u32>(state >> 32);
    }
};

/// Runs `body` for each target and optimisation level with its module loaded on the target's device.
template <class F>
void for_each_module(F body) {
    for (size_t d = 0; d < targets().size(); ++d)
        for (const char* level : {"O0", "O2", "O3"}) {
            INFO(targets()[d] << " -" << level);
            REQUIRE(hip()("hipSetDevice", static_cast<int>(d)) == 0);
            const Module module(
                hip(), std::string(GFXSIM_PROGRAMS) + "/programs_" + targets()[d] + "_" + level + ".co");
            body(module, targets()[d]);
        }
}

bool has_wmma(const std::string& target) {
    return target.rfind("gfx10", 0) != 0;
}

std::vector<u32> random_words(size_t n, Random& random) {
    std::vector<u32> v(n);
    for (u32& x : v) x = random.next();
    return v;
}

}  // namespace

TEST_CASE("vector add", "[programs]") {
    for_each_module([](const Module& m, const std::string&) {
        constexpr int kCount = 1000;
        std::vector<float> a(kCount), b(kCount);
        for (int i = 0; i < kCount; ++i) {
            a[i] = 0.37f * static_cast<float>(i);
            b[i] = 1.1f * static_cast<float>(i) - 3.0f;
        }
        DeviceArray<float> da(hip(), a), db(hip(), b), dc(hip(), std::vector<float>(kCount, -1.0f));
        REQUIRE(m.launch("vector_add", 4, 1, 256, da.get(), db.get(), dc.get(), kCount) == 0);
        const std::vector<float> c = dc.read();
        for (int i = 0; i < kCount; ++i) REQUIRE(c[i] == a[i] + b[i]);
    });
}

TEST_CASE("per-element operations agree with the host", "[programs]") {
    Random random;
    const std::vector<u32> edges = {0,          1,          0x80000000, 0x7fffffff, 0xffffffff,
                                    0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
                                    0x00000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x4b000001,
                                    0x7e800000, 0x7f000000, 0x3f7fffff, 0x00ffffff, 0x80400000};
    std::vector<u32> a, b;
    for (const u32 x : edges)
        for (const u32 y : edges) {
            a.push_back(x);
            b.push_back(y);
        }
    while (a.size() < 4096) {
        a.push_back(random.next());
        // Operands of like magnitude as often as any.
        b.push_back(random.next() % 2 ? random.next() : a.back() ^ random.next() >> 9);
    }
    const int n = static_cast<int>(a.size());
    for_each_module([&](const Module& m, const std::string&) {
        DeviceArray<u32> da(hip(), a), db(hip(), b), out(hip(), std::vector<u32>(a.size() * kOperationCount));
        REQUIRE(m.launch("evaluate_all", static_cast<unsigned>((n + 255) / 256), 1, 256, da.get(), db.get(),
                         out.get(), n) == 0);
        const std::vector<u32> got = out.read();
        std::map<int, int> wrong;
        for (int k = 0; k < kOperationCount; ++k)
            for (int i = 0; i < n; ++i) {
                const u32 want = evaluate(k, a[i], b[i]);
                if (got[static_cast<size_t>(k) * a.size() + i] == want) continue;
                if (wrong[k]++ == 0)
                    FAIL_CHECK("operation " << k << std::hex << " a=" << a[i] << " b=" << b[i] << " got "
                                            << got[static_cast<size_t>(k) * a.size() + i] << ", host "
                                            << want);
            }
        CHECK(wrong.empty());
    });
}

TEST_CASE("reduction, scan, sort, transpose", "[programs]") {
    for_each_module([](const Module& m, const std::string&) {
        Random random;
        const std::vector<u32> in = random_words(1024, random);
        {
            DeviceArray<u32> din(hip(), in), out(hip(), std::vector<u32>(4));
            REQUIRE(m.launch("reduce", 4, 1, 256, din.get(), out.get()) == 0);
            for (int g = 0; g < 4; ++g) {
                u32 sum = 0;
                for (int i = 0; i < 256; ++i) sum += in[256 * g + i];
                REQUIRE(out.read()[g] == sum);
            }
        }
        {
            DeviceArray<u32> din(hip(), in), out(hip(), std::vector<u32>(1024));
            REQUIRE(m.launch("scan", 4, 1, 256, din.get(), out.get()) == 0);
            const std::vector<u32> got = out.read();
            u32 sum = 0;
            for (int i = 0; i < 1024; ++i) {
                sum = i % 256 ? sum + in[i] : in[i];
                REQUIRE(got[i] == sum);
            }
        }
        {
            std::vector<u32> keys(in.begin(), in.begin() + 512);
            DeviceArray<u32> din(hip(), keys), out(hip(), std::vector<u32>(512));
            REQUIRE(m.launch("sort512", 1, 1, 256, din.get(), out.get()) == 0);
            std::sort(keys.begin(), keys.end());
            REQUIRE(out.read() == keys);
        }
        {
            constexpr int kRows = 70, kColumns = 45;
            std::vector<int8_t> bytes(kRows * kColumns);
            for (int8_t& v : bytes) v = static_cast<int8_t>(random.next());
            DeviceArray<int8_t> din(hip(), bytes), out(hip(), std::vector<int8_t>(bytes.size()));
            REQUIRE(m.launch("transpose_bytes", 2, 3, 256, din.get(), out.get(), kRows, kColumns) == 0);
            const std::vector<int8_t> got = out.read();
            for (int r = 0; r < kRows; ++r)
                for (int c = 0; c < kColumns; ++c) REQUIRE(got[c * kRows + r] == bytes[r * kColumns + c]);
        }
    });
}

TEST_CASE("atomics and scratch", "[programs]") {
    for_each_module([](const Module& m, const std::string&) {
        Random random;
        const std::vector<u32> in = random_words(2048, random);
        {
            std::vector<u32> want(40, 0);
            want[33] = 0x7fffffff;
            DeviceArray<u32> din(hip(), in), out(hip(), want);
            REQUIRE(m.launch("atomics", 8, 1, 256, din.get(), out.get()) == 0);
            u64 mix = 0;
            for (const u32 v : in) {
                ++want[v % 16];
                want[16 + v / 16 % 16] += v;
                want[32] = std::max(want[32], v);
                want[33] = static_cast<u32>(std::min(static_cast<int>(want[33]), static_cast<int>(v)));
                want[34] = want[34] * 3 + 1;
                mix ^= wide(v, ~v);
            }
            want[36] = static_cast<u32>(mix);
            want[37] = static_cast<u32>(mix >> 32);
            REQUIRE(out.read() == want);
        }
        {
            DeviceArray<u32> din(hip(), in), out(hip(), std::vector<u32>(2048));
            REQUIRE(m.launch("private_array", 32, 1, 64, din.get(), out.get()) == 0);
            const std::vector<u32> got = out.read();
            for (size_t i = 0; i < in.size(); ++i) {
                u32 a[40], sum = 0;
                for (u32 k = 0; k < 40; ++k) a[k] = in[i] * k + 7;
                for (u32 k = 0; k < 40; ++k) {
                    const u32 j = (in[i] >> (k & 15)) % 40, swap = a[j];
                    a[j] = a[k] ^ k;
                    a[k] = swap;
                }
                for (const u32 v : a) sum = sum * 31 + v;
                REQUIRE(got[i] == sum);
            }
        }
    });
}

TEST_CASE("softmax", "[programs]") {
    for_each_module([](const Module& m, const std::string&) {
        constexpr int kRows = 5, kColumns = 96;
        Random random;
        std::vector<float> in(kRows * kColumns);
        for (float& v : in) v = static_cast<float>(static_cast<int>(random.next() % 40000) - 20000) / 1000.0f;
        DeviceArray<float> din(hip(), in), out(hip(), std::vector<float>(in.size()));
        REQUIRE(m.launch("softmax", kRows, 1, 32, din.get(), out.get()) == 0);
        const std::vector<float> got = out.read();
        for (int r = 0; r < kRows; ++r) {
            double top = -1e30, sum = 0;
            for (int c = 0; c < kColumns; ++c) top = std::max(top, static_cast<double>(in[r * kColumns + c]));
            for (int c = 0; c < kColumns; ++c) sum += std::exp(in[r * kColumns + c] - top);
            for (int c = 0; c < kColumns; ++c) {
                const double want = std::exp(in[r * kColumns + c] - top) / sum;
                // exp of an argument up to 40 loses that many times half an ULP, the sum and the division a
                // few more.
                REQUIRE(std::fabs(got[r * kColumns + c] - want) <=
                        want * 32 * std::numeric_limits<float>::epsilon() + 1e-38);
            }
        }
    });
}

TEST_CASE("matrix products", "[programs]") {
    for_each_module([](const Module& m, const std::string& target) {
        constexpr int kM = 48, kN = 64, kK = 80;
        Random random;
        std::vector<int8_t> a(kM * kK), b(kN * kK);
        for (int8_t& v : a) v = static_cast<int8_t>(random.next() % 5 ? random.next() : 0x80);
        for (int8_t& v : b) v = static_cast<int8_t>(random.next() % 5 ? random.next() : 0x80);
        DeviceArray<int8_t> da(hip(), a), db(hip(), b);
        const auto reference = [&](int i, int j, bool sa, bool sb) {
            int sum = 0;
            for (int k = 0; k < kK; ++k)
                sum += (sa ? a[i * kK + k] : static_cast<uint8_t>(a[i * kK + k])) *
                       (sb ? b[j * kK + k] : static_cast<uint8_t>(b[j * kK + k]));
            return sum;
        };
        {
            DeviceArray<int> dc(hip(), std::vector<int>(kM * kN));
            REQUIRE(m.launch("matmul_dot4", kN / 16, kM / 16, 256, da.get(), db.get(), dc.get(), kN, kK) ==
                    0);
            const std::vector<int> c = dc.read();
            for (int i = 0; i < kM; ++i)
                for (int j = 0; j < kN; ++j) REQUIRE(c[i * kN + j] == reference(i, j, true, true));
        }
        REQUIRE(m.has("matmul_wmma_iu8") == has_wmma(target));
        if (!has_wmma(target)) return;
        for (const int signs : {3, 1, 0}) {
            DeviceArray<int> dc(hip(), std::vector<int>(kM * kN));
            REQUIRE(m.launch("matmul_wmma_iu8", kN / 16, kM / 16, 32, da.get(), db.get(), dc.get(), kN, kK,
                             signs) == 0);
            const std::vector<int> c = dc.read();
            for (int i = 0; i < kM; ++i)
                for (int j = 0; j < kN; ++j) REQUIRE(c[i * kN + j] == reference(i, j, signs & 1, signs & 2));
        }
        // Small integers are exact in both 16-bit formats, and so are their sums in float32, in any order.
        for (const int type : {0, 1}) {
            std::vector<uint16_t> wa(kM * kK), wb(kN * kK);
            std::vector<int> ia(wa.size()), ib(wb.size());
            const auto fill = [&](std::vector<uint16_t>& words, std::vector<int>& values) {
                for (size_t i = 0; i < words.size(); ++i) {
                    values[i] = static_cast<int>(random.next() % 31) - 15;
                    const u32 bits = as_bits(static_cast<float>(values[i]));
                    words[i] = static_cast<uint16_t>(bits >> 16);
                    if (type == 0 && values[i])
                        words[i] = static_cast<uint16_t>(
                            (bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 1023));
                }
            };
            fill(wa, ia);
            fill(wb, ib);
            DeviceArray<uint16_t> dwa(hip(), wa), dwb(hip(), wb);
            DeviceArray<float> dc(hip(), std::vector<float>(kM * kN));
            REQUIRE(m.launch("matmul_wmma_16bit", kN / 16, kM / 16, 32, dwa.get(), dwb.get(), dc.get(), kN,
                             kK, type) == 0);
            const std::vector<float> c = dc.read();
            for (int i = 0; i < kM; ++i)
                for (int j = 0; j < kN; ++j) {
                    int sum = 0;
                    for (int k = 0; k < kK; ++k) sum += ia[i * kK + k] * ib[j * kK + k];
                    REQUIRE(c[i * kN + j] == static_cast<float>(sum));
                }
        }
    });
}

TEST_CASE("objects for a whole family run on its processors", "[programs]") {
    setenv("GFXSIM_DEVICES", "gfx1030,gfx1036,gfx1100,gfx1103,gfx1151,gfx1200,gfx1201", 1);
    const HipClient hip7(GFXSIM_LIBRARY_7);
    const std::vector<std::pair<std::string, std::vector<int>>> families = {
        {"gfx10-3-generic", {0, 1}}, {"gfx11-generic", {2, 3, 4}}, {"gfx12-generic", {5, 6}}};
    Random random;
    constexpr int kM = 32, kN = 48, kK = 64;
    std::vector<int8_t> a(kM * kK), b(kN * kK);
    for (int8_t& v : a) v = static_cast<int8_t>(random.next());
    for (int8_t& v : b) v = static_cast<int8_t>(random.next());
    const std::vector<u32> in = random_words(1024, random);
    for (const auto& [name, devices] : families) {
        const std::string path = std::string(GFXSIM_PROGRAMS) + "/programs_" + name + "_O3.co";
        std::string image = read_file(path);
        for (int device = 0; device < 7; ++device) {
            INFO(name << " on device " << device);
            REQUIRE(hip7("hipSetDevice", device) == 0);
            void* handle = nullptr;
            if (std::find(devices.begin(), devices.end(), device) == devices.end()) {
                CHECK(hip7("hipModuleLoadData", &handle, static_cast<const void*>(image.data())) != 0);
                continue;
            }
            const Module m(hip7, path);
            DeviceArray<u32> din(hip7, in), dout(hip7, std::vector<u32>(4));
            REQUIRE(m.launch("reduce", 4, 1, 256, din.get(), dout.get()) == 0);
            const std::vector<u32> sums = dout.read();
            for (size_t g = 0; g < 4; ++g) {
                u32 sum = 0;
                for (size_t i = 0; i < 256; ++i) sum += in[256 * g + i];
                CHECK(sums[g] == sum);
            }
            const bool wmma = name != "gfx10-3-generic";
            DeviceArray<int8_t> da(hip7, a), db(hip7, b);
            DeviceArray<int> dc(hip7, std::vector<int>(kM * kN));
            if (wmma)
                REQUIRE(m.launch("matmul_wmma_iu8", kN / 16, kM / 16, 32, da.get(), db.get(), dc.get(), kN,
                                 kK, 3) == 0);
            else
                REQUIRE(m.launch("matmul_dot4", kN / 16, kM / 16, 256, da.get(), db.get(), dc.get(), kN,
                                 kK) == 0);
            const std::vector<int> c = dc.read();
            for (int i = 0; i < kM; ++i)
                for (int j = 0; j < kN; ++j) {
                    int sum = 0;
                    for (int k = 0; k < kK; ++k) sum += a[i * kK + k] * b[j * kK + k];
                    REQUIRE(c[i * kN + j] == sum);
                }
        }
        // An object of generic version 0 names no family that any processor is in.
        REQUIRE(hip7("hipSetDevice", devices[0]) == 0);
        image[51] = 0;  // the top byte of e_flags
        void* handle = nullptr;
        CHECK(hip7("hipModuleLoadData", &handle, static_cast<const void*>(image.data())) != 0);
    }
}

#pragma once

// Tables of vector instructions with their expected values. Inputs lie in v1, v2 and v3, the result is v0,
// which holds 0x5a5a5a5a before.

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "wave_fixture.hpp"

namespace gfxsim_test {

using u32 = uint32_t;
using u64 = uint64_t;
using i32 = int32_t;
using i64 = int64_t;

inline float f(u32 v) {
    return std::bit_cast<float>(v);
}
inline u32 b(float v) {
    return std::bit_cast<u32>(v);
}
inline bool nan(u32 v) {
    return (v & 0x7fffffffu) > 0x7f800000u;
}

/// Half-precision value of 16 bits by its definition.
inline double half(u32 v) {
    const int e = v >> 10 & 31, m = v & 1023;
    const double a = e == 31 ? (m ? NAN : INFINITY) : e ? std::ldexp(1024 + m, e - 25) : std::ldexp(m, -24);
    return v & 0x8000 ? -a : a;
}

/// Nearest half, ties to even, by searching among all finite ones.
inline u32 nearest_half(double v) {
    if (std::isnan(v)) return 0x7e00;
    const u32 sign = std::signbit(v) ? 0x8000 : 0;
    const double a = std::fabs(v);
    if (a >= 65520) return sign | 0x7c00;
    u32 lo = 0, hi = 0x7bff;
    while (lo < hi) {
        const u32 mid = (lo + hi + 1) / 2;
        if (half(mid) <= a)
            lo = mid;
        else
            hi = mid - 1;
    }
    const double below = a - half(lo), above = half(lo + 1) - a;
    if (lo < 0x7bff && (above < below || (above == below && (lo & 1)))) ++lo;
    return sign | lo;
}

struct Row {
    const char* text;
    std::function<u32(u32, u32, u32)> expected;
    enum Compare { kBits, kFloat, kHalf, kUlp } compare = kBits;
    const char* targets = "10 11 12";
};

inline const char* target_of(const std::string& generation) {
    return generation == "10" ? "gfx1030" : generation == "11" ? "gfx1100" : "gfx1201";
}

inline bool matches(const Row& row, u32 got, u32 want) {
    switch (row.compare) {
        case Row::kBits:
            return got == want;
        case Row::kFloat:
            return (nan(got) && nan(want)) || got == want;
        case Row::kHalf:
            return (std::isnan(half(got)) && std::isnan(half(want))) || (got & 0xffff) == (want & 0xffff);
        case Row::kUlp: {
            if (nan(got) || nan(want)) return nan(got) && nan(want);
            const i64 x = static_cast<i32>(got & 0x7fffffff), y = static_cast<i32>(want & 0x7fffffff);
            return (got ^ want) >> 31 == 0 && std::abs(x - y) <= 1;
        }
    }
    return false;
}

inline void check_rows(const std::vector<Row>& rows) {
    for (const std::string generation : {"10", "11", "12"}) {
        std::vector<std::string> texts;
        std::vector<const Row*> used;
        for (const Row& r : rows)
            if (std::string(r.targets).find(generation) != std::string::npos) {
                texts.emplace_back(r.text);
                used.push_back(&r);
            }
        if (texts.empty()) continue;
        const auto code = assemble(target_of(generation), texts);
        for (size_t i = 0; i < used.size(); ++i) {
            WaveFixture m(target_of(generation));
            Random random;
            const auto& edges = edge_values();
            int failures = 0;
            // All pairs of edge values, then random bits.
            const size_t pairs = edges.size() * edges.size();
            for (size_t at = 0; at < pairs + 2048 && failures == 0; at += kLanes) {
                for (int l = 0; l < kLanes; ++l) {
                    const size_t n = at + static_cast<size_t>(l);
                    m.wave.v[1][l] = n < pairs ? edges[n / edges.size()] : random.next();
                    m.wave.v[2][l] = n < pairs ? edges[n % edges.size()] : random.next();
                    m.wave.v[3][l] = n < pairs ? edges[random.next() % edges.size()] : random.next();
                    m.wave.v[0][l] = 0x5a5a5a5a;
                }
                const auto v1 = m.wave.v[1], v2 = m.wave.v[2], v3 = m.wave.v[3];
                m.run(code[i]);
                for (int l = 0; l < kLanes && failures == 0; ++l) {
                    const u32 want = used[i]->expected(v1[l], v2[l], v3[l]);
                    if (matches(*used[i], m.wave.v[0][l], want)) continue;
                    ++failures;
                    FAIL_CHECK(target_of(generation)
                               << ": " << used[i]->text << std::hex << "  a=" << v1[l] << " b=" << v2[l]
                               << " c=" << v3[l] << "  got " << m.wave.v[0][l] << ", expected " << want);
                }
            }
            CHECK(failures == 0);
        }
    }
}

inline u32 minimum(u32 x, u32 y, bool max) {
    if (nan(x)) return nan(y) ? 0x7fc00000 : y;
    if (nan(y)) return x;
    if (f(x) == f(y)) return (x >> 31) != (y >> 31) && (x << 1) == 0 ? (max ? 0 : 0x80000000) : x;
    return (f(x) < f(y)) != max ? x : y;
}

inline u32 to_int(u32 v, bool is_signed) {
    if (nan(v)) return 0;
    const double d = std::trunc(static_cast<double>(f(v)));
    if (is_signed)
        return d <= -2147483648.0  ? 0x80000000
               : d >= 2147483647.0 ? 0x7fffffff
                                   : static_cast<u32>(static_cast<i32>(d));
    return d <= 0 ? 0 : d >= 4294967295.0 ? 0xffffffff : static_cast<u32>(d);
}

inline u32 flush(u32 v) {
    return (v & 0x7f800000) == 0 ? v & 0x80000000 : v;
}

}  // namespace gfxsim_test

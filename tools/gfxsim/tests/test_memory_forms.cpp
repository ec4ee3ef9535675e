// Atomics of every address space, buffer descriptors and transposing loads.
#include <cstring>

#include "device_buffer.hpp"
#include "rows.hpp"

using namespace gfxsim_test;

namespace {

const char* const kTargets[] = {"gfx1030", "gfx1100", "gfx1201"};

float f32(u64 v) {
    return f(static_cast<u32>(v));
}
double f64(u64 v) {
    return std::bit_cast<double>(v);
}

/// The lesser or greater number; -0 lies below +0, a NaN loses.
u64 number_of(u64 old, u64 data, bool wide, bool max) {
    const auto value = [&](u64 v) { return wide ? f64(v) : static_cast<double>(f32(v)); };
    const auto negative = [&](u64 v) { return v >> (wide ? 63 : 31) & 1; };
    if (std::isnan(value(data))) return old;
    if (std::isnan(value(old))) return data;
    const bool below =
        value(data) < value(old) || (value(data) == value(old) && negative(data) > negative(old));
    return below != max ? data : old;
}

struct Atomic {
    const char *gfx10, *gfx11, *gfx12;  // after global_atomic_; nullptr where there is none
    bool wide;
    std::function<u64(u64 old, u64 data, u64 second)> expected;  // `second` is the compare value of cmpswap
    bool compare = false;
};

std::vector<Atomic> atomics() {
    std::vector<Atomic> rows;
    for (const bool wide : {false, true}) {
        const u64 mask = wide ? ~u64{0} : 0xffffffff;
        const auto signed_of = [wide](u64 v) {
            return wide ? static_cast<i64>(v) : i64{static_cast<i32>(v)};
        };
        const auto add = [&](const char* a, const char* c, const char* d, std::function<u64(u64, u64, u64)> f,
                             bool compare = false) {
            rows.push_back({a, c, d, wide, [=](u64 x, u64 y, u64 z) { return f(x, y, z) & mask; }, compare});
        };
        const auto pick = [&](const char* narrow, const char* broad) { return wide ? broad : narrow; };
        add(pick("add", "add_x2"), pick("add_u32", "add_u64"), pick("add_u32", "add_u64"),
            [](u64 x, u64 y, u64) { return x + y; });
        add(pick("sub", "sub_x2"), pick("sub_u32", "sub_u64"), pick("sub_u32", "sub_u64"),
            [](u64 x, u64 y, u64) { return x - y; });
        add(pick("smin", "smin_x2"), pick("min_i32", "min_i64"), pick("min_i32", "min_i64"),
            [=](u64 x, u64 y, u64) { return signed_of(y) < signed_of(x) ? y : x; });
        add(pick("umin", "umin_x2"), pick("min_u32", "min_u64"), pick("min_u32", "min_u64"),
            [](u64 x, u64 y, u64) { return y < x ? y : x; });
        add(pick("smax", "smax_x2"), pick("max_i32", "max_i64"), pick("max_i32", "max_i64"),
            [=](u64 x, u64 y, u64) { return signed_of(y) > signed_of(x) ? y : x; });
        add(pick("umax", "umax_x2"), pick("max_u32", "max_u64"), pick("max_u32", "max_u64"),
            [](u64 x, u64 y, u64) { return y > x ? y : x; });
        add(pick("and", "and_x2"), pick("and_b32", "and_b64"), pick("and_b32", "and_b64"),
            [](u64 x, u64 y, u64) { return x & y; });
        add(pick("or", "or_x2"), pick("or_b32", "or_b64"), pick("or_b32", "or_b64"),
            [](u64 x, u64 y, u64) { return x | y; });
        add(pick("xor", "xor_x2"), pick("xor_b32", "xor_b64"), pick("xor_b32", "xor_b64"),
            [](u64 x, u64 y, u64) { return x ^ y; });
        add(pick("inc", "inc_x2"), pick("inc_u32", "inc_u64"), pick("inc_u32", "inc_u64"),
            [](u64 x, u64 y, u64) { return x >= y ? 0 : x + 1; });
        add(pick("dec", "dec_x2"), pick("dec_u32", "dec_u64"), pick("dec_u32", "dec_u64"),
            [](u64 x, u64 y, u64) { return x == 0 || x > y ? y : x - 1; });
        add(pick("swap", "swap_x2"), pick("swap_b32", "swap_b64"), pick("swap_b32", "swap_b64"),
            [](u64, u64 y, u64) { return y; });
        add(
            pick("cmpswap", "cmpswap_x2"), pick("cmpswap_b32", "cmpswap_b64"),
            pick("cmpswap_b32", "cmpswap_b64"), [](u64 x, u64 y, u64 z) { return x == z ? y : x; }, true);
        add(pick("fmin", "fmin_x2"), pick("min_f32", nullptr), pick("min_num_f32", nullptr),
            [=](u64 x, u64 y, u64) { return number_of(x, y, wide, false); });
        add(pick("fmax", "fmax_x2"), pick("max_f32", nullptr), pick("max_num_f32", nullptr),
            [=](u64 x, u64 y, u64) { return number_of(x, y, wide, true); });
        add(
            pick("fcmpswap", "fcmpswap_x2"), pick("cmpswap_f32", nullptr), nullptr,
            [=](u64 x, u64 y, u64 z) { return (wide ? f64(x) == f64(z) : f32(x) == f32(z)) ? y : x; }, true);
    }
    rows.push_back(
        {"csub", "csub_u32", "sub_clamp_u32", false, [](u64 x, u64 y, u64) { return x < y ? 0 : x - y; }});
    rows.push_back(
        {nullptr, nullptr, "cond_sub_u32", false, [](u64 x, u64 y, u64) { return x < y ? x : x - y; }});
    rows.push_back(
        {nullptr, "add_f32", "add_f32", false, [](u64 x, u64 y, u64) { return b(f32(x) + f32(y)); }});
    rows.push_back({nullptr, nullptr, "pk_add_f16", false, [](u64 x, u64 y, u64) {
                        const auto one = [](u64 p, u64 q) {
                            return nearest_half(half(static_cast<u32>(p & 65535)) +
                                                half(static_cast<u32>(q & 65535)));
                        };
                        return u64{one(x, y)} | u64{one(x >> 16, y >> 16)} << 16;
                    }});
    rows.push_back({nullptr, nullptr, "pk_add_bf16", false, [](u64 x, u64 y, u64) {
                        const auto one = [](u64 p, u64 q) {
                            const u32 s = b(f(static_cast<u32>(p) << 16) + f(static_cast<u32>(q) << 16));
                            return nan(s) ? u64{0x7fc0} : u64{(s + 0x7fff + (s >> 16 & 1)) >> 16};
                        };
                        return one(x, y) | one(x >> 16, y >> 16) << 16;
                    }});
    return rows;
}

/// Values that lie close to each other often enough for every branch, without NaN.
u64 draw(Random& random, bool wide) {
    static const u32 values[] = {0,          1,          2,          3,          0x7fffffff,
                                 0x80000000, 0xffffffff, 0x3f800000, 0xbf800000, 0x3c003c00};
    const auto one = [&] {
        return random.next() % 3 ? values[random.next() % 10] : random.next() & 0xbf7fbf7f;
    };
    const u64 low = one();
    return wide ? u64{one()} << 32 | low : low;
}

bool is_nan_pair(const Atomic& row, u64 want, u64 got) {
    // A NaN that an addition made has no promised payload.
    const std::string name = row.gfx12 ? row.gfx12 : "";
    if (name == "add_f32") return std::isnan(f32(want)) && std::isnan(f32(got));
    if (name.rfind("pk_add", 0) == 0) {
        const auto both = [&](int shift) {
            const u32 p = static_cast<u32>(want >> shift & 0xffff),
                      q = static_cast<u32>(got >> shift & 0xffff);
            if (p == q) return true;
            return name == "pk_add_f16" ? std::isnan(half(p)) && std::isnan(half(q))
                                        : nan(p << 16) && nan(q << 16);
        };
        return both(0) && both(16);
    }
    return false;
}

void put64(WaveFixture& m, int reg, int lane, u64 v) {
    m.wave.v[reg][lane] = static_cast<u32>(v);
    m.wave.v[reg + 1][lane] = static_cast<u32>(v >> 32);
}

void put_scalar64(WaveFixture& m, int reg, u64 v) {
    m.wave.s[reg] = static_cast<u32>(v);
    m.wave.s[reg + 1] = static_cast<u32>(v >> 32);
}

std::string range(int first, int count) {
    return count == 1 ? "v" + std::to_string(first)
                      : "v[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
}

/// Instructions that are collected in one pass over a table, assembled together, and handed out in the next.
class Snippets {
  public:
    explicit Snippets(const char* target) : target_(target) {}
    /// Whether this is the pass that executes.
    bool add(const std::string& text, bool execute) {
        if (!execute) texts_.push_back(text);
        return execute;
    }
    const std::vector<uint8_t>& next() {
        if (code_.empty()) code_ = assemble(target_, texts_);
        return code_.at(at_++);
    }

  private:
    std::string target_;
    std::vector<std::string> texts_;
    std::vector<std::vector<uint8_t>> code_;
    size_t at_ = 0;
};

}  // namespace

TEST_CASE("global, flat and buffer atomics", "[memory]") {
    Random random;
    const std::vector<Atomic> rows = atomics();
    for (const char* target : kTargets) {
        const bool gfx10 = std::string(target) == "gfx1030", gfx12 = std::string(target) == "gfx1201";
        Snippets snippets(target);
        for (const bool execute : {false, true})
            for (const Atomic& row : rows) {
                const char* name = gfx10 ? row.gfx10 : gfx12 ? row.gfx12 : row.gfx11;
                if (!name) continue;
                const int words = row.wide ? 2 : 1, operands = row.compare ? 2 * words : words;
                for (const std::string space : {"global", "flat", "buffer"}) {
                    // Not every form exists everywhere.
                    if (space == "flat" && (std::string(name).find("csub") == 0)) continue;
                    for (const bool returns : {true, false}) {
                        // These always return.
                        if (!returns && std::string(name).find("csub") == 0) continue;
                        const std::string flag = !returns ? "" : gfx12 ? " th:TH_ATOMIC_RETURN" : " glc";
                        const std::string old = range(10, words) + ", ", data = range(20, operands);
                        std::string text = space + "_atomic_" + name + " ";
                        if (space == "buffer")
                            text += data + ", v0, s[8:11], s6 offen offset:8" + flag;
                        else
                            text += (returns ? old : "") + "v[2:3], " + data +
                                    (space == "global" ? ", off" : "") + flag;
                        if (!snippets.add(text, execute)) continue;
                        INFO(target << " " << text);
                        Buffer memory(1024);
                        WaveFixture m(target);
                        const u64 base = reinterpret_cast<u64>(memory.p);
                        u64 before[kLanes], value[kLanes], second[kLanes];
                        m.wave.s[kExecLo] = 0xfff0ffff;
                        m.wave.s[6] = 16;
                        put_scalar64(m, 8, base);
                        m.wave.s[10] = 1024;
                        m.wave.s[11] = 0;
                        for (int l = 0; l < kLanes; ++l) {
                            before[l] = draw(random, row.wide);
                            value[l] = draw(random, row.wide);
                            second[l] = random.next() % 2 ? before[l] : draw(random, row.wide);
                            m.wave.v[0][l] = static_cast<u32>(8 * l);
                            put64(m, 2, l, base + 24 + static_cast<u64>(8 * l));
                            put64(m, 20, l, value[l]);
                            if (row.compare) put64(m, 20 + words, l, second[l]);
                            put64(m, 10, l, 0x1234);
                            std::memcpy(memory.p + 24 + 8 * l, &before[l], 8);
                        }
                        m.run(snippets.next());
                        for (int l = 0; l < kLanes; ++l) {
                            u64 after = 0, returned = 0;
                            std::memcpy(&after, memory.p + 24 + 8 * l, static_cast<size_t>(4 * words));
                            const int at = space == "buffer" ? 20 : 10;
                            for (int k = 0; k < words; ++k) returned |= u64{m.wave.v[at + k][l]} << (32 * k);
                            const bool active = 0xfff0ffffu >> l & 1;
                            const u64 want =
                                active ? row.expected(before[l], value[l], second[l]) : before[l];
                            INFO("lane " << l << std::hex << " old " << before[l] << " data " << value[l]);
                            REQUIRE((after == want || is_nan_pair(row, want, after)));
                            if (active && returns)
                                REQUIRE(returned == before[l]);
                            else
                                REQUIRE(returned == (space == "buffer" ? value[l] : 0x1234));
                        }
                    }
                }
            }
    }
}

TEST_CASE("LDS atomics", "[memory]") {
    struct LdsAtomic {
        const char *stem, *suffix;  // ds_<stem>[_rtn]<suffix>
        const char* targets;
        bool wide, two;
        std::function<u64(u64 old, u64 data, u64 second)> expected;
        int forms = 3;  // 1 without, 2 with return
    };
    const auto f_equal = [](u64 x, u64 z) { return f32(x) == f32(z); };
    const std::vector<LdsAtomic> rows = {
        {"add", "_u32", "10 11 12", false, false, [](u64 x, u64 y, u64) { return x + y; }},
        {"add", "_u64", "10 11 12", true, false, [](u64 x, u64 y, u64) { return x + y; }},
        {"sub", "_u32", "10 11 12", false, false, [](u64 x, u64 y, u64) { return x - y; }},
        {"sub", "_u64", "10 11 12", true, false, [](u64 x, u64 y, u64) { return x - y; }},
        {"rsub", "_u32", "10 11 12", false, false, [](u64 x, u64 y, u64) { return y - x; }},
        {"rsub", "_u64", "10 11 12", true, false, [](u64 x, u64 y, u64) { return y - x; }},
        {"inc", "_u32", "10 11 12", false, false, [](u64 x, u64 y, u64) { return x >= y ? 0 : x + 1; }},
        {"inc", "_u64", "10 11 12", true, false, [](u64 x, u64 y, u64) { return x >= y ? 0 : x + 1; }},
        {"dec", "_u32", "10 11 12", false, false, [](u64 x, u64 y, u64) { return x == 0 || x > y ? y : x - 1; }},
        {"dec", "_u64", "10 11 12", true, false, [](u64 x, u64 y, u64) { return x == 0 || x > y ? y : x - 1; }},
        {"min", "_i32", "10 11 12", false, false,
         [](u64 x, u64 y, u64) { return static_cast<i32>(y) < static_cast<i32>(x) ? y : x; }},
        {"max", "_i64", "10 11 12", true, false,
         [](u64 x, u64 y, u64) { return static_cast<i64>(y) > static_cast<i64>(x) ? y : x; }},
        {"min", "_u32", "10 11 12", false, false, [](u64 x, u64 y, u64) { return y < x ? y : x; }},
        {"max", "_u32", "10 11 12", false, false, [](u64 x, u64 y, u64) { return y > x ? y : x; }},
        {"min", "_i64", "10 11 12", true, false,
         [](u64 x, u64 y, u64) { return static_cast<i64>(y) < static_cast<i64>(x) ? y : x; }},
        {"max", "_i32", "10 11 12", false, false,
         [](u64 x, u64 y, u64) { return static_cast<i32>(y) > static_cast<i32>(x) ? y : x; }},
        {"min", "_u64", "10 11 12", true, false, [](u64 x, u64 y, u64) { return y < x ? y : x; }},
        {"max", "_u64", "10 11 12", true, false, [](u64 x, u64 y, u64) { return y > x ? y : x; }},
        {"and", "_b32", "10 11 12", false, false, [](u64 x, u64 y, u64) { return x & y; }},
        {"or", "_b64", "10 11 12", true, false, [](u64 x, u64 y, u64) { return x | y; }},
        {"xor", "_b32", "10 11 12", false, false, [](u64 x, u64 y, u64) { return x ^ y; }},
        {"mskor", "_b32", "10 11 12", false, true, [](u64 x, u64 y, u64 z) { return (x & ~y) | z; }},
        {"mskor", "_b64", "10 11 12", true, true, [](u64 x, u64 y, u64 z) { return (x & ~y) | z; }},
        {"wrap", "_b32", "10 11", false, true, [](u64 x, u64 y, u64 z) { return x >= y ? x - y : x + z; }, 2},
        {"condxchg32", "_b64", "10 11 12", true, false,
         [](u64 x, u64 y, u64) {
             const u64 low = y >> 31 & 1 ? y & 0x7fffffff : x & 0xffffffff;
             const u64 high = y >> 63 ? y >> 32 & 0x7fffffff : x >> 32;
             return high << 32 | low;
         },
         2},
        {"wrxchg", "_b32", "10", false, false, [](u64, u64 y, u64) { return y; }, 2},
        {"storexchg", "_b64", "11 12", true, false, [](u64, u64 y, u64) { return y; }, 2},
        // The compare value comes first on gfx10, second later.
        {"cmpst", "_b32", "10", false, true, [](u64 x, u64 y, u64 z) { return x == y ? z : x; }},
        {"cmpst", "_b64", "10", true, true, [](u64 x, u64 y, u64 z) { return x == y ? z : x; }},
        {"cmpst", "_f32", "10", false, true, [&](u64 x, u64 y, u64 z) { return f_equal(x, y) ? z : x; }},
        {"cmpst", "_f64", "10", true, true, [](u64 x, u64 y, u64 z) { return f64(x) == f64(y) ? z : x; }},
        {"cmpstore", "_b32", "11 12", false, true, [](u64 x, u64 y, u64 z) { return x == z ? y : x; }},
        {"cmpstore", "_b64", "11 12", true, true, [](u64 x, u64 y, u64 z) { return x == z ? y : x; }},
        {"cmpstore", "_f32", "11", false, true, [&](u64 x, u64 y, u64 z) { return f_equal(x, z) ? y : x; }},
        {"cmpstore", "_f64", "11", true, true, [](u64 x, u64 y, u64 z) { return f64(x) == f64(z) ? y : x; }},
        {"min", "_f32", "10 11", false, false, [](u64 x, u64 y, u64) { return number_of(x, y, false, false); }},
        {"max", "_f64", "10 11", true, false, [](u64 x, u64 y, u64) { return number_of(x, y, true, true); }},
        {"min", "_f64", "10 11", true, false, [](u64 x, u64 y, u64) { return number_of(x, y, true, false); }},
        {"max", "_f32", "10 11", false, false, [](u64 x, u64 y, u64) { return number_of(x, y, false, true); }},
        {"min_num", "_f32", "12", false, false, [](u64 x, u64 y, u64) { return number_of(x, y, false, false); }},
        {"max_num", "_f64", "12", true, false, [](u64 x, u64 y, u64) { return number_of(x, y, true, true); }},
        {"add", "_f32", "10 11 12", false, false, [](u64 x, u64 y, u64) { return b(f32(x) + f32(y)); }},
        {"sub_clamp", "_u32", "12", false, false, [](u64 x, u64 y, u64) { return x < y ? 0 : x - y; }},
        {"cond_sub", "_u32", "12", false, false, [](u64 x, u64 y, u64) { return x < y ? x : x - y; }},
        {"pk_add", "_f16", "12", false, false,
         [](u64 x, u64 y, u64) {
             const auto one = [](u64 p, u64 q) {
                 return nearest_half(half(static_cast<u32>(p & 65535)) + half(static_cast<u32>(q & 65535)));
             };
             return u64{one(x, y)} | u64{one(x >> 16, y >> 16)} << 16;
         }},
    };
    Random random;
    for (const char* target : kTargets) {
        Snippets snippets(target);
        for (const bool execute : {false, true})
            for (const LdsAtomic& row : rows) {
                if (std::string(row.targets).find(std::string(target).substr(3, 2)) == std::string::npos)
                    continue;
                const u64 mask = row.wide ? ~u64{0} : 0xffffffff;
                const int words = row.wide ? 2 : 1;
                for (const bool returns : {false, true}) {
                    if (!(row.forms & (returns ? 2 : 1))) continue;
                    const std::string text = std::string("ds_") + row.stem + (returns ? "_rtn" : "") +
                                             row.suffix + " " + (returns ? range(10, words) + ", " : "") +
                                             "v0, " + range(20, words) +
                                             (row.two ? ", " + range(24, words) : "") + " offset:16";
                    if (!snippets.add(text, execute)) continue;
                    INFO(target << " " << text);
                    WaveFixture m(target);
                    u64 before[kLanes], value[kLanes], second[kLanes];
                    for (int l = 0; l < kLanes; ++l) {
                        before[l] = draw(random, row.wide) & mask;
                        value[l] = (random.next() % 3 ? draw(random, row.wide) : before[l]) & mask;
                        second[l] = (random.next() % 2 ? draw(random, row.wide) : before[l]) & mask;
                        m.wave.v[0][l] = static_cast<u32>(8 * l);
                        put64(m, 20, l, value[l]);
                        put64(m, 24, l, second[l]);
                        std::memcpy(m.group.lds.data() + 16 + 8 * l, &before[l], 8);
                    }
                    m.run(snippets.next());
                    for (int l = 0; l < kLanes; ++l) {
                        u64 after = 0;
                        std::memcpy(&after, m.group.lds.data() + 16 + 8 * l, static_cast<size_t>(4 * words));
                        const u64 want = row.expected(before[l], value[l], second[l]) & mask;
                        INFO("lane " << l << std::hex << " old " << before[l] << " data " << value[l]
                                     << " second " << second[l] << " got " << after << ", expected " << want);
                        const bool no_number = std::string(row.suffix) == "_f32" && std::isnan(f32(want)) &&
                                               std::isnan(f32(after));
                        REQUIRE((after == want || no_number ||
                                 (std::string(row.stem) == "pk_add" &&
                                  std::isnan(half(static_cast<u32>(want & 0xffff))))));
                        u64 returned = 0;
                        for (int k = 0; k < words; ++k) returned |= u64{m.wave.v[10 + k][l]} << (32 * k);
                        if (returns) REQUIRE(returned == before[l]);
                    }
                }
            }
    }
}

TEST_CASE("LDS exchanges at two addresses", "[memory]") {
    for (const char* target : kTargets)
        for (const bool wide : {false, true})
            for (const bool stride : {false, true}) {
                const bool gfx10 = std::string(target) == "gfx1030";
                const int words = wide ? 2 : 1;
                const std::string name = std::string(gfx10 ? "ds_wrxchg2" : "ds_storexchg_2addr") +
                                         (stride ? gfx10 ? "st64" : "_stride64" : "") +
                                         (wide ? "_rtn_b64" : "_rtn_b32");
                INFO(target << " " << name);
                const u32 unit = static_cast<u32>(4 * words) * (stride ? 64 : 1);
                WaveFixture m(target, 8192);
                for (int l = 0; l < kLanes; ++l) {
                    m.wave.v[0][l] = static_cast<u32>(l) * (stride ? 8 : 16);
                    for (int k = 0; k < 2; ++k) {
                        m.wave.v[20 + k][l] = 100u + static_cast<u32>(l + 1000 * k);
                        m.wave.v[22 + k][l] = 5000u + static_cast<u32>(l + 1000 * k);
                    }
                }
                for (u32 i = 0; i < 2048; ++i) std::memcpy(m.group.lds.data() + 4 * i, &i, 4);
                m.run(name + " " + range(10, 2 * words) + ", v0, " + range(20, words) + ", " +
                      range(22, words) + " offset0:0 offset1:1");
                for (u32 l = 0; l < kLanes; ++l)
                    for (u32 part = 0; part < 2; ++part)
                        for (u32 k = 0; k < static_cast<u32>(words); ++k) {
                            const u32 at = l * (stride ? 8 : 16) + part * unit + 4 * k;
                            u32 after = 0;
                            std::memcpy(&after, m.group.lds.data() + at, 4);
                            REQUIRE(after == (part ? 5000 : 100) + l + 1000 * k);
                            REQUIRE(m.wave.v[10 + part * static_cast<u32>(words) + k][l] == at / 4);
                        }
            }
}

TEST_CASE("buffer descriptors", "[memory]") {
    for (const char* target : kTargets) {
        INFO(target);
        const bool gfx10 = std::string(target) == "gfx1030";
        const std::string load = gfx10 ? "buffer_load_dword" : "buffer_load_b32",
                          store = gfx10 ? "buffer_store_dword" : "buffer_store_b32",
                          none = std::string(target) == "gfx1201" ? "null" : "0";
        Buffer memory(4096);
        for (u32 i = 0; i < 1024; ++i) std::memcpy(memory.p + 4 * i, &i, 4);
        WaveFixture m(target);
        const u64 base = reinterpret_cast<u64>(memory.p);
        const auto describe = [&](u32 stride, u32 records) {
            m.wave.s[8] = static_cast<u32>(base);
            m.wave.s[9] = static_cast<u32>(base >> 32) | stride << 16;
            m.wave.s[10] = records;
            m.wave.s[11] = 0;
        };
        m.wave.s[6] = 64;
        for (int l = 0; l < kLanes; ++l) {
            m.wave.v[0][l] = static_cast<u32>(l);
            m.wave.v[1][l] = static_cast<u32>(4 * (l % 4));
            m.wave.v[2][l] = static_cast<u32>(8 * l);
        }
        // Raw: offset in bytes; the last lanes lie past the end. The scalar offset does not count for that.
        describe(0, 200);
        m.wave.v[4].fill(9);
        m.run(load + " v4, v2, s[8:11], s6 offen offset:4");
        for (u32 l = 0; l < kLanes; ++l) CHECK(m.wave.v[4][l] == (8 * l + 8 <= 200 ? 16 + 2 * l + 1 : 0));
        // Indexed, and indexed with offset.
        describe(16, 20);
        m.run(load + " v4, v0, s[8:11], " + none + " idxen\n" + load + " v5, v[0:1], s[8:11], " + none +
              " idxen offen");
        for (u32 l = 0; l < kLanes; ++l) {
            CHECK(m.wave.v[4][l] == (l < 20 ? 4 * l : 0));
            CHECK(m.wave.v[5][l] == (l < 20 ? 4 * l + l % 4 : 0));
        }
        // Stores past the end vanish.
        describe(0, 64);
        m.wave.v[6].fill(77);
        m.run(store + " v6, v2, s[8:11], " + none + " offen");
        for (u32 i = 0; i < 64; ++i) {
            u32 v = 0;
            std::memcpy(&v, memory.p + 4 * i, 4);
            CHECK(v == (i % 2 == 0 && i < 16 ? 77 : i));
        }
        // What the descriptor allows must still be live memory.
        describe(0, 8192);
        m.wave.v[2][5] = 4096;
        CHECK_THROWS_AS(m.run(load + " v4, v2, s[8:11], " + none + " offen"), Fault);
        // Undefined values go through and end at the bounds.
        m.worker.track_undefined = true;
        m.wave.v[2][5] = 40;
        describe(0, 100);
        m.forget_vector(4, ~0u);
        m.run(load + " v4, v2, s[8:11], " + none + " offen");
        CHECK(m.unknown(4, 0) == ~0u);  // nobody defined this memory
        CHECK(m.unknown(4, 20) == 0);   // reads as zero
        MemoryMap::instance().mark_defined(memory.p, 4096);
        m.worker.cache.clear();
        m.run(load + " v4, v2, s[8:11], " + none + " offen");
        CHECK_FALSE(m.wave.undefined.test(4));
        m.forget_scalar(10, 1);
        CHECK_THROWS_AS(m.run(load + " v4, v2, s[8:11], " + none + " offen"), Fault);
        m.worker.track_undefined = false;
        // Scalar loads through a descriptor.
        describe(0, 20);
        const std::string scalar = gfx10 ? "s_buffer_load_dwordx2" : "s_buffer_load_b64";
        m.run(scalar + " s[12:13], s[8:11], 0x8\n" + scalar + " s[14:15], s[8:11], 0x10");
        CHECK(m.wave.s64(12) == (u64{3} << 32 | 77));
        CHECK(m.wave.s64(14) == 0);
    }
}

TEST_CASE("transposing loads", "[memory]") {
    WaveFixture m("gfx1201");
    Buffer memory(4096);
    Random random;
    for (int i = 0; i < 4096; ++i) memory.p[i] = static_cast<uint8_t>(random.next());
    const u64 base = reinterpret_cast<u64>(memory.p);
    for (const int width : {16, 8}) {
        // Lane l names eight elements of 64 bytes apart rows.
        for (int l = 0; l < kLanes; ++l) put64(m, 2, l, base + static_cast<u64>(64 * l));
        m.run(width == 16 ? "global_load_tr_b128 v[4:7], v[2:3], off"
                          : "global_load_tr_b64 v[4:5], v[2:3], off");
        for (int l = 0; l < kLanes; ++l)
            for (int k = 0; k < 8; ++k) {
                const int per = 32 / width, row = l / 8 * 8 + k, bytes = width / 8;
                u32 want = 0;
                std::memcpy(&want, memory.p + 64 * row + bytes * (l % 8), static_cast<size_t>(bytes));
                REQUIRE((m.wave.v[4 + k / per][l] >> (width * (k % per)) & ((1u << width) - 1)) == want);
            }
    }
    m.worker.track_undefined = true;
    MemoryMap::instance().mark_defined(memory.p, 64 * 9);
    m.run("global_load_tr_b128 v[4:7], v[2:3], off");
    CHECK(m.unknown(4, 3) == 0);
    CHECK(m.unknown(4, 9) == 0xffff0000);  // element 0 comes from lane 8, element 1 from lane 9
    m.wave.s[kExecLo] = 0xffff;
    CHECK_THROWS_AS(m.run("global_load_tr_b128 v[4:7], v[2:3], off"), Fault);
}

TEST_CASE("lane permutations through LDS hardware", "[lane]") {
    for (const char* target : kTargets) {
        WaveFixture m(target);
        for (int l = 0; l < kLanes; ++l) {
            m.wave.v[1][l] = 100 + static_cast<u32>(l);
            m.wave.v[2][l] = 4 * static_cast<u32>((5 * l + 7) % 32);
        }
        m.wave.s[kExecLo] = 0xffffff0f;
        m.wave.v[3].fill(1);
        m.wave.v[4].fill(1);
        m.run("ds_permute_b32 v3, v2, v1\nds_bpermute_b32 v4, v2, v1");
        u32 sent[kLanes] = {};
        for (int l = 0; l < kLanes; ++l)
            if (0xffffff0fu >> l & 1) sent[(5 * l + 7) % 32] = 100 + static_cast<u32>(l);
        for (int l = 0; l < kLanes; ++l) {
            const bool active = 0xffffff0fu >> l & 1;
            const int from = (5 * l + 7) % 32;
            INFO(target << " lane " << l);
            CHECK(m.wave.v[3][l] == (active ? sent[l] : 1));
            CHECK(m.wave.v[4][l] == (!active                   ? 1u
                                     : 0xffffff0fu >> from & 1 ? 100u + static_cast<u32>(from)
                                                               : 0u));
        }
        if (std::string(target) != "gfx1201") continue;
        m.run("ds_bpermute_fi_b32 v4, v2, v1");
        for (int l = 0; l < kLanes; ++l)
            CHECK(m.wave.v[4][l] == (0xffffff0fu >> l & 1 ? 100u + static_cast<u32>((5 * l + 7) % 32) : 1u));
    }
}

// LDS passes and bank conflicts, cache lines and bytes of single instructions.
#include <catch2/catch.hpp>

#include "counters.hpp"
#include "wave_fixture.hpp"

using namespace gfxsim_test;

namespace {

MemoryCount count(WaveFixture& f, const std::string& text) {
    const std::vector<uint8_t> code = assemble(f.target_.name, {text})[0];
    const uint64_t begin = reinterpret_cast<uint64_t>(code.data());
    const CodeImage image(f.target_, begin, begin + code.size());
    MemoryCount c;
    count_memory(f.wave, image.at(begin), c);
    return c;
}

/// v0 = lane * stride + offset
void addresses(WaveFixture& f, uint32_t stride, uint32_t offset = 0) {
    for (int l = 0; l < kLanes; ++l) f.wave.v[0][l] = static_cast<uint32_t>(l) * stride + offset;
}

}  // namespace

TEST_CASE("LDS passes", "[counters]") {
    struct Row {
        const char* text;
        uint32_t stride;
        uint64_t passes, conflicts;
    };
    // clang-format off
    static const Row rows[] = {
        {"ds_load_b32 v1, v0", 4, 1, 0},
        {"ds_load_b32 v1, v0", 0, 1, 0},       // broadcast
        {"ds_load_b32 v1, v0", 8, 2, 1},       // even banks only
        {"ds_load_b32 v1, v0", 12, 1, 0},
        {"ds_load_b32 v1, v0", 128, 32, 31},   // one bank
        {"ds_load_b32 v1, v0", 132, 1, 0},     // padded row
        {"ds_load_u8 v1, v0", 1, 1, 0},
        {"ds_load_b64 v[1:2], v0", 8, 2, 0},
        {"ds_load_b64 v[1:2], v0", 16, 4, 2},
        {"ds_load_b64 v[1:2], v0", 24, 2, 0},  // an odd multiple of the width
        {"ds_load_b128 v[1:4], v0", 16, 4, 0},
        {"ds_load_b128 v[1:4], v0", 48, 4, 0},
        {"ds_load_b128 v[1:4], v0", 32, 8, 4},
        {"ds_load_b128 v[1:4], v0", 128, 32, 28},
        {"ds_store_b32 v0, v1", 256, 32, 31},
        {"ds_load_2addr_b32 v[1:2], v0 offset0:0 offset1:1", 8, 4, 2},
        {"ds_add_u32 v0, v1", 0, 32, 31},      // atomics do not share
    };
    // clang-format on
    for (const Row& r : rows) {
        INFO(r.text << " stride " << r.stride);
        WaveFixture f("gfx1201", 16384);
        addresses(f, r.stride);
        const MemoryCount c = count(f, r.text);
        CHECK(c.requests == 1);
        CHECK(c.lds_passes == r.passes);
        CHECK(c.lds_conflicts == r.conflicts);
    }
    WaveFixture f("gfx1201", 16384);
    addresses(f, 128);
    f.wave.s[kExecLo] = 0x7;
    CHECK(count(f, "ds_load_b32 v1, v0").lds_passes == 3);
    CHECK(count(f, "ds_load_b128 v[1:4], v0").lds_passes == 3);
    CHECK(count(f, "ds_load_b128 v[1:4], v0").bytes == 48);
    f.wave.s[kExecLo] = 0;
    CHECK(count(f, "ds_load_b32 v1, v0").requests == 0);
}

TEST_CASE("global lines", "[counters]") {
    WaveFixture f("gfx1201");
    const auto check = [&](const char* text, uint32_t stride, uint32_t offset, uint64_t lines,
                           uint64_t halves, uint64_t bytes) {
        INFO(text << " stride " << stride << " offset " << offset);
        addresses(f, stride, offset);
        f.wave.s[2] = 0;
        f.wave.s[3] = 0x10;
        const MemoryCount c = count(f, text);
        CHECK(c.requests == 1);
        CHECK(c.lines == lines);
        CHECK(c.half_lines == halves);
        CHECK(c.bytes == bytes);
    };
    check("global_load_b32 v1, v0, s[2:3]", 4, 0, 1, 2, 128);
    check("global_load_b32 v1, v0, s[2:3]", 4, 64, 2, 2, 128);
    check("global_load_b32 v1, v0, s[2:3]", 4, 4, 2, 3, 128);
    check("global_load_b32 v1, v0, s[2:3]", 128, 0, 32, 32, 128);
    check("global_load_b32 v1, v0, s[2:3]", 0, 0, 1, 1, 128);
    check("global_store_b64 v0, v[2:3], s[2:3]", 8, 0, 2, 4, 256);
    check("global_load_b128 v[4:7], v0, s[2:3]", 16, 0, 4, 8, 512);
    check("global_load_b128 v[4:7], v0, s[2:3]", 128, 120, 33, 64, 512);
}

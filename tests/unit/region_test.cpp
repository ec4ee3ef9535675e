// Overlap of strided memory, against painting every byte.
#include <random>
#include <set>

#include "catch.hpp"
#include "core/region.hpp"

using namespace ckitchen;

namespace {

Region make(uint64_t base, int64_t run, std::initializer_list<Dimension> dimensions) {
    Region region;
    region.base = base;
    region.run = run;
    for (const Dimension& d : dimensions) region.dimensions.push_back(d);
    return region;
}

// Every byte of a region, or nothing when one is met twice.
bool paint(const Region& region, std::set<uint64_t>& bytes) {
    bool once = true;
    std::vector<int64_t> offsets{0};
    for (const Dimension& d : region.dimensions) {
        std::vector<int64_t> next;
        for (int64_t offset : offsets) {
            for (int64_t i = 0; i < d.extent; ++i) next.push_back(offset + i * d.stride);
        }
        offsets = next;
    }
    for (int64_t offset : offsets) {
        for (int64_t i = 0; i < region.run; ++i) once = bytes.insert(region.base + offset + i).second && once;
    }
    return once;
}

}  // namespace

TEST_CASE("interleaved rows do not overlap, shifted ones do") {
    const Region even = make(1000, 16, {{64, 100}});
    CHECK_FALSE(overlaps(even, make(1016, 48, {{64, 100}})));
    CHECK(overlaps(even, make(1016, 49, {{64, 100}})));
    CHECK(overlaps(even, make(1000 + 64 * 99 + 15, 1, {})));
    CHECK_FALSE(overlaps(even, make(1000 + 64 * 99 + 16, 1, {})));
    CHECK_FALSE(overlaps(even, make(984, 16, {})));
    CHECK(overlaps(even, make(985, 16, {})));
    CHECK_FALSE(overlaps(even, Region{}));
}

TEST_CASE("overlap agrees with painting") {
    std::mt19937 random(7);
    const auto pick = [&](int low, int high) {
        return std::uniform_int_distribution<int>(low, high)(random);
    };
    int meet = 0;
    int repeat = 0;
    for (int round = 0; round < 4000; ++round) {
        Region regions[2];
        for (Region& region : regions) {
            region.base = 10000 + pick(0, 120);
            region.run = pick(1, 6);
            for (int d = pick(0, 3); d > 0; --d) region.dimensions.push_back({pick(-40, 40), pick(1, 5)});
        }
        std::set<uint64_t> first;
        std::set<uint64_t> second;
        const bool once = paint(regions[0], first);
        paint(regions[1], second);
        bool common = false;
        for (uint64_t byte : first) common = common || second.count(byte) != 0;
        INFO("round " << round);
        REQUIRE(overlaps(regions[0], regions[1]) == common);
        REQUIRE(overlaps(regions[1], regions[0]) == common);
        REQUIRE(overlaps_itself(regions[0]) == !once);
        meet += common ? 1 : 0;
        repeat += once ? 0 : 1;
    }
    // Both answers were really asked for.
    CHECK(meet > 500);
    CHECK(meet < 3500);
    CHECK(repeat > 500);
    CHECK(repeat < 3500);
}

TEST_CASE("checks name the argument") {
    const auto message = [](auto&& fill) {
        Regions regions;
        fill(regions);
        const Status status = regions.check(false);
        return status.ok() ? regions.check_overlap().message() : status.message();
    };
    char memory[64];
    CHECK(message([&](Regions& r) { r.input("a", nullptr, 2, 2, 2, 1); }) == "a is NULL");
    CHECK(message([&](Regions& r) { r.input("a", nullptr, 0, 2, 2, 1); }).empty());
    CHECK(message([&](Regions& r) { r.optional_input("a", nullptr, 2, 2, 2, 1); }).empty());
    CHECK(message([&](Regions& r) { r.input("a", memory, int64_t{1} << 40, 8, int64_t{1} << 40, 4); }) ==
          "a: its size in bytes does not fit 63 bits");
    CHECK(message([&](Regions& r) {
              r.input("a", reinterpret_cast<void*>(~uint64_t{7}), 1, 64, 64, 1);
          }).find("leave the address space") != std::string::npos);
    const std::string overlap = message([&](Regions& r) {
        r.input("a", memory, 1, 32, 32, 1);
        r.output("c", memory + 31, 1, 8, 8, 1);
    });
    CHECK(overlap.find("c at 0x") == 0);
    CHECK(overlap.find("overlaps a at 0x") != std::string::npos);
    Regions query;
    query.input("a", nullptr, 2, 2, 2, 1);
    CHECK(query.check(true).ok());
}

TEST_CASE("a definite alias is let through, a shifted one is not") {
    char memory[64];
    for (const int shift : {0, 1}) {
        Regions regions;
        regions.input("x", memory, 2, 8, 16, 1);
        regions.output("y", memory + shift, 2, 8, 16, 1);
        CHECK(regions.check_overlap("x", "y").ok() == (shift == 0));
        CHECK_FALSE(regions.check_overlap().ok());
    }
}

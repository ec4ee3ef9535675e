// Threads that hand blocks on, and failures that cross between them.
#include "pipeline.hpp"

#include <stdexcept>

#include "catch.hpp"
#include "support.hpp"

namespace ckitchen::cli::test {
namespace {

TEST_CASE("Items arrive in order through a short queue") {
    ReadAhead<int> reader(2, [](BoundedQueue<int>& queue) {
        for (int i = 0; i < 1000; ++i) {
            if (!queue.push(i)) return;
        }
    });
    for (int i = 0; i < 1000; ++i) REQUIRE(reader.next() == i);
    CHECK_FALSE(reader.next().has_value());
    CHECK_FALSE(reader.next().has_value());
}

TEST_CASE("A reader that fails hands its failure on") {
    ReadAhead<int> reader(2, [](BoundedQueue<int>&) { throw std::runtime_error("disk"); });
    CHECK_THROWS_WITH(reader.next(), "disk");
}

TEST_CASE("A reader that nobody listens to any more stops") {
    bool stopped = false;
    {
        ReadAhead<int> reader(1, [&](BoundedQueue<int>& queue) {
            while (queue.push(0)) {
            }
            stopped = true;
        });
        CHECK(reader.next() == 0);
    }
    CHECK(stopped);
}

TEST_CASE("Blocks written behind reach the file") {
    const TemporaryFolder folder;
    SafetensorsWriter writer(folder / "out", {{"a", Dtype::kU8, {26}}}, {}, {});
    {
        WriteBehind behind(writer, 2);
        for (std::uint64_t i = 0; i < 26; ++i) {
            const char letter = static_cast<char>('a' + i);
            behind.write(*writer.find("a"), i, copy_of(std::as_bytes(std::span(&letter, 1))));
        }
        behind.finish();
    }
    writer.commit();
    CHECK(read_file(folder / "out").ends_with("abcdefghijklmnopqrstuvwxyz"));
}

TEST_CASE("A failed write is reported to the thread that computes") {
    const TemporaryFolder folder;
    SafetensorsWriter writer(folder / "out", {{"a", Dtype::kU8, {2}}}, {}, {});
    const auto bad_block = [] { return Buffer(3); };
    {
        WriteBehind behind(writer, 1);
        behind.write(*writer.find("a"), 0, bad_block());
        CHECK_THROWS_AS(behind.finish(), Failure);
    }
    {
        WriteBehind behind(writer, 1);
        CHECK_THROWS_AS(
            [&] {
                for (int i = 0; i < 1000; ++i) behind.write(*writer.find("a"), 0, bad_block());
            }(),
            Failure);
    }
}

}  // namespace
}  // namespace ckitchen::cli::test

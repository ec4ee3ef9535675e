// Sharded checkpoints: the index is as hostile as the shards.
#include "catch.hpp"
#include "safetensors.hpp"
#include "support.hpp"

namespace ckitchen::cli::test {
namespace {

constexpr const char* kIndex = "model.safetensors.index.json";

// Two shards with tensors "a" and "b".
void write_shards(const TemporaryFolder& folder) {
    write_file(folder / "s1.safetensors",
               safetensors_bytes({{"b", "U8", {1}, "B"}}, R"({"format":"pt","who":"1"})"));
    write_file(folder / "s2.safetensors",
               safetensors_bytes({{"a", "U8", {2}, "AA"}}, R"({"format":"pt","who":"2"})"));
}

void refused(const TemporaryFolder& folder, const std::string& index, const std::string& reason) {
    CAPTURE(index);
    write_file(folder / kIndex, index);
    const Failure failure = failure_of([&] { Checkpoint(folder / kIndex); });
    CHECK(failure.status() == Exit::kInput);
    CHECK_THAT(failure.what(), ContainsSubstring(reason));
}

TEST_CASE("Shards are one checkpoint in the order of names") {
    const TemporaryFolder folder;
    write_shards(folder);
    write_file(folder / kIndex,
               R"({"metadata":{"total_size":3},"weight_map":{"b":"s1.safetensors","a":"s2.safetensors"}})");
    for (const std::string& path : {folder / kIndex, folder.path()}) {
        const Checkpoint checkpoint(path);
        REQUIRE(checkpoint.tensors().size() == 2);
        CHECK(checkpoint.tensors()[0].info->name == "a");
        CHECK(checkpoint.tensors()[1].info->name == "b");
        CHECK(checkpoint.find("a")->load().size() == 2);
        CHECK(checkpoint.find("c") == nullptr);
        CHECK(checkpoint.files().size() == 2);
        CHECK(checkpoint.file_ids().size() == 3);
        CHECK(checkpoint.metadata() == Metadata{{"format", "pt"}, {"who", "1"}});
        CHECK(checkpoint.metadata_conflicts() == std::vector<std::string>{"who"});
        CHECK(checkpoint.file_bytes() ==
              read_file(folder / "s1.safetensors").size() + read_file(folder / "s2.safetensors").size());
    }
}

TEST_CASE("A folder must say which file is meant") {
    const TemporaryFolder folder;
    CHECK_THAT(failure_of([&] { Checkpoint(folder.path()); }).what(),
               ContainsSubstring("has no .safetensors file"));
    write_file(folder / "one.safetensors", safetensors_bytes({{"a", "U8", {1}, "A"}}));
    CHECK(Checkpoint(folder.path()).path() == folder / "one.safetensors");
    write_file(folder / "two.safetensors", safetensors_bytes({{"a", "U8", {1}, "A"}}));
    CHECK_THAT(failure_of([&] { Checkpoint(folder.path()); }).what(), ContainsSubstring("no index"));
}

TEST_CASE("An index that does not fit its shards is refused") {
    const TemporaryFolder folder;
    write_shards(folder);
    refused(folder,
            R"({"weight_map":{"a":"s2.safetensors"}})"
            "x",
            "not valid JSON");
    refused(folder, R"({"metadata":{}})", "no object \"weight_map\"");
    refused(folder, R"([])", "no object \"weight_map\"");
    refused(folder, R"({"weight_map":["a"]})", "no object \"weight_map\"");
    refused(folder, R"({"weight_map":{"a":1}})", R"(tensor "a" has no file name)");
    refused(folder, R"({"weight_map":{"a":"s2.safetensors","a":"s2.safetensors"}})",
            R"(JSON key "a" occurs twice)");
    refused(folder, R"({"weight_map":{"a":"s2.safetensors","b":"s2.safetensors"}})", R"(has no tensor "b")");
    refused(folder, R"({"weight_map":{"a":"s1.safetensors","b":"s1.safetensors"}})", R"(has no tensor "a")");
    refused(folder, R"({"weight_map":{"a":"s1.safetensors","b":"s2.safetensors"}})",
            "which the index places there");
    refused(folder, R"({"weight_map":{"a":"none.safetensors"}})", "No such file");
    std::string deep = R"({"weight_map":{},"x":)";
    for (int i = 0; i < 100000; ++i) deep += '[';
    refused(folder, deep, "nested deeper than 8");
}

TEST_CASE("Tensors that the index does not list, or that two shards claim, are refused") {
    const TemporaryFolder folder;
    write_file(folder / "s1.safetensors", safetensors_bytes({{"a", "U8", {1}, "A"}, {"b", "U8", {1}, "B"}}));
    write_file(folder / "s2.safetensors", safetensors_bytes({{"a", "U8", {1}, "A"}, {"c", "U8", {1}, "C"}}));
    refused(folder, R"({"weight_map":{"a":"s1.safetensors"}})", R"(tensor "b" is not in the index)");
    refused(folder, R"({"weight_map":{"a":"s1.safetensors","b":"s1.safetensors","c":"s2.safetensors"}})",
            R"(tensor "a" is in two shards)");
}

TEST_CASE("Shard names cannot leave the index's folder") {
    const TemporaryFolder folder;
    write_file(folder / "outside.safetensors", safetensors_bytes({{"a", "U8", {1}, "A"}}));
    for (const char* name : {"../outside.safetensors", "/etc/passwd", "sub/s.safetensors", "..", ".", "",
                             "./s.safetensors", "..\\\\outside.safetensors", "s\\u0000.safetensors"}) {
        refused(folder, std::string(R"({"weight_map":{"a":")") + name + "\"}}", "is not a plain file name");
    }
}

}  // namespace
}  // namespace ckitchen::cli::test

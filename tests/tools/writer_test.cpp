// The writer's layout, and that what it writes is what the reader reads.
#include <filesystem>

#include "catch.hpp"
#include "safetensors.hpp"
#include "support.hpp"

namespace ckitchen::cli::test {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

TEST_CASE("Tensors come back from a written file, each aligned to its elements") {
    const TemporaryFolder folder;
    const std::string path = folder / "out.safetensors";
    const Metadata metadata = {{"format", "pt"}, {"odd \"key\"", "line\nbreak \xC3\xA9"}};
    const std::vector<OutputTensor> tensors = {
        {"marker", Dtype::kU8, {3}}, {"b", Dtype::kF32, {2}},        {"half", Dtype::kBf16, {1}},
        {"a", Dtype::kF32, {1}},     {"empty", Dtype::kI64, {0, 4}}, {"a\xC3\xA9\"x", Dtype::kI8, {1}}};
    {
        SafetensorsWriter writer(path, tensors, metadata, {});
        // In any order and in pieces.
        writer.write(*writer.find("marker"), 1, bytes("yz"));
        writer.write(*writer.find("b"), 0, bytes("bbbbBBBB"));
        writer.write(*writer.find("half"), 0, bytes("hh"));
        writer.write(*writer.find("a"), 0, bytes("aaaa"));
        writer.write(*writer.find("marker"), 0, bytes("x"));
        writer.write(*writer.find("a\xC3\xA9\"x"), 0, bytes("q"));
        CHECK_FALSE(std::filesystem::exists(path));  // at most a hidden file beside it
        writer.commit();
        CHECK(writer.file_bytes() == read_file(path).size());
    }
    CHECK(folder.names() == std::vector<std::string>{"out.safetensors"});
    const SafetensorsFile file(path);
    CHECK(file.metadata() == metadata);
    CHECK(file.tensors().size() == tensors.size());
    const auto text = [&](const char* name) {
        const auto data = file.load(*file.find(name));
        return std::string(reinterpret_cast<const char*>(data.data()), data.size());
    };
    CHECK(text("marker") == "xyz");
    CHECK(text("a") == "aaaa");
    CHECK(text("b") == "bbbbBBBB");
    CHECK(text("half") == "hh");
    CHECK(text("a\xC3\xA9\"x") == "q");
    const std::string content = read_file(path);
    CHECK((content.size() - file.tensors().back().end) % 8 == 0);  // the data begins at a multiple of 8
    for (const TensorInfo& tensor : file.tensors()) {
        CAPTURE(tensor.name);
        CHECK(tensor.begin % dtype_size(tensor.dtype) == 0);
    }
}

TEST_CASE("Room that cannot be had is told by the first write, or by the commit") {
    const TemporaryFolder folder;
    const std::string path = folder / "out.safetensors";
    const std::vector<OutputTensor> tensors = {{"a", Dtype::kU8, {std::int64_t{1} << 61}}};
    for (const bool writes : {true, false}) {
        SafetensorsWriter writer(path, tensors, {}, {});
        const Failure failure = failure_of([&] {
            if (writes)
                writer.write(*writer.find("a"), 0, bytes("x"));
            else
                writer.commit();
        });
        CHECK(failure.status() == Exit::kOutput);
        CHECK(std::string(failure.what()).find("cannot reserve 2.31 EB") != std::string::npos);
    }
    CHECK(folder.names().empty());
}

TEST_CASE("The file depends on the set of tensors, not on their order") {
    const TemporaryFolder folder;
    const OutputTensor a = {"a", Dtype::kU8, {1}};
    const OutputTensor b = {"b", Dtype::kF32, {1}};
    const auto write = [&](const std::string& path, const std::vector<OutputTensor>& tensors) {
        SafetensorsWriter writer(path, tensors, {}, {});
        writer.write(*writer.find("a"), 0, bytes("a"));
        writer.write(*writer.find("b"), 0, bytes("bbbb"));
        writer.commit();
        return read_file(path);
    };
    const std::string first = write(folder / "1", {a, b});
    CHECK(first == write(folder / "2", {b, a}));
    CHECK(first.find("__metadata__") == std::string::npos);
}

TEST_CASE("An unfinished file is never given its name") {
    const TemporaryFolder folder;
    const std::string path = folder / "out.safetensors";
    {
        SafetensorsWriter writer(path, {{"a", Dtype::kU8, {2}}}, {}, {});
        writer.write(*writer.find("a"), 0, bytes("x"));
        CHECK(failure_of([&] { writer.commit(); }).status() == Exit::kInternal);
    }
    CHECK(folder.names().empty());
}

TEST_CASE("Writes outside a tensor are refused") {
    const TemporaryFolder folder;
    SafetensorsWriter writer(folder / "out", {{"a", Dtype::kU8, {2}}, {"b", Dtype::kU8, {2}}}, {}, {});
    CHECK(failure_of([&] { writer.write(*writer.find("a"), 1, bytes("xy")); }).status() == Exit::kInternal);
    CHECK(failure_of([&] { writer.write(*writer.find("a"), UINT64_MAX, bytes("xy")); }).status() ==
          Exit::kInternal);
    CHECK(failure_of([&] { writer.write(*writer.find("a"), 3, {}); }).status() == Exit::kInternal);
}

TEST_CASE("Two output tensors of one name are refused") {
    const TemporaryFolder folder;
    CHECK(failure_of([&] {
              SafetensorsWriter(folder / "out", {{"a", Dtype::kU8, {2}}, {"a", Dtype::kU8, {2}}}, {}, {});
          }).status() == Exit::kInternal);
    CHECK(folder.names().empty());
}

}  // namespace
}  // namespace ckitchen::cli::test

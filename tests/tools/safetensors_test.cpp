// The reader on sound files and on every kind of broken header.
#include "safetensors.hpp"

#include "catch.hpp"
#include "support.hpp"

namespace ckitchen::cli::test {
namespace {

struct Parsed {
    bool ok = false;
    std::string error;
    std::vector<TensorInfo> tensors;
    Metadata metadata;
};

Parsed parse(std::string_view header, std::uint64_t data_bytes) {
    Parsed out;
    out.ok = parse_safetensors_header(header, data_bytes, out.tensors, out.metadata, out.error);
    return out;
}

void refused(std::string_view header, std::uint64_t data_bytes, const std::string& reason) {
    CAPTURE(header.substr(0, 200));
    const Parsed parsed = parse(header, data_bytes);
    CHECK_FALSE(parsed.ok);
    CHECK_THAT(parsed.error, ContainsSubstring(reason));
    CHECK(parsed.error.find('\n') == std::string::npos);
}

TEST_CASE("A sound header is read whole") {
    const Parsed parsed = parse(R"({"__metadata__":{"format":"pt","note":"a\"b"},)"
                                R"("b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
                                R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                                R"("empty":{"dtype":"I64","shape":[0,7],"data_offsets":[16,16]}}  )",
                                16);
    REQUIRE(parsed.ok);
    CHECK(parsed.metadata == Metadata{{"format", "pt"}, {"note", "a\"b"}});
    REQUIRE(parsed.tensors.size() == 3);
    CHECK(parsed.tensors[0].name == "a");
    CHECK(parsed.tensors[0].shape.empty());
    CHECK(parsed.tensors[0].elements() == 1);
    CHECK(parsed.tensors[1].name == "b");
    CHECK(parsed.tensors[1].dtype == Dtype::kBf16);
    CHECK(parsed.tensors[1].shape == std::vector<std::int64_t>{2, 3});
    CHECK(parsed.tensors[2].bytes() == 0);
}

TEST_CASE("Empty tensors may share a position with others") {
    CHECK(
        parse(
            R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"e":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
            4)
            .ok);
    CHECK(
        parse(
            R"({"e":{"dtype":"U8","shape":[0],"data_offsets":[4,4]},"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
            4)
            .ok);
    // In the middle of another one they lie nowhere.
    refused(
        R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"e":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})",
        4, "overlap");
}

TEST_CASE("A header with no tensors is sound when there is no data") {
    CHECK(parse("{}", 0).ok);
    refused("{}", 1, "1 bytes after the last tensor");
}

TEST_CASE("Broken JSON is refused") {
    refused("", 0, "does not begin with '{'");
    refused(" {}", 0, "does not begin with '{'");
    refused("[]", 0, "does not begin with '{'");
    refused("{", 0, "not valid JSON");
    refused("{}x", 0, "not valid JSON");
    refused("{} {}", 0, "not valid JSON");
    refused(R"({"a":})", 0, "not valid JSON");
    refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},})", 1, "not valid JSON");
    refused(std::string_view("{}\0{", 4), 0, "NUL");
    refused(std::string_view("{\"a\0b\":1}", 9), 0, "NUL");
}

TEST_CASE("Text that is not UTF-8 is refused") {
    for (const char* bad : {"\xFF", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82"}) {
        refused(std::string("{\"") + bad + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
                "UTF-8");
        refused(std::string(R"({"__metadata__":{"k":")") + bad + "\"}}", 0, "UTF-8");
    }
    refused(R"({"\ud800":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1, "UTF-8");
}

TEST_CASE("Names and keys that occur twice are refused") {
    const std::string tensor = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
    refused(R"({"a":)" + tensor + R"(,"a":)" + tensor + "}", 1, R"(the name "a" occurs twice)");
    // The same name behind an escape.
    refused(R"({"a":)" + tensor + R"(,"\u0061":)" + tensor + "}", 1, R"(the name "a" occurs twice)");
    refused(R"({"__metadata__":{},"__metadata__":{}})", 0, "occurs twice");
    refused(R"({"__metadata__":{"k":"1","k":"2"}})", 0, R"(key "k" occurs twice)");
    refused(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
            R"(key "dtype" occurs twice)");
    refused(R"({"a":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", 1,
            R"(key "shape" occurs twice)");
    refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"data_offsets":[0,1]}})", 1,
            "occurs twice");
}

TEST_CASE("Deep nesting is refused without recursion") {
    for (const char* open : {"[", "{\"a\":"}) {
        std::string deep = "{\"a\":";
        for (int i = 0; i < 1000000; ++i) deep += open;
        const Parsed parsed = parse(deep, 0);
        CHECK_FALSE(parsed.ok);
    }
    refused(R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", 1, "an array where it may not");
    refused(R"({"__metadata__":{"k":{"deep":"er"}}})", 0, "an object where it may not");
    refused(R"({"__metadata__":{"k":1}})", 0, "a number where it may not");
    refused(R"({"__metadata__":[]})", 0, "an array where it may not");
    refused(R"({"__metadata__":null})", 0, "null where it may not");
}

TEST_CASE("Incomplete and unknown fields are refused by name") {
    refused(R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1, R"(tensor "a": has no dtype)");
    refused(R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, R"(tensor "a": has no shape)");
    refused(R"({"a":{"dtype":"U8","shape":[1]}})", 1, R"(tensor "a": has no data_offsets)");
    refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"strides":[1]}})", 1,
            R"(unknown field "strides")");
    refused(R"({"a":{"dtype":"F5","shape":[1],"data_offsets":[0,1]}})", 1,
            R"(tensor "a": has the unknown dtype "F5")");
    refused(R"({"a":{"dtype":8,"shape":[1],"data_offsets":[0,1]}})", 1, "a number where it may not");
    refused(R"({"a":{"dtype":"U8","shape":"1","data_offsets":[0,1]}})", 1, "a string where it may not");
    refused(R"({"a":{"dtype":"U8","shape":[true],"data_offsets":[0,1]}})", 1, "a boolean where it may not");
    refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0]}})", 1, "fewer than 2");
    refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", 1, "more than 2");
}

TEST_CASE("Numbers that are not sizes are refused") {
    refused(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", 1, "a negative number");
    refused(R"({"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}})", 1, "not a 64-bit unsigned integer");
    refused(R"({"a":{"dtype":"U8","shape":[1e3],"data_offsets":[0,1000]}})", 1000,
            "not a 64-bit unsigned integer");
    refused(R"({"a":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,1]}})", 1,
            "not a 64-bit unsigned integer");
    refused(R"({"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1]}})", 1,
            "exceeds 2^63 - 1");
    refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,-1]}})", 1, "a negative number");
}

TEST_CASE("Shapes whose product overflows are refused") {
    refused(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
            "overflows 64 bits");
    refused(R"({"a":{"dtype":"F32","shape":[4611686018427387904,2],"data_offsets":[0,0]}})", 0,
            "overflows 64 bits");
    refused(
        R"({"a":{"dtype":"F32","shape":[9223372036854775807,9223372036854775807,0],"data_offsets":[0,0]}})",
        0, "overflows 64 bits");
    std::string shape = "1";
    for (std::size_t i = 0; i < kMaxRank; ++i) shape += ",1";
    refused(R"({"a":{"dtype":"U8","shape":[)" + shape + R"(],"data_offsets":[0,1]}})", 1,
            "more than 64 dimensions");
}

TEST_CASE("Ranges must fit dtype, shape and file") {
    refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4,
            R"(tensor "a": has 4 bytes, but F32 [2] takes 8)");
    refused(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}})", 2, "reversed");
    refused(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}})", 7, "leave the file");
    refused(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[18446744073709551614,18446744073709551615]}})",
            7, "leave the file");
}

TEST_CASE("Ranges must tile the data") {
    const auto two = [](const char* first, const char* second) {
        return std::string(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)") + first +
               R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}";
    };
    CHECK(parse(two("[0,4]", "[4,8]"), 8).ok);
    CHECK(parse(two("[4,8]", "[0,4]"), 8).ok);
    refused(two("[0,4]", "[3,7]"), 7, R"(tensor "b": its bytes [3, 7) overlap those of "a" [0, 4))");
    refused(two("[0,4]", "[0,4]"), 4, "overlap");
    refused(two("[0,4]", "[5,9]"), 9, R"(tensor "b": 1 bytes before its range [5, 9) belong to no tensor)");
    refused(two("[1,5]", "[5,9]"), 9, R"(tensor "a": 1 bytes before its range)");
    refused(two("[0,4]", "[4,8]"), 11, "3 bytes after the last tensor belong to no tensor");
}

TEST_CASE("Names of unreasonable length are refused") {
    const std::string tail = R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
    CHECK(parse("{\"" + std::string(kMaxNameBytes, 'n') + tail, 1).ok);
    refused("{\"" + std::string(kMaxNameBytes + 1, 'n') + tail, 1,
            "a tensor name of 1025 bytes exceeds 1024");
}

TEST_CASE("Error texts do not pass control characters on") {
    const Parsed parsed =
        parse("{\"a\\u001b[2J\\nb\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1);
    CHECK_FALSE(parsed.ok);
    CHECK(parsed.error.find('\x1b') == std::string::npos);
    CHECK_THAT(parsed.error, ContainsSubstring("\\x1B[2J\\x0Ab"));
}

TEST_CASE("A file's header length is checked against the file and a limit") {
    const TemporaryFolder folder;
    const auto refused_file = [&](const std::string& content, const std::string& reason) {
        write_file(folder / "f.safetensors", content);
        const Failure failure = failure_of([&] { SafetensorsFile(folder / "f.safetensors"); });
        CHECK(failure.status() == Exit::kInput);
        CHECK_THAT(failure.what(), ContainsSubstring("f.safetensors: "));
        CHECK_THAT(failure.what(), ContainsSubstring(reason));
    };
    refused_file("", "0 bytes long");
    refused_file("1234567", "7 bytes long");
    refused_file(std::string("\x03\0\0\0\0\0\0\0{}", 10), "exceeds the file, 10 bytes");
    // 100,000,001: one more than the limit, in a file that is shorter still.
    refused_file(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10), "header length 100000001 exceeds the limit");
    refused_file(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10), "header length 18446744073709551615");
    refused_file(std::string("\0\0\0\0\0\0\0\0{}", 10), "does not begin with '{'");
    const std::string sound = safetensors_bytes({{"a", "U8", {4}, "abcd"}});
    refused_file(sound.substr(0, sound.size() - 1), "leave the file");
    refused_file(sound + "x", "1 bytes after the last tensor");
}

TEST_CASE("A header of the full permitted length is read") {
    const TemporaryFolder folder;
    const std::string path = folder / "padded.safetensors";
    std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
    header.resize(kMaxHeaderBytes, ' ');
    write_file(path, safetensors_bytes(header, "x"));
    CHECK(SafetensorsFile(path).tensors().size() == 1);
}

TEST_CASE("Things that are no regular files are refused") {
    const TemporaryFolder folder;
    CHECK_THAT(failure_of([&] { SafetensorsFile(folder / "none"); }).what(),
               ContainsSubstring("No such file"));
    CHECK_THAT(failure_of([&] { SafetensorsFile(folder.path()); }).what(),
               ContainsSubstring("not a regular file"));
    CHECK_THAT(failure_of([&] { SafetensorsFile("/dev/zero"); }).what(),
               ContainsSubstring("not a regular file"));
}

TEST_CASE("Data is read where it lies") {
    const TemporaryFolder folder;
    const std::string path = folder / "f.safetensors";
    write_file(path, safetensors_bytes({{"one", "U8", {3}, "abc"}, {"two", "U8", {2, 2}, "defg"}}));
    const SafetensorsFile file(path);
    CHECK(file.find("three") == nullptr);
    const TensorInfo* const two = file.find("two");
    REQUIRE(two != nullptr);
    const std::vector<std::byte> all = file.load(*two);
    CHECK(std::string(reinterpret_cast<const char*>(all.data()), all.size()) == "defg");
    std::string part(2, '\0');
    file.read(*two, 1, std::as_writable_bytes(std::span(part)));
    CHECK(part == "ef");
    // Never beyond the tensor, even where the file goes on.
    CHECK(failure_of([&] {
              file.read(*file.find("one"), 2, std::as_writable_bytes(std::span(part)));
          }).status() == Exit::kInternal);
    CHECK(failure_of([&] {
              file.read(*two, UINT64_MAX, std::as_writable_bytes(std::span(part)));
          }).status() == Exit::kInternal);
}

TEST_CASE("A file that is cut while it is being read is an error, not a signal") {
    const TemporaryFolder folder;
    const std::string path = folder / "f.safetensors";
    write_file(path, safetensors_bytes({{"a", "U8", {4096}, std::string(4096, 'a')}}));
    const SafetensorsFile file(path);
    write_file(path, "");
    const Failure failure = failure_of([&] { file.load(file.tensors()[0]); });
    CHECK(failure.status() == Exit::kInput);
    CHECK_THAT(failure.what(), ContainsSubstring("cut while being read"));
}

}  // namespace
}  // namespace ckitchen::cli::test

// Versioned structs: a library that knows two fields more, or less, than its caller.
#include <cstring>
#include <vector>

#include "catch.hpp"
#include "core/struct_io.hpp"

using namespace ckitchen;

namespace {

// As a first release had it, and as a later one has it.
struct Grown {
    uint32_t struct_size;
    uint32_t first;
    uint64_t second;
    uint32_t reserved0;
    int32_t third;  // appended later, with `fourth`
    int64_t fourth;
};

constexpr Field kFields[] = {
    {"struct_size", 0, 4, 1, FieldKind::struct_size, false},
    {"first", 4, 4, 1, FieldKind::integer, false},
    {"second", 8, 8, 1, FieldKind::integer, false},
    {"reserved0", 16, 4, 1, FieldKind::reserved, false},
    {"third", 20, 4, 1, FieldKind::integer, true},
    {"fourth", 24, 8, 1, FieldKind::integer, true},
};
constexpr StructLayout kLayout{"grown", kFields, 16, sizeof(Grown)};

std::vector<unsigned char> bytes_of(uint32_t size, unsigned char fill) {
    std::vector<unsigned char> bytes(std::max<std::size_t>(size, 64), fill);
    std::memcpy(bytes.data(), &size, sizeof(size));
    return bytes;
}

}  // namespace

TEST_CASE("a field is read only when struct_size reaches its end") {
    for (uint32_t size = 16; size <= sizeof(Grown); ++size) {
        auto bytes = bytes_of(size, 0xff);
        if (size > 16) std::memset(bytes.data() + 16, 0, 4);
        Grown read;
        INFO("struct_size " << size);
        REQUIRE(read_struct(bytes.data(), "args", kLayout, &read).ok());
        CHECK(read.first == 0xffffffffu);
        CHECK(read.second == ~uint64_t{0});
        CHECK(read.third == (size >= 24 ? -1 : 0));
        CHECK(read.fourth == (size >= 32 ? -1 : 0));
    }
}

TEST_CASE("a struct_size that no release had is refused") {
    Grown read;
    for (const uint32_t size : {0u, 4u, 15u, 4097u, 0xffffffffu}) {
        const auto bytes = bytes_of(16, 0);
        std::memcpy(const_cast<unsigned char*>(bytes.data()), &size, sizeof(size));
        const Status status = read_struct(bytes.data(), "args", kLayout, &read);
        INFO("struct_size " << size);
        CHECK(status.code() == CK_ERROR_VERSION_MISMATCH);
        CHECK(status.message().find("args.struct_size is " + std::to_string(size)) != std::string::npos);
    }
    CHECK(read_struct(nullptr, "args", kLayout, &read).code() == CK_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("unknown bytes must be zero, wherever they are") {
    Grown read;
    auto bytes = bytes_of(48, 0);
    CHECK(read_struct(bytes.data(), "args", kLayout, &read).ok());
    for (std::size_t at = sizeof(Grown); at < 48; ++at) {
        auto marked = bytes;
        marked[at] = 1;
        CHECK(read_struct(marked.data(), "args", kLayout, &read).code() == CK_ERROR_VERSION_MISMATCH);
    }
    bytes[48] = 1;  // beyond struct_size: not the library's to look at
    CHECK(read_struct(bytes.data(), "args", kLayout, &read).ok());
}

TEST_CASE("every byte of a reserved field is checked") {
    for (std::size_t at = 16; at < 20; ++at) {
        auto bytes = bytes_of(sizeof(Grown), 0);
        bytes[at] = 0x80;
        Grown read;
        const Status status = read_struct(bytes.data(), "args", kLayout, &read);
        CHECK(status.code() == CK_ERROR_INVALID_ARGUMENT);
        CHECK(status.message().find("reserved0") != std::string::npos);
    }
}

TEST_CASE("output structs are filled to the caller's size and zeroed beyond the library's") {
    Grown source{};
    std::memset(&source, 0x5a, sizeof(source));
    for (const uint32_t size : {16u, 24u, 32u, 56u}) {
        auto bytes = bytes_of(size, 0xee);
        REQUIRE(write_struct(&source, kLayout, bytes.data(), "info").ok());
        uint32_t kept = 0;
        std::memcpy(&kept, bytes.data(), sizeof(kept));
        INFO("struct_size " << size);
        CHECK(kept == size);
        for (std::size_t i = 4; i < bytes.size(); ++i)
            CHECK(bytes[i] == (i >= size ? 0xee : i < sizeof(Grown) ? 0x5a : 0));
    }
}

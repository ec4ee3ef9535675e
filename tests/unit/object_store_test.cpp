// Device code as files: what is no code object of the target never reaches a driver.
#include <elf.h>

#include <cstring>
#include <vector>

#include "catch.hpp"
#include "runtime/object_store.hpp"

using namespace ckitchen;
using namespace ckitchen::runtime;

namespace {

constexpr Target kTarget{"gfx1201", "elf", "rdna4", 0x4e, 0, false, 0};

std::vector<unsigned char> code_object() {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_OSABI] = 64;
    header.e_machine = 224;
    header.e_flags = 0x4e;
    header.e_shoff = sizeof(header);
    header.e_shnum = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    std::vector<unsigned char> bytes(sizeof(header) + sizeof(Elf64_Shdr));
    std::memcpy(bytes.data(), &header, sizeof(header));
    return bytes;
}

}  // namespace

TEST_CASE("a code object of the target is taken") {
    const auto bytes = code_object();
    CHECK(check_code_object(bytes.data(), bytes.size(), kTarget, "file").ok());
}

TEST_CASE("anything else is refused with the reason") {
    const auto message = [](auto&& change) {
        auto bytes = code_object();
        Elf64_Ehdr header;
        std::memcpy(&header, bytes.data(), sizeof(header));
        change(header);
        std::memcpy(bytes.data(), &header, sizeof(header));
        return check_code_object(bytes.data(), bytes.size(), kTarget, "file").message();
    };
    CHECK(message([](Elf64_Ehdr& h) { h.e_ident[0] = '_'; }).find("not a 64-bit ELF") != std::string::npos);
    CHECK(message([](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; }).find("not a 64-bit ELF") !=
          std::string::npos);
    CHECK(message([](Elf64_Ehdr& h) { h.e_machine = EM_X86_64; }).find("not an AMDGPU") != std::string::npos);
    CHECK(message([](Elf64_Ehdr& h) { h.e_flags = 0x41; }).find("is for machine 0x41") != std::string::npos);
    CHECK(message([](Elf64_Ehdr& h) { h.e_shnum = 2; }).find("is cut off") != std::string::npos);
    CHECK(message([](Elf64_Ehdr& h) { h.e_shoff = ~uint64_t{0}; }).find("is cut off") != std::string::npos);
    const auto bytes = code_object();
    for (std::size_t size = 0; size < bytes.size(); ++size)
        CHECK_FALSE(check_code_object(bytes.data(), size, kTarget, "file").ok());
}

TEST_CASE("every embedded object unpacks to what the table says") {
    for (const EmbeddedObject& object : embedded_objects()) {
        for (const Target& target : known_targets()) {
            if (std::strcmp(target.name, object.target) != 0) continue;
            CodeImage image;
            const Status status = load_image(target, object.module, image);
            INFO(object.target << " " << object.module << ": " << status.message());
            REQUIRE(status.ok());
            CHECK(image.size == object.raw_size);
            CHECK(static_cast<const char*>(image.data)[image.size] == '\0');
        }
    }
    CodeImage image;
    const Status missing = load_image(kTarget, "no such module", image);
    CHECK(missing.code() == CK_ERROR_UNSUPPORTED_ARCH);
    CHECK(missing.message().find("gfx1201") != std::string::npos);
}

TEST_CASE("targets in messages: neighbours are joined, others are not") {
    CHECK(target_ranges("") == "none");
    CHECK(target_ranges("gfx1201") == "gfx1201");
    CHECK(target_ranges("gfx1030 gfx1031 gfx1032 gfx1100 gfx1102 gfx1103 sm_80 sm_90a") ==
          "gfx1030-gfx1032 gfx1100 gfx1102-gfx1103 sm_80 sm_90a");
    CHECK(target_ranges("gfx1029 gfx1030") == "gfx1029 gfx1030");
    CHECK(target_ranges("gfx1201 gfx1200") == "gfx1201 gfx1200");
}

// What hipModuleLoadData takes in each release, and what it does with the client's pointer.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "child.hpp"
#include "releases.hpp"

using namespace gfxsim_test;

namespace {

template <class T>
void append(std::string& out, T value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

struct Entry {
    std::string name;
    std::string code;
};

/// An offload bundle: magic, count, a table of offset, size and name, the parts at multiples of 4096.
std::string bundle(const std::vector<Entry>& entries) {
    std::string out = "__CLANG_OFFLOAD_BUNDLE__";
    append<uint64_t>(out, entries.size());
    uint64_t at = 4096;
    for (const Entry& e : entries) {
        append<uint64_t>(out, at);
        append<uint64_t>(out, e.code.size());
        append<uint64_t>(out, e.name.size());
        out += e.name;
        at += (e.code.size() + 4095) / 4096 * 4096;
    }
    for (const Entry& e : entries) {
        out.resize((out.size() + 4095) / 4096 * 4096);
        out += e.code;
    }
    return out;
}

std::string compressed(const std::string& raw, uint16_t version, bool zstd) {
    std::string packed(zstd ? ZSTD_compressBound(raw.size()) : compressBound(raw.size()), '\0');
    if (zstd) {
        packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 3));
    } else {
        uLongf size = packed.size();
        compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(raw.data()),
                 raw.size());
        packed.resize(size);
    }
    std::string out = "CCOB";
    append<uint16_t>(out, version);
    append<uint16_t>(out, zstd ? 1 : 0);
    if (version == 2) {
        append<uint32_t>(out, static_cast<uint32_t>(24 + packed.size()));
        append<uint32_t>(out, static_cast<uint32_t>(raw.size()));
    } else if (version == 3) {
        append<uint64_t>(out, 32 + packed.size());
        append<uint64_t>(out, raw.size());
    } else {
        append<uint32_t>(out, static_cast<uint32_t>(raw.size()));
    }
    append<uint64_t>(out, 0x1234);
    return out + packed;
}

/// The error of loading, and with it unloading, an image.
int load(const HipClient& hip, const std::string& image) {
    void *m = nullptr, *f = nullptr;
    int error = hip("hipModuleLoadData", &m, static_cast<const void*>(image.data()));
    if (error) return error;
    error = hip("hipModuleGetFunction", &f, m, "vector_add");
    CHECK(hip("hipModuleUnload", m) == 0);
    return error;
}

const char* const kCopies[] = {GFXSIM_LIBRARY_5_COPY, GFXSIM_LIBRARY_6_COPY, GFXSIM_LIBRARY_7_COPY};

}  // namespace

TEST_CASE("offload bundles", "[images]") {
    const std::string code = read_file(program("gfx1201")), foreign = read_file(program("gfx1100"));
    const std::string host = "host-x86_64-unknown-linux--";
    const std::string right = bundle({{host, ""},
                                      {"hipv4-amdgcn-amd-amdhsa--gfx1100", foreign},
                                      {"hipv4-amdgcn-amd-amdhsa--gfx1201", code}});
    const std::string wrong = bundle({{host, ""}, {"hipv4-amdgcn-amd-amdhsa--gfx1100", foreign}});
    // A prefix of a name is another name.
    const std::string similar = bundle({{"hipv4-amdgcn-amd-amdhsa--gfx12010", code}});
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        CHECK(load(hip, right) == 0);
        if (release >= 60) {
            const int refused = release < 70 ? 209 : 200;
            CHECK(load(hip, wrong) == refused);
            CHECK(load(hip, similar) == refused);
            for (const bool zstd : {false, true})
                for (const uint16_t version : {2, 3}) {
                    CHECK(load(hip, compressed(right, version, zstd)) == 0);
                    CHECK(load(hip, compressed(wrong, version, zstd)) == refused);
                }
            CHECK(load(hip, compressed(right, 1, true)) == 801);
            std::string broken = compressed(right, 2, true);
            // One byte alone may be a literal, which nothing checks.
            for (size_t i = 100; i < broken.size(); i += 97) broken[i] = static_cast<char>(~broken[i]);
            CHECK(load(hip, broken) == 200);
        } else {
            CHECK(load(hip, compressed(right, 2, true)) == 218);
        }
        hip("hipGetLastError");
    }
    // Where the release aborts, so does this one.
    const auto load_wrong = [&](const char* library) {
        return signal_of_child([&] {
            void* m = nullptr;
            const HipClient hip(library);
            hip("hipModuleLoadData", &m, static_cast<const void*>(wrong.data()));
        });
    };
    CHECK(load_wrong(kCopies[0]) == SIGABRT);
    CHECK(load_wrong(kCopies[1]) == 0);
    CHECK(load_wrong(kCopies[2]) == 0);
}

TEST_CASE("a function is asked for with the module's device current", "[images]") {
    for (const int index : {0, 1, 2}) {
        INFO(kCopies[index]);
        const int signal = signal_of_child([&] {
            setenv("GFXSIM_DEVICES", "gfx1201,gfx1036", 1);
            const HipClient hip(kCopies[index]);
            const std::string image = read_file(program("gfx1201"));
            void *m = nullptr, *f = nullptr;
            hip("hipModuleLoadData", &m, static_cast<const void*>(image.data()));
            hip("hipSetDevice", 1);
            if (hip("hipModuleGetFunction", &f, m, "vector_add")) _exit(1);
        });
        CHECK(signal == (index < 2 ? SIGABRT : 0));
    }
}

TEST_CASE("the image outlives its module", "[images]") {
    const std::string code = read_file(program("gfx1201"));
    const size_t size = (code.size() + 4095) / 4096 * 4096;
    const auto with_image = [&](auto spoil) {
        return signal_of_child([&] {
            const HipClient hip(GFXSIM_LIBRARY_6_COPY);
            void* map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            std::memcpy(map, code.data(), code.size());
            void *m = nullptr, *f = nullptr;
            if (hip("hipModuleLoadData", &m, static_cast<const void*>(map))) _exit(1);
            spoil(map);
            if (hip("hipModuleGetFunction", &f, m, "vector_add")) _exit(1);
        });
    };
    CHECK(with_image([](void*) {}) == 0);
    CHECK(with_image([&](void* map) { munmap(map, size); }) == SIGABRT);
    CHECK(with_image([&](void* map) { std::memset(map, 0xdd, size); }) == SIGABRT);
}

// Releases 6.0 to 6.4.1 open the file behind the address by the path that /proc/self/maps shows.
TEST_CASE("an image in a file whose path has a space", "[images]") {
    std::string folder = (std::filesystem::temp_directory_path() / "gfxsim images XXXXXX").string();
    REQUIRE(mkdtemp(folder.data()));
    const std::string plain = folder.substr(0, folder.find(' ')) + "-" + folder.substr(folder.size() - 6);
    std::filesystem::create_directory(plain);
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        for (const std::string& where : {folder, plain}) {
            const std::string path = where + "/code";
            std::filesystem::copy_file(program("gfx1201"), path);
            const int file = open(path.c_str(), O_RDONLY);
            const size_t size = std::filesystem::file_size(path);
            void* map = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
            REQUIRE(map != MAP_FAILED);
            void* m = nullptr;
            const int expected = release == 63 && where == folder ? 301 : 0;
            CHECK(hip("hipModuleLoadData", &m, static_cast<const void*>(map)) == expected);
            if (m) CHECK(hip("hipModuleUnload", m) == 0);
            // A file that is gone cannot be opened either.
            m = nullptr;
            std::filesystem::remove(path);
            CHECK(hip("hipModuleLoadData", &m, static_cast<const void*>(map)) == (release == 63 ? 301 : 0));
            if (m) CHECK(hip("hipModuleUnload", m) == 0);
            munmap(map, size);
            close(file);
        }
        hip("hipGetLastError");
    }
    std::filesystem::remove_all(folder);
    std::filesystem::remove_all(plain);
}

TEST_CASE("a module from a file", "[images]") {
    std::string folder = (std::filesystem::temp_directory_path() / "gfxsim files XXXXXX").string();
    REQUIRE(mkdtemp(folder.data()));
    const std::string path = folder + "/code", code = read_file(program("gfx1201"));
    const auto write = [&](const std::string& contents) {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << contents;
    };
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        const auto load = [&](const char* name) {
            void *m = nullptr, *f = nullptr;
            const int error = hip("hipModuleLoad", &m, name);
            if (error) {
                CHECK(m == nullptr);
                return error;
            }
            // The runtime keeps its own copy of the file.
            write("");
            CHECK(hip("hipModuleGetFunction", &f, m, "vector_add") == 0);
            CHECK(hip("hipModuleUnload", m) == 0);
            return 0;
        };
        const int no_code = release < 63 ? 218 : 200;
        write(code);
        CHECK(load(path.c_str()) == 0);
        write(bundle({{"host-x86_64-unknown-linux--", ""}, {"hipv4-amdgcn-amd-amdhsa--gfx1201", code}}));
        CHECK(load(path.c_str()) == 0);
        CHECK(load(path.c_str()) == no_code);  // empty by now
        write("no code");
        CHECK(load(path.c_str()) == no_code);
        for (const size_t size : {size_t{30}, size_t{64}, size_t{4096}, code.size() / 2, code.size() - 1}) {
            write(code.substr(0, size));
            CHECK(load(path.c_str()) != 0);
        }
        CHECK(load((folder + "/none").c_str()) == 301);
        CHECK(load(folder.c_str()) == 301);
        CHECK(load("") == 1);
        CHECK(load(nullptr) == 1);
        hip("hipGetLastError");
    }
    std::filesystem::remove_all(folder);
}

TEST_CASE("code object versions", "[images]") {
    const std::string v4 = read_file(program("gfx1201"));
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        hip("hipSetDevice", 0);
        for (const int version : {4, 5, 6, 7}) {
            std::string image = v4;
            image[8] = static_cast<char>(version - 2);  // EI_ABIVERSION
            const bool taken = version <= (release == 52 ? 5 : 6);
            CHECK(load(hip, image) == (taken ? 0 : release == 52 ? 303 : 209));
        }
        hip("hipGetLastError");
    }
}

TEST_CASE("devices that nothing is code for, and overridden ones", "[images]") {
    const auto arch_of = [](const char* devices, const char* override, const char* code, int expected) {
        return signal_of_child([&] {
            setenv("GFXSIM_DEVICES", devices, 1);
            if (override) setenv("HSA_OVERRIDE_GFX_VERSION", override, 1);
            const HipClient hip(GFXSIM_LIBRARY_6_COPY);
            std::vector<char> properties(1472);
            if (hip("hipGetDevicePropertiesR0600", static_cast<void*>(properties.data()), 0)) std::abort();
            const std::string name = properties.data() + 1160;
            if (name != (override ? "gfx1030" : std::string(devices).substr(5))) std::abort();
            const std::string image = read_file(program(code));
            void* m = nullptr;
            if (hip("hipModuleLoadData", &m, static_cast<const void*>(image.data())) != expected)
                std::abort();
        });
    };
    CHECK(arch_of("idle:gfx1170", nullptr, "gfx1100", 209) == 0);
    CHECK(arch_of("gfx1036", "10.3.0", "gfx1030", 0) == 0);
}

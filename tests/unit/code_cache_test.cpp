// Compiled code on disk: what is kept comes back, what is damaged or could be another's does not.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "catch.hpp"
#include "runtime/code_cache.hpp"

using namespace ckitchen::runtime;
namespace fs = std::filesystem;

namespace {

struct Folder {
    Folder() { REQUIRE(mkdtemp(path.data())); }
    ~Folder() { fs::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string path = (fs::temp_directory_path() / "ckitchen-cache-XXXXXX").string();
};

std::vector<char> bytes(std::size_t size, char seed) {
    std::vector<char> code(size);
    for (std::size_t i = 0; i < size; ++i)
        code[i] = static_cast<char>(i * 31 + static_cast<std::size_t>(seed));
    return code;
}

std::size_t count(const std::string& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::string key(std::initializer_list<const char*> parts) {
    CodeKey made;
    for (const char* part : parts) made.add(part);
    return made.name();
}

}  // namespace

TEST_CASE("a key depends on every part and where it ends") {
    CHECK(key({"a", "b"}) == key({"a", "b"}));
    CHECK(key({"a", "b"}).size() == 32);
    for (const auto& other : {key({"a"}), key({"b", "a"}), key({"ab"}), key({"a", "b", ""}), key({"a", "c"})})
        CHECK(key({"a", "b"}) != other);
    const Folder folder;
    const auto of_file = [&] {
        CodeKey made;
        made.add_file(folder.path + "/library");
        return made.name();
    };
    const std::string absent = of_file();
    std::ofstream(folder.path + "/library") << "one";
    const std::string one = of_file();
    CHECK(one != absent);
    CHECK(of_file() == one);
    fs::last_write_time(folder.path + "/library", fs::file_time_type::clock::now() + std::chrono::hours(1));
    CHECK(of_file() != one);
}

TEST_CASE("code that was kept comes back") {
    const Folder above;
    const std::string folder = above.path + "/made/as/needed";
    std::vector<char> code;
    CHECK_FALSE(load_cached(folder, "a", code));
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{100000}}) {
        store_cached(folder, "a", bytes(size, 1));
        REQUIRE(load_cached(folder, "a", code));
        CHECK(code == bytes(size, 1));
    }
    CHECK_FALSE(load_cached(folder, "b", code));
    CHECK(count(folder) == 1);
    struct stat status;
    REQUIRE(stat(folder.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0700);
}

TEST_CASE("damaged code does not come back") {
    const Folder folder;
    const std::vector<char> good = bytes(1000, 7);
    store_cached(folder.path, "a", good);
    const std::string file = fs::directory_iterator(folder.path)->path();
    std::vector<char> code;
    const auto size = fs::file_size(file);
    for (std::uintmax_t at = 0; at < size; at += at < 32 ? 1 : 97) {
        INFO(at);
        std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekg(static_cast<std::streamoff>(at));
        const char was = static_cast<char>(stream.get());
        const auto put = [&](char value) {
            stream.seekp(static_cast<std::streamoff>(at));
            stream.put(value);
            stream.flush();
        };
        put(static_cast<char>(was ^ 4));
        CHECK_FALSE(load_cached(folder.path, "a", code));
        put(was);
        REQUIRE(load_cached(folder.path, "a", code));
    }
    for (const std::uintmax_t shorter : {std::uintmax_t{0}, std::uintmax_t{10}, size - 1}) {
        fs::resize_file(file, shorter);
        CHECK_FALSE(load_cached(folder.path, "a", code));
    }
    store_cached(folder.path, "a", good);
    fs::resize_file(file, size + 1);
    CHECK_FALSE(load_cached(folder.path, "a", code));
}

TEST_CASE("code that others could have written does not come back") {
    const Folder folder;
    store_cached(folder.path, "a", bytes(10, 1));
    const std::string file = fs::directory_iterator(folder.path)->path();
    std::vector<char> code;
    REQUIRE(load_cached(folder.path, "a", code));
    REQUIRE(chmod(file.c_str(), 0620) == 0);
    CHECK_FALSE(load_cached(folder.path, "a", code));
    REQUIRE(chmod(file.c_str(), 0600) == 0);
    REQUIRE(chmod(folder.path.c_str(), 0777) == 0);
    CHECK_FALSE(load_cached(folder.path, "a", code));
    store_cached(folder.path, "b", bytes(10, 1));
    CHECK(count(folder.path) == 1);
    REQUIRE(chmod(folder.path.c_str(), 0700) == 0);
    REQUIRE(load_cached(folder.path, "a", code));
    // Neither a link nor a pipe is followed or waited for.
    fs::rename(file, folder.path + "/elsewhere");
    fs::create_symlink(folder.path + "/elsewhere", file);
    CHECK_FALSE(load_cached(folder.path, "a", code));
    fs::remove(file);
    REQUIRE(mkfifo(file.c_str(), 0600) == 0);
    CHECK_FALSE(load_cached(folder.path, "a", code));
}

TEST_CASE("a folder that cannot be had is no error") {
    const Folder folder;
    std::ofstream(folder.path + "/file") << "in the way";
    store_cached(folder.path + "/file/below", "a", bytes(10, 1));
    store_cached(folder.path + "/file", "a", bytes(10, 1));
    std::vector<char> code;
    CHECK_FALSE(load_cached(folder.path + "/file/below", "a", code));
    CHECK_FALSE(load_cached(folder.path + "/file", "a", code));
}

TEST_CASE("the oldest code goes when there is too much, and nothing else") {
    const Folder folder;
    std::ofstream(folder.path + "/notes.txt") << std::string(5000, 'x');
    for (const char name : {'a', 'b', 'c'}) {
        store_cached(folder.path, std::string(1, name), bytes(1000, name), 2500);
        for (const auto& entry : fs::directory_iterator(folder.path))
            fs::last_write_time(entry.path(), fs::last_write_time(entry.path()) - std::chrono::hours(1));
    }
    std::vector<char> code;
    CHECK_FALSE(load_cached(folder.path, "a", code));
    CHECK(load_cached(folder.path, "b", code));
    CHECK(load_cached(folder.path, "c", code));
    CHECK(fs::exists(folder.path + "/notes.txt"));
}

TEST_CASE("readers and writers at once see whole code only") {
    const Folder folder;
    std::atomic<bool> wrong{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) {
                std::vector<char> code;
                if (t % 2 == 0)
                    store_cached(folder.path, "a", bytes(20000, 3));
                else if (load_cached(folder.path, "a", code) && code != bytes(20000, 3))
                    wrong = true;
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK_FALSE(wrong);
    CHECK(count(folder.path) == 1);
}

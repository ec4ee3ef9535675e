// An output that appears whole or not at all.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "catch.hpp"
#include "files.hpp"
#include "support.hpp"

namespace ckitchen::cli::test {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

TEST_CASE("The final name is untouched until commit and whole after it") {
    const bool named = GENERATE(false, true);
    const TemporaryFolder folder;
    {
        OutputFile file(folder / "first", {}, named);
        CHECK((folder.names().size() <= 1 && (!named || folder.names().size() == 1)));
        file.commit();
    }
    CHECK(folder.names() == std::vector<std::string>{"first"});
    std::filesystem::remove(folder / "first");
    write_file(folder / "out", "old");
    {
        OutputFile file(folder / "out", {}, named);
        file.write(0, bytes("new"));
        CHECK(read_file(folder / "out") == "old");
        file.commit();
    }
    CHECK(read_file(folder / "out") == "new");
    CHECK(folder.names() == std::vector<std::string>{"out"});
    {
        OutputFile file(folder / "out", {}, named);
        file.write(0, bytes("never"));
    }
    CHECK(read_file(folder / "out") == "new");
    CHECK(folder.names() == std::vector<std::string>{"out"});
}

TEST_CASE("A committed file has the permissions of any new file") {
    const TemporaryFolder folder;
    const mode_t mask = ::umask(022);
    OutputFile file(folder / "out", {});
    file.commit();
    ::umask(mask);
    CHECK(std::filesystem::status(folder / "out").permissions() == std::filesystem::perms(0644));
}

TEST_CASE("A file that is replaced hands its permissions on, and the unfinished one is no more open") {
    const TemporaryFolder folder;
    for (const mode_t mode : {0600, 0640, 0666, 0755}) {
        write_file(folder / "out", "old");
        REQUIRE(::chmod((folder / "out").c_str(), mode) == 0);
        OutputFile file(folder / "out", {}, true);
        const auto permissions = static_cast<std::filesystem::perms>(mode);
        for (const std::string& name : folder.names())
            CHECK(std::filesystem::status(folder / name).permissions() == permissions);
        // The last word is the one that counts.
        REQUIRE(::chmod((folder / "out").c_str(), mode & ~07u) == 0);
        file.commit();
        CHECK(std::filesystem::status(folder / "out").permissions() ==
              static_cast<std::filesystem::perms>(mode & ~07u));
    }
}

TEST_CASE("An input is never replaced, under whatever name") {
    const TemporaryFolder folder;
    write_file(folder / "in", "input");
    std::filesystem::create_symlink(folder / "in", folder / "symbolic");
    std::filesystem::create_hard_link(folder / "in", folder / "hard");
    const FileId id = InputFile(folder / "in").id();
    for (const std::string& name :
         {folder / "in", folder / "symbolic", folder / "hard", folder.path() + "/./in"}) {
        const Failure failure = failure_of([&] { OutputFile(name, {id}); });
        CHECK(failure.status() == Exit::kOutput);
        CHECK_THAT(failure.what(), ContainsSubstring("is an input file"));
    }
    // Also when it takes the output's name meanwhile.
    OutputFile file(folder / "out", {id});
    std::filesystem::rename(folder / "in", folder / "out");
    CHECK_THAT(failure_of([&] { file.commit(); }).what(), ContainsSubstring("is an input file"));
    CHECK(read_file(folder / "out") == "input");
}

TEST_CASE("Outputs that are no regular files, or read-only, are refused") {
    const TemporaryFolder folder;
    const auto refused = [&](const std::string& path, const std::string& reason) {
        const Failure failure = failure_of([&] { OutputFile(path, {}); });
        CHECK(failure.status() == Exit::kOutput);
        CHECK_THAT(failure.what(), ContainsSubstring(reason));
    };
    refused("", "name is empty");
    CHECK(failure_of([] { OutputFile("-", {}); }).status() == Exit::kUsage);
    refused(folder.path(), "is a directory");
    refused("/dev/null", "is not a regular file");
    refused(folder / "none/out", "cannot create a file in");
    write_file(folder / "fixed", "x");
    ::chmod((folder / "fixed").c_str(), 0444);
    refused(folder / "fixed", "read-only");
    std::filesystem::create_symlink("ring", folder / "ring");
    refused(folder / "ring", "symbolic link");
    std::filesystem::create_symlink("none/out", folder / "into_no_folder");
    refused(folder / "into_no_folder", "cannot create a file in");
    CHECK(read_file(folder / "fixed") == "x");
}

TEST_CASE("A symbolic link is written through") {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "there");
    write_file(folder / "there/real", "old");
    std::filesystem::create_symlink("there/real", folder / "link");
    OutputFile file(folder / "link", {});
    file.write(0, bytes("new"));
    file.commit();
    CHECK(std::filesystem::is_symlink(folder / "link"));
    CHECK(read_file(folder / "there/real") == "new");
}

TEST_CASE("A symbolic link to a file that is not there yet makes that file") {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "there");
    std::filesystem::create_symlink("real", folder / "there/link");
    std::filesystem::create_symlink(folder / "there/link", folder / "absolute");
    std::filesystem::create_symlink("there/link", folder / "relative");
    for (const std::string& link : {folder / "absolute", folder / "relative"}) {
        OutputFile file(link, {});
        file.write(0, bytes("new"));
        file.commit();
        CHECK(std::filesystem::is_symlink(link));
        CHECK(std::filesystem::is_symlink(folder / "there/link"));
        CHECK(read_file(folder / "there/real") == "new");
        CHECK(std::filesystem::remove(folder / "there/real"));
    }
}

TEST_CASE("Reserving more than any disk has fails at once") {
    const TemporaryFolder folder;
    OutputFile file(folder / "out", {});
    CHECK(failure_of([&] { file.reserve(std::uint64_t{1} << 62); }).status() == Exit::kOutput);
    CHECK(failure_of([&] { file.reserve(UINT64_MAX); }).status() == Exit::kOutput);
}

}  // namespace
}  // namespace ckitchen::cli::test

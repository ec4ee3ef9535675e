// GFXSIM_STOP and GFXSIM_TRACE_GROUP that name what never comes about: the caller is told.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "child.hpp"
#include "hip_client.hpp"
#include "releases.hpp"

using namespace gfxsim_test;

namespace {

/// A file for what a process writes to its standard error.
class ErrorFile {
  public:
    ErrorFile() {
        const int file = mkstemp(path_.data());
        REQUIRE(file >= 0);
        close(file);
    }
    ~ErrorFile() { std::filesystem::remove(path_); }
    ErrorFile(const ErrorFile&) = delete;
    ErrorFile& operator=(const ErrorFile&) = delete;

    const char* path() const { return path_.c_str(); }
    std::string text() const { return read_file(path_); }

  private:
    std::string path_ = (std::filesystem::temp_directory_path() / "gfxsim-stderr-XXXXXX").string();
};

/// What a child process writes to standard error up to its end, if `body` runs vector_add in four workgroups
/// with these variables; each entry is a launch of its own, "" leaves a variable away.
std::string told(const std::vector<std::pair<std::string, std::string>>& stop_and_group, int expected = 0) {
    const ErrorFile errors;
    std::cout.flush();  // the child's exit would write it again
    const int status = status_of_child([&] {
        const HipClient hip(GFXSIM_LIBRARY_6_COPY);
        if (!std::freopen(errors.path(), "w", stderr)) _exit(92);
        {
            const Module m(hip, program("gfx1201"));
            const DeviceArray<float> p(hip, std::vector<float>(1024, 1.0f));
            for (const auto& [stop, group] : stop_and_group) {
                unsetenv("GFXSIM_STOP");
                unsetenv("GFXSIM_TRACE_GROUP");
                if (!stop.empty()) setenv("GFXSIM_STOP", stop.c_str(), 1);
                if (!group.empty()) setenv("GFXSIM_TRACE_GROUP", group.c_str(), 1);
                if (m.launch("vector_add", 4, 1, 256, p.get(), p.get(), p.get(), 1024) != expected) _exit(93);
            }
        }
        std::exit(0);
    });
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    return errors.text();
}

}  // namespace

TEST_CASE("a stop that no launch came to is told at the end of the process", "[stop]") {
    CHECK(told({{"", ""}}).empty());
    CHECK(told({{"add+0x0", ""}}) ==
          "gfxsim: GFXSIM_STOP is 'add+0x0', no launch stopped there: no kernel of that name was launched\n");
    // Eight waves a workgroup.
    CHECK(
        told({{"vector_add+0@99", ""}, {"vector_add+0@99", ""}}) ==
        "gfxsim: GFXSIM_STOP is 'vector_add+0@99', no launch stopped there: the instruction was executed 32 "
        "times at most in a launch\n");
    CHECK(
        told({{"0@9", "2,0,0"}}) ==
        "gfxsim: GFXSIM_STOP is '0@9', no launch stopped there: the instruction was executed 8 times at most "
        "in a launch in workgroup 2,0,0\n");
    // For every kernel, so it may be right for another one.
    CHECK(told({{"0x1", ""}}) ==
          "gfxsim: GFXSIM_STOP is '0x1', no launch stopped there: the instruction was not executed\n");
    CHECK(
        told({{"vector_add+0", "9,0,0"}}) ==
        "gfxsim: GFXSIM_STOP is 'vector_add+0', no launch stopped there: the instruction was not executed in "
        "workgroup 9,0,0\n"
        "gfxsim: GFXSIM_TRACE_GROUP is '9,0,0', no launch had that workgroup\n");
}

TEST_CASE("a stop that was met is not told, and each text has its own line", "[stop]") {
    const std::string stopped = told({{"vector_add+0x0", ""}, {"vector_add+0x0", ""}}, 719);
    CHECK_THAT(stopped, Catch::Contains("stopped as asked") && !Catch::Contains("no launch stopped there"));
    CHECK(told({{"one+0x0", ""}, {"", ""}, {"two+0x0", ""}}) ==
          "gfxsim: GFXSIM_STOP is 'one+0x0', no launch stopped there: no kernel of that name was launched\n"
          "gfxsim: GFXSIM_STOP is 'two+0x0', no launch stopped there: no kernel of that name was launched\n");
}

TEST_CASE("a stop that the named kernel cannot come to makes its launches fail", "[stop]") {
    CHECK_THAT(
        told({{"vector_add+0x1", ""}}, 1),
        Catch::StartsWith("gfxsim: GFXSIM_STOP is 'vector_add+0x1', inside the instruction at 0x0: s_") &&
            Catch::EndsWith(": calls fail\n"));
    CHECK(told({{"vector_add+0x1000000", ""}}, 1) ==
          "gfxsim: GFXSIM_STOP is 'vector_add+0x1000000', beyond the end of the code: calls fail\n");
    CHECK(told({{"vector_add+zz", ""}, {"vector_add+0@-1", ""}, {"vector_add+0@0", ""}, {"", "foo"}}, 1) ==
          "gfxsim: GFXSIM_STOP is 'vector_add+zz', must be [kernel+]offset[@count]: calls fail\n"
          "gfxsim: GFXSIM_STOP is 'vector_add+0@-1', must be [kernel+]offset[@count]: calls fail\n"
          "gfxsim: GFXSIM_STOP is 'vector_add+0@0', must be [kernel+]offset[@count]: calls fail\n"
          "gfxsim: GFXSIM_TRACE_GROUP is 'foo', must be x,y,z: calls fail\n");
}

TEST_CASE("a workgroup may be written in any base", "[stop]") {
    CHECK_THAT(told({{"vector_add+0", "0x2,00,0"}}, 719), Catch::Contains("workgroup (2,0,0)"));
}

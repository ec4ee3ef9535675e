// The runtime compilers: part of the runtime up to release 6, a library beside it in 7.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>

#include "releases.hpp"

using namespace gfxsim_test;

namespace {

constexpr const char* kSource = R"(
#include "scale.h"
extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64))) void scaled(int* p) {
    p[__builtin_amdgcn_workitem_id_x()] *= SCALE * FACTOR;
}
)";

const HipClient& compiler(int release) {
    static const HipClient library(GFXSIM_HIPRTC_7);
    return release < 70 ? client(release) : library;
}

/// Result of compiling; the log and the code.
int compile(const HipClient& rtc, std::vector<const char*> options, std::string& log, std::string& code) {
    void* program = nullptr;
    const char *header = "#define SCALE 3\n", *header_name = "scale.h";
    REQUIRE(rtc("hiprtcCreateProgram", &program, kSource, "scaled.hip", 1, &header, &header_name) == 0);
    const int result = rtc("hiprtcCompileProgram", program, static_cast<int>(options.size()), options.data());
    size_t size = 0;
    REQUIRE(rtc("hiprtcGetProgramLogSize", program, &size) == 0);
    log.resize(size);
    REQUIRE(rtc("hiprtcGetProgramLog", program, log.data()) == 0);
    REQUIRE(rtc("hiprtcGetCodeSize", program, &size) == 0);
    code.resize(size);
    REQUIRE(rtc("hiprtcGetCode", program, code.data()) == 0);
    REQUIRE(rtc("hiprtcDestroyProgram", &program) == 0);
    CHECK(program == nullptr);
    return result;
}

}  // namespace

TEST_CASE("hipRTC compiles what the runtime then runs", "[hiprtc]") {
    // Release 7 moved the compiler out of the runtime.
    CHECK(client(71).find<int(int*, int*)>("hiprtcVersion") == nullptr);
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& hip = client(release);
        const HipClient& rtc = compiler(release);
        hip("hipSetDevice", 1);  // the gfx1036
        std::string log, code;
        REQUIRE(compile(rtc, {"--gpu-architecture=gfx1036", "-DFACTOR=7"}, log, code) == 0);
        CHECK(code.substr(0, 4) ==
              "\x7f"
              "ELF");
        void *module = nullptr, *f = nullptr;
        REQUIRE(hip("hipModuleLoadData", &module, static_cast<const void*>(code.data())) == 0);
        REQUIRE(hip("hipModuleGetFunction", &f, module, "scaled") == 0);
        {
            const DeviceArray<int> p(hip, std::vector<int>(64, 2));
            void* address = p.get();
            void* arguments[] = {&address};
            CHECK(hip("hipModuleLaunchKernel", f, 1u, 1u, 1u, 64u, 1u, 1u, 0u, static_cast<void*>(nullptr),
                      arguments, static_cast<void**>(nullptr)) == 0);
            CHECK(p.read() == std::vector<int>(64, 42));
        }
        CHECK(hip("hipModuleUnload", module) == 0);
        // What is loaded into the client is not loaded into the compiler: the loader would complain here.
        setenv("LD_PRELOAD", "/nowhere/libsanitizer.so", 1);
        CHECK(compile(rtc, {"--offload-arch=gfx1036", "-DFACTOR=7"}, log, code) == 0);
        unsetenv("LD_PRELOAD");
        CHECK_THAT(log, !Catch::Contains("libsanitizer"));
        // What is wrong is a result and words.
        CHECK(compile(rtc, {"--offload-arch=gfx1036"}, log, code) == 6);
        CHECK_THAT(log, Catch::Contains("FACTOR"));
        CHECK(code.empty());
        CHECK(compile(rtc, {"-DFACTOR=7"}, log, code) == 6);
        CHECK(compile(rtc, {"--offload-arch=gfx1036", "--gpu-architecture=gfx1030", "-DFACTOR=7"}, log,
                      code) == 6);
        hip("hipSetDevice", 0);
        hip("hipGetLastError");
    }
}

TEST_CASE("hipRTC of releases 5 and 6 dies of processors that it does not know", "[hiprtc]") {
    for (const int release : kReleases) {
        INFO("release " << release);
        const HipClient& rtc = compiler(release);
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            std::signal(SIGABRT, SIG_DFL);
            if (!std::freopen("/dev/null", "w", stderr)) _exit(90);
            std::string log, code;
            _exit(compile(rtc, {"--offload-arch=gfx9999", "-DFACTOR=7"}, log, code));
        }
        int status = 0;
        REQUIRE(waitpid(child, &status, 0) == child);
        if (release < 70) {
            CHECK(WIFSIGNALED(status));
            CHECK(WTERMSIG(status) == SIGABRT);
        } else {
            CHECK(WEXITSTATUS(status) == 6);
        }
    }
}

TEST_CASE("what the compiler knows can be asked", "[hiprtc]") {
    struct Handle {
        uint64_t value;
    };
    const std::pair<const char*, std::string> libraries[] = {{"libamd_comgr.so.2", GFXSIM_LIBRARY_5},
                                                             {"libamd_comgr.so.2", GFXSIM_LIBRARY_6},
                                                             {"libamd_comgr.so.3", GFXSIM_LIBRARY_7}};
    int release = 0;
    for (const auto& [name, runtime] : libraries) {
        const std::string path = runtime.substr(0, runtime.rfind('/') + 1) + name;
        INFO(path);
        const HipClient comgr(path);
        const auto knows = [&](const char* isa) {
            Handle action{};
            REQUIRE(comgr("amd_comgr_create_action_info", &action) == 0);
            const int rc = comgr("amd_comgr_action_info_set_isa_name", action, isa);
            REQUIRE(comgr("amd_comgr_destroy_action_info", action) == 0);
            CHECK((rc == 0 || rc == 2));
            return rc == 0;
        };
        CHECK(knows("amdgcn-amd-amdhsa--gfx1030"));
        CHECK(knows("amdgcn-amd-amdhsa--gfx1201") == (release > 0));
        CHECK(knows("amdgcn-amd-amdhsa--gfx1153") == (release > 1));
        CHECK_FALSE(knows("amdgcn-amd-amdhsa--gfx9999"));
        CHECK_FALSE(knows("gfx1030"));
        ++release;
    }
}

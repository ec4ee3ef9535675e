// Planted faults must be found and named; their twins must run clean.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "hip_client.hpp"

using namespace gfxsim_test;
using u32 = uint32_t;

namespace {

const std::vector<std::string> kTargets = {"gfx1030", "gfx1100", "gfx1101", "gfx1151", "gfx1201"};

const HipClient& hip() {
    static const HipClient* client = [] {
        setenv("GFXSIM_DEVICES", "gfx1030,gfx1100,gfx1101,gfx1151,gfx1201", 1);
        setenv("GFXSIM_LIMIT", "1000000", 1);
        return new HipClient(GFXSIM_LIBRARY);
    }();
    return *client;
}

/// The report of what `body` does.
template <class F>
std::string report_of(F body) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("gfxsim-report-" + std::to_string(getpid()))).string();
    unlink(path.c_str());
    setenv("GFXSIM_REPORT", path.c_str(), 1);
    body();
    unsetenv("GFXSIM_REPORT");
    std::string text;
    if (access(path.c_str(), R_OK) == 0) text = read_file(path);
    unlink(path.c_str());
    return text;
}

bool optimized = false;  // the module at hand is compiled with -O3

template <class F>
void for_each_module(F body) {
    for (size_t d = 0; d < kTargets.size(); ++d)
        for (const char* level : {"O0", "O3"}) {
            INFO(kTargets[d] << " -" << level);
            optimized = std::string(level) == "O3";
            REQUIRE(hip()("hipSetDevice", static_cast<int>(d)) == 0);
            const Module module(
                hip(), std::string(GFXSIM_PROGRAMS) + "/programs_" + kTargets[d] + "_" + level + ".co");
            body(module, kTargets[d]);
        }
}

/// The launch with and without the fault: the error, and the words that the report must hold.
template <class... A>
void check_pair(const Module& m, const std::string& target, const char* kernel, unsigned groups,
                unsigned threads, int amount, int error, const std::vector<std::string>& words,
                A... arguments) {
    INFO(kernel);
    const std::string clean =
        report_of([&] { CHECK(m.launch(kernel, groups, 1, threads, arguments..., 0) == 0); });
    CHECK(clean.empty());
    const std::string report =
        report_of([&] { CHECK(m.launch(kernel, groups, 1, threads, arguments..., amount) == error); });
    // It is reported once, then the device is usable again.
    CHECK(hip()("hipDeviceSynchronize") == 0);
    CHECK_THAT(report, Catch::Contains(std::string("in kernel ") + kernel + " on " + target));
    for (const std::string& word : words) CHECK_THAT(report, Catch::Contains(word));
}

}  // namespace

TEST_CASE("writes past a buffer", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        DeviceArray<u32> p(hip(), std::vector<u32>(100));
        check_pair(m, target, "fault_global", 2, 64, 1, 700,
                   {"illegal address", "store", "lane 4", "write of 4 bytes",
                    "0 bytes past the end of device memory", "+400 bytes"},
                   p.get(), 100);
    });
}

TEST_CASE("reads before a buffer", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        DeviceArray<u32> p(hip(), std::vector<u32>(64)), out(hip(), std::vector<u32>(64));
        check_pair(m, target, "fault_read", 1, 64, 64, 700,
                   {"illegal address", "load", "lane 31", "wave 1", "4 bytes before device memory"}, p.get(),
                   out.get());
    });
}

TEST_CASE("use after free", "[faults]") {
    for_each_module([](const Module& m, const std::string&) {
        void* p = nullptr;
        REQUIRE(hip()("hipMalloc", &p, size_t{256}) == 0);
        REQUIRE(m.launch("fault_global", 1, 1, 64, p, 64, 0) == 0);
        REQUIRE(hip()("hipFree", p) == 0);
        const std::string report =
            report_of([&] { CHECK(m.launch("fault_global", 1, 1, 64, p, 64, 0) == 700); });
        CHECK_THAT(report, Catch::Contains("use after free"));
    });
}

TEST_CASE("memory of another device", "[faults]") {
    void* other = nullptr;
    REQUIRE(hip()("hipSetDevice", 0) == 0);
    REQUIRE(hip()("hipMalloc", &other, size_t{256}) == 0);
    REQUIRE(hip()("hipSetDevice", 4) == 0);
    {
        const Module m(hip(), std::string(GFXSIM_PROGRAMS) + "/programs_gfx1201_O3.co");
        const std::string report =
            report_of([&] { CHECK(m.launch("fault_global", 1, 1, 64, other, 64, 0) == 700); });
        CHECK_THAT(report, Catch::Contains("memory of another device"));
    }
    REQUIRE(hip()("hipFree", other) == 0);
}

TEST_CASE("LDS overrun", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        DeviceArray<u32> out(hip(), std::vector<u32>(64));
        check_pair(m, target, "fault_lds", 1, 64, 1, 700,
                   {"LDS access out of range", "lane 31", "wave 1", "offset 256", "has 256 bytes"},
                   out.get());
    });
}

TEST_CASE("a barrier that not all waves reach", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        DeviceArray<u32> out(hip(), std::vector<u32>(64));
        check_pair(m, target, "fault_barrier", 1, 64, 1, 719, {"barrier that not all waves reach"},
                   out.get());
    });
}

TEST_CASE("endless loop", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        DeviceArray<u32> out(hip(), std::vector<u32>(64, 0));
        check_pair(m, target, "fault_loop", 1, 32, 1, 702, {"endless loop"}, out.get());
    });
}

TEST_CASE("trap", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        DeviceArray<u32> out(hip(), std::vector<u32>(64));
        check_pair(m, target, "fault_trap", 1, 32, 1, 710, {"trap", "s_trap"}, out.get());
    });
}

TEST_CASE("EXEC not full at a matrix instruction", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        if (target == "gfx1030") return;
        DeviceArray<int> out(hip(), std::vector<int>(256));
        check_pair(m, target, "fault_exec", 1, 32, 1, 719,
                   {"EXEC is not full", "v_wmma_i32_16x16x16_iu8", "0x7fffffff"}, out.get());
    });
}

TEST_CASE("misaligned atomics, scratch past its end, halves that differ", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        DeviceArray<u32> out(hip(), std::vector<u32>(64));
        check_pair(m, target, "fault_misaligned", 1, 32, 1, 700, {"misaligned access", "atomic", "lane 0"},
                   out.get());
        check_pair(m, target, "fault_scratch", 1, 32, 1, 700,
                   {"scratch access out of range", "lane 5", "4 bytes at scratch offset"}, out.get());
        if (target.rfind("gfx11", 0) != 0) return;
        DeviceArray<int> matrix(hip(), std::vector<int>(256));
        check_pair(m, target, "fault_halves", 1, 32, 1, 719,
                   {"matrix operand halves differ", "v_wmma_i32_16x16x16_iu8", "A register v", "lane 16"},
                   matrix.get());
    });
}

TEST_CASE("an overrun does not reach the next allocation", "[faults]") {
    for_each_module([](const Module& m, const std::string&) {
        void *p = nullptr, *q = nullptr;
        REQUIRE(hip()("hipMalloc", &p, size_t{256}) == 0);
        REQUIRE(hip()("hipMalloc", &q, size_t{256}) == 0);
        for (const int beyond : {1, 64, 512}) {
            // Elements 0 to 63 + beyond are written, by as many groups as that takes.
            const unsigned groups = static_cast<unsigned>((64 + beyond + 63) / 64);
            const std::string report =
                report_of([&] { CHECK(m.launch("fault_global", groups, 1, 64, p, 64, beyond) == 700); });
            CHECK_THAT(report, Catch::Contains("past the end of device memory"));
        }
        REQUIRE(hip()("hipFree", p) == 0);
        REQUIRE(hip()("hipFree", q) == 0);
    });
}

TEST_CASE("a launch stops at an address and shows its registers", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        DeviceArray<u32> out(hip(), std::vector<u32>(128, 7));
        setenv("GFXSIM_STOP", "fault_global+0x0", 1);
        const std::string report =
            report_of([&] { CHECK(m.launch("fault_global", 2, 1, 64, out.get(), 128, 0) == 719); });
        CHECK_THAT(report, Catch::Contains("stopped as asked in kernel fault_global on " + target) &&
                               Catch::Contains("at kernel entry + 0x0 ") &&
                               Catch::Contains("exec ffffffff") && Catch::Contains("  s0:") &&
                               Catch::Contains("  v0: 00000000 00000001 00000002") &&
                               Catch::Contains(" ????????"));
        CHECK(out.read() == std::vector<u32>(128, 7));
        // The third wave to get there, of the second workgroup only.
        setenv("GFXSIM_STOP", "0x0@2", 1);
        setenv("GFXSIM_TRACE_GROUP", "1,0,0", 1);
        const std::string second =
            report_of([&] { CHECK(m.launch("fault_global", 2, 1, 64, out.get(), 128, 0) == 719); });
        CHECK_THAT(second, Catch::Contains("workgroup (1,0,0), wave 1"));
        unsetenv("GFXSIM_TRACE_GROUP");
        setenv("GFXSIM_STOP", "another_kernel+0x0", 1);
        CHECK(m.launch("fault_global", 2, 1, 64, out.get(), 128, 0) == 0);
        unsetenv("GFXSIM_STOP");
    });
}

TEST_CASE("a limit is counted to the instruction", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        DeviceArray<u32> out(hip(), std::vector<u32>(128, 7));
        setenv("GFXSIM_LIMIT", "2", 1);
        const std::string report =
            report_of([&] { CHECK(m.launch("fault_global", 1, 1, 64, out.get(), 128, 0) == 702); });
        CHECK_THAT(report, Catch::Contains("in kernel fault_global on " + target) &&
                               Catch::Contains("one wave has executed 2 instructions"));
        setenv("GFXSIM_LIMIT", "1000000", 1);
    });
}

TEST_CASE("a trace counts addresses from the kernel's entry", "[faults]") {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("gfxsim-trace-" + std::to_string(getpid()))).string();
    for_each_module([&](const Module& m, const std::string&) {
        unlink(path.c_str());
        DeviceArray<u32> out(hip(), std::vector<u32>(128, 7));
        setenv("GFXSIM_TRACE", "1", 1);
        setenv("GFXSIM_TRACE_FILE", path.c_str(), 1);
        CHECK(m.launch("fault_global", 1, 1, 64, out.get(), 128, 0) == 0);
        unsetenv("GFXSIM_TRACE");
        unsetenv("GFXSIM_TRACE_FILE");
        std::ifstream file(path);
        std::string line;
        REQUIRE(std::getline(file, line));
        CHECK_THAT(line, Catch::StartsWith("[0,0,0 w0] +0x0: "));
        REQUIRE(std::getline(file, line));
        CHECK((line.find("w0] +0x4: ") != line.npos || line.find("w0] +0x8: ") != line.npos));
    });
    unlink(path.c_str());
}

TEST_CASE("a variable that is not understood makes launches fail", "[faults]") {
    const std::string target = "gfx1201";
    const auto device = std::find(kTargets.begin(), kTargets.end(), target);
    REQUIRE(device != kTargets.end());
    REQUIRE(hip()("hipSetDevice", static_cast<int>(device - kTargets.begin())) == 0);
    const Module m(hip(), std::string(GFXSIM_PROGRAMS) + "/programs_" + target + "_O3.co");
    DeviceArray<u32> out(hip(), std::vector<u32>(128, 7));
    const auto launch = [&] { return m.launch("fault_global", 1, 1, 64, out.get(), 128, 0); };
    const std::pair<const char*, const char*> mistakes[] = {{"GFXSIM_LIMIT", "abc"},
                                                            {"GFXSIM_LIMIT", "0"},
                                                            {"GFXSIM_LIMIT", "99999999999999999999"},
                                                            {"GFXSIM_THREADS", "-3"},
                                                            {"GFXSIM_ALIGN", "foo"},
                                                            {"GFXSIM_EXEC", "maybe"},
                                                            {"GFXSIM_UNDEF", "Off"},
                                                            {"GFXSIM_RACES", "no"},
                                                            {"GFXSIM_TRACE", "3"},
                                                            {"GFXSIM_TRACE_GROUP", "1,0"},
                                                            {"GFXSIM_TRACE_GROUP", "1,0,x"},
                                                            {"GFXSIM_STOP", "kernel"},
                                                            {"GFXSIM_STOP", "kernel+0x0@0"},
                                                            {"GFXSIM_FAULT", "bad@1"},
                                                            {"GFXSIM_FAULT", "oom"},
                                                            {"GFXSIM_FAULT", "oom@"},
                                                            {"GFXSIM_FAULT", "oom@x"},
                                                            {"GFXSIM_FAULT", "lost@1+"},
                                                            {"GFXSIM_FAULT", "oom@900,slow@3"},
                                                            {"GFXSIM_FAULT", "launch@0"}};
    for (const auto& [name, value] : mistakes) {
        INFO(name << "=" << value);
        const char* before = getenv(name);
        const std::string kept = before ? before : "";
        setenv(name, value, 1);
        CHECK(launch() == 1);
        if (before)
            setenv(name, kept.c_str(), 1);
        else
            unsetenv(name);
        CHECK(launch() == 0);
    }
    for (const char* name : {"GFXSIM_TRACE_FILE", "GFXSIM_REPORT", "GFXSIM_STATS"}) {
        setenv(name, "/nowhere/file", 1);
        CHECK(launch() == 1);
        unsetenv(name);
    }
    for (const char* fault : {"oom@900+,launch@900,query@900+", "lost@900,slow=0"}) {
        setenv("GFXSIM_FAULT", fault, 1);
        CHECK(launch() == 0);
    }
    unsetenv("GFXSIM_FAULT");
}

TEST_CASE("undefined values", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        const std::string what = "use of an undefined value", stored = "data stored to global memory";
        const auto check = [&](const char* kernel, unsigned threads, const std::vector<std::string>& words) {
            DeviceArray<u32> out(hip(), std::vector<u32>(64));
            check_pair(m, target, kernel, 1, threads, 1, 719, words, out.get());
        };
        check("fault_undefined_lds", 64, {what, stored, "wave 0", "lane 0", "0xffffffff", "store"});
        check("fault_undefined_bits", 64, {what, stored, "bits 0x100 "});
        check("fault_undefined_address", 64, {what, "the address in v", "store"});
        check("fault_undefined_lds_address", 64, {what, "the address in v", "ds_"});
        check("fault_undefined_exec", 64, {what, "EXEC"});
        check("fault_undefined_branch", 32, {what, "decides a branch"});
        check("fault_undefined_select", 64, {what, stored, "wave 1", "lane 31"});
        check("fault_undefined_scratch", 32, {what, stored});
        check("fault_undefined_atomic", 32, {what, stored, "atomic"});
        DeviceArray<u32> out(hip(), std::vector<u32>(64));
        check_pair(m, target, "fault_undefined_argument", 1, 64, 1, 719, {what, stored, "bits 0xffffff00"},
                   out.get(), static_cast<unsigned char>(5));
        if (target != "gfx1030") {
            DeviceArray<u32> matrix(hip(), std::vector<u32>(256));
            check_pair(m, target, "fault_undefined_wmma", 1, 32, 1, 719, {what, stored}, matrix.get());
        }
    });
}

TEST_CASE("undefined memory", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        DeviceArray<u32> out(hip(), std::vector<u32>(64));
        void *p = nullptr, *q = nullptr;
        REQUIRE(hip()("hipMalloc", &p, size_t{256}) == 0);
        REQUIRE(hip()("hipMalloc", &q, size_t{256}) == 0);
        // 40 elements by a copy and a fill; copied on, they keep what they are.
        const std::vector<u32> data(20, 3);
        REQUIRE(hip()("hipMemcpy", p, static_cast<const void*>(data.data()), size_t{80}, 1) == 0);
        REQUIRE(hip()("hipMemset", static_cast<void*>(static_cast<u32*>(p) + 20), 1, size_t{80}) == 0);
        REQUIRE(hip()("hipMemcpy", q, static_cast<const void*>(p), size_t{256}, 3) == 0);
        for (void* in : {p, q})
            check_pair(m, target, "fault_undefined_memory", 1, 64, 1, 719,
                       {"use of an undefined value", "data stored to global memory", "wave 1", "lane 8"}, in,
                       out.get(), 40);
        // What a kernel stores is defined.
        REQUIRE(m.launch("fault_global", 1, 1, 64, p, 64, 0) == 0);
        CHECK(m.launch("fault_undefined_memory", 1, 1, 64, p, out.get(), 64, 0) == 0);
        setenv("GFXSIM_UNDEF", "off", 1);
        CHECK(m.launch("fault_undefined_memory", 1, 1, 64, q, out.get(), 64, 0) == 0);
        unsetenv("GFXSIM_UNDEF");
        REQUIRE(hip()("hipFree", p) == 0);
        REQUIRE(hip()("hipFree", q) == 0);
    });
}

TEST_CASE("races between waves", "[faults]") {
    for_each_module([](const Module& m, const std::string& target) {
        const auto check = [&](const char* kernel, const std::vector<std::string>& words) {
            DeviceArray<u32> out(hip(), std::vector<u32>(64));
            std::vector<std::string> all = {"race between waves", "between the same barriers"};
            all.insert(all.end(), words.begin(), words.end());
            check_pair(m, target, kernel, 1, 64, 1, 719, all, out.get());
        };
        check("fault_race_lds", {"wave 0, lane", "writes LDS byte", "which wave 1 lane 0 reads"});
        check("fault_race_bytes", {"writes LDS byte", "wave 0, lane 0", "which wave 1 lane 0 writes"});
        check("fault_race_global", {"wave 1, lane 0", "writes the byte at", "which wave 0 writes"});
        check("fault_race_read", {"reads the byte at", "writes between"});
        // Without optimization the atomic returns a value, and could be a lock.
        if (optimized) check("fault_race_atomic", {"updates LDS byte", "which wave 1 lane 0 reads"});
        setenv("GFXSIM_RACES", "off", 1);
        DeviceArray<u32> out(hip(), std::vector<u32>(64));
        CHECK(m.launch("fault_race_global", 1, 1, 64, out.get(), 1) == 0);
        unsetenv("GFXSIM_RACES");
    });
}

// How fast the simulator executes matrix instructions, all checks on: million wave instructions a second of
// processor time, so that a busy machine does not matter; two idle cores do twice as many a second.
// GFXSIM_THREADS and GFXSIM_HOST=baseline are worth trying.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "hip_client.hpp"

using namespace gfxsim_test;

namespace {

constexpr unsigned kGroups = 16;
constexpr int kRounds = 6000;

void time_loop(const HipClient& hip, const Module& module, const char* target, const char* kernel) {
    const std::vector<uint32_t> fragments(4 * 16 * 8, 0x01020304);
    DeviceArray<uint32_t> a(hip, fragments), b(hip, fragments);
    DeviceArray<uint32_t> out(hip, std::vector<uint32_t>(size_t{kGroups} * 64 * 16 * 8));
    double best = 0;
    for (int k = 0; k < 3; ++k) {
        const std::clock_t begin = std::clock();
        if (module.launch(kernel, kGroups, 1, 64, a.get(), b.get(), out.get(), kRounds) != 0) {
            std::printf("%s %s: the launch failed\n", target, kernel);
            std::exit(1);
        }
        const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        // The matrix instructions alone count; three scalar ones a round go with sixteen of them.
        best = std::max(best, 16.0 * kRounds * kGroups * 2 / seconds / 1e6);
    }
    std::printf("%-8s %-10s %6.1f M matrix instructions a second and core\n", target, kernel, best);
}

}  // namespace

int main() {
    setenv("GFXSIM_DEVICES", "gfx1100,gfx1201", 1);
    const HipClient hip(GFXSIM_LIBRARY);
    int device = 0;
    for (const char* target : {"gfx1100", "gfx1201"}) {
        hip("hipSetDevice", device++);
        const Module module(hip, std::string(GFXSIM_PROGRAMS) + "/benchmark_" + target + ".co");
        for (const char* kernel : {"loop_iu8", "loop_f16", "loop_bf16"})
            time_loop(hip, module, target, kernel);
    }
    return 0;
}

#include "releases.hpp"

#include <cstdlib>
#include <map>

namespace gfxsim_test {

const HipClient& client(int release) {
    static std::map<int, HipClient*> clients;
    setenv("GFXSIM_DEVICES", "gfx1201,gfx1036", 1);
    HipClient*& c = clients[release];
    if (!c)
        c = new HipClient(release == 52   ? GFXSIM_LIBRARY_5
                          : release == 63 ? GFXSIM_LIBRARY_6
                                          : GFXSIM_LIBRARY_7);
    return *c;
}

std::string program(const char* target) {
    return std::string(GFXSIM_PROGRAMS) + "/programs_" + target + "_O3.co";
}

}  // namespace gfxsim_test

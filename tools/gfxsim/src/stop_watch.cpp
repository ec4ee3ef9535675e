#include "stop_watch.hpp"

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "code_image.hpp"
#include "fault.hpp"

namespace ckitchen::gfxsim {
namespace {

bool names(const Options& options, const Kernel& kernel) {
    return options.stop_kernel.empty() || options.stop_kernel == kernel.name;
}

/// One text of a variable and what came of it.
struct Request {
    std::string text;
    bool met = false;
};

struct StopRequest : Request {
    std::string group;
    uint64_t launches = 0;   // of that kernel
    uint64_t most_hits = 0;  // in one of them

    std::string unmet() const {
        if (text.empty() || met) return {};
        std::string out = "gfxsim: GFXSIM_STOP is '" + text + "', no launch stopped there: ";
        if (launches == 0) return out + "no kernel of that name was launched\n";
        out += most_hits == 0 ? "the instruction was not executed"
                              : "the instruction was executed " + std::to_string(most_hits) +
                                    " times at most in a launch";
        if (!group.empty()) out += " in workgroup " + group;
        return out + "\n";
    }
};

struct GroupRequest : Request {
    std::string unmet() const {
        if (text.empty() || met) return {};
        return "gfxsim: GFXSIM_TRACE_GROUP is '" + text + "', no launch had that workgroup\n";
    }
};

struct Requests {
    std::mutex mutex;
    StopRequest stop;
    GroupRequest group;
};

Requests& requests() {
    // Never destroyed: launches may end after static objects do.
    static Requests* all = new Requests;
    return *all;
}

/// Goes on to another text, after what is to be said of the former one.
template <class R>
void change(R& request, const std::string& text) {
    if (request.text == text) return;
    std::fputs(request.unmet().c_str(), stderr);
    request = R{};
    request.text = text;
}

bool has_group(const LaunchRequest& request, const Options& options) {
    for (int axis = 0; axis < 3; ++axis)
        if (options.group[axis] >= request.grid[axis]) return false;
    return true;
}

}  // namespace

std::string stop_mistake(const Kernel& kernel, const Options& options) {
    // Without a name it is for all kernels, and right for one of them perhaps.
    if (options.stop_offset < 0 || options.stop_kernel != kernel.name) return {};
    const CodeImage& image = *kernel.image;
    const std::string what = "GFXSIM_STOP is '" + options.stop_text + "'";
    const uint64_t offset = static_cast<uint64_t>(options.stop_offset);
    if (offset >= image.end() - kernel.entry) return what + ", beyond the end of the code";
    const uint64_t wanted = kernel.entry + offset;
    uint64_t pc = kernel.entry;
    while (pc < wanted) {
        const Inst& inst = image.at(pc);
        if (pc + inst.size > wanted)
            return what + ", inside the instruction at " + hex(pc - kernel.entry) + ": " + inst.text;
        pc += inst.size;
    }
    return {};
}

void note_launch(const LaunchRequest& request, const Options& options, uint64_t hits, bool reached) {
    const bool grouped = !options.trace_group.empty() && (options.trace || options.stop_offset >= 0);
    if (options.stop_offset < 0 && !grouped) return;
    Requests& all = requests();
    std::lock_guard lock(all.mutex);
    if (options.stop_offset >= 0) {
        if (all.stop.group != options.trace_group) change(all.stop, "");
        change(all.stop, options.stop_text);
        all.stop.group = options.trace_group;
        all.stop.met |= reached;
        if (names(options, *request.kernel)) ++all.stop.launches;
        all.stop.most_hits = std::max(all.stop.most_hits, hits);
    }
    if (grouped) {
        change(all.group, options.trace_group);
        all.group.met |= has_group(request, options);
    }
}

std::string unmet_requests() {
    Requests& all = requests();
    std::lock_guard lock(all.mutex);
    return all.stop.unmet() + all.group.unmet();
}

}  // namespace ckitchen::gfxsim

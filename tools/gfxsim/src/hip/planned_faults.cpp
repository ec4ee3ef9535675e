#include "planned_faults.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>

namespace ckitchen::gfxsim {
namespace {

struct Trigger {
    unsigned long at = 0;  // 0: never
    bool onwards = false;
    unsigned long count = 0;

    bool hit() { return at != 0 && (++count == at || (onwards && count > at)); }
};

struct Plan {
    std::string text;
    Trigger allocation, launch, loss, query;
    bool lost = false;
    long slow = 0;
};

std::mutex mutex;

/// The plan of the variable's present text; the caller holds the mutex.
Plan& plan() {
    static Plan* current = new Plan;
    const char* variable = std::getenv("GFXSIM_FAULT");
    const std::string text = variable ? variable : "";
    if (text == current->text) return *current;
    *current = Plan{};
    current->text = text;
    for (size_t at = 0; at < text.size();) {
        const size_t comma = std::min(text.find(',', at), text.size());
        const std::string item = text.substr(at, comma - at);
        at = comma + 1;
        const size_t mark = item.find_first_of("@=");
        if (mark == item.npos) continue;
        const std::string name = item.substr(0, mark);
        const unsigned long value = std::strtoul(item.c_str() + mark + 1, nullptr, 10);
        const Trigger trigger{value, item.back() == '+', 0};
        if (name == "oom") current->allocation = trigger;
        if (name == "launch") current->launch = trigger;
        if (name == "query") current->query = trigger;
        if (name == "lost") current->loss = trigger;
        if (name == "slow") current->slow = static_cast<long>(value);
    }
    return *current;
}

}  // namespace

bool allocation_fails() {
    std::lock_guard lock(mutex);
    return plan().allocation.hit();
}

bool launch_fails() {
    std::lock_guard lock(mutex);
    return plan().launch.hit();
}

bool query_fails() {
    std::lock_guard lock(mutex);
    return plan().query.hit();
}

bool launch_loses_device() {
    std::lock_guard lock(mutex);
    Plan& p = plan();
    p.lost |= p.loss.hit();
    return p.lost;
}

bool device_lost() {
    std::lock_guard lock(mutex);
    return plan().lost;
}

std::chrono::milliseconds extra_time() {
    std::lock_guard lock(mutex);
    return std::chrono::milliseconds(plan().slow);
}

}  // namespace ckitchen::gfxsim

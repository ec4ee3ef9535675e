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
    std::string mistake;
};

/// False where the item of the list is not understood.
bool read_item(const std::string& item, Plan& plan) {
    const size_t mark = item.find_first_of("@=");
    const std::string name = item.substr(0, mark);
    const bool onwards = item.back() == '+';
    const size_t digits = mark == item.npos ? 0 : item.size() - mark - 1 - (onwards ? 1 : 0);
    if (digits == 0 || digits > 9 || item.find_first_not_of("0123456789", mark + 1) < mark + 1 + digits)
        return false;
    const unsigned long value = std::strtoul(item.c_str() + mark + 1, nullptr, 10);
    if (item[mark] == '=') {
        plan.slow = static_cast<long>(value);
        return name == "slow" && !onwards;
    }
    Trigger* trigger = name == "oom"      ? &plan.allocation
                       : name == "launch" ? &plan.launch
                       : name == "query"  ? &plan.query
                       : name == "lost"   ? &plan.loss
                                          : nullptr;
    if (!trigger || value == 0 || (onwards && name == "lost")) return false;
    *trigger = {value, onwards, 0};
    return true;
}

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
        if (!read_item(item, *current) && current->mistake.empty())
            current->mistake = "GFXSIM_FAULT has '" + item +
                               "', must be oom@n, launch@n, query@n (each may end in +), lost@n or slow=ms";
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

std::string fault_mistake() {
    std::lock_guard lock(mutex);
    return plan().mistake;
}

std::chrono::milliseconds extra_time() {
    std::lock_guard lock(mutex);
    return std::chrono::milliseconds(plan().slow);
}

}  // namespace ckitchen::gfxsim

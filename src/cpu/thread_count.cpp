#include "cpu/thread_count.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

namespace ckitchen::cpu {
namespace {

int affinity_threads() {
    // The kernel refuses a mask that is smaller than its own; 2^18 CPUs are far beyond any.
    for (std::size_t cpus = CPU_SETSIZE; cpus <= (std::size_t{1} << 18); cpus *= 2) {
        std::vector<cpu_set_t> mask(cpus / CPU_SETSIZE);
        const std::size_t bytes = mask.size() * sizeof(cpu_set_t);
        if (sched_getaffinity(0, bytes, mask.data()) == 0) return CPU_COUNT_S(bytes, mask.data());
        if (errno != EINVAL) break;
    }
    return static_cast<int>(std::thread::hardware_concurrency());
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// quota / period rounded up; 0 for "no limit" and for anything that is not understood.
int whole_cpus(const std::string& quota, const std::string& period) {
    const long long quota_us = std::strtoll(quota.c_str(), nullptr, 10);
    const long long period_us = std::strtoll(period.c_str(), nullptr, 10);
    if (quota_us <= 0 || period_us <= 0) return 0;
    const long long cpus = quota_us / period_us + (quota_us % period_us != 0 ? 1 : 0);
    return static_cast<int>(std::min<long long>(cpus, kMaxThreads));
}

int limit_of_group(const std::string& directory, bool unified) {
    if (unified) {
        std::istringstream line(first_line(directory + "/cpu.max"));
        std::string quota;
        std::string period;
        line >> quota >> period;
        return whole_cpus(quota, period);
    }
    return whole_cpus(first_line(directory + "/cpu.cfs_quota_us"),
                      first_line(directory + "/cpu.cfs_period_us"));
}

// The tightest limit of a group and the groups above it: every one of them binds. In a container the path may
// be the host's and not exist below the mount; then the mount's own root, the container's group, still
// counts.
int limit_of_path(const std::string& mount, std::string path, bool unified) {
    int limit = 0;
    for (;;) {
        const int here = limit_of_group(mount + path, unified);
        if (here > 0) limit = limit > 0 ? std::min(limit, here) : here;
        const std::size_t slash = path.rfind('/');
        if (path.empty() || slash == std::string::npos) return limit;
        path.resize(slash);
    }
}

bool lists_cpu(const std::string& controllers) {
    std::istringstream names(controllers);
    std::string name;
    while (std::getline(names, name, ','))
        if (name == "cpu") return true;
    return false;
}

}  // namespace

int cgroup_cpu_limit(const std::string& membership, const std::string& mount) {
    int limit = 0;
    const auto tighten = [&limit](int found) {
        if (found > 0) limit = limit > 0 ? std::min(limit, found) : found;
    };
    std::ifstream file(membership);
    std::string line;
    while (std::getline(file, line)) {
        // "<id>:<controllers>:<path>"; version 2 has id 0 and no controllers.
        const std::size_t first = line.find(':');
        if (first == std::string::npos) continue;
        const std::size_t second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        std::string path = line.substr(second + 1);
        if (path == "/") path.clear();
        if (controllers.empty()) {
            tighten(limit_of_path(mount, path, true));
        } else if (lists_cpu(controllers)) {
            tighten(limit_of_path(mount + "/" + controllers, path, false));
            if (controllers != "cpu") tighten(limit_of_path(mount + "/cpu", path, false));
        }
    }
    return limit;
}

int available_threads() {
    int threads = affinity_threads();
    const int limit = cgroup_cpu_limit("/proc/self/cgroup", "/sys/fs/cgroup");
    if (limit > 0) threads = std::min(threads, limit);
    return std::clamp(threads, 1, kMaxThreads);
}

}  // namespace ckitchen::cpu

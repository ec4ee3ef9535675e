// How many threads this process may use.
#pragma once

#include <string>

namespace ckitchen::cpu {

inline constexpr int kMaxThreads = 1024;

// The smaller of the affinity mask and the CPU quota of the process's control group (v2 or v1), at least 1
// and at most kMaxThreads.
int available_threads();

// The control group's CPU quota in whole CPUs, rounded up; 0 when there is none. `membership` is a file like
// /proc/self/cgroup and `mount` a directory like /sys/fs/cgroup.
int cgroup_cpu_limit(const std::string& membership, const std::string& mount);

}  // namespace ckitchen::cpu

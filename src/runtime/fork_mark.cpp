#include "runtime/fork_mark.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

namespace ckitchen::runtime {

ForkMark::ForkMark() : process_(getpid()) {
    const long size = sysconf(_SC_PAGESIZE);
    if (size <= 0) return;
    void* page = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    // Linux 4.14 and newer.
    if (madvise(page, static_cast<std::size_t>(size), MADV_WIPEONFORK) != 0) {
        munmap(page, static_cast<std::size_t>(size));
        return;
    }
    *static_cast<volatile uint8_t*>(page) = 1;
    page_ = static_cast<const volatile uint8_t*>(page);
}

bool ForkMark::slow_forked() const {
    return getpid() != process_;
}

}  // namespace ckitchen::runtime

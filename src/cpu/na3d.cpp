#include "cpu/na3d.hpp"

#include "cpu/reference/na3d.hpp"

namespace ckitchen::cpu {

std::uint64_t na3d_workspace(const ck_na3d_args&) {
    return 0;
}

void na3d(ThreadPool& pool, const ck_na3d_args& p) {
    constexpr std::int64_t kQueriesPerRange = 16;
    pool.parallel_for(reference::na3d_queries(p), kQueriesPerRange,
                      [&p](std::int64_t begin, std::int64_t end) { reference::na3d(p, begin, end); });
}

}  // namespace ckitchen::cpu

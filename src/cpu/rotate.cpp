#include "cpu/rotate.hpp"

#include "cpu/partition.hpp"
#include "cpu/reference/rotate.hpp"

namespace ckitchen::cpu {

std::uint64_t rotate_workspace(const ck_rotate_args&) {
    return 0;
}

void rotate(ThreadPool& pool, const ck_rotate_args& p) {
    pool.parallel_for(p.rows, rows_per_range(p.k),
                      [&p](std::int64_t begin, std::int64_t end) { reference::rotate(p, begin, end); });
}

}  // namespace ckitchen::cpu

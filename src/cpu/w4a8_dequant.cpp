#include "cpu/w4a8_dequant.hpp"

#include "cpu/partition.hpp"
#include "cpu/reference/w4a8_dequant.hpp"

namespace ckitchen::cpu {

std::uint64_t w4a8_dequant_workspace(const ck_w4a8_dequant_args&) {
    return 0;
}

void w4a8_dequant(ThreadPool& pool, const ck_w4a8_dequant_args& p) {
    pool.parallel_for(p.n, rows_per_range(p.k),
                      [&p](std::int64_t begin, std::int64_t end) { reference::w4a8_dequant(p, begin, end); });
}

}  // namespace ckitchen::cpu

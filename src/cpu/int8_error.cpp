#include "cpu/int8_error.hpp"

#include "cpu/partition.hpp"
#include "cpu/reference/int8_error.hpp"

namespace ckitchen::cpu {

void int8_error(ThreadPool& pool, const ck_int8_error_args& p) {
    pool.parallel_for(p.rows, rows_per_range(p.k),
                      [&p](std::int64_t begin, std::int64_t end) { reference::int8_error(p, begin, end); });
}

}  // namespace ckitchen::cpu

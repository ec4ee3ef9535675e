#include "cpu/int8_quantize.hpp"

#include "cpu/partition.hpp"
#include "cpu/reference/int8_quantize.hpp"

namespace ckitchen::cpu {

std::uint64_t int8_quantize_workspace(const ck_int8_quantize_args&) {
    return 0;
}

void int8_quantize(ThreadPool& pool, const ck_int8_quantize_args& p) {
    pool.parallel_for(p.rows, rows_per_range(p.k), [&p](std::int64_t begin, std::int64_t end) {
        reference::int8_quantize(p, begin, end);
    });
}

}  // namespace ckitchen::cpu

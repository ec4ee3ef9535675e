#include "cpu/w4a8_requant.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include "cpu/partition.hpp"
#include "cpu/reference/elements.hpp"
#include "cpu/reference/w4a8_requant.hpp"

namespace ckitchen::cpu {

std::uint64_t w4a8_requant_workspace(const ck_w4a8_requant_args&) {
    return 0;
}

void w4a8_requant(ThreadPool& pool, const ck_w4a8_requant_args& p) {
    const std::int64_t row_scratch = reference::w4a8_requant_scratch(p);
    const std::int64_t slots = std::min<std::int64_t>(pool.threads(), p.n);
    const auto scratch =
        std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(slots * row_scratch));
    std::atomic<std::uint64_t> nonfinite{0};
    pool.parallel_for(p.n, rows_per_range(p.k), [&](std::int64_t begin, std::int64_t end, int slot) {
        nonfinite += reference::w4a8_requant(p, begin, end, scratch.get() + slot * row_scratch);
    });
    if (p.nonfinite != nullptr)
        reference::store(p.nonfinite, 0, reference::load<std::uint64_t>(p.nonfinite, 0) + nonfinite.load());
}

}  // namespace ckitchen::cpu

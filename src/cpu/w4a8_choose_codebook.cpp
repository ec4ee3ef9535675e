#include "cpu/w4a8_choose_codebook.hpp"

#include <memory>

#include "cpu/fp_env.hpp"
#include "cpu/partition.hpp"
#include "cpu/reference/elements.hpp"
#include "cpu/reference/w4a8_codebook.hpp"

namespace ckitchen::cpu {

std::uint64_t w4a8_choose_codebook_workspace(const ck_w4a8_choose_codebook_args&) {
    return 0;
}

void w4a8_choose_codebook(ThreadPool& pool, const ck_w4a8_choose_codebook_args& p) {
    const std::int64_t rows = reference::codebook_sample_rows(p);
    const std::int64_t count = rows * p.k;
    const auto values = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(count));
    pool.parallel_for(rows, rows_per_range(p.k), [&](std::int64_t begin, std::int64_t end) {
        reference::codebook_gather(p, begin, end, values.get());
    });
    float levels[16];
    w4a8_fit_codebook(values.get(), count, levels);
    for (int j = 0; j < 16; ++j) reference::store(p.codebook, j, levels[j]);
}

void w4a8_fit_codebook(float* values, std::int64_t count, float (&levels)[16]) {
    const FpEnv fp_env;
    reference::codebook_fit(values, count, levels);
}

}  // namespace ckitchen::cpu

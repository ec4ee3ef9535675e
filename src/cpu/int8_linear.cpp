#include "cpu/int8_linear.hpp"

#include "core/linear_args.hpp"
#include "cpu/int8_gemm.hpp"
#include "cpu/int8_quantize.hpp"
#include "cpu/reference/int8_linear.hpp"
#include "cpu/workspace.hpp"

namespace ckitchen::cpu {

std::uint64_t int8_linear_workspace(const ck_int8_linear_args& p) {
    return QuantizedRows::workspace(p.m, p.k);
}

void int8_linear(ThreadPool& pool, const ck_int8_linear_args& p) {
    if (p.m == 0 || p.n == 0) return;
    const QuantizedRows rows(p.workspace, p.m);
    int8_quantize(pool, linear_quantize_args(p, rows.q, p.k, rows.scale));
    int8_gemm(pool, reference::int8_linear_gemm_args(p, rows.q, rows.scale));
}

}  // namespace ckitchen::cpu

#include "ops/operator.hpp"

#include "ops/int8_error.hpp"
#include "ops/int8_gemm.hpp"
#include "ops/int8_linear.hpp"
#include "ops/int8_quantize.hpp"
#include "ops/na3d.hpp"
#include "ops/rotate.hpp"
#include "ops/w4a8_choose_codebook.hpp"
#include "ops/w4a8_dequant.hpp"
#include "ops/w4a8_linear.hpp"
#include "ops/w4a8_requant.hpp"

namespace ckitchen::ops {
namespace {

constexpr OperatorEntry kOperators[] = {
    Call<Int8Gemm>::entry(),    Call<Int8Quantize>::entry(), Call<Int8Linear>::entry(),
    Call<Rotate>::entry(),      Call<W4a8Requant>::entry(),  Call<W4a8ChooseCodebook>::entry(),
    Call<W4a8Dequant>::entry(), Call<W4a8Linear>::entry(),   Call<Na3d>::entry(),
    Call<Int8Error>::entry(),
};

static_assert(
    [] {
        for (const OperatorEntry& entry : kOperators)
            if (static_cast<std::size_t>(entry.op) >= kOpCount) return false;
        return true;
    }(),
    "the context has tables by ck_op");

}  // namespace

std::span<const OperatorEntry> operators() {
    return kOperators;
}

const OperatorEntry* find_operator(ck_op op) {
    for (const OperatorEntry& entry : kOperators) {
        if (entry.op == op) return &entry;
    }
    return nullptr;
}

}  // namespace ckitchen::ops

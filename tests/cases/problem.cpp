#include "cases/problem.hpp"

#include <cstring>
#include <stdexcept>

#include "core/problem_text.hpp"

namespace ckitchen::cases {
namespace {

#define CK_CASES_OP(id, member)                                                         \
    {                                                                                   \
        id, #member, sizeof(ck_##member##_args),                                        \
            [](ck_context* context, const Args& args, void* stream) {                   \
                return ck_##member(context, &args.member, stream);                      \
            },                                                                          \
            [](ck_context* context, const Args& args, ck_support_info* info) {          \
                return ck_##member##_supported(context, &args.member, info);            \
            },                                                                          \
            [](ck_context* context, const Args& args, uint64_t* bytes) {                \
                return ck_##member##_workspace_size(context, &args.member, bytes);      \
            },                                                                          \
            [](Args& args, uint64_t** size) { return workspace_of(args.member, size); } \
    }

template <typename T>
void** workspace_of(T& args, uint64_t** size) {
    if constexpr (requires { args.workspace; }) {
        *size = &args.workspace_size;
        return &args.workspace;
    } else {
        static_cast<void>(args);
        static_cast<void>(size);
        return nullptr;
    }
}

}  // namespace

const std::vector<Op>& all_ops() {
    static const std::vector<Op> ops = {
        CK_CASES_OP(CK_OP_INT8_GEMM, int8_gemm),
        CK_CASES_OP(CK_OP_INT8_QUANTIZE, int8_quantize),
        CK_CASES_OP(CK_OP_INT8_LINEAR, int8_linear),
        CK_CASES_OP(CK_OP_ROTATE, rotate),
        CK_CASES_OP(CK_OP_W4A8_REQUANT, w4a8_requant),
        CK_CASES_OP(CK_OP_W4A8_CHOOSE_CODEBOOK, w4a8_choose_codebook),
        CK_CASES_OP(CK_OP_W4A8_DEQUANT, w4a8_dequant),
        CK_CASES_OP(CK_OP_W4A8_LINEAR, w4a8_linear),
        CK_CASES_OP(CK_OP_NA3D, na3d),
        CK_CASES_OP(CK_OP_INT8_ERROR, int8_error),
    };
    return ops;
}

const Op& find_op(ck_op op) {
    for (const Op& entry : all_ops())
        if (entry.op == op) return entry;
    throw std::logic_error("no such operator");
}

const Op* find_op(std::string_view name) {
    for (const Op& entry : all_ops())
        if (name == entry.name) return &entry;
    return nullptr;
}

Problem make_problem(ck_op op) {
    Problem problem;
    std::memset(&problem.args, 0, sizeof(problem.args));
    problem.op = op;
    problem.args.struct_size = find_op(op).args_size;
    return problem;
}

std::string format_problem(const Problem& problem) {
    return problem_text(problem.op, &problem.args);
}

std::optional<Problem> parse_problem(const std::string& text, std::string* error) {
    ParsedProblem parsed;
    const Status status = ckitchen::parse_problem(text, parsed);
    if (!status.ok()) {
        *error = status.message();
        return std::nullopt;
    }
    static_assert(sizeof(Args) <= sizeof(parsed.args));
    Problem problem = make_problem(parsed.op);
    std::memcpy(&problem.args, parsed.args.data(), sizeof(problem.args));
    return problem;
}

}  // namespace ckitchen::cases

// Section 6 of ckitchen.h.
#include "api/guard.hpp"
#include "core/bounded_text.hpp"
#include "core/struct_io.hpp"
#include "ops/operator.hpp"

using namespace ckitchen;

extern "C" {

ck_status ck_prepare(ck_context* context, const ck_problem* problems, uint64_t count) {
    return api::guarded("ck_prepare", context, [&](ck_context& c) -> Status {
        if (count == 0) return c.backend->check();
        if (!problems) return invalid_argument("problems is NULL with count {}", count);
        CK_RETURN_IF_ERROR(check_output_struct(problems, "problems[0]", layout_of<ck_problem>()));
        const std::size_t step = problems->struct_size;
        const auto* entry = reinterpret_cast<const unsigned char*>(problems);
        for (uint64_t i = 0; i < count; ++i, entry += step) {
            const std::string where = "problems[" + std::to_string(i) + "]";
            ck_problem problem{};
            CK_RETURN_IF_ERROR(read_struct(entry, where.c_str(), problem));
            const ops::OperatorEntry* op = ops::find_operator(problem.op);
            if (!op) return invalid_argument("{}.op is {}, which is no operator", where, problem.op);
            if (Status status = op->prepare(c, problem.args); !status.ok())
                return status.with_prefix(where + ": ");
        }
        return {};
    });
}

const char* ck_last_variant(void) {
    return last_variant();
}

ck_status ck_variant_count(const ck_context* context, uint64_t* count) {
    return api::guarded("ck_variant_count", context, [&](const ck_context& c) -> Status {
        if (!count) return invalid_argument("count is NULL");
        *count = c.variants.size();
        return {};
    });
}

ck_status ck_get_variant_info(const ck_context* context, uint64_t index, ck_variant_info* info) {
    return api::guarded("ck_get_variant_info", context, [&](const ck_context& c) -> Status {
        CK_RETURN_IF_ERROR(check_output_struct(info, "info", layout_of<ck_variant_info>()));
        if (index >= c.variants.size())
            return invalid_argument("index is {}, must be below {}", index, c.variants.size());
        const VariantSlot& slot = c.variants[index];
        ck_variant_info result{};
        result.op = slot.variant.op;
        result.calls = slot.calls.load(std::memory_order_relaxed);
        copy_text(result.name, slot.variant.name);
        return write_struct(result, info, "info");
    });
}

}  // extern "C"

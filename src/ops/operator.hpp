// What every operator's call has in common, from the caller's struct to the launch. An operator is a class
// with
//
//   using Args;                                   the public struct
//   static constexpr ck_op id;
//   static constexpr const char* cpu_variant;     name of the CPU's variant
//   static Status normalise(Args&);               checks all but pointers, fills in every default
//   static bool empty(const Args&);               a zero extent: success that writes nothing
//   static void regions(const Args&, Regions&);   the memory of every data argument
//   static uint64_t workspace(const ck_context&, const Args&, const Variant&);
//   static Status run(ck_context&, const Args&, const Variant&, void* stream);
//
// on GPUs `device_rows`, `metric_names`, `metrics` (of args, or of the context and args), `refusal` and
// `prepare`; `preferences`, the name of another operator, where that one's rows and preferences are its own;
// `may_alias` and `alias_of` (an input that may be exactly an output). Args that reach `run` are normalised:
// no leading dimension or stride is a default any more.
#pragma once

#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/log.hpp"
#include "core/problem_text.hpp"
#include "core/region.hpp"
#include "core/struct_io.hpp"
#include "ops/checks.hpp"
#include "ops/refusal.hpp"

namespace ckitchen::ops {

// A device variant: its public name, the feature of arch.json that it needs, its row.
struct DeviceRow {
    const char* name;
    const char* feature;
    const void* row;
    bool needs_tiled_a = false;  // it exists where CKITCHEN_INT8_TILED_A asks for it
};

// The operator behind a ck_op, for code that handles all of them alike.
struct OperatorEntry {
    ck_op op;
    const char* cpu_variant;
    std::span<const DeviceRow> (*device_rows)();
    std::span<const char* const> metric_names;
    const char* preferences;  // the operator whose preferences hold, nullptr for its own
    Status (*run)(ck_context& context, const void* args, void* stream);
    // What `run` would answer before it launches anything, and the variant that would run.
    Status (*query)(ck_context& context, const void* args, const char*& variant);
    Status (*workspace_size)(ck_context& context, const void* args, uint64_t& bytes);
    Status (*prepare)(ck_context& context, const void* args);
};

const OperatorEntry* find_operator(ck_op op);
std::span<const OperatorEntry> operators();

template <typename Op>
class Call {
  public:
    using Args = typename Op::Args;

    static Status run(ck_context& context, const void* source, void* stream) {
        Args args;
        CK_RETURN_IF_ERROR(check_and_normalise(context, source, false, args));
        if (Op::empty(args)) return {};
        VariantSlot* slot = nullptr;
        CK_RETURN_IF_ERROR(select(context, args, slot));
        Regions regions;
        Op::regions(args, regions);
        CK_RETURN_IF_ERROR(regions.check(false));
        if constexpr (has_workspace) {
            const uint64_t needed = Op::workspace(context, args, slot->variant);
            if (needed > args.workspace_size || (needed > 0 && !args.workspace))
                return error(CK_ERROR_WORKSPACE_TOO_SMALL,
                             "workspace_size is {} (workspace {}), must be at least {} bytes",
                             args.workspace_size, args.workspace ? "given" : "NULL", needed);
            CK_RETURN_IF_ERROR(regions.workspace(args.workspace, needed));
        }
        if constexpr (requires { Op::may_alias; })
            CK_RETURN_IF_ERROR(regions.check_overlap(Op::may_alias, Op::alias_of));
        else
            CK_RETURN_IF_ERROR(regions.check_overlap());
        CK_RETURN_IF_ERROR(Op::run(context, args, slot->variant, stream));
        slot->calls.fetch_add(1, std::memory_order_relaxed);
        set_last_variant(slot->variant.name);
        if (log_enabled(CK_LOG_DISPATCH)) {
            const ck_device_properties& device = context.backend->properties();
            log(CK_LOG_DISPATCH, "{} | device={} arch={} variant={}", problem_text(Op::id, &args),
                device.ordinal, device.arch, slot->variant.name);
        }
        return {};
    }

    static Status query(ck_context& context, const void* source, const char*& variant) {
        Args args;
        VariantSlot* slot = nullptr;
        CK_RETURN_IF_ERROR(select_for_query(context, source, args, slot));
        variant = slot->variant.name;
        return {};
    }

    static Status workspace_size(ck_context& context, const void* source, uint64_t& bytes) {
        Args args;
        VariantSlot* slot = nullptr;
        CK_RETURN_IF_ERROR(select_for_query(context, source, args, slot));
        bytes = 0;
        if constexpr (has_workspace) {
            if (!Op::empty(args)) bytes = Op::workspace(context, args, slot->variant);
        }
        return {};
    }

    static Status prepare(ck_context& context, const void* source) {
        Args args;
        VariantSlot* slot = nullptr;
        CK_RETURN_IF_ERROR(select_for_query(context, source, args, slot));
        if constexpr (has_device_rows) {
            if (slot->variant.row && !Op::empty(args)) return Op::prepare(context, args, slot->variant);
        }
        return {};
    }

    static constexpr OperatorEntry entry() {
        OperatorEntry result{};
        result.op = Op::id;
        result.cpu_variant = Op::cpu_variant;
        if constexpr (has_device_rows) {
            result.device_rows = Op::device_rows;
            result.metric_names = Op::metric_names;
            if constexpr (requires { Op::preferences; }) result.preferences = Op::preferences;
        }
        result.run = run;
        result.query = query;
        result.workspace_size = workspace_size;
        result.prepare = prepare;
        return result;
    }

    // For operators that are made of others: the first variant that takes this part of the problem. Forced
    // variants and disabled operators concern direct calls only. `args` are normalised.
    static Status choose_part(ck_context& context, const Args& args, const Variant*& variant) {
        for (const VariantSlot* candidate : candidates(context, args)) {
            if (refusal(args, candidate->variant)) continue;
            variant = &candidate->variant;
            return {};
        }
        return unsupported(context, args, "a part of this problem", [](const Variant&) { return true; });
    }

  private:
    static constexpr bool has_workspace = requires(Args args) { args.workspace; };
    static constexpr bool has_device_rows = requires { Op::device_rows(); };

    static Status check_and_normalise(ck_context& context, const void* source, bool query, Args& args) {
        CK_RETURN_IF_ERROR(read_struct(source, "args", args));
        if (context.disabled[Op::id])
            return error(CK_ERROR_OP_DISABLED,
                         "{} is disabled by CKITCHEN_DISABLE or ck_context_options.disable",
                         find_op(Op::id)->name);
        CK_RETURN_IF_ERROR(Op::normalise(args));
        if (query) {
            Regions regions;
            Op::regions(args, regions);
            CK_RETURN_IF_ERROR(regions.check(true));
        }
        return context.backend->check();
    }

    static Status select_for_query(ck_context& context, const void* source, Args& args, VariantSlot*& slot) {
        CK_RETURN_IF_ERROR(check_and_normalise(context, source, true, args));
        return select(context, args, slot);
    }

    // The first variant that takes the problem, in the order that the first fitting rule gives.
    static Status select(ck_context& context, const Args& args, VariantSlot*& slot) {
        for (VariantSlot* candidate : candidates(context, args)) {
            if (passed_over(context, candidate->variant) || refusal(args, candidate->variant)) continue;
            slot = candidate;
            return {};
        }
        const char* forced = context.forced[Op::id];
        return unsupported(context, args,
                           forced ? std::string("this problem with ") + forced + " forced" : "this problem",
                           [&](const Variant& candidate) { return !passed_over(context, candidate); });
    }

    static std::span<VariantSlot* const> candidates(ck_context& context, const Args& args) {
        Metrics metrics{};
        if constexpr (requires { Op::metrics(context, args); }) {
            if (context.kind() != CK_BACKEND_CPU) metrics = Op::metrics(context, args);
        } else if constexpr (has_device_rows) {
            metrics = Op::metrics(args);
        }
        for (const ResolvedRule& rule : context.rules[Op::id]) {
            if (rule.holds(metrics)) return rule.order;
        }
        return {};
    }

    static bool passed_over(const ck_context& context, const Variant& variant) {
        const char* forced = context.forced[Op::id];
        return forced && forced != variant.name;
    }

    static Refusal refusal(const Args& args, const Variant& variant) {
        if constexpr (has_device_rows) {
            if (variant.row) return Op::refusal(args, variant);
        }
        return {};
    }

    // Why each of the candidates that were considered was refused.
    template <typename Considered>
    static Status unsupported(ck_context& context, const Args& args, const std::string& of_what,
                              const Considered& considered) {
        std::vector<RefusedVariant> refused;
        for (const VariantSlot* candidate : candidates(context, args)) {
            if (considered(candidate->variant))
                refused.push_back({candidate->variant.name, refusal(args, candidate->variant)});
        }
        return no_variant(find_op(Op::id)->name, context.backend->properties().arch, of_what, refused);
    }
};

}  // namespace ckitchen::ops

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
// and, where it has them, `may_alias` and `alias_of` (an input that may be exactly an output). Args that
// reach `run` are normalised: no leading dimension or stride is a default any more.
#pragma once

#include <string>

#include "core/context.hpp"
#include "core/log.hpp"
#include "core/problem_text.hpp"
#include "core/region.hpp"
#include "core/struct_io.hpp"
#include "ops/checks.hpp"

namespace ckitchen::ops {

// The operator behind a ck_op, for code that handles all of them alike.
struct OperatorEntry {
    ck_op op;
    const char* cpu_variant;
    Status (*run)(ck_context& context, const void* args, void* stream);
    // What `run` would answer before it launches anything, and the variant that would run.
    Status (*query)(ck_context& context, const void* args, const char*& variant);
    Status (*workspace_size)(ck_context& context, const void* args, uint64_t& bytes);
    Status (*prepare)(ck_context& context, const void* args);
};

const OperatorEntry* find_operator(ck_op op);
std::span<const OperatorEntry> operators();

// Picks the variant of `op` for a problem. The CPU has one; a forced variant is the only candidate.
Status select_variant(ck_context& context, ck_op op, VariantSlot*& slot);

template <typename Op>
class Call {
  public:
    using Args = typename Op::Args;

    static Status run(ck_context& context, const void* source, void* stream) {
        Args args;
        CK_RETURN_IF_ERROR(check_and_normalise(context, source, false, args));
        if (Op::empty(args)) return {};
        VariantSlot* slot = nullptr;
        CK_RETURN_IF_ERROR(select_variant(context, Op::id, slot));
        Regions regions;
        Op::regions(args, regions);
        CK_RETURN_IF_ERROR(regions.check(false));
        if constexpr (has_workspace) {
            const uint64_t needed = Op::workspace(context, args, slot->variant);
            if (needed > args.workspace_size || (needed > 0 && !args.workspace))
                return error(CK_ERROR_WORKSPACE_TOO_SMALL,
                             "workspace_size is {} (workspace {}), must be at least {} bytes",
                             args.workspace_size, args.workspace ? "given" : "NULL", needed);
            regions.workspace(args.workspace, needed);
            CK_RETURN_IF_ERROR(regions.check(false));
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
        const char* variant = nullptr;
        return query(context, source, variant);
    }

    static constexpr OperatorEntry entry() {
        return {Op::id, Op::cpu_variant, run, query, workspace_size, prepare};
    }

  private:
    static constexpr bool has_workspace = requires(Args args) { args.workspace; };

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
        return select_variant(context, Op::id, slot);
    }
};

}  // namespace ckitchen::ops

// The three exported functions of an operator.
#pragma once

#include "api/guard.hpp"
#include "core/bounded_text.hpp"
#include "core/struct_io.hpp"
#include "ops/operator.hpp"

namespace ckitchen::api {

inline ck_status supported(const char* function, ck_context* context, const void* args, ck_support_info* info,
                           Status (*query)(ck_context&, const void*, const char*&)) noexcept {
    return guarded(function, context, [&](ck_context& c) -> Status {
        CK_RETURN_IF_ERROR(check_output_struct(info, "info", layout_of<ck_support_info>()));
        if (!args) return invalid_argument("args is NULL");
        ck_support_info result{};
        const char* variant = "";
        Status status = query(c, args, variant);
        // A struct that cannot be read is no problem that could be judged.
        if (status.code() == CK_ERROR_VERSION_MISMATCH) return status;
        result.status = status.code();
        copy_text(result.variant, variant);
        copy_text(result.reason, status.message());
        return write_struct(result, info, "info");
    });
}

inline ck_status workspace_size(const char* function, ck_context* context, const void* args, uint64_t* bytes,
                                Status (*size)(ck_context&, const void*, uint64_t&)) noexcept {
    return guarded(function, context, [&](ck_context& c) -> Status {
        if (!bytes) return invalid_argument("bytes is NULL");
        *bytes = 0;
        return size(c, args, *bytes);
    });
}

}  // namespace ckitchen::api

#define CK_DEFINE_OPERATOR(function, Op, Args)                                                     \
    extern "C" {                                                                                   \
    ck_status function(ck_context* context, const Args* args, void* stream) {                      \
        return ckitchen::api::guarded(#function, context, [&](ck_context& c) {                     \
            return ckitchen::ops::Call<Op>::run(c, args, stream);                                  \
        });                                                                                        \
    }                                                                                              \
    ck_status function##_supported(ck_context* context, const Args* args, ck_support_info* info) { \
        return ckitchen::api::supported(#function "_supported", context, args, info,               \
                                        ckitchen::ops::Call<Op>::query);                           \
    }                                                                                              \
    ck_status function##_workspace_size(ck_context* context, const Args* args, uint64_t* bytes) {  \
        return ckitchen::api::workspace_size(#function "_workspace_size", context, args, bytes,    \
                                             ckitchen::ops::Call<Op>::workspace_size);             \
    }                                                                                              \
    }

// What the operators on a W4A8 weight check alike.
#pragma once

#include "ops/checks.hpp"

namespace ckitchen::ops {

// An argument that belongs to one layout only must be NULL with the others: a caller that passes it has mixed
// up two formats, and would get noise instead of a message.
template <typename Args>
Status check_layout_pointers(const Args& args) {
    if (args.codebook && args.layout != CK_W4A8_CODEBOOK)
        return invalid_argument(
            "codebook is given with layout {}, must be NULL unless the layout is CODEBOOK (0)", args.layout);
    if (args.correction && args.layout != CK_W4A8_ASYMMETRIC)
        return invalid_argument(
            "correction is given with layout {}, must be NULL unless the layout is ASYMMETRIC (2)",
            args.layout);
    return {};
}

template <typename Args>
Status normalise_weight(Args& args) {
    CK_RETURN_IF_ERROR(check_weight_group(args.group, args.k));
    CK_RETURN_IF_ERROR(check_choice("layout", args.layout, CK_W4A8_ASYMMETRIC));
    CK_RETURN_IF_ERROR(check_dtype("s_rel_dtype", args.s_rel_dtype, {0, CK_F8_E4M3, CK_F32}));
    if (args.s_rel_dtype == 0) args.s_rel_dtype = CK_F8_E4M3;
    CK_RETURN_IF_ERROR(check_ld("ld_packed", args.ld_packed, "k/2", args.k / 2));
    CK_RETURN_IF_ERROR(check_ld("ld_s_rel", args.ld_s_rel, "k/group", args.k / args.group));
    CK_RETURN_IF_ERROR(check_ld("ld_correction", args.ld_correction, "n", args.n));
    return check_layout_pointers(args);
}

}  // namespace ckitchen::ops

#include "ops/checks.hpp"

#include <string>
#include <string_view>

namespace ckitchen::ops {

const char* dtype_name(ck_dtype dtype) {
    switch (dtype) {
        case CK_DTYPE_NONE:
            return "CK_DTYPE_NONE";
        case CK_F32:
            return "CK_F32";
        case CK_F16:
            return "CK_F16";
        case CK_BF16:
            return "CK_BF16";
        case CK_F8_E4M3:
            return "CK_F8_E4M3";
        case CK_I8:
            return "CK_I8";
        case CK_I32:
            return "CK_I32";
        default:
            return "unknown";
    }
}

namespace {

// "" when `dtype` is one of them, otherwise their names.
std::string names_unless_allowed(ck_dtype dtype, std::initializer_list<ck_dtype> allowed) {
    std::string list;
    for (ck_dtype entry : allowed) {
        if (entry == dtype) return {};
        if (!list.empty()) list += ", ";
        list += entry == CK_DTYPE_NONE ? "0" : dtype_name(entry);
    }
    return list;
}

}  // namespace

Status check_extent(const char* name, int64_t value, int64_t limit) {
    if (value < 0 || value > limit) return invalid_argument("{} is {}, must be 0 to {}", name, value, limit);
    return {};
}

Status check_ld(const char* name, int64_t& ld, const char* width_name, int64_t width) {
    if (ld == 0) ld = width;
    if (ld < width || ld > kMaxExtent)
        return invalid_argument("{} is {}, must be at least {} = {} and at most {} (0 = packed)", name, ld,
                                width_name, width, kMaxExtent);
    return {};
}

Status check_dtype(const char* name, ck_dtype dtype, std::initializer_list<ck_dtype> allowed) {
    const std::string list = names_unless_allowed(dtype, allowed);
    if (list.empty()) return {};
    return invalid_argument("{} is {} ({}), must be one of {}", name, dtype, dtype_name(dtype), list);
}

Status check_optional_dtype(const char* name, ck_dtype dtype, const void* pointer,
                            std::initializer_list<ck_dtype> allowed) {
    // A type without its pointer is harmless, a wrong one is still a mistake worth telling.
    if (dtype != CK_DTYPE_NONE) return check_dtype(name, dtype, allowed);
    if (!pointer) return {};
    const std::string list = names_unless_allowed(dtype, allowed);
    if (list.empty()) return {};
    // What the type is of: bias_dtype is bias's.
    const std::string_view tensor = std::string_view(name).substr(0, std::string_view(name).rfind("_dtype"));
    return invalid_argument("{} is 0 (CK_DTYPE_NONE), required with {}: one of {}", name, tensor, list);
}

Status check_choice(const char* name, int32_t value, int32_t last) {
    if (value < 0 || value > last) return invalid_argument("{} is {}, must be 0 to {}", name, value, last);
    return {};
}

Status check_rotate_group(const char* name, int32_t group, int64_t k, bool optional) {
    if (group == 0 && optional) return {};
    if (group != 4 && group != 16 && group != 64 && group != 256 && group != 1024)
        return invalid_argument("{} is {}, must be {}4, 16, 64, 256 or 1024", name, group,
                                optional ? "0, " : "");
    if (k % group != 0) return invalid_argument("{} is {}, must divide k = {}", name, group, k);
    return {};
}

Status check_weight_group(int32_t group, int64_t k) {
    if (group != 4 && group != 8 && (group < 16 || group % 16 != 0))
        return invalid_argument("group is {}, must be 4, 8 or a multiple of 16", group);
    if (k % group != 0) return invalid_argument("group is {}, must divide k = {}", group, k);
    return {};
}

}  // namespace ckitchen::ops

#include "core/status.hpp"

#include <fmt/format.h>

namespace ckitchen {

std::string format_text(fmt::string_view format, fmt::format_args args) {
    return fmt::vformat(format, args);
}

const char* status_name(ck_status code) {
    switch (code) {
#define CK_NAME(name) \
    case name:        \
        return #name;
        CK_NAME(CK_OK)
        CK_NAME(CK_ERROR_INVALID_ARGUMENT)
        CK_NAME(CK_ERROR_VERSION_MISMATCH)
        CK_NAME(CK_ERROR_UNSUPPORTED_PROBLEM)
        CK_NAME(CK_ERROR_WORKSPACE_TOO_SMALL)
        CK_NAME(CK_ERROR_INVALID_CONFIGURATION)
        CK_NAME(CK_ERROR_OP_DISABLED)
        CK_NAME(CK_ERROR_NO_RUNTIME)
        CK_NAME(CK_ERROR_NO_DEVICE)
        CK_NAME(CK_ERROR_UNSUPPORTED_ARCH)
        CK_NAME(CK_ERROR_OUT_OF_MEMORY)
        CK_NAME(CK_ERROR_DRIVER)
        CK_NAME(CK_ERROR_DEVICE_LOST)
        CK_NAME(CK_ERROR_NOT_PREPARED)
        CK_NAME(CK_ERROR_FORKED)
        CK_NAME(CK_ERROR_INTERNAL)
#undef CK_NAME
        default:
            return "CK_ERROR_UNKNOWN";
    }
}

}  // namespace ckitchen

// Section 2 of ckitchen.h.
#include "api/guard.hpp"

using namespace ckitchen;

extern "C" {

uint32_t ck_version(void) {
    return CK_VERSION;
}

const char* ck_status_string(ck_status status) {
    return status_name(status);
}

const char* ck_last_error(void) {
    return last_error();
}

ck_status ck_set_log_callback(ck_log_callback callback, void* user, int32_t level) {
    return api::guarded("ck_set_log_callback", [&]() -> Status {
        if (level < CK_LOG_OFF || level > CK_LOG_TRACE)
            return invalid_argument("level is {}, must be {} to {}", level, int{CK_LOG_OFF},
                                    int{CK_LOG_TRACE});
        set_log_callback(callback, user, level);
        return {};
    });
}

}  // extern "C"

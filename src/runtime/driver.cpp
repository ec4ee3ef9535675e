#include "runtime/driver.hpp"

#include <unistd.h>

namespace ckitchen::runtime {

Status Driver::forked_error() const {
    return error(CK_ERROR_FORKED,
                 "process {} opened {}, this is process {}: GPU contexts do not survive fork",
                 mark_.process(), description(), getpid());
}

}  // namespace ckitchen::runtime

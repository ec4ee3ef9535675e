#include "standard_output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "failure.hpp"
#include "text.hpp"

namespace ckitchen::cli {

void flush_standard_output() {
    if (std::fflush(stdout) != 0)
        throw Failure(Exit::kOutput, std::string("cannot write to stdout: ") + std::strerror(errno));
    // A buffer that ran full in between was written by printf, whose failure is only remembered.
    if (std::ferror(stdout) != 0) throw Failure(Exit::kOutput, "cannot write to stdout");
}

void flush_standard_output_after(const std::string& path) {
    try {
        flush_standard_output();
    } catch (const Failure& failure) {
        throw Failure(failure.status(),
                      std::string(failure.what()) + "; " + printable(path) + " was written and is complete");
    }
}

}  // namespace ckitchen::cli

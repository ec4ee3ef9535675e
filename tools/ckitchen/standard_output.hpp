// stdout as a file like others: what cannot be written there is a failure, not silence.
#pragma once

#include <string>

namespace ckitchen::cli {

// Fails with Exit::kOutput when something that was printed so far could not be written.
void flush_standard_output();

// The same after `path` was written: the failure says that this file is whole.
void flush_standard_output_after(const std::string& path);

}  // namespace ckitchen::cli

// stdout as a file like others: what cannot be written there is a failure, not silence.
#pragma once

namespace ckitchen::cli {

// Fails with Exit::kOutput when something that was printed so far could not be written.
void flush_standard_output();

}  // namespace ckitchen::cli

// How the program fails: one exception type that carries the exit status and one line of text.
#pragma once

#include <stdexcept>
#include <string>

namespace ckitchen::cli {

// The exit statuses are an interface: scripts branch on them, so numbers never change meaning.
enum class Exit : int {
    kOk = 0,
    kInternal = 1,   // a defect of the program
    kUsage = 2,      // the command line cannot be understood
    kInput = 3,      // an input file is missing, unreadable or not what it claims to be
    kOutput = 4,     // the output cannot be written, or must not be
    kKept = 5,       // done, but tensors with NaN or infinity or undecodable layers were kept as they were
    kBackend = 6,    // the library, its backend or the device refused
    kMismatch = 7,   // verify ran and a result was wrong
    kResources = 8,  // memory, of this machine or of the device, or threads ran out
};

class Failure : public std::runtime_error {
  public:
    Failure(Exit status, const std::string& message) : std::runtime_error(message), status_(status) {}
    Exit status() const { return status_; }

  private:
    Exit status_;
};

}  // namespace ckitchen::cli

#pragma once

#include <string>

namespace gfxsim_test {

/// Notes that an instruction test executed `text` (one instruction as LLVM prints it) on `target`.
void cover(const std::string& target, const std::string& text);

/// The instructions of inventory.txt that no test executed on a generation that has them, a line each; empty
/// when there are none.
std::string uncovered();

}  // namespace gfxsim_test

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gfxsim_test {

/// Machine code of each snippet, assembled by llvm-mc for `target` in one go. Throws std::runtime_error with
/// llvm-mc's message when a snippet does not assemble.
std::vector<std::vector<uint8_t>> assemble(const std::string& target,
                                           const std::vector<std::string>& snippets);

}  // namespace gfxsim_test

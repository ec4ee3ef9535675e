#pragma once

#include <string>

#include "inst.hpp"
#include "targets.hpp"

namespace ckitchen::gfxsim {

/// Makes `out` the dual-issue instruction of `x` and `y`. False, with the reason, when the pair breaks a rule
/// of the encoding. Both stay referenced by `out`.
bool combine_vopd(Inst& x, Inst& y, const Target& target, Inst& out, std::string& why);

}  // namespace ckitchen::gfxsim

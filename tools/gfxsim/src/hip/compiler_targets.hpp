#pragma once

#include <string_view>

#include "hip_types.hpp"

namespace ckitchen::gfxsim {

/// The processors that the code generator of the release knows.
inline bool compiler_knows(std::string_view arch) {
    const std::string_view name = arch.substr(0, arch.find(':'));
    const auto among = [name](std::initializer_list<std::string_view> list) {
        for (const std::string_view known : list)
            if (name == known) return true;
        return false;
    };
    if (among({"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"})) return true;
    if (kFlavor >= 60 &&
        among({"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1200", "gfx1201"}))
        return true;
    return kFlavor >= 70 && among({"gfx1152", "gfx1153"});
}

}  // namespace ckitchen::gfxsim

// The levels that ckitchen.h documents as the default codebook.
#pragma once

namespace ckitchen {

// Lloyd-Max levels of a group-normalized Gaussian.
inline constexpr float kDefaultCodebook[16] = {
    -0.980602f, -0.794529f, -0.638165f, -0.500986f, -0.377321f, -0.263187f, -0.155210f, -0.050720f,
    0.052541f,  0.156985f,  0.265284f,  0.379533f,  0.502636f,  0.638953f,  0.794876f,  0.980671f};

}  // namespace ckitchen

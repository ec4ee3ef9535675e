#pragma once

namespace ckitchen::gfxsim {

/// Whether integer matrix products use the host's 4-way byte dot products (AVX-512 VNNI); by default where
/// the processor has them. Tests switch it to run both ways.
bool& wide_dot_products();

}  // namespace ckitchen::gfxsim

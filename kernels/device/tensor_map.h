// A tensor map as the driver writes it: a matrix, a tile of it and how the tile lies in local memory. Host
// and device share this file.
#pragma once

#if defined(__AMDGCN__) || defined(__NVPTX__)
#include "types.h"
#else
#include <cstdint>
namespace ckitchen {
using std::uint64_t;
}  // namespace ckitchen
#endif

namespace ckitchen {

struct alignas(64) TensorMap {
    uint64_t word[16];
};

}  // namespace ckitchen

// Types of floating-point elements as the kernels number them. Host and device share this file.
#pragma once

#if defined(__AMDGCN__) || defined(__NVPTX__)
#include "types.h"
#else
#include <cstdint>
namespace ckitchen {
using std::int32_t;
using std::int64_t;
using std::uint32_t;
using std::uint64_t;
}  // namespace ckitchen
#endif

namespace ckitchen {

enum ElementType : uint32_t {
    kElementFloat32 = 1,
    kElementFloat16 = 2,
    kElementBfloat16 = 3,
};

}  // namespace ckitchen

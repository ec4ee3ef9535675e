// Fixed-width types of the device layer. Device code is compiled without any system, HIP or CUDA header, and
// what gfx103x compiles stays within C++17 and the builtins of LLVM 15, because a runtime compiler of that
// age must take it.
#pragma once

namespace ckitchen {

typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;

typedef int32_t Int32x2 __attribute__((ext_vector_type(2)));
typedef int32_t Int32x4 __attribute__((ext_vector_type(4)));
typedef int32_t Int32x8 __attribute__((ext_vector_type(8)));
typedef uint32_t Uint32x2 __attribute__((ext_vector_type(2)));
typedef uint32_t Uint32x4 __attribute__((ext_vector_type(4)));
typedef uint16_t Uint16x2 __attribute__((ext_vector_type(2)));
typedef uint16_t Uint16x4 __attribute__((ext_vector_type(4)));
typedef uint32_t Uint32x8 __attribute__((ext_vector_type(8)));
typedef float Float32x2 __attribute__((ext_vector_type(2)));
typedef float Float32x4 __attribute__((ext_vector_type(4)));
typedef float Float32x8 __attribute__((ext_vector_type(8)));

// Global memory is address space 1 and workgroup-local memory 3 on amdgcn and nvptx alike. Naming the space
// in the type keeps the compiler from emitting flat accesses.
template <typename T>
using GlobalPointer = T __attribute__((address_space(1)))*;
template <typename T>
using LocalPointer = T __attribute__((address_space(3)))*;

}  // namespace ckitchen

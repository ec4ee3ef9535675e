// Versioned reading and writing of public structs. The rules, as ckitchen.h states them: a field is read only
// when struct_size reaches its end; a larger struct is accepted when what is unknown is 0; output structs are
// filled up to the caller's size and zeroed beyond what the library knows.
#pragma once

#include <algorithm>
#include <cstring>

#include "core/fields.hpp"
#include "core/status.hpp"

namespace ckitchen {

struct StructLayout {
    const char* name;
    std::span<const Field> fields;
    std::size_t first_size;
    std::size_t size;
};

// Copies the caller's struct into `target` (layout.size bytes), which is zeroed first. `what` names the
// argument.
Status read_struct(const void* source, const char* what, const StructLayout& layout, void* target);

// Copies `source` (layout.size bytes) to the caller's struct, keeping its struct_size.
Status write_struct(const void* source, const StructLayout& layout, void* target, const char* what);

// struct_size of an output struct, checked without writing anything.
Status check_output_struct(const void* target, const char* what, const StructLayout& layout);

template <typename T>
constexpr StructLayout layout_of() {
    return {Fields<T>::name, Fields<T>::table, Fields<T>::first_size, sizeof(T)};
}

template <typename T>
Status read_struct(const void* source, const char* what, T& target) {
    return read_struct(source, what, layout_of<T>(), &target);
}

template <typename T>
Status write_struct(const T& source, T* target, const char* what) {
    return write_struct(&source, layout_of<T>(), target, what);
}

}  // namespace ckitchen

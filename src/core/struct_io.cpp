#include "core/struct_io.hpp"

#include <cstdint>

namespace ckitchen {
namespace {

// No struct of this library will come near it: a larger size is a caller's garbage, and is not scanned.
constexpr uint32_t kLargestStruct = 4096;

uint32_t size_of(const void* pointer) {
    uint32_t size = 0;
    std::memcpy(&size, pointer, sizeof(size));
    return size;
}

Status check_size(const void* pointer, const char* what, const StructLayout& layout) {
    if (!pointer) return invalid_argument("{} is NULL", what);
    const uint32_t size = size_of(pointer);
    if (size < layout.first_size || size > kLargestStruct)
        return error(CK_ERROR_VERSION_MISMATCH, "{}.struct_size is {}, must be {} to {} (sizeof({}) is {})",
                     what, size, layout.first_size, kLargestStruct, layout.name, layout.size);
    return {};
}

}  // namespace

Status read_struct(const void* source, const char* what, const StructLayout& layout, void* target) {
    CK_RETURN_IF_ERROR(check_size(source, what, layout));
    const std::size_t size = size_of(source);
    const auto* bytes = static_cast<const unsigned char*>(source);
    for (std::size_t i = layout.size; i < size; ++i) {
        if (bytes[i] != 0)
            return error(
                CK_ERROR_VERSION_MISMATCH,
                "{} has a nonzero byte at offset {}, this library knows {} bytes of {} (struct_size {})",
                what, i, layout.size, layout.name, size);
    }
    std::memset(target, 0, layout.size);
    for (const Field& field : layout.fields) {
        for (uint32_t i = 0; i < field.count; ++i) {
            const std::size_t offset = field.offset + std::size_t{i} * field.size;
            if (offset + field.size > size) return {};
            std::memcpy(static_cast<unsigned char*>(target) + offset, bytes + offset, field.size);
        }
        if (field.kind == FieldKind::reserved) {
            for (uint32_t i = 0; i < field.size * field.count; ++i) {
                if (bytes[field.offset + i] != 0) return invalid_argument("{}.{} is not 0", what, field.name);
            }
        }
    }
    return {};
}

Status check_output_struct(const void* target, const char* what, const StructLayout& layout) {
    return check_size(target, what, layout);
}

Status write_struct(const void* source, const StructLayout& layout, void* target, const char* what) {
    CK_RETURN_IF_ERROR(check_size(target, what, layout));
    const std::size_t size = size_of(target);
    auto* bytes = static_cast<unsigned char*>(target);
    const std::size_t known = std::min(size, layout.size);
    std::memcpy(bytes + sizeof(uint32_t), static_cast<const unsigned char*>(source) + sizeof(uint32_t),
                known - sizeof(uint32_t));
    std::memset(bytes + known, 0, size - known);
    return {};
}

}  // namespace ckitchen

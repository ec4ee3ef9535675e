#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ckitchen::gfxsim {

/// A decoded MessagePack value: the subset that AMDGPU metadata uses (nil, bool, integers, strings, arrays,
/// maps; floats and binaries are read and kept as nil).
struct MsgValue {
    enum class Kind : uint8_t { kNil, kBool, kInt, kString, kArray, kMap };
    Kind kind = Kind::kNil;
    int64_t integer = 0;
    std::string text;
    std::vector<MsgValue> items;  // elements of an array, values of a map
    std::vector<std::string>
        keys;  // kMap: one for each item; entries with other keys than strings are dropped

    /// Member by key, or nullptr when this is no map or has no such key.
    const MsgValue* find(std::string_view key) const;
    int64_t int_or(std::string_view key, int64_t otherwise) const;
    std::string text_or(std::string_view key, std::string_view otherwise) const;
};

/// False when the bytes are truncated, nested too deeply or malformed.
bool parse_msgpack(const uint8_t* data, size_t size, MsgValue& out);

}  // namespace ckitchen::gfxsim

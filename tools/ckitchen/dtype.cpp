#include "dtype.hpp"

#include <array>

namespace ckitchen::cli {
namespace {

struct Row {
    Dtype dtype;
    std::string_view name;
    std::uint64_t size;
};

// In the order of the enumeration, which the accessors index by.
constexpr std::array kRows = {
    Row{Dtype::kF64, "F64", 8},        Row{Dtype::kF32, "F32", 4},        Row{Dtype::kF16, "F16", 2},
    Row{Dtype::kBf16, "BF16", 2},      Row{Dtype::kF8E4m3, "F8_E4M3", 1}, Row{Dtype::kF8E5m2, "F8_E5M2", 1},
    Row{Dtype::kF8E8m0, "F8_E8M0", 1}, Row{Dtype::kI64, "I64", 8},        Row{Dtype::kI32, "I32", 4},
    Row{Dtype::kI16, "I16", 2},        Row{Dtype::kI8, "I8", 1},          Row{Dtype::kU64, "U64", 8},
    Row{Dtype::kU32, "U32", 4},        Row{Dtype::kU16, "U16", 2},        Row{Dtype::kU8, "U8", 1},
    Row{Dtype::kBool, "BOOL", 1},      Row{Dtype::kC64, "C64", 8},
};

constexpr bool rows_are_in_order() {
    for (std::size_t i = 0; i < kRows.size(); ++i) {
        if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
    }
    return kRows.size() == static_cast<std::size_t>(Dtype::kC64) + 1;
}
static_assert(rows_are_in_order());

}  // namespace

std::string_view dtype_name(Dtype dtype) {
    return kRows[static_cast<std::size_t>(dtype)].name;
}

std::optional<Dtype> parse_dtype(std::string_view name) {
    for (const Row& row : kRows) {
        if (row.name == name) return row.dtype;
    }
    return std::nullopt;
}

std::uint64_t dtype_size(Dtype dtype) {
    return kRows[static_cast<std::size_t>(dtype)].size;
}

bool is_quantizable_float(Dtype dtype) {
    return dtype == Dtype::kF32 || dtype == Dtype::kF16 || dtype == Dtype::kBf16;
}

}  // namespace ckitchen::cli

#include "core/problem_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace ckitchen {
namespace {

constexpr OpName kOps[] = {
    {CK_OP_INT8_GEMM, "int8_gemm", layout_of<ck_int8_gemm_args>()},
    {CK_OP_INT8_QUANTIZE, "int8_quantize", layout_of<ck_int8_quantize_args>()},
    {CK_OP_INT8_LINEAR, "int8_linear", layout_of<ck_int8_linear_args>()},
    {CK_OP_ROTATE, "rotate", layout_of<ck_rotate_args>()},
    {CK_OP_W4A8_REQUANT, "w4a8_requant", layout_of<ck_w4a8_requant_args>()},
    {CK_OP_W4A8_CHOOSE_CODEBOOK, "w4a8_choose_codebook", layout_of<ck_w4a8_choose_codebook_args>()},
    {CK_OP_W4A8_DEQUANT, "w4a8_dequant", layout_of<ck_w4a8_dequant_args>()},
    {CK_OP_W4A8_LINEAR, "w4a8_linear", layout_of<ck_w4a8_linear_args>()},
    {CK_OP_NA3D, "na3d", layout_of<ck_na3d_args>()},
    {CK_OP_INT8_ERROR, "int8_error", layout_of<ck_int8_error_args>()},
};

struct Word {
    FieldKind kind;
    int32_t value;
    std::string_view text;
};

constexpr Word kWords[] = {
    {FieldKind::dtype, CK_F32, "f32"},
    {FieldKind::dtype, CK_F16, "f16"},
    {FieldKind::dtype, CK_BF16, "bf16"},
    {FieldKind::dtype, CK_F8_E4M3, "f8_e4m3"},
    {FieldKind::dtype, CK_I8, "i8"},
    {FieldKind::dtype, CK_I32, "i32"},
    {FieldKind::scale_mode, CK_SCALE_SCALAR, "scalar"},
    {FieldKind::scale_mode, CK_SCALE_VECTOR, "vector"},
    {FieldKind::activation, CK_ACTIVATION_NONE, "none"},
    {FieldKind::activation, CK_ACTIVATION_GELU_TANH, "gelu_tanh"},
    {FieldKind::activation, CK_ACTIVATION_SWIGLU, "swiglu"},
    {FieldKind::layout, CK_W4A8_CODEBOOK, "codebook"},
    {FieldKind::layout, CK_W4A8_UNIFORM, "uniform"},
    {FieldKind::layout, CK_W4A8_ASYMMETRIC, "asymmetric"},
};

template <typename T>
T load(const unsigned char* from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
}

// Integers travel as 64 bits; unsigned 64-bit values keep their bits.
uint64_t load_integer(const Field& field, const unsigned char* from) {
    if (field.size == 8) return load<uint64_t>(from);
    return field.is_signed ? static_cast<uint64_t>(int64_t{load<int32_t>(from)}) : load<uint32_t>(from);
}

void append_element(std::string& out, const Field& field, const unsigned char* from) {
    switch (field.kind) {
        case FieldKind::pointer: {
            const auto address = load<uint64_t>(from);
            uint64_t alignment = 256;
            while (address % alignment != 0) alignment /= 2;
            out += fmt::format("@{}", alignment);
            return;
        }
        case FieldKind::real:
            out += fmt::format("{}", load<float>(from));
            return;
        case FieldKind::dtype:
        case FieldKind::scale_mode:
        case FieldKind::activation:
        case FieldKind::layout:
            for (const Word& word : kWords) {
                if (word.kind == field.kind && word.value == load<int32_t>(from)) {
                    out += word.text;
                    return;
                }
            }
            break;
        default:
            break;
    }
    const uint64_t value = load_integer(field, from);
    out += field.is_signed ? fmt::format("{}", static_cast<int64_t>(value)) : fmt::format("{}", value);
}

bool is_problem_field(const Field& field) {
    return field.kind != FieldKind::struct_size && field.kind != FieldKind::workspace &&
           field.kind != FieldKind::reserved;
}

template <typename T>
bool parse_number(std::string_view text, T& value) {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    return failed == std::errc() && end == text.data() + text.size();
}

bool parse_element(const Field& field, std::string_view text, unsigned char* to) {
    if (field.kind == FieldKind::pointer) {
        uint64_t alignment = 0;
        if (text.empty() || text[0] != '@' || !parse_number(text.substr(1), alignment)) return false;
        if (alignment == 0 || alignment > 256 || (alignment & (alignment - 1)) != 0) return false;
        std::memcpy(to, &alignment, sizeof(alignment));
        return true;
    }
    if (field.kind == FieldKind::real) {
        float value = 0;
        if (!parse_number(text, value)) return false;
        std::memcpy(to, &value, sizeof(value));
        return true;
    }
    for (const Word& word : kWords) {
        if (word.kind == field.kind && word.text == text) {
            std::memcpy(to, &word.value, sizeof(word.value));
            return true;
        }
    }
    if (field.size == 8) {
        if (field.is_signed) {
            int64_t value = 0;
            if (!parse_number(text, value)) return false;
            std::memcpy(to, &value, sizeof(value));
        } else {
            uint64_t value = 0;
            if (!parse_number(text, value)) return false;
            std::memcpy(to, &value, sizeof(value));
        }
        return true;
    }
    if (field.is_signed) {
        int32_t value = 0;
        if (!parse_number(text, value)) return false;
        std::memcpy(to, &value, sizeof(value));
    } else {
        uint32_t value = 0;
        if (!parse_number(text, value)) return false;
        std::memcpy(to, &value, sizeof(value));
    }
    return true;
}

Status parse_field(const OpName& op, std::string_view key, std::string_view value, unsigned char* args) {
    for (const Field& field : op.args.fields) {
        if (!is_problem_field(field) || key != field.name) continue;
        std::string_view rest = value;
        for (uint32_t i = 0; i < field.count; ++i) {
            const std::size_t comma = i + 1 < field.count ? rest.find(',') : std::string_view::npos;
            if ((i + 1 < field.count && comma == std::string_view::npos) ||
                !parse_element(field, rest.substr(0, comma),
                               args + field.offset + std::size_t{i} * field.size))
                return invalid_argument("problem text: {}={} is not understood", key, value);
            rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
        }
        return {};
    }
    return invalid_argument("problem text: {} has no field '{}'", op.name, key);
}

}  // namespace

std::span<const OpName> op_names() {
    return kOps;
}

const OpName* find_op(ck_op op) {
    for (const OpName& entry : kOps) {
        if (entry.op == op) return &entry;
    }
    return nullptr;
}

const OpName* find_op(std::string_view name) {
    for (const OpName& entry : kOps) {
        if (name == entry.name) return &entry;
    }
    return nullptr;
}

std::string problem_text(ck_op op, const void* args) {
    const OpName* entry = find_op(op);
    if (!entry) return {};
    std::string out = fmt::format("op={}", entry->name);
    const auto* bytes = static_cast<const unsigned char*>(args);
    for (const Field& field : entry->args.fields) {
        if (!is_problem_field(field)) continue;
        const unsigned char* from = bytes + field.offset;
        const std::size_t size = std::size_t{field.size} * field.count;
        if (std::all_of(from, from + size, [](unsigned char byte) { return byte == 0; })) continue;
        out += fmt::format(" {}=", field.name);
        for (uint32_t i = 0; i < field.count; ++i) {
            if (i) out += ',';
            append_element(out, field, from + std::size_t{i} * field.size);
        }
    }
    return out;
}

Status parse_problem(std::string_view text, ParsedProblem& problem) {
    text = text.substr(0, text.find('|'));
    problem = {};
    std::vector<std::string_view> keys;
    const OpName* op = nullptr;
    std::size_t at = 0;
    while (true) {
        at = text.find_first_not_of(" \t\r\n", at);
        if (at == std::string_view::npos) break;
        const std::size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
        const std::string_view token = text.substr(at, end - at);
        at = end;
        const std::size_t equals = token.find('=');
        if (equals == std::string_view::npos)
            return invalid_argument("problem text: '{}' is not name=value", token);
        const std::string_view key = token.substr(0, equals);
        const std::string_view value = token.substr(equals + 1);
        if (!op) {
            if (key != "op")
                return invalid_argument("problem text starts with '{}', must start with op=", token);
            op = find_op(value);
            if (!op) return invalid_argument("problem text: unknown operator '{}'", value);
            const auto size = static_cast<uint32_t>(op->args.size);
            static_assert(sizeof(ck_na3d_args) <= sizeof(problem.args));
            std::memcpy(problem.args.data(), &size, sizeof(size));
            problem.op = op->op;
            continue;
        }
        if (std::find(keys.begin(), keys.end(), key) != keys.end())
            return invalid_argument("problem text: {} is given twice", key);
        keys.push_back(key);
        CK_RETURN_IF_ERROR(parse_field(*op, key, value, problem.args.data()));
    }
    if (!op) return invalid_argument("problem text is empty");
    return {};
}

}  // namespace ckitchen

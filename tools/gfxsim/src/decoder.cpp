#include "decoder.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "fault.hpp"
#include "half.hpp"
#include "swizzle.hpp"
#include "undefined.hpp"
#include "vopd.hpp"

namespace ckitchen::gfxsim {
namespace {

bool starts(std::string_view s, std::string_view prefix) {
    return s.substr(0, prefix.size()) == prefix;
}

bool ends(std::string_view s, std::string_view suffix) {
    return s.size() >= suffix.size() && s.substr(s.size() - suffix.size()) == suffix;
}

/// Whole token as an integer: decimal or 0x, an optional minus sign.
bool parse_int(std::string_view s, int64_t& out) {
    bool negative = false;
    if (starts(s, "-")) {
        negative = true;
        s.remove_prefix(1);
    }
    int base = 10;
    if (starts(s, "0x")) {
        base = 16;
        s.remove_prefix(2);
    }
    uint64_t v = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v, base);
    if (s.empty() || error != std::errc() || end != s.data() + s.size()) return false;
    out = static_cast<int64_t>(negative ? 0 - v : v);
    return true;
}

/// Value of "prefix(" ... ")" or an empty view.
std::string_view call_argument(std::string_view s, std::string_view name) {
    if (!starts(s, name) || s.size() < name.size() + 2 || s[name.size()] != '(' || s.back() != ')') return {};
    return s.substr(name.size() + 1, s.size() - name.size() - 2);
}

int type_words(Type t) {
    switch (t) {
        case Type::kB64:
        case Type::kI64:
        case Type::kF64:
            return 2;
        default:
            return 1;
    }
}

bool is_half_type(Type t) {
    return t == Type::kB16 || t == Type::kF16 || t == Type::kBf16;
}

/// Bits of a floating-point inline constant as the operand type sees them. 1/(2 pi) has its own bit patterns.
bool float_bits(std::string_view s, Type type, uint64_t& out) {
    char buffer[40];
    if (s.size() >= sizeof buffer) return false;
    std::memcpy(buffer, s.data(), s.size());
    buffer[s.size()] = 0;
    char* end = nullptr;
    const double v = std::strtod(buffer, &end);
    if (end != buffer + s.size()) return false;
    const bool inv_two_pi = std::fabs(v - 0.15915494309189532) < 1e-7;
    switch (type) {
        case Type::kF16:
        case Type::kPkF16:
            out = inv_two_pi ? 0x3118 : half_from_double(v);
            return true;
        case Type::kBf16:
        case Type::kPkBf16:
            out = inv_two_pi ? 0x3e22 : std::bit_cast<uint32_t>(static_cast<float>(v)) >> 16;
            return true;
        case Type::kF64:
        case Type::kB64:
        case Type::kI64:
            out = inv_two_pi ? 0x3fc45f306dc9c882ull : std::bit_cast<uint64_t>(v);
            return true;
        case Type::kB16:
            return false;
        default:
            out = inv_two_pi ? 0x3e22f983u : std::bit_cast<uint32_t>(static_cast<float>(v));
            return true;
    }
}

/// Whether the first float operand, results before sources, is a float16 or a float64.
bool rounds_as_wide(const OpSpec& spec) {
    for (const std::vector<Type>* types : {&spec.dst, &spec.src})
        for (const Type type : *types) {
            if (type == Type::kF32) return false;
            if (type == Type::kF16 || type == Type::kF64 || type == Type::kPkF16 || type == Type::kBf16 ||
                type == Type::kPkBf16)
                return true;
        }
    return false;
}

constexpr std::string_view kSwizzle = "ds_swizzle_b32";

struct NamedRegister {
    const char* name;
    uint16_t reg;
    uint8_t words;
};
constexpr NamedRegister kNamed[] = {
    {"vcc_lo", kVccLo, 1},
    {"vcc_hi", kVccHi, 1},
    {"vcc", kVccLo, 2},
    {"exec_lo", kExecLo, 1},
    {"exec_hi", kExecHi, 1},
    {"exec", kExecLo, 2},
    {"m0", kM0, 1},
    {"null", kNullRegister, 1},
    {"flat_scratch_lo", kFlatScratchLo, 1},
    {"flat_scratch_hi", kFlatScratchHi, 1},
    {"flat_scratch", kFlatScratchLo, 2},
};

}  // namespace

std::string_view base_mnemonic(std::string_view m) {
    static constexpr std::string_view kSuffixes[] = {"_e64_dpp", "_e32_dpp", "_e64", "_e32",
                                                     "_dpp8",    "_dpp",     "_sdwa"};
    for (const std::string_view s : kSuffixes)
        if (ends(m, s)) return m.substr(0, m.size() - s.size());
    return m;
}

const Inst& Decoder::decode(const uint8_t* bytes, size_t size, uint64_t address) {
    Inst& inst = insts_.emplace_back();
    inst.address = address;
    std::string why;
    inst.size = static_cast<uint32_t>(disassembler_.disassemble(bytes, size, address, inst.text));
    if (const size_t first = inst.text.find_first_not_of(" \t"); first != std::string::npos)
        inst.text.erase(0, first);
    for (char& c : inst.text)
        if (c == '\t') c = ' ';
    if (inst.size == 0) {
        uint32_t word = 0;
        std::memcpy(&word, bytes, std::min<size_t>(size, 4));
        char text[40];
        std::snprintf(text, sizeof text, "<undecodable 0x%08x>", word);
        inst.text = text;
        inst.size = 4;
        why = "the bytes are no instruction of this target";
    } else if (parse(inst.text, inst, why)) {
        uint16_t pattern = 0;
        std::memcpy(&pattern, bytes, sizeof pattern);
        if (inst.spec->name == kSwizzle) inst.extra = pattern;
        if (inst.spec->name != kSwizzle || pattern < kSwizzleFft) {
            find_touched(inst);
            return inst;
        }
        why = "the FFT patterns are not implemented";
    }
    const std::string text = std::move(inst.text);
    const uint32_t length = inst.size;
    inst = Inst{};
    inst.text = text + "  (" + why + ")";
    inst.size = length;
    inst.address = address;
    inst.fn = &report_unknown;
    static const OpSpec unknown{
        "<unknown>", &report_unknown, nullptr, InstClass::kUnknown, Form::kPlain, 0, {}, {}, 0};
    inst.spec = &unknown;
    return inst;
}

bool Decoder::parse(std::string_view text, Inst& inst, std::string& why) {
    const size_t dual = text.find(" :: ");
    if (dual == text.npos) return parse_single(text, inst, why);
    // Both halves of a VOPD read their sources before either writes: X goes to a temporary register first.
    Inst& y = insts_.emplace_back();
    Inst& x = insts_.emplace_back();
    std::string half_text(text.substr(0, dual));
    if (!parse_single(half_text, x, why) || !parse_single(text.substr(dual + 4), y, why)) return false;
    return combine_vopd(x, y, target_, inst, why);
}

bool Decoder::parse_single(std::string_view text, Inst& inst, std::string& why) {
    AsmText t;
    if (!split_asm_text(text, t)) {
        why = "unbalanced text";
        return false;
    }
    std::string name(base_mnemonic(t.mnemonic));
    if (starts(name, "v_dual_")) {
        name = "v_" + name.substr(7);
        // The dual-issue form always selects by VCC and does not print it.
        if (name == "v_cndmask_b32" && t.operands.size() == 3) t.operands.emplace_back("vcc_lo");
    }
    inst.sdwa = ends(t.mnemonic, "_sdwa");
    const OpSpec* spec = OpTable::instance().find(name);
    if (!spec) {
        why = "no semantics for " + name;
        return false;
    }
    inst.spec = spec;
    inst.fn = spec->fn;
    // Unprinted, op_sel_hi is all ones for packed instructions; for the mixed ones it means float32 operands.
    if (starts(name, "v_fma_mix")) inst.op_sel_hi = 0;
    if (spec->form == Form::kHint) return parse_hint(t, inst, why);
    if (!parse_operands(t, *spec, inst, why)) return false;
    for (const AsmModifier& m : t.modifiers) {
        if (parse_modifier(m, *spec, inst)) continue;
        why = "modifier " + m.name + (m.value.empty() ? "" : ":" + m.value) + " is not understood";
        return false;
    }
    if (!(spec->flags & (kFlagPackedMods | kFlagOpSelOwn)))
        for (int i = 0; i < inst.src_count && i < 3; ++i)
            if (is_half_type(inst.src[i].type) && (inst.op_sel >> i & 1)) inst.src[i].high = true;
    if (!(spec->flags & (kFlagPackedMods | kFlagOpSelOwn)) && inst.dst_count &&
        is_half_type(inst.dst[0].type) && (inst.op_sel & 8))
        inst.dst[0].high = true;
    inst.wide_float = rounds_as_wide(*spec);
    const bool float_result =
        inst.dst_count && (inst.dst[0].type == Type::kF32 || inst.dst[0].type == Type::kF16 ||
                           inst.dst[0].type == Type::kF64 || inst.dst[0].type == Type::kPkF16);
    if (inst.clamp && spec->clamped) {
        inst.fn = spec->clamped;
    } else if (inst.clamp && !float_result && !(spec->flags & kFlagIntClamp)) {
        why = "clamp on an integer result is not implemented for " + name;
        return false;
    }
    return true;
}

bool Decoder::parse_hint(const AsmText& t, Inst&, std::string& why) {
    const auto plausible = [](std::string_view s) {
        for (const char c : s)
            if (!std::isalnum(static_cast<unsigned char>(c)) && !std::strchr("_()|:-,[] ", c)) return false;
        return true;
    };
    for (const std::string& o : t.operands)
        if (!plausible(o)) {
            why = "operand " + o + " is not understood";
            return false;
        }
    for (const AsmModifier& m : t.modifiers)
        if (!plausible(m.name) || !plausible(m.value)) {
            why = "modifier " + m.name + " is not understood";
            return false;
        }
    return true;
}

bool Decoder::parse_operands(const AsmText& t, const OpSpec& spec, Inst& inst, std::string& why) {
    std::vector<Type> dst = spec.dst, src = spec.src;
    bool in_place = false;
    if (spec.flags & kFlagAtomic) {
        bool returns = false;
        for (const AsmModifier& m : t.modifiers)
            if (m.name == "glc" || (m.name == "th" && m.value.find("RETURN") != std::string::npos))
                returns = true;
        // LDS atomics have a mnemonic of their own for the returning form.
        if (spec.form != Form::kDs && !returns) dst.clear();
        // MUBUF names the data once, and returns the old value in its first registers.
        if (spec.form == Form::kBuffer) dst.clear();
        in_place = spec.form == Form::kBuffer && returns;
    }
    std::vector<std::string> operands = t.operands;
    if (spec.form == Form::kCmpx) {
        // The text has no destination: gfx10 and later write EXEC alone.
        inst.dst_count = 1;
        inst.dst[0].kind = OperandKind::kSgpr;
        inst.dst[0].reg = kExecLo;
        inst.dst[0].type = Type::kMask;
        dst.clear();
    }
    if (spec.form == Form::kHwreg) {
        // s_getreg: sdst, hwreg; s_setreg: hwreg, ssrc.
        for (auto it = operands.begin(); it != operands.end(); ++it) {
            const std::string_view arg = call_argument(*it, "hwreg");
            if (arg.empty()) continue;
            const size_t c1 = arg.find(',');
            int64_t offset = 0, width = 32;
            std::string_view name = arg.substr(0, c1);
            if (c1 != arg.npos) {
                const std::string_view rest = arg.substr(c1 + 1);
                const size_t c2 = rest.find(',');
                const auto strip = [](std::string_view s) {
                    while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
                    return s;
                };
                if (c2 == rest.npos || !parse_int(strip(rest.substr(0, c2)), offset) ||
                    !parse_int(strip(rest.substr(c2 + 1)), width)) {
                    why = "hwreg " + std::string(arg) + " is not understood";
                    return false;
                }
            }
            static constexpr std::pair<std::string_view, HardwareRegister> kRegisters[] = {
                {"HW_REG_MODE", kMode},
                {"HW_REG_WAVE_MODE", kMode},
                {"HW_REG_SH_MEM_BASES", kMemoryBases},
                {"HW_REG_FLAT_SCR_LO", kScratchLow},
                {"HW_REG_WAVE_SCRATCH_BASE_LO", kScratchLow},
                {"HW_REG_FLAT_SCR_HI", kScratchHigh},
                {"HW_REG_WAVE_SCRATCH_BASE_HI", kScratchHigh},
                {"HW_REG_SHADER_CYCLES", kClockLow},
                {"HW_REG_SHADER_CYCLES_LO", kClockLow},
                {"HW_REG_SHADER_CYCLES_HI", kClockHigh}};
            uint64_t id = 0;
            for (const auto& [known, number] : kRegisters)
                if (name == known) id = number;
            if (id == 0) {
                why = "hardware register " + std::string(name) + " is not implemented";
                return false;
            }
            inst.extra = id | static_cast<uint64_t>(offset) << 8 | static_cast<uint64_t>(width) << 16;
            operands.erase(it);
            break;
        }
    }
    if (spec.form == Form::kMessageReturn) {
        if (operands.size() != 2 || operands[1] != "sendmsg(MSG_RTN_GET_REALTIME)") {
            why = "the message is not implemented";
            return false;
        }
        operands.pop_back();
    }
    const size_t expected = dst.size() + src.size();
    if (operands.size() != expected) {
        why = "expected " + std::to_string(expected) + " operands for " + spec.name + ", the text has " +
              std::to_string(operands.size());
        return false;
    }
    size_t at = 0;
    for (const Type type : dst) {
        Operand& o = inst.dst[inst.dst_count];
        if (!parse_operand(operands[at], type, o) || o.neg || o.abs ||
            (o.kind != OperandKind::kVgpr && o.kind != OperandKind::kSgpr)) {
            why = "destination " + operands[at] + " is not understood";
            return false;
        }
        ++inst.dst_count;
        ++at;
    }
    if (spec.form == Form::kBranch || spec.form == Form::kImmediate) {
        int64_t v = 0;
        if (!parse_int(operands[at], v)) {
            why = "immediate " + operands[at] + " is not understood";
            return false;
        }
        inst.offset = static_cast<int16_t>(v);
        return true;
    }
    for (const Type type : src) {
        if (!parse_operand(operands[at], type, inst.src[inst.src_count])) {
            why = "operand " + operands[at] + " is not understood";
            return false;
        }
        // The null register reads as zero.
        Operand& o = inst.src[inst.src_count];
        if (o.kind == OperandKind::kSgpr && o.reg == kNullRegister) set_constant(o, 0, type_words(type));
        ++inst.src_count;
        ++at;
    }
    if (in_place) {
        inst.dst[inst.dst_count] = inst.src[0];
        inst.dst[inst.dst_count].words = spec.bytes / 4;
        ++inst.dst_count;
    }
    if (spec.form == Form::kFmac) {
        Operand& o = inst.src[inst.src_count++];
        o = inst.dst[0];
    }
    if (spec.form == Form::kDivFmas) {
        Operand& o = inst.src[inst.src_count++];
        o.kind = OperandKind::kSgpr;
        o.reg = kVccLo;
        o.type = Type::kMask;
    }
    return true;
}

bool Decoder::parse_register(std::string_view token, Operand& out) {
    for (const NamedRegister& n : kNamed)
        if (token == n.name) {
            out.kind = OperandKind::kSgpr;
            out.reg = n.reg;
            out.words = n.words;
            return true;
        }
    uint16_t base = 0, limit = 0;
    OperandKind kind = OperandKind::kSgpr;
    if (starts(token, "ttmp")) {
        token.remove_prefix(4);
        base = kTtmp0;
        limit = kTtmp0 + 16;
    } else if (starts(token, "s")) {
        token.remove_prefix(1);
        limit = 106;
    } else if (starts(token, "v")) {
        token.remove_prefix(1);
        kind = OperandKind::kVgpr;
        limit = kVgprCount;
    } else {
        return false;
    }
    if (ends(token, ".l") || ends(token, ".h")) {
        out.high = token.back() == 'h';
        token.remove_suffix(2);
    }
    int64_t first = 0, last = 0;
    if (starts(token, "[") && ends(token, "]")) {
        token = token.substr(1, token.size() - 2);
        const size_t colon = token.find(':');
        if (colon == token.npos || !parse_int(token.substr(0, colon), first) ||
            !parse_int(token.substr(colon + 1), last))
            return false;
    } else {
        if (!parse_int(token, first)) return false;
        last = first;
    }
    if (first < 0 || last < first || base + last >= limit) return false;
    out.kind = kind;
    out.reg = static_cast<uint16_t>(base + first);
    out.words = static_cast<uint8_t>(last - first + 1);
    return true;
}

void Decoder::set_constant(Operand& out, uint64_t value, int words) {
    const uint32_t*& lanes = constants_[value];
    if (!lanes) {
        ConstantBlock& block = constant_blocks_.emplace_back();
        for (int i = 0; i < kLanes; ++i) {
            block.lanes[i] = static_cast<uint32_t>(value);
            block.lanes[kLanes + i] = static_cast<uint32_t>(value >> 32);
        }
        lanes = block.lanes.data();
    }
    out.kind = OperandKind::kConst;
    out.lanes = lanes;
    out.words = static_cast<uint8_t>(words);
}

bool Decoder::parse_constant(std::string_view token, Type type, Operand& out) {
    const int words = type_words(type);
    if (token == "off" || token == "null") {
        set_constant(out, 0, words);
        return true;
    }
    if (const std::string_view lit = call_argument(token, "lit64"); !lit.empty()) {
        int64_t v = 0;
        if (!parse_int(lit, v)) return false;
        set_constant(out, static_cast<uint64_t>(v), 2);
        return true;
    }
    // "lit(x)" is a literal whose value an inline constant could also hold.
    if (const std::string_view lit = call_argument(token, "lit"); !lit.empty())
        return parse_constant(lit, type, out);
    // Aperture bases have their value in the upper dword; a 32-bit read sees that dword.
    for (const auto& [name, value] :
         {std::pair<std::string_view, uint64_t>{"src_shared_base", kSharedAperture},
          {"src_private_base", kPrivateAperture},
          {"src_shared_limit", kSharedAperture | 0xffffffffu},
          {"src_private_limit", kPrivateAperture | 0xffffffffu}}) {
        if (token != name) continue;
        set_constant(out, words == 2 ? value : value >> 32, words);
        return true;
    }
    int64_t v = 0;
    if (parse_int(token, v)) {
        uint64_t bits = static_cast<uint64_t>(v);
        const bool literal = starts(token, "0x");
        if (words == 2) {
            // Inline integers are sign-extended. A literal is the low dword of a 64-bit integer and the high
            // dword of a double.
            if (literal && type == Type::kF64) bits <<= 32;
            if (literal && type == Type::kI64)
                bits = static_cast<uint64_t>(int64_t{static_cast<int32_t>(bits)});
        } else {
            bits &= 0xffffffffu;
        }
        set_constant(out, bits, words);
        return true;
    }
    uint64_t bits = 0;
    if (!float_bits(token, type, bits)) return false;
    set_constant(out, bits, words);
    return true;
}

bool Decoder::parse_operand(std::string_view token, Type type, Operand& out) {
    out.type = type;
    if (token == "src_scc" || token == "scc") {
        out.kind = OperandKind::kScc;
        return true;
    }
    if (const std::string_view inner = call_argument(token, "sext"); !inner.empty()) {
        if (!parse_operand(inner, type, out)) return false;
        out.sext = true;
        return true;
    }
    if (const std::string_view inner = call_argument(token, "neg"); !inner.empty()) {
        if (!parse_operand(inner, type, out)) return false;
        out.neg = true;
        return true;
    }
    if (token.size() > 2 && token.front() == '|' && token.back() == '|') {
        if (!parse_operand(token.substr(1, token.size() - 2), type, out)) return false;
        out.abs = true;
        return true;
    }
    // A minus in front of a register or of |x| is the modifier; in front of a digit it belongs to the
    // constant.
    if (token.size() > 1 && token.front() == '-' && !std::isdigit(static_cast<unsigned char>(token[1]))) {
        if (!parse_operand(token.substr(1), type, out)) return false;
        out.neg = true;
        return true;
    }
    if (parse_register(token, out)) {
        // Matrix operands of packed types span several registers, like operands of any width.
        const bool any = type == Type::kAny || type == Type::kPkF16 || type == Type::kPkBf16;
        return any || out.reg == kNullRegister || out.words == type_words(type);
    }
    return parse_constant(token, type, out);
}

bool Decoder::parse_bits(std::string_view list, uint8_t& out) const {
    if (list.size() < 3 || list.front() != '[' || list.back() != ']') return false;
    list = list.substr(1, list.size() - 2);
    out = 0;
    int i = 0;
    while (!list.empty()) {
        if (list.front() == '1')
            out |= static_cast<uint8_t>(1 << i);
        else if (list.front() != '0')
            return false;
        ++i;
        list.remove_prefix(1);
        if (!list.empty()) {
            if (list.front() != ',') return false;
            list.remove_prefix(1);
        }
    }
    return i <= 4;
}

Dpp& Decoder::dpp_of(Inst& inst) {
    if (!inst.dpp) {
        Dpp& d = dpps_.emplace_back();
        for (int i = 0; i < kLanes; ++i) d.source[i] = static_cast<int8_t>(i);
        inst.dpp = &d;
    }
    return const_cast<Dpp&>(*inst.dpp);
}

bool Decoder::parse_dpp(const AsmModifier& m, Inst& inst, bool& known) {
    known = true;
    int64_t n = 0;
    const bool numeric = parse_int(m.value, n);
    const auto each = [&](auto source) {
        Dpp& d = dpp_of(inst);
        for (int i = 0; i < kLanes; ++i) {
            const int row = i & ~15, lane = i & 15;
            d.source[i] = static_cast<int8_t>(source(row, lane));
        }
        return true;
    };
    const auto list = [&](int count, int64_t* out) {
        std::string_view s = m.value;
        if (s.size() < 3 || s.front() != '[' || s.back() != ']') return false;
        s = s.substr(1, s.size() - 2);
        for (int i = 0; i < count; ++i) {
            const size_t comma = std::min(s.find(','), s.size());
            if (!parse_int(s.substr(0, comma), out[i]) || out[i] < 0 || out[i] >= count) return false;
            s = comma < s.size() ? s.substr(comma + 1) : std::string_view{};
        }
        return s.empty();
    };
    const int k = static_cast<int>(n);
    if (m.name == "quad_perm") {
        int64_t p[4];
        if (!list(4, p)) return false;
        return each([&](int row, int l) { return row + (l & ~3) + static_cast<int>(p[l & 3]); });
    }
    if (m.name == "dpp8") {
        int64_t p[8];
        if (!list(8, p)) return false;
        dpp_of(inst).dpp8 = true;
        return each([&](int row, int l) { return row + (l & ~7) + static_cast<int>(p[l & 7]); });
    }
    if (m.name == "row_shl" && numeric)
        return each([&](int r, int l) { return l + k > 15 ? -1 : r + l + k; });
    if (m.name == "row_shr" && numeric) return each([&](int r, int l) { return l - k < 0 ? -1 : r + l - k; });
    if (m.name == "row_ror" && numeric) return each([&](int r, int l) { return r + ((l - k) & 15); });
    if (m.name == "row_mirror") return each([&](int r, int l) { return r + 15 - l; });
    if (m.name == "row_half_mirror") return each([&](int r, int l) { return r + (l ^ 7); });
    if ((m.name == "row_share" || m.name == "row_newbcast") && numeric)
        return each([&](int r, int) { return r + k; });
    if (m.name == "row_xmask" && numeric) return each([&](int r, int l) { return r + (l ^ k); });
    if (m.name == "row_mask" && numeric) {
        for (int row = 0; row < 2; ++row)
            if (!(k >> row & 1)) dpp_of(inst).lane_mask &= ~(0xffffu << (16 * row));
        dpp_of(inst);
        return true;
    }
    if (m.name == "bank_mask" && numeric) {
        for (int bank = 0; bank < 4; ++bank)
            if (!(k >> bank & 1)) dpp_of(inst).lane_mask &= ~(0x000f000fu << (4 * bank));
        return true;
    }
    if (m.name == "bound_ctrl") return dpp_of(inst).bound_control = true;
    if (m.name == "fi" && numeric) {
        dpp_of(inst).fetch_inactive = k != 0;
        return true;
    }
    known = false;
    return false;
}

bool Decoder::parse_modifier(const AsmModifier& m, const OpSpec& spec, Inst& inst) {
    int64_t n = 0;
    const bool numeric = parse_int(m.value, n);
    const auto select = [&](Select& out) {
        static constexpr const char* kNames[] = {"DWORD",  "BYTE_0", "BYTE_1", "BYTE_2",
                                                 "BYTE_3", "WORD_0", "WORD_1"};
        for (int i = 0; i < 7; ++i)
            if (m.value == kNames[i]) {
                out = static_cast<Select>(i);
                return true;
            }
        return false;
    };
    const bool memory = spec.form == Form::kGlobal || spec.form == Form::kFlat ||
                        spec.form == Form::kScratch || spec.form == Form::kBuffer ||
                        spec.form == Form::kSmem || spec.form == Form::kDs;
    if (memory) {
        if (m.name == "offset" && numeric) {
            inst.offset = static_cast<int32_t>(n);
            return true;
        }
        // The text drops the mask of a rotation: decode() takes the pattern from the encoding.
        if (m.name == "offset" && starts(m.value, "swizzle(")) return spec.name == kSwizzle;
        if (m.name == "offset0" && numeric && (spec.flags & kFlagTwoOffsets)) {
            inst.offset = static_cast<int32_t>(n);
            return true;
        }
        if (m.name == "offset1" && numeric && (spec.flags & kFlagTwoOffsets)) {
            inst.offset1 = static_cast<int32_t>(n);
            return true;
        }
        if (m.name == "glc") return inst.glc = true;
        if (m.name == "slc" || m.name == "dlc" || m.name == "nv") return true;
        if (m.name == "scope" && starts(m.value, "SCOPE_")) return true;
        if (m.name == "th" && starts(m.value, "TH_")) {
            if (m.value.find("ATOMIC") != std::string::npos && m.value.find("RETURN") != std::string::npos)
                inst.glc = true;
            return true;
        }
        if (m.name == "offen" && spec.form == Form::kBuffer) {
            inst.extra |= 1;
            return true;
        }
        if (m.name == "idxen" && spec.form == Form::kBuffer) {
            inst.extra |= 2;
            return true;
        }
        return false;
    }
    if (m.name == "clamp") return inst.clamp = true;
    if (m.name == "mul" && numeric && (n == 2 || n == 4)) {
        inst.omod = n == 2 ? 1 : 2;
        return true;
    }
    if (m.name == "div" && numeric && n == 2) {
        inst.omod = 3;
        return true;
    }
    if (m.name == "op_sel") return parse_bits(m.value, inst.op_sel);
    if (m.name == "op_sel_hi") return parse_bits(m.value, inst.op_sel_hi);
    if (m.name == "neg_lo") return parse_bits(m.value, inst.neg_lo);
    if (m.name == "neg_hi") return parse_bits(m.value, inst.neg_hi);
    if (m.name == "index_key" && numeric) {
        inst.extra = static_cast<uint64_t>(n);
        return true;
    }
    if (m.name == "byte_sel" && numeric) {
        inst.extra = static_cast<uint64_t>(n);
        return true;
    }
    if (inst.sdwa) {
        if (m.name == "dst_sel") return inst.dst_count ? select(inst.dst[0].select) : false;
        if (m.name == "src0_sel") return select(inst.src[0].select);
        if (m.name == "src1_sel") return select(inst.src[1].select);
        if (m.name == "dst_unused") {
            inst.preserve = m.value == "UNUSED_PRESERVE";
            inst.dst_sext = m.value == "UNUSED_SEXT";
            return inst.preserve || inst.dst_sext || m.value == "UNUSED_PAD";
        }
    }
    bool known = false;
    return parse_dpp(m, inst, known);
}

}  // namespace ckitchen::gfxsim

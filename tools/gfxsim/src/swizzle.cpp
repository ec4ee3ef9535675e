#include "swizzle.hpp"

#include <bit>
#include <charconv>
#include <string>
#include <vector>

namespace ckitchen::gfxsim {

bool parse_swizzle(std::string_view text, uint64_t& out) {
    if (text.substr(0, 8) != "swizzle(" || text.back() != ')') return false;
    text = text.substr(8, text.size() - 9);
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == ',')
            parts.emplace_back();
        else if (c != ' ' && c != '"')
            parts.back() += c;
    }
    std::vector<uint32_t> n;
    for (size_t i = 1; i < parts.size(); ++i) {
        uint32_t v = 0;
        const auto r = std::from_chars(parts[i].data(), parts[i].data() + parts[i].size(), v);
        if (r.ec == std::errc() && r.ptr == parts[i].data() + parts[i].size()) n.push_back(v);
    }
    const std::string& mode = parts[0];
    uint32_t pattern = 0;
    if (mode == "QUAD_PERM" && n.size() == 4) {
        pattern = 0x8000;
        for (int i = 0; i < 4; ++i) pattern |= (n[i] & 3) << (2 * i);
    } else if (mode == "BITMASK_PERM" && parts.size() == 2 && parts[1].size() == 5) {
        for (int i = 0; i < 5; ++i) {
            const uint32_t bit = 1u << (4 - i);
            switch (parts[1][i]) {
                case '0':
                    break;
                case '1':
                    pattern |= bit << 5;
                    break;
                case 'p':
                    pattern |= bit;
                    break;
                case 'i':
                    pattern |= bit | bit << 10;
                    break;
                default:
                    return false;
            }
        }
    } else if (mode == "BROADCAST" && n.size() == 2 && std::has_single_bit(n[0]) && n[0] <= 32 &&
               n[1] < n[0]) {
        pattern = (31u & ~(n[0] - 1)) | n[1] << 5;
    } else if (mode == "SWAP" && n.size() == 1 && std::has_single_bit(n[0]) && n[0] <= 16) {
        pattern = 31u | n[0] << 10;
    } else if (mode == "REVERSE" && n.size() == 1 && std::has_single_bit(n[0]) && n[0] <= 32) {
        pattern = 31u | (n[0] - 1) << 10;
    } else {
        return false;
    }
    out = pattern | 0x10000;
    return true;
}

}  // namespace ckitchen::gfxsim

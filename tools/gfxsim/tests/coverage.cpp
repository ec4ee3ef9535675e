#include "coverage.hpp"

#include <fstream>
#include <set>
#include <sstream>

#include "decoder.hpp"

namespace gfxsim_test {
namespace {

std::set<std::string>& seen() {
    static std::set<std::string> names;
    return names;
}

std::string generation_of(const std::string& target) {
    return target.rfind("gfx115", 0) == 0 ? "11.5" : target.substr(3, 2);
}

}  // namespace

void cover(const std::string& target, const std::string& text) {
    const std::string prefix = generation_of(target) + " ";
    const auto add = [&](const std::string& one) {
        seen().insert(prefix + std::string(ckitchen::gfxsim::base_mnemonic(one.substr(0, one.find(' ')))));
    };
    const size_t dual = text.find(" :: ");
    add(text.substr(0, dual));
    if (dual != text.npos) add(text.substr(dual + 4));
}

std::string uncovered() {
    std::ifstream list(GFXSIM_INVENTORY);
    std::string line, missing;
    while (std::getline(list, line)) {
        std::istringstream words(line);
        std::string name, generation;
        words >> name;
        while (words >> generation)
            if (!seen().count(generation + " " + name)) missing += name + " on gfx" + generation + "\n";
    }
    return missing;
}

}  // namespace gfxsim_test

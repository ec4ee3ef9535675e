#include "assembler.hpp"

#include <elf.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace gfxsim_test {
namespace {

std::string read_file(const std::string& path) {
    std::ifstream f(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(f), {}};
}

}  // namespace

std::vector<std::vector<uint8_t>> assemble(const std::string& target,
                                           const std::vector<std::string>& snippets) {
    std::string base = (std::filesystem::temp_directory_path() / "gfxsim-asm-XXXXXX").string();
    if (!mkdtemp(base.data())) throw std::runtime_error("no temporary directory");
    {
        std::ofstream s(base + "/in.s");
        for (size_t i = 0; i < snippets.size(); ++i)
            s << ".section .text.s" << i << ",\"ax\"\n" << snippets[i] << "\n";
    }
    const std::string features = target.rfind("gfx10", 0) == 0 ? "" : " -mattr=+real-true16";
    const std::string command = std::string(GFXSIM_LLVM_MC) + " -triple=amdgcn-amd-amdhsa -mcpu=" + target +
                                features + " -filetype=obj -o " + base + "/out.o " + base + "/in.s 2> " +
                                base + "/err";
    const int rc = std::system(command.c_str());
    const std::string error = read_file(base + "/err"), object = read_file(base + "/out.o");
    std::filesystem::remove_all(base);
    if (rc != 0) throw std::runtime_error("llvm-mc: " + error);
    std::vector<std::vector<uint8_t>> out(snippets.size());
    Elf64_Ehdr h;
    std::memcpy(&h, object.data(), sizeof h);
    const auto section = [&](unsigned i) {
        Elf64_Shdr s;
        std::memcpy(&s, object.data() + h.e_shoff + i * sizeof s, sizeof s);
        return s;
    };
    const Elf64_Shdr names = section(h.e_shstrndx);
    for (unsigned i = 0; i < h.e_shnum; ++i) {
        const Elf64_Shdr s = section(i);
        const std::string name = object.data() + names.sh_offset + s.sh_name;
        if (name.rfind(".text.s", 0) != 0) continue;
        out[std::stoul(name.substr(7))].assign(object.begin() + static_cast<long>(s.sh_offset),
                                               object.begin() + static_cast<long>(s.sh_offset + s.sh_size));
    }
    return out;
}

}  // namespace gfxsim_test

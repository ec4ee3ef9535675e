#pragma once

#include <cstdio>
#include <string>

#include "options.hpp"
#include "wave.hpp"

namespace ckitchen::gfxsim {

/// Writes every executed instruction with what it wrote: level 1 the first four lanes of a vector result,
/// level 2 all of them.
class Trace {
  public:
    explicit Trace(const Options& options);
    ~Trace();
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    /// `entry`: the kernel's, from which addresses are counted.
    void after(const Wave& w, const Inst& inst, uint64_t entry);

  private:
    int level_;
    std::string group_;
    std::FILE* out_;
};

/// "x,y,z"
std::string group_text(const Workgroup& group);

/// All registers of a wave as text, `vgprs` vector ones with every lane; undefined bits show as question
/// marks where a whole hexadecimal digit is undefined.
std::string dump_registers(const Wave& w, uint32_t vgprs);

}  // namespace ckitchen::gfxsim

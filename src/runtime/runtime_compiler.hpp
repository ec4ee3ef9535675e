// hipRTC, the compiler that comes with a HIP runtime: makes code of the embedded sources for targets that
// this build has no code for.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "runtime/embedded_objects.hpp"
#include "runtime/library.hpp"

namespace ckitchen::runtime {

// Thread-safe: calls take turns.
class RuntimeCompiler {
  public:
    // The compiler of an opened HIP runtime of that major release, together with the code generator behind
    // it.
    static Status open(const Library& hip, int major, std::unique_ptr<RuntimeCompiler>& result);

    // Does the code generator know the processor? The compilers of releases 5 and 6 end the process when they
    // are asked for one that they do not know.
    Status check_target(const std::string& arch);
    // An ELF file with the operator's kernels: compiled, or kept by an earlier process.
    Status compile(const Target& target, const EmbeddedSource& source, std::vector<char>& code);

  private:
    struct Handle {
        uint64_t value;
    };
    struct Api {
        int (*CreateProgram)(void**, const char*, const char*, int, const char* const*, const char* const*);
        int (*CompileProgram)(void*, int, const char* const*);
        int (*DestroyProgram)(void**);
        int (*GetProgramLogSize)(void*, std::size_t*);
        int (*GetProgramLog)(void*, char*);
        int (*GetCodeSize)(void*, std::size_t*);
        int (*GetCode)(void*, char*);
        const char* (*GetErrorString)(int);
        int (*CreateActionInfo)(Handle*);
        int (*SetIsaName)(Handle, const char*);
        int (*DestroyActionInfo)(Handle);
    };

    Status compile_text(const Target& target, const EmbeddedSource& source, const std::string& text,
                        const std::vector<std::string>& options, std::vector<char>& code);

    Api api_{};
    Library compiler_;
    Library generator_;
    std::mutex mutex_;
};

}  // namespace ckitchen::runtime

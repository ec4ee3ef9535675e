// One operator's embedded source through the compiler of a HIP runtime, without a device:
//
//   ck_compile_operator RUNTIME OPERATOR TARGET OUTPUT UNKNOWN...
//
// The targets UNKNOWN must be refused, which is tried first: a compiler that were asked for one of them might
// end the process.
#include <cstdio>
#include <cstring>
#include <fstream>

#include "runtime/object_store.hpp"
#include "runtime/runtime_compiler.hpp"

using namespace ckitchen;
using namespace ckitchen::runtime;

namespace {

const Target* find_target(const char* name) {
    for (const Target& target : known_targets())
        if (std::strcmp(target.name, name) == 0) return &target;
    return nullptr;
}

int failed(const Status& status) {
    std::fprintf(stderr, "%s: %s\n", status_name(status.code()), status.message().c_str());
    return 1;
}

int compile(const char* runtime, const std::string& op, const char* name, const char* output,
            char** unknown) {
    Library library;
    if (const Status status = Library::open(runtime, {"libamdhip64", {}, {}}, library); !status.ok())
        return failed(status);
    int (*runtime_version)(int*) = nullptr;
    int version = 0;
    if (!library.load("hipRuntimeGetVersion", runtime_version) || runtime_version(&version) != 0) return 2;
    std::unique_ptr<RuntimeCompiler> compiler;
    if (const Status status = RuntimeCompiler::open(library, version / 10000000, compiler); !status.ok())
        return failed(status);
    for (; *unknown; ++unknown) {
        const Status status = compiler->check_target(*unknown);
        std::vector<char> code;
        const Target* target = find_target(*unknown);
        if (status.code() != CK_ERROR_UNSUPPORTED_ARCH ||
            (target && compiler->compile(*target, *source_of("ckitchen_" + op + "_"), code).code() !=
                           CK_ERROR_UNSUPPORTED_ARCH)) {
            std::fprintf(stderr, "%s is not refused\n", *unknown);
            return 1;
        }
        std::printf("%s\n", status.message().c_str());
    }
    const Target* target = find_target(name);
    const EmbeddedSource* source = source_of("ckitchen_" + op + "_");
    if (!target || !source || source->op != op) return 2;
    std::vector<char> code;
    if (const Status status = compiler->compile(*target, *source, code); !status.ok()) return failed(status);
    CodeImage image;
    if (const Status status = keep_image(code.data(), code.size(), *target, image); !status.ok())
        return failed(status);
    std::ofstream file(output, std::ios::binary);
    file.write(code.data(), static_cast<std::streamsize>(code.size()));
    file.close();
    std::printf("%s for %s: %zu bytes\n", op.c_str(), name, code.size());
    return file ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
    return argc < 5 ? 2 : compile(argv[1], argv[2], argv[3], argv[4], argv + 5);
}

// hipRTC by way of a clang that runs as a child process: GFXSIM_CLANG, else the one that the tests were built
// with.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "compiler_targets.hpp"

using namespace ckitchen::gfxsim;

extern char** environ;

namespace {

enum Result : int {
    kRtcSuccess = 0,
    kRtcInvalidInput = 3,
    kRtcInvalidProgram = 4,
    kRtcCompilation = 6,
    kRtcNoNameExpressionsAfterCompilation = 8,
    kRtcNameExpressionNotValid = 10,
    kRtcInternal = 11,
};

struct Program {
    std::string source, name, log, code;
    std::vector<std::pair<std::string, std::string>> headers;
};

std::mutex one_at_a_time;

std::string read_whole(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_whole(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

/// Exit status of a program whose standard error goes to a file.
int run(const std::vector<std::string>& command, const std::filesystem::path& errors) {
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    // What is loaded into the client before all else (sanitizers, a stand-in library) is not for the
    // compiler.
    std::vector<char*> environment;
    for (char** entry = environ; *entry; ++entry)
        if (std::strncmp(*entry, "LD_PRELOAD=", 11) != 0) environment.push_back(*entry);
    environment.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT, 0600);
    pid_t child = 0;
    const int failed =
        posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environment.data());
    posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    if (failed || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The processor that the options name; empty when none or two different ones do.
std::string target_of(const std::vector<std::string>& options) {
    std::string found;
    for (const std::string& option : options)
        for (const char* prefix : {"--offload-arch=", "--gpu-architecture="}) {
            if (option.compare(0, std::strlen(prefix), prefix) != 0) continue;
            const std::string arch = option.substr(std::strlen(prefix));
            if (!found.empty() && found != arch) return {};
            found = arch;
        }
    return found;
}

int compile(Program& p, const std::vector<std::string>& options, const std::filesystem::path& folder) {
    const std::string arch = target_of(options);
    if (arch.empty()) {
        p.log = "no processor, or several, in the options\n";
        return kRtcCompilation;
    }
    if (!compiler_knows(arch)) {
        if (kFlavor < 70) {
            // A double free in the real ones.
            std::fprintf(stderr, "gfxsim: hipRTC of this release dies when it is asked for %s\n",
                         arch.c_str());
            std::abort();
        }
        p.log = "unknown processor " + arch + "\n";
        return kRtcCompilation;
    }
    const std::filesystem::path source = folder / "program.hip", object = folder / "program.co";
    write_whole(source, p.source);
    for (const auto& [name, text] : p.headers) write_whole(folder / name, text);
    const char* clang = std::getenv("GFXSIM_CLANG");
    std::vector<std::string> command = {clang ? clang : GFXSIM_DEVICE_CLANG,
                                        "-x",
                                        "hip",
                                        "--cuda-device-only",
                                        "--no-gpu-bundle-output",
                                        "-nogpuinc",
                                        "-nogpulib",
                                        "-O3",
                                        "-D__HIPCC_RTC__",
                                        kFlavor < 60 ? "-mcode-object-version=4" : "-mcode-object-version=5",
                                        "-I",
                                        folder.string()};
    if (kFlavor < 70) command.push_back("-std=c++14");
    for (const std::string& option : options)
        command.push_back(option.rfind("--gpu-architecture=", 0) == 0 ? "--offload-arch=" + arch : option);
    command.insert(command.end(), {"-o", object.string(), source.string()});
    const int status = run(command, folder / "log");
    p.log = read_whole(folder / "log");
    if (status != 0) return kRtcCompilation;
    p.code = read_whole(object);
    return p.code.empty() ? kRtcInternal : kRtcSuccess;
}

template <class F>
int guarded(F&& body) {
    try {
        std::lock_guard lock(one_at_a_time);
        return body();
    } catch (...) {
        return kRtcInternal;
    }
}

}  // namespace

GFXSIM_API int hiprtcVersion(int* major, int* minor) {
    if (!major || !minor) return kRtcInvalidInput;
    *major = 9;
    *minor = 0;
    return kRtcSuccess;
}

GFXSIM_API const char* hiprtcGetErrorString(int result) {
    switch (result) {
        case 0:
            return "HIPRTC_SUCCESS";
        case 1:
            return "HIPRTC_ERROR_OUT_OF_MEMORY";
        case 2:
            return "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE";
        case 3:
            return "HIPRTC_ERROR_INVALID_INPUT";
        case 4:
            return "HIPRTC_ERROR_INVALID_PROGRAM";
        case 5:
            return "HIPRTC_ERROR_INVALID_OPTION";
        case 6:
            return "HIPRTC_ERROR_COMPILATION";
        case 7:
            return "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE";
        case 8:
            return "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION";
        case 9:
            return "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION";
        case 10:
            return "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID";
        case 100:
            return "HIPRTC_ERROR_LINKING";
        default:
            return "HIPRTC_ERROR_INTERNAL_ERROR";
    }
}

GFXSIM_API int hiprtcCreateProgram(void** program, const char* source, const char* name, int headers,
                                   const char* const* texts, const char* const* names) {
    return guarded([&]() -> int {
        if (!program || !source || headers < 0 || (headers > 0 && (!texts || !names)))
            return kRtcInvalidInput;
        auto* p = new Program{source, name ? name : "", "", "", {}};
        for (int i = 0; i < headers; ++i) p->headers.emplace_back(names[i], texts[i]);
        *program = p;
        return kRtcSuccess;
    });
}

GFXSIM_API int hiprtcCompileProgram(void* program, int count, const char* const* options) {
    return guarded([&]() -> int {
        if (!program) return kRtcInvalidProgram;
        if (count < 0 || (count > 0 && !options)) return kRtcInvalidInput;
        std::string folder = (std::filesystem::temp_directory_path() / "gfxsim-hiprtc-XXXXXX").string();
        if (!mkdtemp(folder.data())) return kRtcInternal;
        const int result = compile(*static_cast<Program*>(program), {options, options + count}, folder);
        std::filesystem::remove_all(folder);
        return result;
    });
}

GFXSIM_API int hiprtcDestroyProgram(void** program) {
    return guarded([&]() -> int {
        if (!program || !*program) return kRtcInvalidProgram;
        delete static_cast<Program*>(*program);
        *program = nullptr;
        return kRtcSuccess;
    });
}

GFXSIM_API int hiprtcGetProgramLogSize(void* program, size_t* size) {
    if (!program) return kRtcInvalidProgram;
    if (!size) return kRtcInvalidInput;
    *size = static_cast<Program*>(program)->log.size();
    return kRtcSuccess;
}

GFXSIM_API int hiprtcGetProgramLog(void* program, char* text) {
    if (!program) return kRtcInvalidProgram;
    if (!text) return kRtcInvalidInput;
    // Without a NUL: clients end it themselves.
    const std::string& log = static_cast<Program*>(program)->log;
    std::memcpy(text, log.data(), log.size());
    return kRtcSuccess;
}

GFXSIM_API int hiprtcGetCodeSize(void* program, size_t* size) {
    if (!program) return kRtcInvalidProgram;
    if (!size) return kRtcInvalidInput;
    *size = static_cast<Program*>(program)->code.size();
    return kRtcSuccess;
}

GFXSIM_API int hiprtcGetCode(void* program, char* code) {
    if (!program) return kRtcInvalidProgram;
    if (!code) return kRtcInvalidInput;
    const std::string& bytes = static_cast<Program*>(program)->code;
    std::memcpy(code, bytes.data(), bytes.size());
    return kRtcSuccess;
}

// Names of templates would need the compiler's own tables; plain names are what they are.
GFXSIM_API int hiprtcAddNameExpression(void* program, const char* expression) {
    if (!program) return kRtcInvalidProgram;
    if (!expression) return kRtcInvalidInput;
    return static_cast<Program*>(program)->code.empty() ? kRtcSuccess : kRtcNoNameExpressionsAfterCompilation;
}

GFXSIM_API int hiprtcGetLoweredName(void* program, const char* expression, const char** name) {
    if (!program) return kRtcInvalidProgram;
    if (!expression || !name) return kRtcInvalidInput;
    return kRtcNameExpressionNotValid;
}

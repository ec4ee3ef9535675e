#include "runtime/runtime_compiler.hpp"

#include <algorithm>

#include "core/env.hpp"
#include "core/log.hpp"
#include "runtime/code_cache.hpp"
#include "runtime/object_store.hpp"

namespace ckitchen::runtime {
namespace {

constexpr int kSuccess = 0;
constexpr int kOutOfMemory = 1;

// Start of a compiler's log as one line.
std::string one_line(std::string text) {
    constexpr std::size_t kLongest = 300;
    std::replace(text.begin(), text.end(), '\n', ' ');
    text.resize(std::min(text.find('\0'), std::min(text.size(), kLongest)));
    return text;
}

std::vector<std::string> options_for(const Target& target) {
    std::vector<std::string> options{std::string("--offload-arch=") + target.name};
    for (const char* flag : runtime_compiler_flags()) options.emplace_back(flag);
    const auto names = feature_names();
    for (std::size_t i = 0; i < names.size(); ++i) {
        if ((target.features >> i & 1) != 0)
            options.push_back(std::string("-DCKITCHEN_FEATURE_") + names[i] + "=1");
    }
    return options;
}

}  // namespace

Status RuntimeCompiler::open(const Library& hip, int major, std::unique_ptr<RuntimeCompiler>& result) {
    auto made = std::make_unique<RuntimeCompiler>();
    // Part of the runtime up to release 6, a library beside it from 7 on.
    made->compiler_ = hip;
    if (!hip.symbol("hiprtcCreateProgram")) {
        const std::string soname = "libhiprtc.so." + std::to_string(major);
        CK_RETURN_IF_ERROR(Library::open_beside(hip, {soname, "libhiprtc.so"}, made->compiler_));
    }
    const std::string generator = major >= 7 ? "libamd_comgr.so.3" : "libamd_comgr.so.2";
    CK_RETURN_IF_ERROR(
        Library::open_beside(made->compiler_, {generator, "libamd_comgr.so"}, made->generator_));
    const char* missing = nullptr;
    const auto need = [&](const Library& library, const char* name, auto& pointer) {
        if (!library.load(name, pointer) && !missing) missing = name;
    };
    Api& api = made->api_;
    need(made->compiler_, "hiprtcCreateProgram", api.CreateProgram);
    need(made->compiler_, "hiprtcCompileProgram", api.CompileProgram);
    need(made->compiler_, "hiprtcDestroyProgram", api.DestroyProgram);
    need(made->compiler_, "hiprtcGetProgramLogSize", api.GetProgramLogSize);
    need(made->compiler_, "hiprtcGetProgramLog", api.GetProgramLog);
    need(made->compiler_, "hiprtcGetCodeSize", api.GetCodeSize);
    need(made->compiler_, "hiprtcGetCode", api.GetCode);
    need(made->compiler_, "hiprtcGetErrorString", api.GetErrorString);
    need(made->generator_, "amd_comgr_create_action_info", api.CreateActionInfo);
    need(made->generator_, "amd_comgr_action_info_set_isa_name", api.SetIsaName);
    need(made->generator_, "amd_comgr_destroy_action_info", api.DestroyActionInfo);
    if (missing)
        return error(CK_ERROR_UNSUPPORTED_ARCH, "{} with {} has no {}", made->compiler_.path(),
                     made->generator_.path(), missing);
    result = std::move(made);
    return {};
}

Status RuntimeCompiler::check_target(const std::string& arch) {
    std::lock_guard lock(mutex_);
    Handle action{};
    if (const int rc = api_.CreateActionInfo(&action); rc != kSuccess)
        return error(CK_ERROR_DRIVER, "amd_comgr_create_action_info returned {}", rc);
    const int rc = api_.SetIsaName(action, ("amdgcn-amd-amdhsa--" + arch).c_str());
    api_.DestroyActionInfo(action);
    if (rc != kSuccess)
        return error(CK_ERROR_UNSUPPORTED_ARCH, "the compiler in {} does not know {}", generator_.path(),
                     arch);
    return {};
}

Status RuntimeCompiler::compile(const Target& target, const EmbeddedSource& source, std::vector<char>& code) {
    CK_RETURN_IF_ERROR(check_target(target.name));
    std::string text;
    CK_RETURN_IF_ERROR(unpack_source(source, text));
    const std::vector<std::string> options = options_for(target);
    CodeKey key;
    key.add(source.op);
    key.add(text);
    for (const std::string& option : options) key.add(option);
    key.add_file(compiler_.path());
    key.add_file(generator_.path());
    const std::string& folder = env().cache_dir;
    if (!folder.empty() && load_cached(folder, key.name(), code)) {
        log(CK_LOG_INFO, "code of {} for {} was kept in {}", source.op, target.name, folder);
        return {};
    }
    log(CK_LOG_INFO, "compiling {} for {} with {}", source.op, target.name, compiler_.path());
    {
        std::lock_guard lock(mutex_);
        CK_RETURN_IF_ERROR(compile_text(target, source, text, options, code));
    }
    if (!folder.empty()) store_cached(folder, key.name(), code);
    return {};
}

Status RuntimeCompiler::compile_text(const Target& target, const EmbeddedSource& source,
                                     const std::string& text, const std::vector<std::string>& options,
                                     std::vector<char>& code) {
    std::vector<const char*> pointers;
    pointers.reserve(options.size());
    for (const std::string& option : options) pointers.push_back(option.c_str());

    const std::string name = std::string(source.op) + ".hip";
    // A program that is destroyed whatever happens to it.
    struct Program {
        const Api& api;
        void* handle = nullptr;
        explicit Program(const Api& a) : api(a) {}
        ~Program() {
            if (handle) api.DestroyProgram(&handle);
        }
        Program(const Program&) = delete;
        Program& operator=(const Program&) = delete;
    } program(api_);
    const auto failure = [&](int rc, const char* call, const std::string& detail) {
        return error(rc == kOutOfMemory ? CK_ERROR_OUT_OF_MEMORY : CK_ERROR_DRIVER,
                     "{} of {} for {} returned {} ({}){}{}", call, source.op, target.name, rc,
                     api_.GetErrorString(rc), detail.empty() ? "" : ": ", detail);
    };
    if (const int rc = api_.CreateProgram(&program.handle, text.c_str(), name.c_str(), 0, nullptr, nullptr);
        rc != kSuccess)
        return failure(rc, "hiprtcCreateProgram", "");
    if (const int rc =
            api_.CompileProgram(program.handle, static_cast<int>(pointers.size()), pointers.data());
        rc != kSuccess) {
        std::size_t size = 0;
        std::string words;
        if (api_.GetProgramLogSize(program.handle, &size) == kSuccess) {
            // Releases differ on whether the size counts the final NUL.
            words.resize(size + 1);
            if (api_.GetProgramLog(program.handle, words.data()) != kSuccess) words.clear();
        }
        return failure(rc, "hiprtcCompileProgram", one_line(std::move(words)));
    }
    std::size_t size = 0;
    if (const int rc = api_.GetCodeSize(program.handle, &size); rc != kSuccess)
        return failure(rc, "hiprtcGetCodeSize", "");
    code.resize(size);
    if (const int rc = api_.GetCode(program.handle, code.data()); rc != kSuccess)
        return failure(rc, "hiprtcGetCode", "");
    return {};
}

}  // namespace ckitchen::runtime

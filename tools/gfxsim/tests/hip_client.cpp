#include "hip_client.hpp"

#include <dlfcn.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace gfxsim_test {

HipClient::HipClient(const std::string& library) : handle_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) throw std::runtime_error(dlerror());
}

void* HipClient::symbol(const char* name) const {
    return dlsym(handle_, name);
}

void* HipClient::require(const char* name) const {
    void* p = symbol(name);
    if (!p) throw std::runtime_error(std::string("no symbol ") + name);
    return p;
}

std::string read_file(const std::string& path) {
    std::ifstream f(path, std::ios::binary);
    if (!f) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(f), {}};
}

Module::Module(const HipClient& hip, const std::string& path) : hip_(hip), image_(read_file(path)) {
    if (const int error = hip_("hipModuleLoadData", &module_, static_cast<const void*>(image_.data())))
        throw std::runtime_error("loading " + path + " gives " + std::to_string(error));
}

Module::~Module() {
    hip_("hipModuleUnload", module_);
}

bool Module::has(const char* kernel) const {
    void* f = nullptr;
    return hip_("hipModuleGetFunction", &f, module_, kernel) == 0;
}

int Module::launch_raw(const char* kernel, unsigned gx, unsigned gy, unsigned threads,
                       void** arguments) const {
    void* f = nullptr;
    if (const int error = hip_("hipModuleGetFunction", &f, module_, kernel)) return error;
    if (const int error = hip_("hipModuleLaunchKernel", f, gx, gy, 1u, threads, 1u, 1u, 0u,
                               static_cast<void*>(nullptr), arguments, static_cast<void**>(nullptr)))
        return error;
    return hip_("hipDeviceSynchronize");
}

}  // namespace gfxsim_test

// The part of libamd_comgr by which a client learns what the compiler behind hipRTC knows.
#include <cstdint>
#include <cstring>

#include "compiler_targets.hpp"

using namespace ckitchen::gfxsim;

namespace {

struct Handle {
    uint64_t value;
};

constexpr int kOk = 0;
constexpr int kInvalidArgument = 2;
constexpr char kPrefix[] = "amdgcn-amd-amdhsa--";

}  // namespace

GFXSIM_API int amd_comgr_create_action_info(Handle* action) {
    if (!action) return kInvalidArgument;
    action->value = reinterpret_cast<uint64_t>(new char);
    return kOk;
}

GFXSIM_API int amd_comgr_action_info_set_isa_name(Handle, const char* name) {
    const bool known = name && std::strncmp(name, kPrefix, sizeof kPrefix - 1) == 0 &&
                       compiler_knows(name + sizeof kPrefix - 1);
    return known ? kOk : kInvalidArgument;
}

GFXSIM_API int amd_comgr_destroy_action_info(Handle action) {
    delete reinterpret_cast<char*>(action.value);
    return kOk;
}

GFXSIM_API void amd_comgr_get_version(size_t* major, size_t* minor) {
    *major = kFlavor >= 70 ? 3 : 2;
    *minor = 4;
}

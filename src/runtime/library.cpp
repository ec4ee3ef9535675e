#include "runtime/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <string_view>

#include "core/log.hpp"

namespace ckitchen::runtime {
namespace {

bool matches(std::string_view path, std::string_view stem) {
    const std::string_view file = path.substr(path.rfind('/') + 1);
    if (file.substr(0, stem.size()) != stem) return false;
    const std::string_view rest = file.substr(stem.size());
    return rest == ".so" || rest.substr(0, 4) == ".so." ||
           (rest.substr(0, 1) == "-" && rest.find(".so") != rest.npos);
}

struct Scan {
    const char* stem;
    std::vector<std::string> found;
};

std::vector<std::string> mapped_copies(const char* stem) {
    Scan scan{stem, {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& result = *static_cast<Scan*>(data);
            // An exception must not cross the C library's loop; a copy that cannot be remembered is not
            // found.
            try {
                if (info->dlpi_name && matches(info->dlpi_name, result.stem))
                    result.found.emplace_back(info->dlpi_name);
            } catch (...) {
                return 1;
            }
            return 0;
        },
        &scan);
    return scan.found;
}

constexpr int kFlags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;

}  // namespace

bool Library::attempt(const std::string& name, int flags, std::string& tried) {
    handle_ = dlopen(name.c_str(), kFlags | flags);
    if (handle_) {
        link_map* map = nullptr;
        const bool known = dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name;
        path_ = known ? map->l_name : name;
        return true;
    }
    if ((flags & RTLD_NOLOAD) == 0) {
        const char* reason = dlerror();
        tried += (tried.empty() ? "" : "; ") + (reason ? std::string(reason) : name);
    }
    return false;
}

Status Library::open_beside(const Library& other, const std::vector<std::string>& names, Library& library) {
    std::string tried;
    const std::size_t slash = other.path_.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : other.path_.substr(0, slash + 1);
    for (const std::string& name : names) {
        if (library.attempt(name, RTLD_NOLOAD, tried)) return {};
    }
    for (const std::string& name : names) {
        if (!folder.empty() && library.attempt(folder + name, 0, tried)) return {};
    }
    for (const std::string& name : names) {
        if (library.attempt(name, 0, tried)) return {};
    }
    return error(CK_ERROR_NO_RUNTIME, "no {} goes with {}: {}", names.front(), other.path_, tried);
}

Status Library::open(const char* path, const LibraryNames& names, Library& library) {
    std::string tried;
    const auto attempt = [&](const std::string& name, int flags) {
        return library.attempt(name, flags, tried);
    };

    if (path && *path) {
        if (attempt(path, 0)) return {};
        return error(CK_ERROR_NO_RUNTIME, "{} could not be opened: {}", path, tried);
    }
    std::vector<std::string> mapped = mapped_copies(names.stem);
    for (std::size_t i = 1; i < mapped.size(); ++i) {
        if (mapped[i].find("torch") == std::string::npos &&
            mapped[i].find("_rocm_sdk_core") == std::string::npos)
            continue;
        std::swap(mapped[0], mapped[i]);
        break;
    }
    if (mapped.size() > 1)
        log(CK_LOG_WARN, "{} copies of {} are in this process, taking {}", mapped.size(), names.stem,
            mapped[0]);
    for (const std::string& copy : mapped) {
        if (attempt(copy, RTLD_NOLOAD)) return {};
    }
    for (const char* soname : names.sonames) {
        if (attempt(soname, RTLD_NOLOAD)) return {};
    }
    for (const char* soname : names.sonames) {
        if (attempt(soname, 0)) return {};
    }
    for (const std::string& folder : names.folders) {
        for (const char* soname : names.sonames) {
            if (attempt(folder + "/" + soname, 0)) return {};
        }
    }
    return error(CK_ERROR_NO_RUNTIME, "no {} could be opened: {}", names.stem, tried);
}

bool Library::is(const char* path) const {
    void* other = dlopen(path, kFlags | RTLD_NOLOAD);
    if (!other) return false;
    // Only the count of this look-up is given back: the library stays.
    dlclose(other);
    return other == handle_;
}

void* Library::symbol(const char* name) const {
    return dlsym(handle_, name);
}

}  // namespace ckitchen::runtime

// Finding and opening a driver's shared library without disturbing a host that has its own copy.
#pragma once

#include <string>
#include <vector>

#include "core/status.hpp"

namespace ckitchen::runtime {

struct LibraryNames {
    const char* stem;                  // "libamdhip64": matches stem.so, stem.so.* and stem-*.so*
    std::vector<const char*> sonames;  // newest first
    std::vector<std::string> folders;  // searched last, absolute
};

// A library that is never closed.
class Library {
  public:
    // In this order: `path` alone when given; a copy that is mapped already; a loaded SONAME; the loader's
    // search by SONAME; the folders. Two mapped copies: the one that a Python wheel brought wins, since its
    // owner runs.
    static Status open(const char* path, const LibraryNames& names, Library& library);

    // A library that goes with another one: loaded already under one of the names, else in the other's
    // folder, else by the loader's search.
    static Status open_beside(const Library& other, const std::vector<std::string>& names, Library& library);

    // Does a path or SONAME name this very library?
    bool is(const char* path) const;

    void* symbol(const char* name) const;
    const std::string& path() const { return path_; }

    template <typename Pointer>
    bool load(const char* name, Pointer& pointer) const {
        pointer = reinterpret_cast<Pointer>(symbol(name));
        return pointer != nullptr;
    }

  private:
    // On failure the loader's words are added to `tried`.
    bool attempt(const std::string& name, int flags, std::string& tried);

    void* handle_ = nullptr;
    std::string path_;
};

}  // namespace ckitchen::runtime

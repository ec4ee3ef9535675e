#include "runtime/code_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>

#include "core/log.hpp"

namespace ckitchen::runtime {
namespace {

constexpr std::string_view kSuffix = ".ckcode";
constexpr char kMagic[8] = {'C', 'K', 'C', 'O', 'D', 'E', '1', '\n'};
constexpr uint64_t kLargest = uint64_t{64} << 20;

// In front of the code.
struct Header {
    char magic[8];
    uint64_t size;
    uint64_t hash;  // of the code
};

uint64_t hash_of(const char* data, std::size_t size) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (std::size_t i = 0; i < size; ++i)
        hash = (hash ^ static_cast<unsigned char>(data[i])) * 0x100000001b3u;
    return hash;
}

class File {
  public:
    File(const std::string& path, int flags)
        : file_(open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600)) {}
    ~File() {
        if (file_ >= 0) close(file_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    explicit operator bool() const { return file_ >= 0; }
    int get() const { return file_; }

    bool read_all(void* data, std::size_t size) const {
        return transfer(size, [&](std::size_t done) {
            return ::read(file_, static_cast<char*>(data) + done, size - done);
        });
    }
    bool write_all(const void* data, std::size_t size) const {
        return transfer(size, [&](std::size_t done) {
            return ::write(file_, static_cast<const char*>(data) + done, size - done);
        });
    }

  private:
    template <typename Call>
    static bool transfer(std::size_t size, Call call) {
        for (std::size_t done = 0; done < size;) {
            const ssize_t n = call(done);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            done += static_cast<std::size_t>(n);
        }
        return true;
    }

    int file_;
};

// Code runs with the rights of who loads it, so nobody else may have written it.
bool is_ours(const struct stat& status) {
    return status.st_uid == geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_ours(const std::string& folder) {
    struct stat status;
    return stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && is_ours(status);
}

// With those above it; readable by its owner alone, as the XDG base directories are.
bool make_folder(const std::string& folder) {
    for (std::size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
        const std::string part = folder.substr(0, end);
        if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return false;
        if (end == folder.npos) return true;
    }
}

void remove_oldest(const std::string& folder, uint64_t most) {
    namespace fs = std::filesystem;
    struct Entry {
        fs::file_time_type time;
        uint64_t size;
        fs::path path;
    };
    std::vector<Entry> entries;
    uint64_t total = 0;
    std::error_code failed;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
        if (it->path().extension() != kSuffix) continue;
        std::error_code gone;
        Entry entry{it->last_write_time(gone), it->file_size(gone), it->path()};
        if (gone) continue;
        total += entry.size;
        entries.push_back(std::move(entry));
    }
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.time < b.time; });
    for (const Entry& entry : entries) {
        if (total <= most) return;
        total -= entry.size;
        fs::remove(entry.path, failed);
    }
}

void store(const std::string& folder, const std::string& name, const std::vector<char>& code, uint64_t most) {
    const auto failed = [&](const char* what) {
        log(CK_LOG_WARN, "compiled code is not kept in {}: {}", folder, what);
    };
    if (code.size() > kLargest) return failed("it is too large");
    if (!make_folder(folder)) return failed(std::strerror(errno));
    if (!is_ours(folder)) return failed("it must be a folder that this user alone may write to");
    const std::string path = folder + "/" + name + std::string(kSuffix);
    static std::atomic<unsigned> count{0};
    const std::string unfinished = path + "." + std::to_string(getpid()) + "." + std::to_string(count++);
    Header header{{}, code.size(), hash_of(code.data(), code.size())};
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    bool written = false;
    {
        const File file(unfinished, O_WRONLY | O_CREAT | O_EXCL);
        written = file && file.write_all(&header, sizeof(header)) && file.write_all(code.data(), code.size());
    }
    if (!written || rename(unfinished.c_str(), path.c_str()) != 0) {
        const int error = errno;
        unlink(unfinished.c_str());
        return failed(std::strerror(error));
    }
    remove_oldest(folder, most);
}

}  // namespace

void CodeKey::mix(const void* data, std::size_t size) {
    // FNV-1a with 128 bits: the prime is 2^88 + 0x13b.
    __extension__ typedef unsigned __int128 Wide;
    constexpr Wide kPrime = (Wide{1} << 88) + 0x13b;
    Wide state = Wide{state_[0]} << 64 | state_[1];
    for (std::size_t i = 0; i < size; ++i)
        state = (state ^ static_cast<const unsigned char*>(data)[i]) * kPrime;
    state_ = {static_cast<uint64_t>(state >> 64), static_cast<uint64_t>(state)};
}

void CodeKey::add(std::string_view text) {
    // The length too, so that no two lists of texts run into the same bytes.
    const uint64_t size = text.size();
    mix(&size, sizeof(size));
    mix(text.data(), text.size());
}

void CodeKey::add_file(const std::string& path) {
    add(path);
    struct stat status;
    if (stat(path.c_str(), &status) != 0) status = {};
    const int64_t facts[] = {status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    mix(facts, sizeof(facts));
}

std::string CodeKey::name() const {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (const uint64_t half : state_) {
        for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[half >> shift & 15];
    }
    return text;
}

bool load_cached(const std::string& folder, const std::string& name, std::vector<char>& code) {
    if (!is_ours(folder)) return false;
    const File file(folder + "/" + name + std::string(kSuffix), O_RDONLY | O_NONBLOCK);
    struct stat status;
    Header header;
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || !is_ours(status))
        return false;
    if (!file.read_all(&header, sizeof(header)) || std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 ||
        header.size > kLargest || static_cast<uint64_t>(status.st_size) != sizeof(header) + header.size)
        return false;
    code.resize(header.size);
    return file.read_all(code.data(), code.size()) && hash_of(code.data(), code.size()) == header.hash;
}

void store_cached(const std::string& folder, const std::string& name, const std::vector<char>& code,
                  uint64_t most) noexcept {
    try {
        store(folder, name, code, most);
    } catch (const std::exception& failure) {
        log(CK_LOG_WARN, "compiled code is not kept in {}: {}", folder, failure.what());
    }
}

}  // namespace ckitchen::runtime

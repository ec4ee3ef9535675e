#include "files.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <mutex>

#include "failure.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

// One system call moves at most 2 GiB on Linux; smaller pieces also keep interruptions cheap.
constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;

std::string error_text(int error) {
    std::array<char, 256> buffer{};
    return ::strerror_r(error, buffer.data(), buffer.size());
}

// Temporary files that exist now. A signal handler may only use what is already there: fixed storage, and a
// flag that is set after the path is complete and cleared before it changes.
struct TemporarySlot {
    std::atomic<bool> armed{false};
    std::array<char, PATH_MAX> path{};
};
constexpr int kSlots = 8;
std::array<TemporarySlot, kSlots> temporary_slots;
std::mutex slots_mutex;
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void remove_temporaries_and_die(int signal_number) {
    for (TemporarySlot& slot : temporary_slots) {
        if (slot.armed.load()) ::unlink(slot.path.data());
    }
    // The handler was installed with SA_RESETHAND: raising again ends the process by the default action, so
    // that the parent sees the true cause of death.
    ::raise(signal_number);
}

void install_handlers() {
    for (const int signal_number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
        struct sigaction old = {};
        ::sigaction(signal_number, nullptr, &old);
        if (old.sa_handler == SIG_IGN) continue;  // nohup and background jobs asked not to be stopped
        struct sigaction action = {};
        action.sa_handler = remove_temporaries_and_die;
        action.sa_flags = SA_RESETHAND;
        ::sigemptyset(&action.sa_mask);
        ::sigaction(signal_number, &action, nullptr);
    }
    // A file size limit then shows as EFBIG, which is reported like every other failed write.
    ::signal(SIGXFSZ, SIG_IGN);
}

// -1 when the table is full: the file is then removed by the destructor only.
int arm_slot(const std::string& path) {
    const std::lock_guard lock(slots_mutex);
    for (int i = 0; i < kSlots; ++i) {
        TemporarySlot& slot = temporary_slots[static_cast<std::size_t>(i)];
        if (slot.armed.load() || path.size() >= slot.path.size()) continue;
        std::copy(path.begin(), path.end(), slot.path.begin());
        slot.path[path.size()] = '\0';
        slot.armed.store(true);
        return i;
    }
    return -1;
}

void disarm_slot(int index) {
    if (index >= 0) temporary_slots[static_cast<std::size_t>(index)].armed.store(false);
}

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_link(const std::string& path) {
    struct stat status = {};
    return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

// Where a link that leads to no file yet points to.
std::string follow_dangling(std::string path) {
    constexpr int kMostLinks = 40;  // as the kernel follows
    for (int i = 0; i < kMostLinks && is_link(path); ++i) {
        const std::filesystem::path next = std::filesystem::read_symlink(path);
        path = next.is_absolute() ? next.string() : directory_of(path) + "/" + next.string();
    }
    return path;
}

std::string random_suffix() {
    static constexpr char kAlphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::array<unsigned char, 10> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        throw Failure(Exit::kInternal, "no random bytes for a temporary name: " + error_text(errno));
    }
    std::string out;
    for (const unsigned char byte : bytes) out += kAlphabet[byte % (sizeof(kAlphabet) - 1)];
    return out;
}

// The way to give a name to a file that is open and has none.
std::string descriptor_path(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

}  // namespace

std::string output_target(const std::string& path) {
    if (!is_link(path)) return path;
    const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
    if (resolved != nullptr) return resolved.get();
    int error = errno;
    struct stat status = {};
    // A pipe in /proc has a link that leads somewhere and no path.
    if (error == ENOENT && ::stat(path.c_str(), &status) != 0 && errno == ENOENT) {
        try {
            return follow_dangling(path);
        } catch (const std::filesystem::filesystem_error& failed) {
            error = failed.code().value();
        }
    }
    throw Failure(Exit::kOutput, printable(path) + ": cannot follow the symbolic link: " + error_text(error));
}

InputFile::InputFile(const std::string& path) : path_(path) {
    // O_NONBLOCK: opening a FIFO must not wait for a writer that never comes.
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd_ < 0) throw Failure(Exit::kInput, printable(path) + ": cannot open: " + error_text(errno));
    struct stat status = {};
    if (::fstat(fd_, &status) != 0 || !S_ISREG(status.st_mode)) {
        ::close(fd_);
        throw Failure(Exit::kInput, printable(path) + ": is not a regular file");
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
    id_ = {status.st_dev, status.st_ino};
}

InputFile::~InputFile() {
    ::close(fd_);
}

void InputFile::read(std::uint64_t offset, std::span<std::byte> out) const {
    while (!out.empty()) {
        const std::size_t count = std::min(out.size(), kLargestTransfer);
        const ssize_t got = ::pread(fd_, out.data(), count, static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            throw Failure(Exit::kInput, printable(path_) +
                                            format(": cannot read at byte %llu: ",
                                                   static_cast<unsigned long long>(offset)) +
                                            error_text(errno));
        }
        if (got == 0) {
            throw Failure(Exit::kInput,
                          printable(path_) + format(": ends at byte %llu; it was cut while being read",
                                                    static_cast<unsigned long long>(offset)));
        }
        offset += static_cast<std::uint64_t>(got);
        out = out.subspan(static_cast<std::size_t>(got));
    }
}

void InputFile::advise_sequential() const {
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
}

std::string read_text(const std::string& path, std::uint64_t limit, FileId* id) {
    const InputFile file(path);
    if (file.size() > limit) {
        throw Failure(Exit::kInput, printable(path) + ": is " + bytes_text(file.size()) +
                                        " long; a file of this kind has at most " + bytes_text(limit));
    }
    std::string text(static_cast<std::size_t>(file.size()), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    if (id != nullptr) *id = file.id();
    return text;
}

void OutputFile::fail(const std::string& what, int error) const {
    throw Failure(Exit::kOutput, printable(path_) + ": " + what + ": " + error_text(error));
}

std::optional<mode_t> OutputFile::check_target() const {
    struct stat status = {};
    if (::stat(target_.c_str(), &status) != 0) {
        if (errno == ENOENT) return std::nullopt;
        fail("cannot be used as the output", errno);
    }
    const FileId id = {status.st_dev, status.st_ino};
    if (std::find(inputs_.begin(), inputs_.end(), id) != inputs_.end()) {
        throw Failure(Exit::kOutput, printable(path_) + ": is an input file; the output needs another name");
    }
    if (S_ISDIR(status.st_mode)) throw Failure(Exit::kOutput, printable(path_) + ": is a directory");
    if (!S_ISREG(status.st_mode)) throw Failure(Exit::kOutput, printable(path_) + ": is not a regular file");
    // rename() would replace a read-only file without asking, and root may do anything: its owner's wish
    // counts.
    if ((status.st_mode & 0222) == 0)
        throw Failure(Exit::kOutput, printable(path_) + ": exists and is read-only");
    if (::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail("cannot be replaced", errno);
    return status.st_mode & 0777;
}

void OutputFile::take_mode(std::optional<mode_t> mode) {
    struct stat status = {};
    if (!mode || (::fstat(fd_, &status) == 0 && (status.st_mode & 0777) == *mode)) return;
    if (::fchmod(fd_, *mode) != 0) fail("cannot give the permissions of the file that it replaces", errno);
}

template <typename Make>
int OutputFile::with_temporary_name(const std::string& what, Make make) {
    for (int attempt = 0; attempt < 100; ++attempt) {
        temporary_ = directory_ + "/.ckitchen-" + random_suffix() + ".tmp";
        slot_ = arm_slot(temporary_);
        const int result = make(temporary_.c_str());
        if (result >= 0) return result;
        const int error = errno;
        disarm_slot(slot_);
        slot_ = -1;
        temporary_.clear();
        if (error != EEXIST) fail(what, error);
    }
    fail(what, EEXIST);
}

bool OutputFile::open_unnamed() {
    const auto open = [&] { return ::open(directory_.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666); };
    // Whether a name can be given later is tried now, on a file that is not needed: a link that was removed
    // cannot be made again.
    const int probe = open();
    if (probe < 0) return false;
    const std::string name = directory_ + "/.ckitchen-" + random_suffix() + ".tmp";
    const int slot = arm_slot(name);
    const bool can_be_named =
        ::linkat(AT_FDCWD, descriptor_path(probe).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0 &&
        ::unlink(name.c_str()) == 0;
    disarm_slot(slot);
    ::close(probe);
    if (can_be_named) fd_ = open();
    return fd_ >= 0;
}

OutputFile::OutputFile(const std::string& path, std::vector<FileId> inputs, bool named)
    : path_(path), inputs_(std::move(inputs)) {
    if (path_.empty()) throw Failure(Exit::kOutput, "the output's name is empty");
    if (path_ == "-") {
        throw Failure(Exit::kUsage,
                      "an output named \"-\": stdout cannot be one (./- is the file of that name)");
    }
    static std::once_flag once;
    std::call_once(once, install_handlers);
    target_ = output_target(path_);
    directory_ = directory_of(target_);
    const std::optional<mode_t> mode = check_target();
    if (named || !open_unnamed()) {
        fd_ = with_temporary_name("cannot create a file in " + in_quotes(directory_), [](const char* name) {
            return ::open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        });
    }
    // Now, not at the end: what was private is not readable meanwhile.
    try {
        take_mode(mode);
    } catch (...) {
        remove_temporary();
        throw;
    }
}

OutputFile::~OutputFile() {
    if (fd_ >= 0) remove_temporary();
}

void OutputFile::remove_temporary() {
    ::close(fd_);
    if (temporary_.empty()) return;
    ::unlink(temporary_.c_str());
    disarm_slot(slot_);
}

void OutputFile::reserve(std::uint64_t size) {
    if (size > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) fail("is too large", EFBIG);
    if (size == 0) return;
    // fallocate itself rather than posix_fallocate, which writes every block where it is not supported.
    int result = 0;
    do {
        result = ::fallocate(fd_, 0, 0, static_cast<off_t>(size));
    } while (result != 0 && errno == EINTR);
    if (result == 0) return;
    if (errno != EOPNOTSUPP && errno != ENOSYS) {
        fail("cannot reserve " + bytes_text(size), errno);
    }
    if (::ftruncate(fd_, static_cast<off_t>(size)) != 0) fail("cannot reserve " + bytes_text(size), errno);
}

void OutputFile::write(std::uint64_t offset, std::span<const std::byte> data) {
    while (!data.empty()) {
        const std::size_t count = std::min(data.size(), kLargestTransfer);
        const ssize_t put = ::pwrite(fd_, data.data(), count, static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) fail("cannot write", errno);
        offset += static_cast<std::uint64_t>(put);
        data = data.subspan(static_cast<std::size_t>(put));
    }
}

void OutputFile::commit() {
    if (::fsync(fd_) != 0) fail("cannot write", errno);
    // Once more: somebody may have moved an input to this name meanwhile.
    take_mode(check_target());
    if (temporary_.empty()) {
        // link() replaces nothing, so this file too has a name of its own for a moment.
        with_temporary_name("cannot name the finished file", [&](const char* name) {
            return ::linkat(AT_FDCWD, descriptor_path(fd_).c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW);
        });
    }
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot rename the finished file", errno);
    disarm_slot(slot_);
    ::close(fd_);
    fd_ = -1;
    // Makes the rename itself durable. Some file systems cannot sync a directory; the data is safe either
    // way.
    const int directory = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory >= 0) {
        ::fsync(directory);
        ::close(directory);
    }
}

}  // namespace ckitchen::cli

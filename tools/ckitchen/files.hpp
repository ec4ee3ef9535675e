// Files of the operating system: identity, positioned reads, and an output that appears whole or not at all.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ckitchen::cli {

// What makes two paths the same file.
struct FileId {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const FileId&) const = default;
};

// A regular file opened for reading. Data is read with positioned reads rather than through a memory map: a
// file that is truncated meanwhile, or a disk that fails, is then an error with a text and not a SIGBUS, and
// pages that were read do not count as this process's memory. Reads are thread-safe.
class InputFile {
  public:
    // Fails with Exit::kInput when the path is not a readable regular file.
    explicit InputFile(const std::string& path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    const std::string& path() const { return path_; }
    std::uint64_t size() const { return size_; }
    FileId id() const { return id_; }

    // Reads exactly out.size() bytes at `offset`; anything less is a Failure with Exit::kInput.
    void read(std::uint64_t offset, std::span<std::byte> out) const;

    // Hints that the file will be read front to back.
    void advise_sequential() const;

  private:
    std::string path_;
    int fd_ = -1;
    std::uint64_t size_ = 0;
    FileId id_;
};

// The whole file as text, refused with Exit::kInput above `limit` bytes.
std::string read_text(const std::string& path, std::uint64_t limit, FileId* id = nullptr);

// Where an output of that name is written: through symbolic links, also through one to a file that is not
// there yet. Fails with Exit::kOutput when they lead nowhere.
std::string output_target(const std::string& path);

// A file that is written in its final directory and gets its name at the end. Until commit() the final name
// is untouched. A file that is replaced hands its permissions on, a new one has those that the umask leaves.
// Until then it has no name where the file system can do that (O_TMPFILE), so that nothing is left however
// the process ends. Elsewhere it is a hidden ".ckitchen-*.tmp" file, which is removed when the object dies
// uncommitted or SIGINT, SIGTERM, SIGHUP or SIGPIPE ends the process, but stays when it is killed outright.
class OutputFile {
  public:
    // Fails with Exit::kOutput when `path` is one of `inputs`, exists and is no regular file or is read-only,
    // or when its directory cannot be written, and with Exit::kUsage for "-", which other programs take for
    // stdout. A symbolic link is followed. `named`: hidden under a name even where it could do without.
    OutputFile(const std::string& path, std::vector<FileId> inputs, bool named = false);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    // Sets the size and, where the file system can, reserves the space, so that a full disk is found before
    // the work and not after it.
    void reserve(std::uint64_t size);

    void write(std::uint64_t offset, std::span<const std::byte> data);

    // Flushes to the disk and renames to the final name.
    void commit();

    const std::string& path() const { return path_; }

  private:
    [[noreturn]] void fail(const std::string& what, int error) const;
    // The permissions of the file that will be replaced; nothing when there is none.
    std::optional<mode_t> check_target() const;
    void take_mode(std::optional<mode_t> mode);
    // False where the file system, or a system without /proc, has no files without a name.
    bool open_unnamed();
    // Calls make(temporary_) with one random name after the other until it is not taken, which a negative
    // result with EEXIST would say; the signal handler knows the name from before it exists.
    template <typename Make>
    int with_temporary_name(const std::string& what, Make make);
    void remove_temporary();

    std::string path_;       // as the user wrote it
    std::string target_;     // with symbolic links resolved
    std::string directory_;  // of target_
    std::string temporary_;  // empty: the file has no name
    std::vector<FileId> inputs_;
    int fd_ = -1;
    int slot_ = -1;  // in the table that the signal handler reads
};

}  // namespace ckitchen::cli

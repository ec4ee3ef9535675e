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

// A file that is written beside its final name and renamed at the end. Until commit() the final name is
// untouched. A file that is replaced hands its permissions on, a new one has those that the umask leaves.
// When the object dies uncommitted, or SIGINT, SIGTERM, SIGHUP or SIGPIPE ends the process, the
// temporary file is removed. A process that is killed outright leaves a ".ckitchen-*.tmp" file, never the
// final name.
class OutputFile {
  public:
    // Fails with Exit::kOutput when `path` is one of `inputs`, exists and is no regular file or is read-only,
    // or when its directory cannot be written. A symbolic link is followed.
    OutputFile(const std::string& path, std::vector<FileId> inputs);
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
    void remove_temporary();

    std::string path_;       // as the user wrote it
    std::string target_;     // with symbolic links resolved
    std::string directory_;  // of target_
    std::string temporary_;
    std::vector<FileId> inputs_;
    int fd_ = -1;
    int slot_ = -1;  // in the table that the signal handler reads
};

}  // namespace ckitchen::cli

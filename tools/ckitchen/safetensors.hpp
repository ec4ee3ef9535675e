// Reading and writing safetensors files: an 8-byte little-endian header length, a JSON header that maps each
// tensor's name to its dtype, shape and byte range, and the bytes.
//
// Files are treated as hostile: everything the header claims is checked against the file before a byte of
// data is used. What is refused, with Exit::kInput and a line that names the file and the tensor: a header
// longer than the file or than kMaxHeaderBytes; JSON that is malformed, not UTF-8, deeper than the format or
// has a key twice; unknown dtypes; shapes whose product overflows; ranges that do not match dtype and shape,
// leave the file, overlap or leave holes; bytes after the last tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dtype.hpp"
#include "files.hpp"

namespace ckitchen::cli {

inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
// Far above every name and shape in use; they bound what error texts, patterns and loops have to bear.
inline constexpr std::size_t kMaxNameBytes = 1024;
inline constexpr std::size_t kMaxRank = 64;

using Metadata = std::map<std::string, std::string>;

struct TensorInfo {
    std::string name;
    Dtype dtype = Dtype::kU8;
    std::vector<std::int64_t> shape;
    std::uint64_t begin = 0;  // bytes after the header
    std::uint64_t end = 0;

    std::uint64_t bytes() const { return end - begin; }
    std::uint64_t elements() const { return bytes() / dtype_size(dtype); }
};

// Elements times element size, false on overflow or a negative extent.
bool tensor_bytes(Dtype dtype, const std::vector<std::int64_t>& shape, std::uint64_t& bytes);

// Parses and checks the JSON header of a file whose data part has `data_bytes` bytes. Tensors come out in the
// order of their bytes. On failure returns false and sets `error` to one line.
bool parse_safetensors_header(std::string_view header, std::uint64_t data_bytes,
                              std::vector<TensorInfo>& tensors, Metadata& metadata, std::string& error);

// One open file. Const functions are thread-safe.
class SafetensorsFile {
  public:
    explicit SafetensorsFile(const std::string& path);

    const std::string& path() const { return file_.path(); }
    FileId id() const { return file_.id(); }
    std::uint64_t size() const { return file_.size(); }
    const Metadata& metadata() const { return metadata_; }
    const std::vector<TensorInfo>& tensors() const { return tensors_; }

    // NULL when there is no such tensor.
    const TensorInfo* find(std::string_view name) const;

    // Reads out.size() bytes of the tensor, starting `offset` bytes into it.
    void read(const TensorInfo& tensor, std::uint64_t offset, std::span<std::byte> out) const;
    // The whole tensor.
    std::vector<std::byte> load(const TensorInfo& tensor) const;

  private:
    InputFile file_;
    std::uint64_t data_begin_ = 0;
    Metadata metadata_;
    std::vector<TensorInfo> tensors_;
    std::unordered_map<std::string_view, std::size_t> by_name_;  // views into tensors_
};

// A tensor and the file it lies in.
struct SourceTensor {
    const TensorInfo* info = nullptr;
    const SafetensorsFile* file = nullptr;

    void read(std::uint64_t offset, std::span<std::byte> out) const { file->read(*info, offset, out); }
    std::vector<std::byte> load() const { return file->load(*info); }
};

// A model in one file or in shards. Tensors are in the order of their names, so that a sharded model and the
// same model in one file look alike.
class Checkpoint {
  public:
    // `path` is a .safetensors file, a *.safetensors.index.json, or a directory that has exactly one of
    // either (an index is preferred). Every shard is opened and checked: shard names that leave the
    // directory, tensors that the index does not list or a shard does not have, and tensors in two shards are
    // refused.
    explicit Checkpoint(const std::string& path);

    // The file that stands for the model in messages: the single file or the index.
    const std::string& path() const { return path_; }
    const std::vector<SourceTensor>& tensors() const { return tensors_; }
    const SourceTensor* find(std::string_view name) const;
    // Of all shards together; where two shards disagree about a key, the first in the order of file names
    // counts.
    const Metadata& metadata() const { return metadata_; }
    // Keys about which shards disagree.
    const std::vector<std::string>& metadata_conflicts() const { return metadata_conflicts_; }
    // Every file that was opened, the index included.
    const std::vector<FileId>& file_ids() const { return file_ids_; }
    const std::vector<std::unique_ptr<SafetensorsFile>>& files() const { return files_; }
    // Sizes of the tensor files.
    std::uint64_t file_bytes() const;

  private:
    void add_file(const std::string& path);
    void open_index(const std::string& path);

    std::string path_;
    std::vector<std::unique_ptr<SafetensorsFile>> files_;
    std::vector<SourceTensor> tensors_;
    std::unordered_map<std::string_view, std::size_t> by_name_;
    Metadata metadata_;
    std::vector<std::string> metadata_conflicts_;
    std::vector<FileId> file_ids_;
};

struct OutputTensor {
    std::string name;
    Dtype dtype = Dtype::kU8;
    std::vector<std::int64_t> shape;
};

// Writes one file. The layout is fixed at the start from the list of tensors; their bytes then come in any
// order. Tensors are laid out by element size, largest first, then by name: so every tensor lies at a
// multiple of its element size, which readers that map the file rely on, and the file depends on the set of
// tensors alone. The header is padded with spaces to a multiple of 8.
class SafetensorsWriter {
  public:
    // Opens the output (see OutputFile for `path` and `inputs`). A thread reserves the room and writes the
    // header meanwhile: for gigabytes that takes as long as a GPU to come up. What goes wrong there is told
    // by wait_for_room, or by the first write.
    SafetensorsWriter(const std::string& path, const std::vector<OutputTensor>& tensors,
                      const Metadata& metadata, std::vector<FileId> inputs);

    // Bytes of the finished file.
    std::uint64_t file_bytes() const { return data_begin_ + data_bytes_; }
    // Where a tensor of the list lies. NULL when there is no such name.
    const TensorInfo* find(std::string_view name) const;

    // Whether wait_for_room would return, or fail, at once.
    bool knows_room() const;
    void wait_for_room();

    // Writes part of a tensor, `offset` bytes into it. No byte may be written twice.
    void write(const TensorInfo& tensor, std::uint64_t offset, std::span<const std::byte> data);

    // Checks that every byte was written, flushes and renames.
    void commit();

  private:
    OutputFile file_;
    std::uint64_t data_begin_ = 0;
    std::uint64_t data_bytes_ = 0;
    std::uint64_t written_ = 0;
    std::vector<TensorInfo> tensors_;
    std::unordered_map<std::string_view, std::size_t> by_name_;
    std::future<void> room_;  // ends before what it uses
};

}  // namespace ckitchen::cli

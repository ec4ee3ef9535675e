#include "safetensors.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>
#include <unordered_set>

#include "failure.hpp"
#include "strict_json.hpp"
#include "text.hpp"

namespace ckitchen::cli {
namespace {

using json = nlohmann::json;

constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::string_view kIndexSuffix = ".safetensors.index.json";
constexpr std::string_view kFileSuffix = ".safetensors";

bool has_suffix(std::string_view text, std::string_view suffix) {
    return text.ends_with(suffix);
}

// Receives the header's JSON piece by piece and accepts only the format's shape, so that depth, memory and
// time stay proportional to the tensors that are really there.
class HeaderHandler final : public nlohmann::json_sax<json> {
  public:
    HeaderHandler(std::vector<TensorInfo>& tensors, Metadata& metadata)
        : tensors_(tensors), metadata_(metadata) {}

    const std::string& error() const { return error_; }
    bool done() const { return state_ == State::kDone; }

    bool null() override { return unexpected("null"); }
    bool boolean(bool) override { return unexpected("a boolean"); }
    bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
    bool number_float(number_float_t, const string_t&) override {
        return unexpected("a number that is not a 64-bit unsigned integer");
    }
    bool binary(binary_t&) override { return unexpected("binary data"); }

    bool number_unsigned(number_unsigned_t value) override {
        if (state_ == State::kShapeItems) {
            if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
                return fail("extent " + std::to_string(value) + " exceeds 2^63 - 1");
            }
            if (tensor_.shape.size() == kMaxRank)
                return fail(format("has more than %zu dimensions", kMaxRank));
            tensor_.shape.push_back(static_cast<std::int64_t>(value));
            return true;
        }
        if (state_ == State::kOffsetItems) {
            if (offset_count_ == 2) return fail("data_offsets has more than 2 numbers");
            (offset_count_ == 0 ? tensor_.begin : tensor_.end) = value;
            ++offset_count_;
            return true;
        }
        return unexpected("a number");
    }

    bool string(string_t& value) override {
        if (state_ == State::kDtypeValue) {
            const auto dtype = parse_dtype(value);
            if (!dtype) return fail("has the unknown dtype " + in_quotes(value));
            tensor_.dtype = *dtype;
            state_ = State::kTensor;
            return true;
        }
        if (state_ == State::kMetadataValue) {
            metadata_[metadata_key_] = std::move(value);
            state_ = State::kMetadata;
            return true;
        }
        return unexpected("a string");
    }

    bool start_object(std::size_t) override {
        switch (state_) {
            case State::kStart:
                state_ = State::kTop;
                return true;
            case State::kTensorStart:
                state_ = State::kTensor;
                return true;
            case State::kMetadataStart:
                state_ = State::kMetadata;
                return true;
            default:
                return unexpected("an object");
        }
    }

    bool key(string_t& value) override {
        switch (state_) {
            case State::kTop:
                return top_key(value);
            case State::kTensor:
                return tensor_key(value);
            case State::kMetadata:
                if (metadata_.contains(value)) return fail("key " + in_quotes(value) + " occurs twice");
                metadata_key_ = value;
                state_ = State::kMetadataValue;
                return true;
            default:
                return unexpected("a key");
        }
    }

    bool end_object() override {
        if (state_ == State::kTensor) {
            if (!has_dtype_) return fail("has no dtype");
            if (!has_shape_) return fail("has no shape");
            if (!has_offsets_) return fail("has no data_offsets");
            tensors_.push_back(std::move(tensor_));
            state_ = State::kTop;
        } else if (state_ == State::kMetadata) {
            state_ = State::kTop;
        } else {
            state_ = State::kDone;
        }
        context_.clear();
        return true;
    }

    bool start_array(std::size_t) override {
        if (state_ == State::kShapeStart) {
            state_ = State::kShapeItems;
            return true;
        }
        if (state_ == State::kOffsetStart) {
            state_ = State::kOffsetItems;
            offset_count_ = 0;
            return true;
        }
        return unexpected("an array");
    }

    bool end_array() override {
        if (state_ == State::kOffsetItems && offset_count_ != 2)
            return fail("data_offsets has fewer than 2 numbers");
        state_ = State::kTensor;
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
        error_ = "the header is not valid JSON (UTF-8) at its byte " + std::to_string(position);
        return false;
    }

  private:
    enum class State {
        kStart,
        kTop,
        kTensorStart,
        kTensor,
        kDtypeValue,
        kShapeStart,
        kShapeItems,
        kOffsetStart,
        kOffsetItems,
        kMetadataStart,
        kMetadata,
        kMetadataValue,
        kDone,
    };

    bool fail(const std::string& what) {
        error_ = context_.empty() ? "the header: " + what : context_ + ": " + what;
        return false;
    }

    bool unexpected(const char* what) {
        return fail(std::string("the header has ") + what + " where it may not");
    }

    bool top_key(const std::string& name) {
        if (name.size() > kMaxNameBytes) {
            return fail(format("a tensor name of %zu bytes exceeds %zu", name.size(), kMaxNameBytes));
        }
        if (!names_.insert(name).second) return fail("the name " + in_quotes(name) + " occurs twice");
        if (name == kMetadataKey) {
            context_ = std::string(kMetadataKey);
            state_ = State::kMetadataStart;
            return true;
        }
        context_ = "tensor " + in_quotes(name);
        tensor_ = TensorInfo{};
        tensor_.name = name;
        has_dtype_ = has_shape_ = has_offsets_ = false;
        state_ = State::kTensorStart;
        return true;
    }

    bool tensor_key(const std::string& field) {
        bool* seen = nullptr;
        if (field == "dtype") {
            seen = &has_dtype_;
            state_ = State::kDtypeValue;
        } else if (field == "shape") {
            seen = &has_shape_;
            state_ = State::kShapeStart;
        } else if (field == "data_offsets") {
            seen = &has_offsets_;
            state_ = State::kOffsetStart;
        } else {
            return fail("has the unknown field " + in_quotes(field));
        }
        if (*seen) return fail("key " + in_quotes(field) + " occurs twice");
        *seen = true;
        return true;
    }

    std::vector<TensorInfo>& tensors_;
    Metadata& metadata_;
    State state_ = State::kStart;
    std::string error_;
    std::string context_;
    std::unordered_set<std::string> names_;
    TensorInfo tensor_;
    bool has_dtype_ = false;
    bool has_shape_ = false;
    bool has_offsets_ = false;
    int offset_count_ = 0;
    std::string metadata_key_;
};

std::string range_text(const TensorInfo& tensor) {
    return format("[%llu, %llu)", static_cast<unsigned long long>(tensor.begin),
                  static_cast<unsigned long long>(tensor.end));
}

// Ranges must tile the data part exactly. `tensors` is sorted by range.
bool check_ranges(const std::vector<TensorInfo>& tensors, std::uint64_t data_bytes, std::string& error) {
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const TensorInfo& tensor = tensors[i];
        if (tensor.begin < expected) {
            error = "tensor " + in_quotes(tensor.name) + ": its bytes " + range_text(tensor) +
                    " overlap those of " + in_quotes(tensors[i - 1].name) + " " + range_text(tensors[i - 1]);
            return false;
        }
        if (tensor.begin > expected) {
            error = "tensor " + in_quotes(tensor.name) + ": " + std::to_string(tensor.begin - expected) +
                    " bytes before its range " + range_text(tensor) + " belong to no tensor";
            return false;
        }
        expected = tensor.end;
    }
    if (expected != data_bytes) {
        error = std::to_string(data_bytes - expected) + " bytes after the last tensor belong to no tensor";
        return false;
    }
    return true;
}

// Size of a tensor's own range against dtype, shape and the file.
bool check_tensor(const TensorInfo& tensor, std::uint64_t data_bytes, std::string& error) {
    const std::string who = "tensor " + in_quotes(tensor.name) + ": ";
    std::uint64_t bytes = 0;
    if (!tensor_bytes(tensor.dtype, tensor.shape, bytes)) {
        error = who + "the size of shape " + shape_text(tensor.shape) + " overflows 64 bits";
        return false;
    }
    if (tensor.begin > tensor.end) {
        error = who + "data_offsets " + range_text(tensor) + " are reversed";
        return false;
    }
    if (tensor.end > data_bytes) {
        error = who + "data_offsets " + range_text(tensor) + " leave the file, which has " +
                std::to_string(data_bytes) + " data bytes";
        return false;
    }
    if (tensor.bytes() != bytes) {
        error = who + "has " + std::to_string(tensor.bytes()) + " bytes, but " +
                std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor.shape) + " takes " +
                std::to_string(bytes);
        return false;
    }
    return true;
}

std::string header_text(const std::vector<TensorInfo>& tensors, const Metadata& metadata) {
    // Name by name rather than through one json object: that keeps the tensors in the order of their bytes.
    std::string out = "{";
    if (!metadata.empty()) out += "\"__metadata__\":" + json(metadata).dump();
    for (const TensorInfo& tensor : tensors) {
        if (out.size() > 1) out += ',';
        out += json(tensor.name).dump();
        out += ":{\"dtype\":\"";
        out += dtype_name(tensor.dtype);
        out += "\",\"shape\":" + json(tensor.shape).dump();
        out += ",\"data_offsets\":[" + std::to_string(tensor.begin) + ',' + std::to_string(tensor.end) + "]}";
    }
    out += '}';
    out.append((8 - out.size() % 8) % 8, ' ');
    return out;
}

std::string join_path(const std::string& directory, const std::string& name) {
    return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

std::string parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// The file in a directory that stands for the model.
std::string choose_in_directory(const std::string& directory) {
    DIR* const handle = ::opendir(directory.c_str());
    if (handle == nullptr)
        throw Failure(Exit::kInput, printable(directory) + ": cannot list: " + std::strerror(errno));
    std::vector<std::string> indexes;
    std::vector<std::string> files;
    while (const dirent* entry = ::readdir(handle)) {
        const std::string name = entry->d_name;
        if (has_suffix(name, kIndexSuffix)) indexes.push_back(name);
        if (has_suffix(name, kFileSuffix)) files.push_back(name);
    }
    ::closedir(handle);
    const std::vector<std::string>& candidates = indexes.empty() ? files : indexes;
    if (candidates.size() == 1) return join_path(directory, candidates[0]);
    throw Failure(
        Exit::kInput,
        printable(directory) + (candidates.empty() ? ": has no .safetensors file"
                                : indexes.empty()  ? ": has several .safetensors files and no index: name one"
                                                   : ": has several index files: name one"));
}

}  // namespace

bool tensor_bytes(Dtype dtype, const std::vector<std::int64_t>& shape, std::uint64_t& bytes) {
    bytes = dtype_size(dtype);
    for (const std::int64_t extent : shape) {
        if (extent < 0) return false;
        if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) return false;
    }
    return true;
}

bool parse_safetensors_header(std::string_view header, std::uint64_t data_bytes,
                              std::vector<TensorInfo>& tensors, Metadata& metadata, std::string& error) {
    tensors.clear();
    metadata.clear();
    if (header.empty() || header.front() != '{') {
        error = "the header does not begin with '{': this is not a safetensors file";
        return false;
    }
    // The parser takes a NUL byte for the end of its input and would not see what follows.
    if (header.find('\0') != std::string_view::npos) {
        error = "the header contains a NUL byte";
        return false;
    }
    HeaderHandler handler(tensors, metadata);
    if (!json::sax_parse(header.begin(), header.end(), &handler) || !handler.done()) {
        error = handler.error().empty() ? "the header is not valid JSON" : handler.error();
        return false;
    }
    for (const TensorInfo& tensor : tensors) {
        if (!check_tensor(tensor, data_bytes, error)) return false;
    }
    // Empty tensors come before the one that shares their position, so that they never count as an overlap.
    std::sort(tensors.begin(), tensors.end(), [](const TensorInfo& a, const TensorInfo& b) {
        return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
    });
    return check_ranges(tensors, data_bytes, error);
}

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
    const std::string who = printable(path) + ": ";
    if (file_.size() < 8) {
        throw Failure(Exit::kInput, who + "is " + std::to_string(file_.size()) +
                                        " bytes long: too short for a safetensors file");
    }
    std::array<unsigned char, 8> prefix{};
    file_.read(0, std::as_writable_bytes(std::span(prefix)));
    std::uint64_t header_bytes = 0;
    for (std::size_t i = 0; i < 8; ++i) header_bytes |= std::uint64_t{prefix[i]} << (8 * i);
    if (header_bytes > kMaxHeaderBytes) {
        throw Failure(Exit::kInput, who + "the header length " + std::to_string(header_bytes) +
                                        " exceeds the limit of " + std::to_string(kMaxHeaderBytes) +
                                        " bytes");
    }
    if (header_bytes > file_.size() - 8) {
        throw Failure(Exit::kInput, who + "the header length " + std::to_string(header_bytes) +
                                        " exceeds the file, " + std::to_string(file_.size()) +
                                        " bytes: it is cut short or no safetensors file");
    }
    data_begin_ = 8 + header_bytes;
    std::string header(static_cast<std::size_t>(header_bytes), '\0');
    file_.read(8, std::as_writable_bytes(std::span(header)));
    std::string error;
    if (!parse_safetensors_header(header, file_.size() - data_begin_, tensors_, metadata_, error)) {
        throw Failure(Exit::kInput, who + error);
    }
    by_name_.reserve(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) by_name_.emplace(tensors_[i].name, i);
    file_.advise_sequential();
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

void SafetensorsFile::read(const TensorInfo& tensor, std::uint64_t offset, std::span<std::byte> out) const {
    if (offset > tensor.bytes() || out.size() > tensor.bytes() - offset) {
        throw Failure(Exit::kInternal, "a read leaves tensor " + in_quotes(tensor.name));
    }
    file_.read(data_begin_ + tensor.begin + offset, out);
}

std::vector<std::byte> SafetensorsFile::load(const TensorInfo& tensor) const {
    std::vector<std::byte> out(static_cast<std::size_t>(tensor.bytes()));
    read(tensor, 0, out);
    return out;
}

Checkpoint::Checkpoint(const std::string& path) : path_(path) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) path_ = choose_in_directory(path);
    if (has_suffix(path_, kIndexSuffix)) {
        open_index(path_);
    } else {
        add_file(path_);
    }
    std::sort(tensors_.begin(), tensors_.end(),
              [](const SourceTensor& a, const SourceTensor& b) { return a.info->name < b.info->name; });
    for (std::size_t i = 0; i < tensors_.size(); ++i) by_name_[tensors_[i].info->name] = i;
}

void Checkpoint::add_file(const std::string& path) {
    files_.push_back(std::make_unique<SafetensorsFile>(path));
    const SafetensorsFile& file = *files_.back();
    file_ids_.push_back(file.id());
    for (const TensorInfo& tensor : file.tensors()) tensors_.push_back({&tensor, &file});
    for (const auto& [key, value] : file.metadata()) {
        const auto [entry, is_new] = metadata_.emplace(key, value);
        if (!is_new && entry->second != value) metadata_conflicts_.push_back(key);
    }
}

void Checkpoint::open_index(const std::string& path) {
    const std::string who = printable(path) + ": ";
    FileId id;
    const std::string text = read_text(path, kMaxHeaderBytes, &id);
    file_ids_.push_back(id);
    json index;
    std::string error;
    if (!parse_strict_json(text, 8, index, error)) throw Failure(Exit::kInput, who + error);
    if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
        throw Failure(Exit::kInput, who + "has no object \"weight_map\"");
    }
    const json& weight_map = index["weight_map"];
    std::map<std::string, std::size_t> shards;  // sorted: the order in which they are opened
    for (const auto& [name, value] : weight_map.items()) {
        if (!value.is_string()) {
            throw Failure(Exit::kInput, who + "weight_map: tensor " + in_quotes(name) + " has no file name");
        }
        const auto& shard = value.get_ref<const std::string&>();
        // A shard lies beside the index: anything else could make the program read files that the user did
        // not mean.
        if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos ||
            shard.find('\\') != std::string::npos || shard.find('\0') != std::string::npos) {
            throw Failure(Exit::kInput, who + "weight_map: tensor " + in_quotes(name) + ": " +
                                            in_quotes(shard) +
                                            " is not a plain file name in the index's directory");
        }
        ++shards[shard];
    }
    for (const auto& [shard, count] : shards) add_file(join_path(parent_of(path), shard));

    std::unordered_map<std::string_view, const SafetensorsFile*> owner;
    for (const SourceTensor& tensor : tensors_) {
        const std::string& name = tensor.info->name;
        const auto [entry, is_new] = owner.emplace(name, tensor.file);
        if (!is_new) {
            throw Failure(Exit::kInput, who + "tensor " + in_quotes(name) + " is in two shards, " +
                                            printable(entry->second->path()) + " and " +
                                            printable(tensor.file->path()));
        }
        if (!weight_map.contains(name)) {
            throw Failure(Exit::kInput, printable(tensor.file->path()) + ": tensor " + in_quotes(name) +
                                            " is not in the index");
        }
    }
    for (const auto& [name, value] : weight_map.items()) {
        const std::string shard = join_path(parent_of(path), value.get<std::string>());
        const auto found = owner.find(name);
        if (found == owner.end() || found->second->path() != shard) {
            throw Failure(Exit::kInput, printable(shard) + ": has no tensor " + in_quotes(name) +
                                            ", which the index places there");
        }
    }
}

const SourceTensor* Checkpoint::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

std::uint64_t Checkpoint::file_bytes() const {
    return std::accumulate(files_.begin(), files_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& file) { return sum + file->size(); });
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, const std::vector<OutputTensor>& tensors,
                                     const Metadata& metadata, std::vector<FileId> inputs)
    : file_(path, std::move(inputs)) {
    tensors_.reserve(tensors.size());
    for (const OutputTensor& tensor : tensors) {
        TensorInfo info;
        info.name = tensor.name;
        info.dtype = tensor.dtype;
        info.shape = tensor.shape;
        tensors_.push_back(std::move(info));
    }
    std::sort(tensors_.begin(), tensors_.end(), [](const TensorInfo& a, const TensorInfo& b) {
        const std::uint64_t size_a = dtype_size(a.dtype);
        const std::uint64_t size_b = dtype_size(b.dtype);
        return size_a != size_b ? size_a > size_b : a.name < b.name;
    });
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
        TensorInfo& tensor = tensors_[i];
        std::uint64_t bytes = 0;
        if (!tensor_bytes(tensor.dtype, tensor.shape, bytes) ||
            __builtin_add_overflow(data_bytes_, bytes, &data_bytes_)) {
            throw Failure(Exit::kInternal,
                          "the size of output tensor " + in_quotes(tensor.name) + " overflows");
        }
        tensor.begin = data_bytes_ - bytes;
        tensor.end = data_bytes_;
        if (!by_name_.emplace(tensor.name, i).second || tensor.name == kMetadataKey) {
            throw Failure(Exit::kInternal,
                          "the output would have tensor " + in_quotes(tensor.name) + " twice");
        }
    }
    const std::string header = header_text(tensors_, metadata);
    if (header.size() > kMaxHeaderBytes) {
        throw Failure(Exit::kOutput, printable(path) + ": the header would have " +
                                         std::to_string(header.size()) + " bytes; readers accept " +
                                         std::to_string(kMaxHeaderBytes));
    }
    data_begin_ = 8 + header.size();
    room_ = std::async(std::launch::async, [this, header] {
        file_.reserve(file_bytes());
        std::array<unsigned char, 8> prefix{};
        for (std::size_t i = 0; i < 8; ++i) prefix[i] = static_cast<unsigned char>(header.size() >> (8 * i));
        file_.write(0, std::as_bytes(std::span(prefix)));
        file_.write(8, std::as_bytes(std::span(header)));
    });
}

const TensorInfo* SafetensorsWriter::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

void SafetensorsWriter::write(const TensorInfo& tensor, std::uint64_t offset,
                              std::span<const std::byte> data) {
    if (offset > tensor.bytes() || data.size() > tensor.bytes() - offset) {
        throw Failure(Exit::kInternal, "a write leaves tensor " + in_quotes(tensor.name));
    }
    wait_for_room();
    file_.write(data_begin_ + tensor.begin + offset, data);
    written_ += data.size();
}

bool SafetensorsWriter::knows_room() const {
    return !room_.valid() || room_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

void SafetensorsWriter::wait_for_room() {
    if (room_.valid()) room_.get();
}

void SafetensorsWriter::commit() {
    wait_for_room();
    if (written_ != data_bytes_) {
        throw Failure(Exit::kInternal, format("%llu of %llu data bytes were written",
                                              static_cast<unsigned long long>(written_),
                                              static_cast<unsigned long long>(data_bytes_)));
    }
    file_.commit();
}

}  // namespace ckitchen::cli

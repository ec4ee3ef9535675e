#include "support.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "catch.hpp"

namespace ckitchen::cli::test {

TemporaryFolder::TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ckitchen-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> TemporaryFolder::names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
        out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
}

void write_file(const std::string& path, std::string_view content) {
    std::ofstream file(path, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!file) throw std::runtime_error("cannot write " + path);
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string safetensors_bytes(std::string_view header, std::string_view data) {
    std::string out;
    for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i));
    out += header;
    out += data;
    return out;
}

std::string safetensors_bytes(const std::vector<TestTensor>& tensors, const std::string& metadata_json) {
    std::string header = "{";
    std::string data;
    if (!metadata_json.empty()) header += "\"__metadata__\":" + metadata_json;
    for (const TestTensor& tensor : tensors) {
        if (header.size() > 1) header += ',';
        header += nlohmann::json(tensor.name).dump() + ":{\"dtype\":\"" + tensor.dtype +
                  "\",\"shape\":" + nlohmann::json(tensor.shape).dump() + ",\"data_offsets\":[" +
                  std::to_string(data.size()) + "," + std::to_string(data.size() + tensor.data.size()) + "]}";
        data += tensor.data;
    }
    return safetensors_bytes(header + "}", data);
}

Failure failure_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Failure& failure) {
        // Every text is one line, whatever the file contained.
        CHECK(std::string(failure.what()).find('\n') == std::string::npos);
        return failure;
    }
    FAIL("nothing failed");
    throw std::logic_error("unreachable");
}

}  // namespace ckitchen::cli::test

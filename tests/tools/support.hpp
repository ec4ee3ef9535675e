// Files for the tests: a folder that disappears, and safetensors files made by hand, sound or broken.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"

namespace ckitchen::cli::test {

// A fresh folder, removed with everything in it at the end.
class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    // Names in it, sorted.
    std::vector<std::string> names() const;

  private:
    std::string path_;
};

void write_file(const std::string& path, std::string_view content);
std::string read_file(const std::string& path);

// The bytes of a safetensors file: header length, header as given, data.
std::string safetensors_bytes(std::string_view header, std::string_view data);

struct TestTensor {
    std::string name;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::string data;
};
// A sound file with these tensors, in this order.
std::string safetensors_bytes(const std::vector<TestTensor>& tensors, const std::string& metadata_json = "");

// The failure that `action` ends with; a test failure when it ends well.
Failure failure_of(const std::function<void()>& action);

}  // namespace ckitchen::cli::test

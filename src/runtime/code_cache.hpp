// Code that a runtime's compiler made, kept in a folder (Env::cache_dir) for later processes. Nothing here is
// an error for the caller: what cannot be read is compiled, what cannot be written is compiled again next
// time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ckitchen::runtime {

// What a piece of code depends on, as a name: 128 bits over everything that is added.
class CodeKey {
  public:
    void add(std::string_view text);
    // A library by its path, size and time of change.
    void add_file(const std::string& path);
    std::string name() const;

  private:
    void mix(const void* data, std::size_t size);

    std::array<uint64_t, 2> state_{0x6c62272e07bb0142u, 0x62b821756295c58du};
};

// False where there is no such code, where it is damaged, and where the file or its folder could be another
// user's work.
bool load_cached(const std::string& folder, const std::string& name, std::vector<char>& code);
// Appears whole or not at all, whoever else writes or reads. The oldest files go where the folder holds more
// than `most` bytes.
void store_cached(const std::string& folder, const std::string& name, const std::vector<char>& code,
                  uint64_t most = uint64_t{256} << 20) noexcept;

}  // namespace ckitchen::runtime
